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
func (r *renderer) marked() bool {
	switch {
	case r.name == "html" || r.name == "body":
		return false
	case r.name == "dialog":
		return !r.has("open") || r.marksHidden()
	}
	return r.marksHidden()
}

// has reports whether the tag has an attribute.
func (s *scanner) has(name string) bool {
	return slices.ContainsFunc(s.attributes(), func(a attribute) bool { return string(a.name) == name })
}

func (r *renderer) marksHidden() bool {
	if r.has("hidden") || strings.EqualFold(strings.TrimSpace(r.attr("aria-hidden")), "true") {
		return true
	}
	source := r.attr("style")
	if source == "" {
		return false
	}
	style := map[string]string{}
	for _, d := range readStyle(source) {
		style[d.property] = d.value
	}
	return style["display"] == "none" || style["visibility"] == "hidden" || style["visibility"] == "collapse"
}

// skipUnshown begins to pass over the element of a start tag. An empty tag leaves nothing out, in HTML it would be never closed.
func (r *renderer) skipUnshown() {
	if r.is.breaksOut() { // it ends the paragraph before it
		r.breakLines(r.gap)
	}
	if !r.is.void && r.kind != html.SelfClosingTagToken {
		r.unshown = unshown{name: r.name, depth: 1, chars: r.unshown.chars}
	}
}

// passUnshown reads a token of the element that is not shown.
func (r *renderer) passUnshown() {
	u := &r.unshown
	code := u.code
	u.code = r.kind == html.StartTagToken && r.is.role == dropped
	switch {
	case r.kind == html.TextToken && !code:
		u.chars += utf8.RuneCount(bytes.TrimSpace(r.content()))
	case r.kind == html.TextToken:
	case r.name == u.name && r.kind == html.EndTagToken:
		if u.depth--; u.depth == 0 {
			u.name = ""
		}
	case u.open == 0 && endsWithout(u.name, r.name, r.kind == html.EndTagToken):
		u.name = ""
		r.tag()
	case r.name == u.name:
		if r.kind == html.StartTagToken {
			u.depth++
		}
	case !closedByItself(r.name):
	case r.kind == html.EndTagToken:
		u.open--
	case r.kind == html.StartTagToken:
		u.open++
	}
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
