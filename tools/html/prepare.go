package html

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxNested is how many lists and quotes Markdown nests.
	maxNested = 12
	// maxInline is how deep anything else is nested: the converter renders some elements more than once.
	maxInline = 100
	// maxLinkBlocks is how many blocks there are in a link.
	maxLinkBlocks = 20
)

// maxBrackets is how many bytes the converter may look at behind opening brackets for closing ones. In a document with more, what
// could be taken for Markdown is not escaped.
const maxBrackets = 50 << 20

// preparation makes a tree what the Markdown converter is good at.
type preparation struct {
	links    links
	brackets int // bytes between opening brackets and closing ones
}

// prepare does all of it: unwanted elements are removed or unwrapped, addresses resolved, and tables made what fits a grid.
func (p *preparation) prepare(doc *html.Node) {
	p.node(doc, 0, 0)
	prepareTables(doc)
}

// node prepares what is in n; nested counts the lists and quotes around it, and depth all elements.
func (p *preparation) node(n *html.Node, nested, depth int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch c.Type {
		case html.TextNode:
			c.Data = visible(c.Data)
			p.brackets += betweenBrackets(c.Data)
		case html.CommentNode:
			n.RemoveChild(c)
		case html.ElementNode:
			next = p.element(n, c, nested, depth)
		}
		c = next
	}
}

// element prepares c, a child of n, and returns where to go on.
func (p *preparation) element(n, c *html.Node, nested, depth int) *html.Node {
	next := c.NextSibling
	switch role := roleOf(c.Data); {
	case role == skipped || role == dropped || role == shadow && attribute(c, "shadowrootmode") == "":
		n.RemoveChild(c)
		return next
	case role == anchor && !p.anchor(n, c):
		return unwrap(n, c)
	case formatting(c.Data) && role == inline && blocksIn(c, 1) > 0:
		return unwrap(n, c)
	case role == superscript:
		caretSuperscript(n, c)
	case role == list || c.DataAtom == atom.Blockquote:
		if nested++; nested > maxNested {
			rename(c, atom.Div)
		}
	case role == item && nested > maxNested:
		rename(c, atom.Div)
	case role == verbatim:
		rename(c, atom.Pre)
	case role == shadow || dividing(c.DataAtom):
		rename(c, atom.Div)
	case role == formula && attribute(c, "alttext") != "":
		n.InsertBefore(textNode(attribute(c, "alttext")), c)
		n.RemoveChild(c)
		return next
	case c.DataAtom == atom.Img:
		setAttribute(c, "src", p.links.address(attribute(c, "src")))
	case depth > maxInline && role == inline:
		return unwrap(n, c)
	}
	if next != nil && apart(c) && apart(next) {
		n.InsertBefore(textNode(" "), next)
	}
	p.node(c, nested, depth+1)
	return next
}

// dividing reports whether an element is a block that the converter does not know.
func dividing(a atom.Atom) bool {
	switch a {
	case atom.Noscript, atom.Option, atom.Dt, atom.Dd, atom.Noframes, atom.Noembed, atom.Summary, atom.Legend:
		return true
	}
	return false
}

// apart reports whether words in neighbouring elements of the kind would be glued: links and buttons have borders on the screen.
func apart(n *html.Node) bool { return roleOf(n.Data) == anchor || roleOf(n.Data) == button }

// anchor resolves a link, and reports whether it is one that leads somewhere. One around so much that it was likely never closed
// becomes a link behind its text.
func (p *preparation) anchor(n, c *html.Node) bool {
	address := p.links.address(attribute(c, "href"))
	if address == "" || p.links.style == None {
		return false
	}
	setAttribute(c, "href", address)
	switch blocks := blocksIn(c, maxLinkBlocks+1); {
	case blocks > maxLinkBlocks:
		link := element(atom.A, html.Attribute{Key: "href", Val: address})
		link.AppendChild(textNode(address))
		n.InsertBefore(link, c.NextSibling)
		return false
	case blocks > 1:
		inlineBlocks(c, func() *html.Node { return textNode(" ") })
	}
	return true
}

// caretSuperscript puts a ^ in front of a superscript that would be read as part of the number or name before it.
func caretSuperscript(n, c *html.Node) {
	before := c.PrevSibling
	if before == nil || before.Type != html.TextNode || c.FirstChild == nil || c.FirstChild.Type != html.TextNode {
		return
	}
	if last, _ := utf8.DecodeLastRuneInString(before.Data); isWord(last) && c.FirstChild.Data != "" {
		if r := c.FirstChild.Data[0]; '0' <= r && r <= '9' {
			n.InsertBefore(textNode("^"), c)
		}
	}
}

// betweenBrackets returns how many bytes there are behind opening brackets up to closing ones. Where there is none in the same
// text, one may be far.
func betweenBrackets(s string) int {
	const far = 5000
	n, closing := 0, len(s)+far
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']':
			closing = i
		case '[':
			n += closing - i
		}
	}
	return n
}

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
	for c := range n.Descendants() {
		switch roleOf(c.Data) {
		case table:
			return limit
		case block, line, list, item, verbatim, lineBreak:
			if blocks++; blocks == limit {
				return limit
			}
		}
	}
	return blocks
}

// unwrap puts the children of c in its place in n, and returns the first of them, or else what follows.
func unwrap(n, c *html.Node) *html.Node {
	next := c.FirstChild
	if next == nil {
		next = c.NextSibling
	}
	for child := c.FirstChild; child != nil; child = c.FirstChild {
		c.RemoveChild(child)
		n.InsertBefore(child, c)
	}
	n.RemoveChild(c)
	return next
}

func textNode(s string) *html.Node { return &html.Node{Type: html.TextNode, Data: s} }

func element(a atom.Atom, attr ...html.Attribute) *html.Node {
	return &html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String(), Attr: attr}
}

// visible returns text without what cannot be seen.
func visible(s string) string {
	before := ' '
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case oddSpace(r):
			r = ' '
		case unicode.IsControl(r) || unseen(r) || joiner(r) && before < utf8.RuneSelf:
			return -1
		}
		before = r
		return r
	}, s)
}

func rename(n *html.Node, a atom.Atom) { n.DataAtom, n.Data = a, a.String() }

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func setAttribute(n *html.Node, key, value string) {
	for i, a := range n.Attr {
		if a.Key == key {
			n.Attr[i].Val = value
		}
	}
}

// span returns the value of colspan or rowspan as a number that is at least 1.
func span(n *html.Node, key string) int {
	v, err := strconv.Atoi(strings.TrimSpace(attribute(n, key)))
	if err != nil || v < 1 {
		return 1
	}
	return v
}
