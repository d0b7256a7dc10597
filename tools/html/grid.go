package html

import (
	"slices"
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

// grid is what is known about a table before it becomes one of Markdown.
type grid struct {
	rows    []*html.Node
	cells   int
	columns int
	spans   bool
}

// prepareTables makes each table one that fits a grid, or no table any more.
func prepareTables(doc *html.Node) {
	var tables []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Table {
			tables = append(tables, n)
		}
	}
	for _, t := range tables {
		if g := (grid{}); !g.fit(t) {
			dissolve(t)
		}
	}
}

// fit reports whether a table fits a grid, and prepares it for that if so.
func (g *grid) fit(t *html.Node) bool {
	if !g.measure(t) || g.columns <= 1 {
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
		for c := range r.ChildNodes() {
			inlineBlocks(c, func() *html.Node { return element(atom.Br) })
		}
	}
	return true
}

// measure looks through a table, and reports whether it is one of data: not marked as layout, with no table or lines of verbatim
// text in it, and no more blocks in a row than data has.
func (g *grid) measure(t *html.Node) bool {
	if role := attribute(t, "role"); role == "presentation" || role == "none" {
		return false
	}
	blocks := 0 // in the current row
	for n := range t.Descendants() {
		switch roleOf(n.Data) {
		case table:
			return false
		case row:
			g.rows = append(g.rows, n)
			g.columns = max(g.columns, g.width(n))
			blocks = 0
		case verbatim:
			for text := range n.Descendants() {
				if text.Type == html.TextNode && strings.Contains(strings.TrimSpace(text.Data), "\n") {
					return false
				}
			}
		case block, item, line, lineBreak:
			if blocks++; blocks > maxRowBreaks {
				return false
			}
		}
	}
	return true
}

// width returns how many columns a row has.
func (g *grid) width(r *html.Node) int {
	n := 0
	for c := range r.ChildNodes() {
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
				r.InsertBefore(element(atom.Td), before)
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
					r.InsertBefore(element(atom.Td), c.NextSibling)
					c = c.NextSibling
				}
			}
		}
		fill(nil)
		g.columns = max(g.columns, column)
	}
}

// firstIsHeader makes the first row the only one with headers: the converter moves the row it takes for the header to the top.
func (g *grid) firstIsHeader(t *html.Node) {
	for c := range t.ChildNodes() {
		if c.DataAtom == atom.Thead || c.DataAtom == atom.Tfoot {
			rename(c, atom.Tbody)
		}
	}
	for i, r := range g.rows {
		for c := range r.ChildNodes() {
			if roleOf(c.Data) != cell {
				continue
			}
			c.Attr = slices.DeleteFunc(c.Attr, func(a html.Attribute) bool { return a.Key != "align" })
			rename(c, atom.Td)
			if i == 0 {
				rename(c, atom.Th)
			}
		}
	}
}

// captionFirst moves a caption before its table, where browsers show it.
func captionFirst(t *html.Node) {
	for c := range t.ChildNodes() {
		if c.DataAtom == atom.Caption {
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
	for c := range n.ChildNodes() {
		switch c.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
			dissolve(c)
		case atom.Td, atom.Th, atom.Caption:
			rename(c, atom.Div)
		}
	}
}
