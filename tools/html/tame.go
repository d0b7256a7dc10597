package html

import (
	"strings"

	"golang.org/x/net/html"
)

const (
	// maxRoots is how many html and body tags may add their attributes to the tree: it costs the square of their number.
	maxRoots = 4
	// maxCopies is how many copies of formatting elements, or of two attributes each, the parser may have to make.
	maxCopies = 500_000
)

// tame returns src, without what would make its tree grow out of proportion.
func tame(src string) string {
	t := tamer{roots: make(map[string]int)}
	out := t.read(src)
	if t.copies > maxCopies {
		t = tamer{roots: make(map[string]int), wild: true}
		out = t.read(src)
	}
	return out
}

// tamer looks for what makes trees large and slow.
//
// Formatting elements that are not closed in the block they are in are copied into the ones that follow. What the parser does
// exactly takes a parser to know; the tamer takes every element for copied into each block within it, and those that are not
// properly nested for copied into all that follow, which is an overestimate.
type tamer struct {
	wild bool // formatting elements are left out but for links, of which only one is open at a time, and only the address is kept

	open    []tamed
	cost    int // of formatting elements that may be open
	copies  int
	foreign int // drawings and formulas that may be open, in which no text is raw
	roots   map[string]int
}

// tamed is an open element.
type tamed struct {
	name string
	cost int // of a copy; 0 if it is not copied
}

// read returns src as it is to be parsed.
func (t *tamer) read(src string) string {
	z := html.NewTokenizer(strings.NewReader(src))
	var out strings.Builder
	offset, done := 0, 0 // what is before done is in out, as far as it is wanted
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := z.Raw()
		begin := offset
		offset += len(raw)
		stays, instead := true, ""
		switch name := tagName(z); kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			stays, instead = t.start(z, name)
		case html.EndTagToken:
			t.end(name)
		}
		if !stays {
			out.WriteString(src[done:begin])
			out.WriteString(instead)
			done = offset
		}
	}
	if done == 0 {
		return src
	}
	out.WriteString(src[done:])
	return out.String()
}

// start follows a start tag and reports whether it stays, or else what stands in for it.
func (t *tamer) start(z *html.Tokenizer, name string) (bool, string) {
	if name == "svg" || name == "math" {
		t.foreign++
	}
	if t.foreign > 0 || name == "noscript" {
		z.NextIsNotRawText()
	}
	switch {
	case name == "html" || name == "body":
		t.roots[name]++
		return t.roots[name] <= maxRoots, ""
	case void(name):
		t.copies += t.cost
		return true, ""
	case !formatting(name):
		t.copies += t.cost
		t.open = append(t.open, tamed{name, 0})
		return true, ""
	case t.wild:
		return false, address(z, name)
	}
	cost := 1 + attributes(z)/2
	t.cost += cost
	t.open = append(t.open, tamed{name, cost})
	return true, ""
}

// end follows an end tag. It closes the element on top, if it is of that name. If that is further down, the elements above are no
// longer followed, and formatting ones among them count as open for good.
func (t *tamer) end(name string) {
	const far = 64
	if !formatting(name) {
		t.copies += t.cost
	}
	for i := len(t.open) - 1; i >= max(0, len(t.open)-far); i-- {
		if t.open[i].name != name {
			continue
		}
		if i == len(t.open)-1 {
			t.cost -= t.open[i].cost
			if name == "svg" || name == "math" {
				t.foreign--
			}
		}
		t.open = t.open[:i]
		return
	}
}

// attributes returns how many attributes a tag has.
func attributes(z *html.Tokenizer) int {
	n := 0
	for more := true; more; n++ {
		_, _, more = z.TagAttr()
	}
	return n
}

// address returns a link with no attribute but its address, and nothing for another element.
func address(z *html.Tokenizer, name string) string {
	if name != "a" {
		return ""
	}
	for more := true; more; {
		var key, value []byte
		if key, value, more = z.TagAttr(); string(key) == "href" {
			return `<a href="` + html.EscapeString(string(value)) + `">`
		}
	}
	return "<a>"
}
