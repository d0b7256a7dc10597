package document

import (
	"fmt"
	"strings"
)

// grid is the text of a workbook: for each sheet a line "## Name" and a line for each
// row, with a TAB between cells. Empty cells and rows before filled ones keep their place.
type grid struct {
	*budget
	rows   []byte // the text
	row    int    // number of the row being read
	shown  int    // number of the last row that was written
	line   []byte // the row
	column int    // of the last cell in line, from 1
}

// Bounds of a sheet (Microsoft's specifications and limits of Excel).
const (
	maxRow    = 1 << 20
	maxColumn = 1 << 14
)

// maxGap is the most empty rows in a row that are written as such.
const maxGap = 10

// begin begins a sheet.
func (g *grid) begin(name string, hidden bool) error {
	if len(g.rows) > 0 {
		g.rows = append(g.rows, '\n')
	}
	title := "## " + string(appendFlat(nil, []byte(name)))
	if hidden {
		title += " (hidden)"
	}
	if !g.take(len(title) + 2) {
		return g.full
	}
	g.rows = append(append(g.rows, title...), '\n')
	g.row, g.shown = 0, 0
	return nil
}

// put appends a cell that is not empty to the row, and returns its column. A cell in a
// place already taken goes to the next one. White space in it becomes spaces.
func (g *grid) put(column int, text []byte) (int, error) {
	column = max(column, g.column+1)
	tabs := column - max(g.column, 1)
	if !g.take(tabs + len(text)) {
		return column, g.full
	}
	g.line = append(g.line, strings.Repeat("\t", tabs)...)
	for _, c := range text {
		if c == '\t' || c == '\n' || c == '\r' {
			c = ' '
		}
		g.line = append(g.line, c)
	}
	g.column = column
	return column, nil
}

// endRow writes the row, unless it is empty, and begins another.
func (g *grid) endRow() error {
	if g.column > 0 {
		gap := strings.Repeat("\n", min(max(g.row-g.shown-1, 0), maxGap+1))
		if len(gap) > maxGap {
			gap = fmt.Sprintf("[rows %d-%d are empty]\n", g.shown+1, g.row-1)
		}
		if g.take(len(gap) + 1) {
			g.rows = append(g.rows, gap...)
		}
		g.shown = g.row
		g.rows = append(append(g.rows, g.line...), '\n')
	}
	g.line, g.column = g.line[:0], 0
	return g.full
}
