package html

import (
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// Parse returns the tree of a document for goquery. The content of noscript is markup in it, as for a reader that runs no scripts.
//
// The parser of x/net follows the standard, which lets small documents make large trees and take long, and it refuses more than
// 512 open elements. So a document that does such a thing is tamed first, without loss of text: of repeated html and body tags
// the first few stay; bold, italic and the like are left out if they would be copied into block after block; and containers that
// are nested too deep stand one after another. Other documents are parsed as they are. The error is for what
// cannot happen then, as far as we know.
func Parse(src string) (*goquery.Document, error) {
	node, err := parse(tame(src))
	if err != nil {
		node, err = parse(flatten(src))
	}
	if err != nil {
		node, err = parse("<pre>\n" + html.EscapeString(Text(src, Options{})) + "</pre>")
	}
	if err != nil {
		return nil, err
	}
	return goquery.NewDocumentFromNode(node), nil
}

func parse(src string) (*html.Node, error) {
	return html.ParseWithOptions(strings.NewReader(src), html.ParseOptionEnableScripting(false))
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
