package html

import (
	"bytes"

	"golang.org/x/net/html/atom"
)

// tagName returns the name in a tag in small letters, or "unknown" if HTML does not know it. Unlike the tokenizer's it costs no
// allocation.
func tagName(raw []byte) string {
	var name [24]byte // longer than the name of any element
	n := 0
	for _, c := range bytes.TrimPrefix(raw[1:], []byte{'/'}) {
		if c <= ' ' || c == '/' || c == '>' || n == len(name) {
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		name[n] = c
		n++
	}
	if a := atom.Lookup(name[:n]); a != 0 {
		return a.String()
	}
	return "unknown"
}

// role is what an element does to the text around it.
type role uint8

const (
	inline    role = iota
	line           // on lines of its own
	block          // set apart by a blank line
	heading        // a block
	quotation      // a block
	rule           // a block
	object         // leaves nothing, but the words beside it stay apart
	image          // an object in text
	button         // stays apart from the words beside it
	skipped        // not text, up to its end tag
	dropped        // its content is one text token, and not text
	lineBreak
	list
	item
	table
	row
	cell
	verbatim
	anchor
	frame
	quote
	superscript
	formulas
	symbol    // in a formula
	annotated // with how it is read
	shadow    // a template
	emphasis  // bold, italic, struck or code in Markdown
)

// roleOf returns what an element does. It is a switch because it is asked for every tag; a map costs a tenth of all time.
func roleOf(name string) role {
	switch name {
	case "address", "body", "caption", "center", "dd", "div", "dt", "figcaption", "frameset", "head", "hgroup", "html", "legend", "marquee",
		"noembed", "noframes", "noscript", "optgroup", "option", "search", "select", "summary":
		return line
	case "article", "aside", "details", "dialog", "dl", "fieldset", "figure", "footer", "form", "header",
		"main", "nav", "p", "section":
		return block
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return heading
	case "blockquote":
		return quotation
	case "hr":
		return rule
	case "embed", "input", "meter", "object", "progress":
		return object
	case "image", "img":
		return image
	case "button", "cite":
		return button
	case "annotation", "annotation-xml", "audio", "canvas", "datalist", "svg", "video":
		return skipped
	case "iframe", "script", "style", "title":
		return dropped
	case "br":
		return lineBreak
	case "dir", "menu", "ol", "ul":
		return list
	case "li":
		return item
	case "table":
		return table
	case "tr":
		return row
	case "td", "th":
		return cell
	case "listing", "plaintext", "pre", "textarea", "xmp":
		return verbatim
	case "a":
		return anchor
	case "frame":
		return frame
	case "q":
		return quote
	case "sup":
		return superscript
	case "math":
		return formulas
	case "mi", "mn", "mo", "ms", "mtext":
		return symbol
	case "rp", "rt", "ruby":
		return annotated
	case "template":
		return shadow
	case "b", "code", "del", "em", "i", "kbd", "s", "samp", "strike", "strong", "tt", "var":
		return emphasis
	}
	return inline
}

// breaksOut reports whether an element ends a drawing (svg) that it is found in, as in browsers, for drawings that are not closed.
func (r role) breaksOut() bool {
	switch r {
	case line, block, heading, quotation, rule, list, item, table, verbatim, lineBreak:
		return true
	}
	return false
}
