package html

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// links are the addresses in a document.
type links struct {
	base   *url.URL // nil to leave relative ones as they are
	style  LinkStyle
	budget int  // bytes that bases may add
	based  bool // the document's own base is known
	list   []string
	seen   map[string]int
}

func newLinks(src string, o Options) links {
	return links{base: o.Base, style: o.Links, budget: 2*len(src) + 64<<10, seen: make(map[string]int)}
}

// Base returns the address that the relative links of a document are resolved against: its first <base href>, or else its own
// address, which may be nil. A part taken out of the document needs it as [Options.Base].
func Base(src string, address *url.URL) *url.URL {
	l := links{base: address}
	for s := newScanner(src); address != nil && !l.based && s.next(); {
		if s.name == "base" && s.kind != html.EndTagToken {
			l.rebase(s.attr("href"))
		}
	}
	return l.base
}

// rebase takes the first <base href> of the document into account.
func (l *links) rebase(href string) {
	if l.based || l.base == nil || href == "" {
		return
	}
	if u, err := l.base.Parse(strings.TrimSpace(href)); err == nil && u.Host != "" {
		l.based, l.base = true, u
	}
}

// address returns where a link leads, or "" if that is nowhere a reader can go.
func (l *links) address(href string) string {
	href = cleanAddress(href)
	if href == "" || href[0] == '#' {
		return ""
	}
	switch scheme(href) {
	case "javascript", "data", "vbscript", "about", "blob":
		return ""
	case "":
		return l.resolve(href)
	}
	return href
}

// resolve makes a relative address absolute, if there is a base and as long as that does not make the result much longer than the
// document: a base may be as long as its author likes.
func (l *links) resolve(href string) string {
	if l.base == nil || l.budget <= 0 {
		return href
	}
	u, err := l.base.Parse(href)
	if err != nil {
		return href
	}
	full := u.String()
	l.budget -= len(full) - len(href)
	return full
}

// number returns the number of an address in the list at the end.
func (l *links) number(address string) int {
	n, ok := l.seen[address]
	if !ok {
		l.list = append(l.list, address)
		n = len(l.list)
		l.seen[address] = n
	}
	return n
}

// scheme returns the scheme of an address in small letters, or "" if it is relative.
func scheme(href string) string {
	if m := schemeName().FindStringSubmatch(href); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

var (
	schemeName  = lazyregexp.New(`^([a-zA-Z][a-zA-Z0-9+.-]*):`)
	notDialled  = lazyregexp.New(`[^+0-9]+`)
	addressHead = lazyregexp.New(`^(?:https?://|mailto:|tel:)?(?:www\.)?`) // that people leave out
)

// cleanAddress removes what browsers ignore in an address, and what would break the text: white space and what cannot be seen.
func cleanAddress(href string) string {
	href = strings.TrimFunc(href, func(r rune) bool { return r <= ' ' || r == 0xA0 })
	href = strings.Map(func(r rune) rune {
		switch {
		case r > ' ' && r < 0x7F:
		case unicode.IsControl(r) || unseen(r) || joiner(r):
			return -1
		case r == ' ' || oddSpace(r):
			return ' '
		}
		return r
	}, href)
	return strings.ReplaceAll(href, " ", "%20")
}

// openAnchor begins a link.
func (r *renderer) openAnchor(address string) {
	r.closeAnchor()
	if address == "" || r.links.style == None || r.verbatim > 0 {
		return
	}
	if r.markdown {
		r.target, r.breaks = "]("+destination.Replace(address)+")", 0
		if r.links.style == List {
			r.target = "][" + strconv.Itoa(r.links.number(destination.Replace(address))) + "]"
		}
		r.openMark(link)
		return
	}
	r.anchor = address
	r.mark, r.due = -1, true
}

// closeAnchor ends a link: the address goes behind its text, before any break that is due.
func (r *renderer) closeAnchor() {
	if r.markdown {
		if r.nested[link] > 0 {
			r.closeMark(link)
			r.keepApart()
		}
		return
	}
	address, start := r.anchor, r.mark
	r.anchor, r.mark = "", 0
	if address == "" || r.verbatim > 0 {
		return
	}
	text := []byte(nil)
	if start >= 0 {
		text = bytes.TrimSpace(r.out[min(start, len(r.out)):])
	}
	switch {
	case r.links.style == List && len(text) > 0 && sameAddress(string(text), address):
	case r.links.style == List:
		r.behind("["+strconv.Itoa(r.links.number(address))+"]", len(text) == 0)
	case len(text) == 0:
		r.behind(address, true)
	case !sameAddress(string(text), address):
		r.behind("("+address+")", false)
	case len(text) < len(address) && scheme(address) != "mailto" && scheme(address) != "tel":
		r.out = append(r.out[:start], address...)
	}
	r.keepApart()
}

// behind writes an address: where text would go if it is all there is, else behind the text that is there.
func (r *renderer) behind(address string, alone bool) {
	if alone {
		r.keepApart()
		r.begin(rune(address[0]))
	} else {
		r.out = append(r.out, ' ')
	}
	r.out = append(r.out, address...)
}

// sameAddress reports whether a text says where the link leads: http://, www., a slash at the end or mailto: aside.
func sameAddress(text, address string) bool {
	if scheme(address) == "tel" {
		text = notDialled().ReplaceAllString(text, "")
	}
	return bareAddress(text) == bareAddress(address)
}

func bareAddress(s string) string {
	return strings.TrimSuffix(s[len(addressHead().FindString(s)):], "/")
}
