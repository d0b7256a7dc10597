package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxSpan is how many rows or columns a cell spans at most.
	maxSpan = 20
	// maxFill is how many cells a grid may have for one of the table; the rest is there to make its rows equally long.
	maxFill = 8
)

// grid is what is found out about a table before it becomes one of Markdown.
type grid struct {
	rows    []*html.Node
	cells   int
	columns int
	spans   bool
	layout  bool // not data
	blocks  int  // in the current row
}

// prepareTables makes each table one that fits a grid, or no table any more.
func prepareTables(doc *html.Node) {
	tables := tablesOf(doc, nil)
	outer := make(map[*html.Node]bool) // tables with tables in them
	for _, t := range tables {
		for p := t.Parent; p != nil; p = p.Parent {
			if p.DataAtom == atom.Table {
				outer[p] = true
				break
			}
		}
	}
	for _, t := range tables {
		role := attribute(t, "role")
		g := grid{layout: outer[t] || role == "presentation" || role == "none"}
		if !g.fit(t) {
			dissolve(t)
		}
	}
}

// tablesOf appends the tables in a document.
func tablesOf(n *html.Node, tables []*html.Node) []*html.Node {
	if n.DataAtom == atom.Table {
		tables = append(tables, n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		tables = tablesOf(c, tables)
	}
	return tables
}

// fit reports whether a table fits a grid, and prepares it for that if so.
func (g *grid) fit(t *html.Node) bool {
	if !g.layout {
		g.measure(t)
	}
	if g.layout || g.columns <= 1 {
		return false
	}
	if g.spans {
		g.spread()
	}
	if g.columns*len(g.rows) > maxFill*g.cells+1000 {
		return false
	}
	g.firstIsHeader(t)
	captionFirst(t)
	for _, r := range g.rows {
		for c := r.FirstChild; c != nil; c = c.NextSibling {
			inlineBlocks(c, lineBreakNode)
		}
	}
	return true
}

// measure walks through a table, or through a part of one.
func (g *grid) measure(n *html.Node) {
	for c := n.FirstChild; c != nil && !g.layout; c = c.NextSibling {
		switch roleOf(c.Data) {
		case row:
			g.rows = append(g.rows, c)
			g.blocks = 0
			g.columns = max(g.columns, g.width(c))
		case verbatim:
			g.layout = multiline(c)
		case block, item, line, lineBreak:
			g.blocks++
			g.layout = g.blocks > maxRowBreaks
		}
		g.measure(c)
	}
}

// multiline reports whether verbatim text has more than one line.
func multiline(n *html.Node) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode && strings.Contains(strings.TrimSpace(c.Data), "\n") || multiline(c) {
			return true
		}
	}
	return false
}

// width returns how many columns a row has.
func (g *grid) width(r *html.Node) int {
	n := 0
	for c := r.FirstChild; c != nil; c = c.NextSibling {
		if roleOf(c.Data) == cell {
			columns, rows := span(c, "colspan"), span(c, "rowspan")
			g.spans = g.spans || columns > 1 || rows > 1
			g.cells++
			n += min(columns, maxSpan)
		}
	}
	return n
}

// spread puts empty cells where cells reach from others, so that each stands in its column. The converter's own way to do so counts
// columns by cells.
func (g *grid) spread() {
	budget := 2*g.cells + 1000
	var reach []int // for each column, how many rows more a cell from above takes
	for i, r := range g.rows {
		column := 0
		fill := func(before *html.Node) {
			for ; column < len(reach) && reach[column] > 0; column++ {
				reach[column]--
				r.InsertBefore(emptyCell(), before)
			}
		}
		for c := r.FirstChild; c != nil; c = c.NextSibling {
			if roleOf(c.Data) != cell {
				continue
			}
			fill(c)
			columns := min(span(c, "colspan"), maxSpan)
			rows := min(span(c, "rowspan"), maxSpan, len(g.rows)-i)
			if budget -= columns*rows - 1; budget < 0 {
				columns, rows = 1, 1
			}
			for n := range columns {
				if column++; column > len(reach) {
					reach = append(reach, 0)
				}
				reach[column-1] = rows - 1
				if n > 0 {
					r.InsertBefore(emptyCell(), c.NextSibling)
					c = c.NextSibling
				}
			}
		}
		fill(nil)
		g.columns = max(g.columns, column)
	}
}

func emptyCell() *html.Node { return &html.Node{Type: html.ElementNode, DataAtom: atom.Td, Data: "td"} }

// firstIsHeader makes the first row the only one with headers: the converter moves the row it takes for the header to the top.
func (g *grid) firstIsHeader(t *html.Node) {
	for c := t.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Thead || c.DataAtom == atom.Tfoot {
			rename(c, atom.Tbody)
		}
	}
	for i, r := range g.rows {
		for c := r.FirstChild; c != nil; c = c.NextSibling {
			if roleOf(c.Data) == cell {
				c.Attr = alignment(c.Attr)
				if i > 0 {
					rename(c, atom.Td)
				} else {
					rename(c, atom.Th)
				}
			}
		}
	}
}

// alignment returns the attribute for the alignment of a cell alone.
func alignment(attr []html.Attribute) []html.Attribute {
	for i, a := range attr {
		if a.Key == "align" {
			return attr[i : i+1]
		}
	}
	return nil
}

// captionFirst moves a caption before its table, where browsers show it.
func captionFirst(t *html.Node) {
	for c := t.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Caption && t.Parent != nil {
			t.RemoveChild(c)
			rename(c, atom.P)
			t.Parent.InsertBefore(c, t)
			return
		}
	}
}

// dissolve makes a table, and its rows and cells, blocks.
func dissolve(n *html.Node) {
	rename(n, atom.Div)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
			dissolve(c)
		case atom.Td, atom.Th, atom.Caption:
			rename(c, atom.Div)
		}
	}
}
