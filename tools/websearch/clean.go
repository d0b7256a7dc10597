package websearch

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
)

// Bounds of the texts of a result, in characters.
const (
	maxTitle       = 300
	maxDescription = 2000
	maxAge         = 60
	maxSnippets    = 5
	maxURL         = 4096
)

// A collection gathers the results of a query: cleaned, and no page twice.
type collection struct {
	items []Result
	seen  map[string]bool
}

// add adds a result, and reports whether it was new.
func (c *collection) add(found item) bool {
	address, key, ok := webAddress(found.URL)
	if !ok || c.seen[key] {
		return false
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[key] = true
	age := line(cmp.Or(found.Age, found.PageAge, found.PublishedDate, found.Published), maxAge)
	if day, _, timed := strings.Cut(age, "T"); timed && len(day) == len(time.DateOnly) {
		age = day
	}
	r := Result{
		URL: address, Title: cmp.Or(line(found.Title, maxTitle), address),
		Description: line(cmp.Or(found.Description, found.Content), maxDescription),
		Age:         age,
	}
	for _, snippet := range found.ExtraSnippets {
		text := line(snippet, maxDescription)
		if text != "" && text != r.Description && len(r.ExtraSnippets) < maxSnippets {
			r.ExtraSnippets = append(r.ExtraSnippets, text)
		}
	}
	c.items = append(c.items, r)
	return true
}

// line returns the text of a snippet of HTML, on one line of at most so many characters.
func line(src string, most int) string {
	return httpcall.Clip(html.Line(src), most)
}

// webAddress returns an address in a form that can be shown, and a key that is the same for addresses that hardly ever lead to
// different pages: whatever their scheme, with or without www, a slash at the end or a fragment. It refuses what is not on the
// web, and what hides its host behind a user name.
func webAddress(text string) (address, key string, ok bool) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", "", false
	}
	if u.Hostname() == "" || strings.ContainsFunc(u.Host, notInHost) {
		return "", "", false
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	return shown(text), host + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery, true
}

// notInHost reports whether no host has such a character, in whatever script.
func notInHost(r rune) bool {
	return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) && !strings.ContainsRune("-._:[]", r) || r == utf8.RuneError
}

// shown returns an address with what is not shown in one escaped.
func shown(text string) string {
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError || notShown(r) {
			b.WriteString(url.PathEscape(text[:size]))
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// notShown reports whether an address is shown with such a character escaped.
func notShown(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(" <>\"", r) }

// gather collects a page of results from a service whose own pages are of another size. It asks for its pages from the first one
// on, at most so many, until the results reach to the end of the page of q; next returns the n-th of them, counted from 0, and
// whether there are more.
func (p *provider) gather(q Query, most int, next func(n int) (raw []item, more bool, err error)) (Results, error) {
	var all collection
	more := true
	for n := 0; more && n < most && len(all.items) < q.end(); n++ {
		raw, goesOn, err := next(n)
		if err != nil {
			return Results{}, err
		}
		added := false
		for _, found := range raw {
			added = all.add(found) || added
		}
		more = added && goesOn // some services repeat their last page for ever
	}
	start := min(q.Page*q.Count, len(all.items))
	end := min(q.end(), len(all.items))
	res := Results{Items: slices.Clone(all.items[start:end]), More: more || len(all.items) > end}
	switch {
	case more && start == len(all.items):
		return Results{}, p.beyond(q)
	case more && end < q.end():
		res.More = false
		res.Notes = append(res.Notes, "The page is not full: "+p.title+" is not asked for results beyond these.")
	}
	return res, nil
}

// beyond is the failure of a page that lies where a service cannot or shall not be asked.
func (p *provider) beyond(q Query) *httpcall.Failure {
	return &httpcall.Failure{
		Type:    "unsupported_option",
		Message: fmt.Sprintf("%s is not asked for results as far down as page=%d with count=%d", p.title, q.Page, q.Count),
		Hint:    "Ask for an earlier page, or make the query more precise.",
	}
}

// codes returns what a service calls countries, by their codes: pairs in a table, in which _ is a space.
func codes(table string) map[string]string {
	names := map[string]string{}
	for pair := range slices.Chunk(strings.Fields(table), 2) {
		names[pair[0]] = strings.ReplaceAll(pair[1], "_", " ")
	}
	return names
}
