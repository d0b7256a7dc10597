package html

import (
	"strings"

	"golang.org/x/net/html"
)

// maxDepth is how deep elements may be nested in a flattened document. The parser opens two more for some, and refuses 512.
const maxDepth = 60

// flatten returns a document without formatting elements but links, in which elements that are nested deeper than maxDepth stand
// one after another, and what only makes sense inside of others is a div. It is for documents that the parser refuses.
func flatten(src string) string {
	f := &flattener{z: html.NewTokenizer(strings.NewReader(src))}
	for {
		kind := f.z.Next()
		raw := f.z.Raw()
		switch kind {
		case html.ErrorToken:
			f.close(0)
			return f.out.String()
		case html.StartTagToken, html.SelfClosingTagToken:
			f.start(tagName(raw), raw)
		case html.EndTagToken:
			f.end(tagName(raw), raw)
		default:
			f.out.Write(raw)
		}
	}
}

type flattener struct {
	z     *html.Tokenizer
	out   strings.Builder
	open  []string // as they are in the output
	floor int      // how many of them stay open below maxDepth
	deep  int      // elements open there, in the input
}

func (f *flattener) start(name string, raw []byte) {
	switch {
	case name == "noscript" || name == "plaintext":
		f.z.NextIsNotRawText()
	case rawText(name) || void(name) || name == "a":
		f.out.Write(raw)
	case !container(name):
	case f.deep == 0 && (len(f.open) < maxDepth || len(f.open) < maxDepth+3 && f.inTable()):
		f.open = append(f.open, name)
		f.out.Write(raw)
	default:
		if f.deep == 0 {
			f.floor = len(f.open)
		}
		f.deep++
		f.next(flat(name, raw))
	}
}

// next begins an element below maxDepth in place of the one before.
func (f *flattener) next(name string, raw []byte) {
	if string(raw) == "<div>" && strings.HasSuffix(f.out.String(), "<div>") {
		return // it would be empty
	}
	f.close(f.floor)
	f.open = append(f.open, name)
	f.out.Write(raw)
}

// inTable reports whether the innermost element is part of a table that cannot hold text.
func (f *flattener) inTable() bool {
	switch f.open[len(f.open)-1] {
	case "table", "thead", "tbody", "tfoot", "tr":
		return true
	}
	return false
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
	return name == "thead" || name == "tbody" || name == "tfoot"
}

// flat returns the tag of an element below maxDepth: that of a block as it is, but a div for parts of lists and tables, which
// the parser moves about or ends others for.
func flat(name string, raw []byte) (string, []byte) {
	switch roleOf(name) {
	case block, verbatim:
		return name, raw
	}
	at := 1 + strings.IndexAny(string(raw[1:])+" ", " \t\n\f\r/>")
	return "div", append([]byte("<div"), raw[min(at, len(raw)):]...)
}

func (f *flattener) end(name string, raw []byte) {
	switch {
	case rawText(name) || name == "a":
		f.out.Write(raw)
	case f.deep > 0 && container(name):
		if f.deep--; f.deep == 0 {
			f.close(f.floor)
		} else {
			f.next("div", []byte("<div>"))
		}
	default:
		f.endOf(name)
	}
}

// endOf closes an element that is open, and those in it.
func (f *flattener) endOf(name string) {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i] == name {
			f.close(i)
			return
		}
	}
}

// close closes all elements but n.
func (f *flattener) close(n int) {
	for len(f.open) > n {
		last := len(f.open) - 1
		f.out.WriteString("</" + f.open[last] + ">")
		f.open = f.open[:last]
	}
}
