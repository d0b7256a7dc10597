package html

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// unshown is the element that [Options.SkipMarked] leaves out at the moment.
type unshown struct {
	name  string // or "" if there is none
	depth int    // of elements of that name
	open  int    // blocks in it that only their end tags end
	code  bool   // what follows is a script or the like
	chars int    // left out of the document so far
}

// marked reports whether the start tag says that its element is not shown. The document itself is, whatever its tags say: scripts
// show it.
func (s *scanner) marked() bool {
	switch s.name {
	case "html", "body":
		return false
	case "dialog":
		return !s.has("open") || s.marksHidden()
	}
	return s.marksHidden()
}

// has reports whether the tag has an attribute.
func (s *scanner) has(name string) bool {
	return slices.ContainsFunc(s.attributes(), func(a attribute) bool { return string(a.name) == name })
}

func (s *scanner) marksHidden() bool {
	if s.has("hidden") || strings.EqualFold(strings.TrimSpace(s.attr("aria-hidden")), "true") {
		return true
	}
	source := s.attr("style")
	if source == "" {
		return false
	}
	style := map[string]string{}
	for _, d := range readStyle(source) {
		style[d.property] = d.value
	}
	return style["display"] == "none" || style["visibility"] == "hidden" || style["visibility"] == "collapse"
}

// begin begins to pass over the element of a start tag. An empty tag leaves nothing out, in HTML it would be never closed.
func (u *unshown) begin(s *scanner) {
	if !s.is.void && s.kind != html.SelfClosingTagToken {
		*u = unshown{name: s.name, depth: 1, chars: u.chars}
	}
}

// pass reads a token of the element. It reports whether that is a tag that ends the element without being its end tag.
func (u *unshown) pass(s *scanner) (ended bool) {
	code, end := u.code, s.kind == html.EndTagToken
	u.code = s.kind == html.StartTagToken && s.is.role == dropped
	switch {
	case s.kind == html.TextToken && !code:
		u.chars += utf8.RuneCount(bytes.TrimSpace(s.content()))
	case s.kind == html.TextToken:
	case s.name == u.name && end:
		u.depth--
	case u.open == 0 && endsWithout(u.name, s.name, end):
		ended = true
	case s.name == u.name:
		u.depth += s.nesting()
	case closedByItself(s.name):
		u.open += s.nesting()
	}
	if ended || u.depth == 0 {
		u.name = ""
	}
	return ended
}

// closedByItself reports whether an element is a block that only its own end tag ends, or that of one around it.
func closedByItself(name string) bool {
	switch roleOf(name) {
	case line, block, heading, quotation, list, table, verbatim:
		return implied(name) == 0 && name != "p" && !void(name)
	}
	return false
}

// endsWithout reports whether a tag ends an element without its end tag: that of what is around it, or that of the next.
func endsWithout(open, name string, end bool) bool {
	if end {
		return closedByItself(name) || implied(name) > implied(open)
	}
	switch {
	case open == "p":
		return name == "p" || implied(name) > 0 || roleOf(name).breaksOut() && name != "br"
	case implied(open) == 1 && implied(name) == 1 && open != name:
		pair := open + name
		return pair == "dtdd" || pair == "dddt" || pair == "tdth" || pair == "thtd"
	}
	return implied(open) > 0 && implied(name) >= implied(open)
}
