package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Recipients says whom an owner may send mail to, itself or by having a service do it. The lists are those of the head of its
// family. The zero value allows nobody.
type Recipients struct {
	tool        string // the head
	allow, deny []recipient
	listed      bool // there is an allowlist
	any         bool // the owner declares that it mails
}

// recipient is an entry of a list: an address, or all of a domain.
type recipient struct{ local, domain string } // local is * for any; domain may begin with *. for all below it

// RecipientError says that a list keeps a tool from mailing somebody.
type RecipientError struct {
	Address string
	Rule    string   // the list that decides: tools.gmail_send.denied_recipients
	Allowed []string // what would be allowed, if a list says so
}

func (e *RecipientError) Error() string {
	if e.Allowed == nil {
		return fmt.Sprintf("%s is denied by %s", e.Address, e.Rule)
	}
	return fmt.Sprintf("%s is not in %s, which allows %s", e.Address, e.Rule, cmp.Or(strings.Join(e.Allowed, ", "), "nobody"))
}

// newRecipients returns the lists of all owners that mail, by tool.
func newRecipients(p Policy) (map[string]*Recipients, error) {
	all := map[string]*Recipients{}
	for _, o := range p.Owners {
		if o.Mails == "" {
			continue
		}
		lists := p.Tools[o.Mails]
		allow, err := parseList("tools."+o.Mails+".allowed_recipients", lists.AllowedRecipients, parseRecipient)
		if err != nil {
			return nil, err
		}
		deny, err := parseList("tools."+o.Mails+".denied_recipients", lists.DeniedRecipients, parseRecipient)
		if err != nil {
			return nil, err
		}
		all[o.Tool] = &Recipients{o.Mails, allow, deny, lists.AllowedRecipients != nil, true}
	}
	return all, nil
}

// CheckRecipientEntry reports what is wrong with an entry of a list of recipients.
func CheckRecipientEntry(text string) error {
	_, err := parseRecipient(text)
	return err
}

func parseRecipient(text string) (recipient, error) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return recipient{}, fmt.Errorf("%q is no address; write name@example.com, or @%s for everybody there", text, cmp.Or(text, "example.com"))
	}
	r := recipient{cmp.Or(strings.ToLower(text[:at]), "*"), text[at+1:]}
	name, below := strings.CutPrefix(r.domain, "*.")
	ascii, err := idna.Lookup.ToASCII(name)
	switch {
	case err != nil || ascii == "":
		return recipient{}, fmt.Errorf("%q has no valid domain after the @", text)
	case strings.ContainsAny(r.local, " \t<>,") || r.local != "*" && strings.Contains(r.local, "*"):
		return recipient{}, fmt.Errorf("%q is no address; only @, or *@, stands for everybody of a domain", text)
	case below:
		ascii = "*." + ascii
	}
	r.domain = ascii
	return r, nil
}

// matches reports whether the entry is for an address.
func (r recipient) matches(a recipient) bool {
	if r.local != "*" && r.local != a.local {
		return false
	}
	if below, ok := strings.CutPrefix(r.domain, "*"); ok {
		return strings.HasSuffix(a.domain, below)
	}
	return r.domain == a.domain
}

// addressOf returns an address as entries have it, and whether it is one.
func addressOf(text string) (a recipient, valid bool) {
	at := strings.LastIndexByte(text, '@')
	if at <= 0 {
		return a, false
	}
	ascii, err := idna.Lookup.ToASCII(text[at+1:])
	ascii = strings.TrimSuffix(ascii, ".")
	return recipient{strings.ToLower(text[:at]), strings.ToLower(ascii)}, err == nil && ascii != ""
}

// Check returns a [*RecipientError] if an address is not one to mail. Addresses are bare: name@example.com.
func (r *Recipients) Check(addresses ...string) error {
	for _, text := range addresses {
		address, valid := addressOf(text)
		in := func(list []recipient) bool {
			return slices.ContainsFunc(list, func(entry recipient) bool { return entry.matches(address) })
		}
		switch rule := "tools." + r.tool; {
		case !r.any:
			return &RecipientError{Address: text, Rule: "the tool, which does not declare that it mails"}
		case !valid && (r.listed || len(r.deny) > 0):
			return &RecipientError{Address: text, Rule: rule + ".denied_recipients: it is no address that can be compared with the lists"}
		case in(r.deny):
			return &RecipientError{Address: text, Rule: rule + ".denied_recipients"}
		case r.listed && !in(r.allow):
			allowed := []string{}
			for _, entry := range r.allow {
				allowed = append(allowed, entry.local+"@"+entry.domain)
			}
			return &RecipientError{text, rule + ".allowed_recipients", allowed}
		}
	}
	return nil
}

// Recipients returns whom the owner may mail.
func (c Capabilities) Recipients() *Recipients {
	if r := c.sandbox.recipients[c.owner.Tool]; r != nil {
		return r
	}
	return &Recipients{tool: c.owner.Tool}
}
