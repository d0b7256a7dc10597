package html

import (
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Parse returns the tree of a document for goquery. The content of noscript is markup in it, as for a reader that runs no scripts.
//
// The parser of x/net follows the standard, which lets small documents make large trees and take long, and it rejects more than
// 512 open elements. Such a document is simplified first, without loss of text: of repeated html and body tags the first few stay;
// bold, italic and the like are left out if they would be copied into block after block; and containers that are nested too deep
// stand one after another. Other documents are parsed as they are. No document is known for which there is an error.
func Parse(src string) (*goquery.Document, error) {
	plain := func(src string) string { return "<pre>\n" + html.EscapeString(Text(src, Options{})) + "</pre>" }
	var err error
	for _, simplify := range []func(string) string{tame, flatten, plain} {
		var node *html.Node
		if node, err = html.ParseWithOptions(strings.NewReader(simplify(src)), html.ParseOptionEnableScripting(false)); err == nil {
			return goquery.NewDocumentFromNode(node), nil
		}
	}
	return nil, err
}

// formatting reports whether an element is one that browsers open again in each block until it is closed.
func formatting(name string) bool {
	switch name {
	case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return true
	}
	return false
}

// void reports whether an element has no content and no end tag.
func void(name string) bool {
	switch name {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img", "input", "keygen", "link", "meta",
		"param", "source", "track", "wbr":
		return true
	}
	return false
}

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
		t = tamer{roots: make(map[string]int), stripFormatting: true}
		out = t.read(src)
	}
	return out
}

// tamer looks for what makes trees large and slow.
//
// Formatting elements that are not closed in the block they are in are copied into the ones that follow. What the parser does
// exactly takes a parser to know. The tamer overestimates: every element counts as copied into each block within it, and those
// that are not properly nested as copied into all that follow.
type tamer struct {
	// stripFormatting leaves out formatting elements except links, of which one is open at a time, and keeps only their addresses.
	stripFormatting bool

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
		raw, begin := z.Raw(), offset
		offset += len(raw)
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			if stays, instead := t.start(z, tagName(raw)); !stays {
				out.WriteString(src[done:begin])
				out.WriteString(instead)
				done = offset
			}
		case html.EndTagToken:
			t.end(tagName(raw))
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
	}
	href, attributes := "", 0
	for more := true; more; attributes++ {
		var key, value []byte
		if key, value, more = z.TagAttr(); t.stripFormatting && string(key) == "href" {
			href = ` href="` + html.EscapeString(string(value)) + `"`
		}
	}
	switch {
	case t.stripFormatting && name == "a":
		return false, "<a" + href + ">"
	case t.stripFormatting:
		return false, ""
	}
	cost := 1 + attributes/2
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

// maxDepth is how deep elements may be nested in a flattened document. The parser opens two more for some, and rejects 512.
const maxDepth = 60

// flatten returns a document without formatting elements except links, in which every element nested deeper than maxDepth stands
// beside the others. It is for documents that the parser rejects.
func flatten(src string) string {
	var out strings.Builder
	var open []string // containers, as they are in the output
	deep := 0         // containers that are open below them in the input
	below := ""       // the one of these that is open in the output
	next := func(name string) {
		if below != "" {
			out.WriteString("</" + below + ">")
		}
		if below = name; name != "" {
			out.WriteString("<" + name)
		}
	}
	z := html.NewTokenizer(strings.NewReader(src))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := z.Raw()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			out.Write(raw)
			continue
		}
		name, end := tagName(raw), kind == html.EndTagToken
		switch {
		case (name == "noscript" || name == "plaintext") && !end:
			z.NextIsNotRawText()
		case rawText(name) || void(name) && !end || name == "a":
			out.Write(raw)
		case !container(name):
		case deep > 0 && end:
			if deep--; deep == 0 {
				next("")
			} else {
				next("div")
				out.WriteString(">")
			}
		case end:
			for i := lastIndex(open, name); i >= 0 && len(open) > i; {
				last := len(open) - 1
				out.WriteString("</" + open[last] + ">")
				open = open[:last]
			}
		case deep == 0 && (len(open) < maxDepth || len(open) < maxDepth+3 && tablePart(open[len(open)-1])):
			open = append(open, name)
			out.Write(raw)
		default:
			deep++
			if role := roleOf(name); role == block || role == verbatim {
				next(name)
			} else {
				next("div") // the parser moves parts of lists and tables about, or ends others for them
			}
			out.Write(raw[1+len(name):]) // the attributes
		}
	}
	return out.String()
}

func lastIndex(names []string, name string) int {
	for i, n := range slices.Backward(names) {
		if n == name {
			return i
		}
	}
	return -1
}

// tablePart reports whether an element is part of a table that cannot hold text.
func tablePart(name string) bool {
	return slices.Contains([]string{"table", "thead", "tbody", "tfoot", "tr"}, name)
}

// rawText reports whether the content of an element is text, not markup.
func rawText(name string) bool {
	switch name {
	case "script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes":
		return true
	}
	return false
}

// container reports whether an element holds others, and matters to the text.
func container(name string) bool {
	switch roleOf(name) {
	case line, block, list, item, table, row, cell, verbatim, button:
		return true
	}
	return tablePart(name)
}
