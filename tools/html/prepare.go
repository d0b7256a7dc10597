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
		power(n, c)
	case role == list || c.DataAtom == atom.Blockquote:
		if nested++; nested > maxNested {
			rename(c, atom.Div)
		}
	case role == item && nested > maxNested:
		rename(c, atom.Div)
	case c.DataAtom == atom.Textarea || c.DataAtom == atom.Xmp || c.DataAtom == atom.Listing || c.DataAtom == atom.Plaintext:
		rename(c, atom.Pre)
	case role == shadow || c.DataAtom == atom.Noscript || c.DataAtom == atom.Option || c.DataAtom == atom.Dt || c.DataAtom == atom.Dd ||
		c.DataAtom == atom.Noframes || c.DataAtom == atom.Noembed || c.DataAtom == atom.Summary || c.DataAtom == atom.Legend:
		rename(c, atom.Div)
	case role == formula && attribute(c, "alttext") != "":
		text := &html.Node{Type: html.TextNode, Data: attribute(c, "alttext")}
		n.InsertBefore(text, c)
		n.RemoveChild(c)
		return next
	case c.DataAtom == atom.Img:
		p.image(c)
	case depth > maxInline && role == inline:
		return unwrap(n, c)
	}
	if next != nil && apart(c) && apart(next) {
		n.InsertBefore(spaceNode(), next)
	}
	p.node(c, nested, depth+1)
	return next
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
		link := &html.Node{Type: html.ElementNode, DataAtom: atom.A, Data: "a", Attr: []html.Attribute{{Key: "href", Val: address}}}
		link.AppendChild(&html.Node{Type: html.TextNode, Data: address})
		n.InsertBefore(link, c.NextSibling)
		return false
	case blocks > 1:
		inlineBlocks(c, spaceNode)
	}
	return true
}

// power puts a ^ in front of a superscript that would be read as part of the number or name before it.
func power(n, c *html.Node) {
	before := c.PrevSibling
	if before == nil || before.Type != html.TextNode || c.FirstChild == nil || c.FirstChild.Type != html.TextNode {
		return
	}
	if last, _ := utf8.DecodeLastRuneInString(before.Data); isWord(last) && c.FirstChild.Data != "" {
		if r := c.FirstChild.Data[0]; '0' <= r && r <= '9' {
			n.InsertBefore(&html.Node{Type: html.TextNode, Data: "^"}, c)
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

// image resolves the address of an image. One whose picture is in the attribute itself loses it.
func (p *preparation) image(c *html.Node) {
	setAttribute(c, "src", p.links.address(attribute(c, "src")))
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
