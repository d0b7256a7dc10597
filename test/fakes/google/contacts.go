package google

import (
	"slices"
	"strconv"
	"strings"
)

// Contact is somebody whom a user knows.
type Contact struct {
	Name           string
	Emails, Phones []string
	Other          bool // is not saved: Google has them from mail
}

func (f *Fake) contactsHandlers() {
	f.handlers["people.people.searchContacts"] = func(c *call) (any, *Answer) {
		return c.searchContacts(false, "addresses ageRanges biographies birthdays calendarUrls clientData coverPhotos emailAddresses events externalIds genders "+
			"imClients interests locales locations memberships metadata miscKeywords names nicknames occupations organizations phoneNumbers photos relations "+
			"sipAddresses skills urls userDefined")
	}
	f.handlers["people.otherContacts.search"] = func(c *call) (any, *Answer) {
		return c.searchContacts(true, "emailAddresses metadata names phoneNumbers")
	}
}

// AddContact adds a contact of a user. It panics if there is no such user.
func (f *Fake) AddContact(email string, c Contact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.mustUser(email)
	u.contacts = append(u.contacts, c)
}

// searchContacts finds contacts by the beginnings of words. A search without a query makes later ones find anything.
func (c *call) searchContacts(other bool, fields string) (any, *Answer) {
	wanted := strings.Split(c.query.Get("readMask"), ",")
	for _, name := range wanted {
		if !slices.Contains(strings.Fields(fields), name) {
			return nil, badRequest("Invalid personFields mask path: \""+name+"\". Valid paths are documented at https://developers.google.com/people/api/rest.", "readMask")
		}
	}
	size, _ := strconv.Atoi(c.query.Get("pageSize"))
	if size == 0 {
		size = 10
	}
	if size = min(size, 30); size < 0 {
		return nil, badRequest("Page size must be positive.", "pageSize")
	}
	query, results := strings.ToLower(strings.TrimSpace(c.query.Get("query"))), []any{}
	if query == "" {
		c.user.warm[c.method.ID] = true
	} else if c.user.warm[c.method.ID] {
		for _, p := range c.user.contacts {
			if len(results) < size && p.Other == other && p.matches(query) {
				results = append(results, map[string]any{"person": p.person(wanted)})
			}
		}
	}
	if len(results) == 0 {
		return map[string]any{}, nil
	}
	return map[string]any{"results": results}, nil
}

// matches reports whether a word of the contact, and what follows it, begins so.
func (p Contact) matches(query string) bool {
	for _, field := range slices.Concat([]string{p.Name}, p.Emails, p.Phones) {
		field = strings.ToLower(field)
		for i := range field {
			if (i == 0 || field[i-1] == ' ') && strings.HasPrefix(field[i:], query) {
				return true
			}
		}
	}
	return false
}

func (p Contact) person(wanted []string) map[string]any {
	person := map[string]any{"resourceName": "people/c1", "etag": "%Eg=="}
	list := func(field, name string, values ...string) {
		all := []any{}
		for _, v := range values {
			if v != "" {
				all = append(all, map[string]any{name: v})
			}
		}
		if len(all) > 0 && slices.Contains(wanted, field) {
			person[field] = all
		}
	}
	list("names", "displayName", p.Name)
	list("emailAddresses", "value", p.Emails...)
	list("phoneNumbers", "value", p.Phones...)
	return person
}
