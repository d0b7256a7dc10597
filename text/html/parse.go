package html

import (
	"errors"
	"strings"

	"golang.org/x/net/html"
)

const (
	// maxRoots is how many html and body tags may add their attributes to the tree: it costs the square of their number.
	maxRoots = 8
	// maxCopies is how many copies of formatting elements, or of two attributes each, the parser may have to make.
	maxCopies = 500_000
	// maxDepth is how deep elements are nested in a tree that is made without the parser.
	maxDepth = 60
)

// parseTree returns the tree of a document. The content of noscript is markup in it, as for a reader that runs no scripts.
//
// The parser of x/net follows the standard, which lets small documents make large trees and take long, and it rejects more than
// 512 open elements. The trees of such documents are made by [plainTree].
func parseTree(src string) *html.Node {
	doc, err := parseStrictly(src)
	if err != nil {
		return plainTree(src, false)
	}
	return doc
}

var errCostly = errors.New("the tree may be out of proportion to the document")

// parseStrictly returns the tree that browsers make, if it is not costly.
func parseStrictly(src string) (*html.Node, error) {
	if costly(src) {
		return nil, errCostly
	}
	return html.ParseWithOptions(strings.NewReader(src), html.ParseOptionEnableScripting(false))
}

// plainTree makes a tree of a document as its tags say, without repairs. Elements more than maxDepth deep stand beside one another.
// With seen, those that are not seen are left out, up to the next end tag of their name that is not that of one within.
func plainTree(src string, seen bool) *html.Node {
	open := []*html.Node{{Type: html.DocumentNode}}
	deep := 0 // elements open beyond maxDepth
	hidden, level := "", 0
	s := newScanner(src)
	s.strict = seen
	for s.next() {
		if hidden != "" {
			name, _ := s.z.TagName() // of text there is none
			switch {
			case string(name) != hidden:
			case s.kind != html.EndTagToken:
				level++
			default:
				if level--; level == 0 {
					hidden = ""
				}
			}
			continue
		}
		switch s.kind {
		case html.TextToken:
			open[len(open)-1].AppendChild(&html.Node{Type: html.TextNode, Data: strings.ToValidUTF8(string(s.content()), "\uFFFD")})
		case html.EndTagToken:
			if deep > 0 {
				deep--
				continue
			}
			name, _ := s.z.TagName()
			for i := len(open) - 1; i > 0; i-- {
				if open[i].Data == string(name) {
					open = open[:i]
					break
				}
			}
		default:
			tag := s.z.Token()
			n := &html.Node{Type: html.ElementNode, DataAtom: tag.DataAtom, Data: tag.Data, Attr: tag.Attr}
			if seen && unseenByItself(n) {
				if !void(tag.Data) {
					hidden, level = tag.Data, 1
				}
				continue
			}
			if len(open) > maxDepth {
				open = open[:maxDepth]
				deep++
			}
			open[len(open)-1].AppendChild(n)
			if !void(tag.Data) {
				open = append(open, n)
			}
		}
	}
	return open[0]
}

// costly reports whether the parser may make a tree out of proportion to a document.
//
// Formatting elements that are not closed in the block they are in are copied into the ones that follow. What the parser does
// exactly takes a parser to know. This overestimates: every formatting element counts as copied into each block within it, and
// those that are not properly nested as copied into all that follow.
func costly(src string) bool {
	type opened struct {
		name string
		cost int // of a copy; 0 if it is not copied
	}
	const far = 64 // elements that an end tag is searched for in
	var open []opened
	known := elements()
	cost, copies, roots := 0, 0, 0
	foreign := 0 // drawings and formulas that may be open, in which no text is raw
	z := html.NewTokenizer(strings.NewReader(src))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken && kind != html.EndTagToken {
			continue
		}
		name := tagName(z.Raw())
		is := known[name]
		root, copied, drawing := name == "html" || name == "body", is.formatting, name == "svg" || name == "math"
		if !copied {
			copies += cost
		}
		if kind == html.EndTagToken {
			for i := len(open) - 1; i >= max(0, len(open)-far); i-- {
				if open[i].name != name {
					continue
				}
				if i == len(open)-1 {
					cost -= open[i].cost
					if drawing {
						foreign--
					}
				}
				open = open[:i]
				break
			}
			continue
		}
		if drawing {
			foreign++
		}
		if foreign > 0 || name == "noscript" {
			z.NextIsNotRawText()
		}
		e := opened{name: name}
		if copied {
			e.cost = 1 + len(z.Raw())/16
		}
		if root {
			roots++
		} else if !is.void {
			open = append(open, e)
			cost += e.cost
		}
		if copies > maxCopies || roots > maxRoots {
			return true
		}
	}
	return false
}
