package document

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// CSVRows returns the rows of a table in text, a line each, with a TAB between cells. The
// delimiter is a comma, semicolon, TAB or bar, whichever fits best. Line breaks and TABs
// inside a cell are spaces. The error is a [*LimitError], which comes with the text up to
// there.
func CSVRows(src string, limits Limits) (string, error) {
	budget := newBudget(limits.orDefault())
	g := grid{budget: &budget}
	first, rest, _ := strings.Cut(src, "\n")
	delimiter, told := strings.CutPrefix(strings.TrimSpace(first), "sep=") // Excel's way to tell it
	comma, n := utf8.DecodeRuneInString(delimiter)
	if told && n > 0 && n == len(delimiter) && comma != '"' && comma != utf8.RuneError {
		src = rest
	} else {
		comma = guessComma(src)
	}
	r := newCSV(src, comma)
	for {
		record, err := r.Read()
		if err == io.EOF {
			return trimmed(g.rows), nil
		}
		if err != nil {
			return trimmed(g.rows), err
		}
		g.row++
		for i, field := range record {
			if field = strings.TrimRight(field, "\r\n"); field == "" {
				continue
			}
			if _, err := g.put(i+1, []byte(field)); err != nil {
				return trimmed(g.rows), err
			}
		}
		if err := g.endRow(); err != nil {
			return trimmed(g.rows), err
		}
	}
}

func newCSV(src string, comma rune) *csv.Reader {
	r := csv.NewReader(strings.NewReader(src))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = comma, true, -1, true
	return r
}

// guessComma returns the delimiter with which most of the first rows have as many cells as
// the first one, and of several the one with most cells.
func guessComma(src string) (best rune) {
	const sample, rows = 64 << 10, 50
	best, most := ',', 0
	for _, comma := range ",;\t|" {
		r := newCSV(src[:min(len(src), sample)], comma)
		cells, same := 0, 0
		for range rows {
			record, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if cells == 0 {
				cells = len(record)
			}
			if len(record) == cells {
				same++
			}
		}
		if score := same*1000 + min(cells, 999); cells > 1 && score > most {
			best, most = comma, score
		}
	}
	return best
}

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
