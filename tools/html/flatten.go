package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// maxDepth is how deep elements may be nested in a flattened document. The parser opens two more for some, and rejects 512.
const maxDepth = 60

// flatten returns a document without formatting elements except links, in which every element nested deeper than maxDepth is a
// paragraph beside the others. It is for documents that the parser rejects.
func flatten(src string) string {
	var out strings.Builder
	var open []string // containers, as they are in the output
	deep := 0         // containers that are open below them in the input
	z := html.NewTokenizer(strings.NewReader(src))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		raw := z.Raw()
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			out.Write(raw)
			continue
		}
		name, end := tagName(z), kind == html.EndTagToken
		switch {
		case (name == "noscript" || name == "plaintext") && !end:
			z.NextIsNotRawText()
		case rawText(name) || void(name) && !end || name == "a":
			out.Write(raw)
		case !container(name):
		case deep > 0 && end:
			deep--
			out.WriteString("</p>")
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
			out.WriteString("<p")
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
