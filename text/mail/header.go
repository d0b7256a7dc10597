package mail

import (
	"encoding/base64"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	foldAt        = 76  // characters of a line with encoded-words, RFC 2047
	maxWord       = 800 // bytes of a word that is not divided: a line has 998 characters at most
	encodedBytes  = 39  // of text in an encoded-word, which then fits behind the name of its field
	maxAddress    = 254
	maxLocal      = 64
	maxReferences = 20
)

// headerProblem says why text must not stand in a header, as a clause, or "". What could end a line is rejected and not removed:
// who puts it there tries to add a header.
func headerProblem(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, r := range s {
		if r < ' ' && r != '\t' || r == 0x7F {
			return fmt.Sprintf("contains the control character %U", r)
		}
	}
	return ""
}

// fold returns a field with lines of at most 76 characters, as far as its words allow.
func fold(name string, words []string) string {
	var b strings.Builder
	b.WriteString(name + ":")
	for i, length := 0, b.Len(); i < len(words); i++ {
		if i > 0 && length+1+len(words[i]) > foldAt {
			b.WriteString("\r\n")
			length = 0
		}
		b.WriteString(" " + words[i])
		length += 1 + len(words[i])
	}
	b.WriteString("\r\n")
	return b.String()
}

// words returns the words of a text, encoded if readers would see anything else than the text otherwise.
func words(s string) []string {
	if s == "" {
		return nil
	}
	list := strings.Split(s, " ")
	plain := func(w string) bool { return w != "" && len(w) <= maxWord && !strings.Contains(w, "=?") && isASCII(w) }
	if !slices.ContainsFunc(list, func(w string) bool { return !plain(w) }) {
		return list
	}
	return encodedWords(s)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7F })
}

// encodedWords returns the encoded-words of a text. None holds a part of a character.
func encodedWords(s string) (list []string) {
	for s != "" {
		n := min(len(s), encodedBytes)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		list = append(list, "=?utf-8?B?"+base64.StdEncoding.EncodeToString([]byte(s[:n]))+"?=")
		s = s[n:]
	}
	return list
}

// ParseAddresses reads lists of addresses. Domains become ASCII; a name stays as it is. The error is an [*InputError] that names
// the entry which is no address.
func ParseAddresses(field string, list []string) ([]*mail.Address, error) {
	var all []*mail.Address
	for _, entry := range list {
		invalid := func(problem string) ([]*mail.Address, error) {
			return nil, &InputError{field, fmt.Sprintf("%.200q %s", entry, problem)}
		}
		if problem := headerProblem(entry); problem != "" {
			return invalid(problem)
		}
		if strings.TrimSpace(entry) == "" {
			continue
		}
		addresses, err := mail.ParseAddressList(entry)
		if err != nil || len(addresses) == 0 {
			return invalid("is not an address, nor a comma-separated list of them; a name with a comma or another special character requires quotes")
		}
		for _, a := range addresses {
			if headerProblem(a.Name) != "" { // an encoded-word may hold anything
				return invalid("has a name with a control character")
			}
			if problem := normalize(a); problem != "" {
				return invalid(problem)
			}
		}
		all = append(all, addresses...)
	}
	return all, nil
}

// normalize makes the domain of an address ASCII, and says what is wrong with it, or "".
func normalize(a *mail.Address) string {
	at := strings.LastIndexByte(a.Address, '@')
	local, domain := a.Address[:at], a.Address[at+1:]
	if strings.ContainsFunc(local, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' || r == 0x7F }) {
		return "has characters other than ASCII in front of the @, which mail systems do not deliver reliably"
	}
	if strings.Contains(local, "=?") {
		return "has =? in front of the @, which readers may decode to another address"
	}
	if strings.ContainsFunc(domain, invisible) {
		return "has a domain with an invisible character"
	}
	if !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "has an invalid domain"
		}
		domain = ascii
	}
	if !strings.HasPrefix(domain, "[") && !domainName().MatchString(domain) {
		return "has an invalid domain"
	}
	a.Address = local + "@" + domain
	if len(local) > maxLocal || len(a.Address) > maxAddress {
		return fmt.Sprintf("is too long: an address has at most %d characters, %d of them in front of the @", maxAddress, maxLocal)
	}
	return ""
}

// domainName is a name in DNS.
var domainName = lazyregexp.New(`(?i)^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$`)

// invisible reports whether a character is one that domains lose when they become ASCII.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// addressWords returns addresses as the words of a field. Only names are encoded.
func addressWords(list []*mail.Address) (all []string) {
	for i, a := range list {
		all = append(all, phrase(a.Name)...)
		address := (&mail.Address{Address: a.Address}).String()
		if i < len(list)-1 {
			address += ","
		}
		all = append(all, address)
	}
	return all
}

// phrase returns a name as the words of a field: in quotes, or encoded.
func phrase(name string) []string {
	if name == "" {
		return nil
	}
	list := words(name)
	if strings.Join(list, " ") != name {
		return list
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
	if len(quoted) > foldAt-len("From: ") {
		return encodedWords(name)
	}
	return []string{quoted}
}

// maxMessageID bounds a Message-ID, so that it fits a line.
const maxMessageID = 802

// messageID is what identifies a message. It is not as strict as RFC 5322, as what others send must be referred to.
var messageID = lazyregexp.New(`^<[!-;=?-~]+>$`)

func isMessageID(s string) bool {
	return len(s) <= maxMessageID && messageID().MatchString(s) && !strings.Contains(s, "=?")
}

// References returns the references of a reply to a message with these headers. What is not a Message-ID is left out; of a long
// list the first and the last ones stay.
func References(references, id string) []string {
	var list []string
	for ref := range strings.FieldsSeq(strings.ReplaceAll(references+" "+id, "><", "> <")) {
		if isMessageID(ref) && !slices.Contains(list[max(0, len(list)-maxReferences):], ref) {
			list = append(list, ref)
		}
	}
	if len(list) > maxReferences {
		list = slices.Delete(list, 1, 1+len(list)-maxReferences)
	}
	return list
}

// Reply returns the subject of a reply: with one "Re:" in front, which Gmail requires to be all that differs.
func Reply(subject string) string {
	apart := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	words := strings.FieldsFunc(strings.ToValidUTF8(subject, "\uFFFD"), apart)
	subject = strings.Join(words, " ")
	for len(subject) >= 3 && strings.EqualFold(subject[:3], "re:") {
		subject = strings.TrimSpace(subject[3:])
	}
	return strings.TrimSpace("Re: " + subject)
}
