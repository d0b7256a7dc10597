package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inlineBlocks makes the blocks in n inline, with a separator between them: cells and links of Markdown have one line.
func inlineBlocks(n *html.Node, separator func() *html.Node) {
	j := joiningBlocks{separator: separator}
	j.walk(n)
}

type joiningBlocks struct {
	separator func() *html.Node
	text      bool // there was some
	due       bool // a block has begun or ended since
}

func (j *joiningBlocks) walk(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		isBlock := false
		switch role := roleOf(c.Data); {
		case c.Type == html.TextNode:
			if strings.TrimSpace(c.Data) != "" {
				j.content(n, c)
			}
		case c.DataAtom == atom.Img:
			j.content(n, c)
		case c.DataAtom == atom.Hr || role == lineBreak:
			n.RemoveChild(c)
			isBlock = true
		case role == block || role == line || role == list || role == item || role == verbatim:
			rename(c, atom.Span)
			isBlock = true
		}
		j.due = j.due || isBlock
		j.walk(c)
		j.due = j.due || isBlock
		c = next
	}
}

// content puts the separator that is due in front of c.
func (j *joiningBlocks) content(n, c *html.Node) {
	if j.due && j.text {
		n.InsertBefore(j.separator(), c)
	}
	j.text, j.due = true, false
}

// blocksIn counts the blocks in n, but no more than limit.
func blocksIn(n *html.Node, limit int) int {
	blocks := 0
	for c := n.FirstChild; c != nil && blocks < limit; c = c.NextSibling {
		switch roleOf(c.Data) {
		case table:
			return limit
		case block, line, list, item, verbatim, lineBreak:
			blocks++
		}
		blocks += blocksIn(c, limit-blocks)
	}
	return min(blocks, limit)
}

func spaceNode() *html.Node { return &html.Node{Type: html.TextNode, Data: " "} }

func lineBreakNode() *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: atom.Br, Data: "br"}
}
