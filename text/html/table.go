package html

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// A row of cells is written as they come, with a TAB between cells, but breaks within a cell are only marked at first: whether they
// are spaces, in a row of data, or new lines, in one that is there for layout, is known when the row ends or when something in it
// gives it away. As a nested table does so, the rows around the one being written are decided, and every byte is looked at once
// more at most. In Markdown, rows of data that follow one another become a table when something else follows.

// rowBreaks are the marks for breaks of one and two lines.
var rowBreaks = [...]byte{1: '\x01', 2: '\x02'}

const (
	// maxRowBreaks is the most breaks in a row of data.
	maxRowBreaks = 24
	// maxSpan is how many rows or columns a cell spans at most.
	maxSpan = 20
	// maxColumns is how many columns a table with spans has at most.
	maxColumns = 60
)

// tableRow is a row being written.
type tableRow struct {
	open   bool
	layout bool // breaks are new lines, and so are the borders of cells
	begun  bool // has text
	fresh  bool // the current cell has no text yet
	item   bool // it begins an item of a list
	lines  int  // breaks before the row
	spaced bool // it would have a blank line before it if it were one for layout
	start  int  // where in the output
	column int  // of the current cell, or -1
	last   int  // column with text
	cells  int  // with text
	breaks int  // marked
}

// tableState is what is kept of a table while another is open in it.
type tableState struct {
	row   tableRow
	level int // of lists around it
	pre   int // of verbatim elements around it
	plain bool
	reach []int // for each column, the row in which the cell above ends
	count int   // of rows
}

// candidate reports whether breaks are to be marked: the row may be one of data.
func (r *tableRow) candidate() bool { return r.open && r.begun && !r.layout }

// begin writes what separates the text to come from the row or cell before it.
func (r *tableRow) begin(w *writer) {
	if !r.open || r.layout {
		return
	}
	if !r.begun {
		inCell := w.item
		w.item = r.item
		if len(w.out) > 0 {
			w.newLine(max(1, r.lines))
			r.spaced = r.lines < w.lines
		} else {
			w.out = w.marker(w.out)
		}
		w.item = inCell
		r.begun, r.fresh = true, true
		r.start = len(w.out)
	}
	for r.column = max(r.column, 0); r.last < r.column; r.last++ {
		w.out = append(w.out, '\t')
		r.fresh = true
	}
	if r.fresh {
		r.cells++
	}
}

// table is the table that is open, or what is around all.
func (r *renderer) table() *tableState { return &r.tables[len(r.tables)-1] }

// openTable begins a table in what is written so far.
func (r *renderer) openTable() {
	r.endCell()
	role := r.attr("role")
	if len(r.tables) > 1 && !r.row.open { // not in a cell: browsers end the table before
		r.closeTable()
	}
	if r.row.open {
		switch {
		case r.row.candidate():
			r.layOut()
		case !r.row.layout:
			r.breakLines(r.row.lines)
			r.item = r.row.item
		}
		r.row.layout, r.row.fresh = true, false
		r.breakLines(r.gap)
	} else {
		r.breakLines(2)
	}
	plain := role == "presentation" || role == "none"
	r.tables = append(r.tables, tableState{row: r.row, level: len(r.levels), pre: r.verbatim, plain: plain})
	r.row, r.grid = tableRow{}, false
}

// closeTable ends a table and goes back to the row it is in, if any.
func (r *renderer) closeTable() {
	if len(r.tables) == 1 {
		return
	}
	r.endCell()
	r.endRow()
	r.pipes()
	r.row = r.table().row
	r.restoreLevel()
	r.tables = r.tables[:len(r.tables)-1]
	if r.row.open && !r.grid {
		r.breakLines(r.gap)
	} else {
		r.breakLines(2)
	}
}

// endCell ends what does not go on in another cell or item.
func (r *renderer) endCell() {
	r.closeAnchor()
	r.resetMarks()
}

// restoreLevel ends the lists and verbatim elements in a table or cell that were not closed.
func (r *renderer) restoreLevel() {
	r.levels, r.verbatim = r.levels[:min(len(r.levels), r.table().level)], r.table().pre
}

// openRow begins a row.
func (r *renderer) openRow() {
	r.endCell()
	if len(r.tables) > 1 {
		r.restoreLevel()
	}
	r.endRow()
	r.breakLines(r.gap)
	r.table().count++
	r.row = tableRow{open: true, layout: r.table().plain, lines: r.lines, item: r.item, column: -1}
}

// openCell begins a cell. It stands right of those that reach down from above.
func (r *renderer) openCell() {
	r.endCell()
	if len(r.tables) > 1 {
		r.restoreLevel()
	}
	if !r.row.open {
		r.openRow()
	}
	if r.row.layout {
		r.breakLines(r.gap)
		return
	}
	r.row.column++
	r.row.fresh, r.due = true, true
	r.lines, r.space, r.apart, r.item = 0, false, false, false
	t := r.table()
	for r.row.column < len(t.reach) && t.reach[r.row.column] > t.count {
		r.row.column++
	}
	if raw := r.z.Raw(); !bytes.Contains(raw, []byte("span")) && !bytes.Contains(raw, []byte("SPAN")) {
		return // as most do
	}
	columns, rows := span(r.attr("colspan")), span(r.attr("rowspan"))
	if r.row.column+columns > maxColumns {
		return
	}
	for len(t.reach) < r.row.column+columns {
		t.reach = append(t.reach, 0)
	}
	for i := range columns {
		t.reach[r.row.column+i] = t.count + rows
	}
}

// span returns how many columns or rows an attribute asks for.
func span(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}

// endRow ends the row, if one is open, and decides what its breaks are.
func (w *writer) endRow() {
	switch {
	case !w.row.candidate():
	case w.row.cells == 1 && w.row.breaks > 0:
		w.layOut()
	case w.markdown:
		w.suspendMarks(0)
		w.grid = w.row.cells > 1
		if w.rows++; w.rows == 1 {
			w.rowsStart, w.rowsLevel = w.row.start, len(w.levels)
		}
		w.rowsEnd = len(w.out)
	default:
		w.grid = w.row.cells > 1
		if w.row.breaks > 0 { // which are spaces
			w.out = append(w.out[:w.row.start], markedBreak().ReplaceAll(w.out[w.row.start:], []byte{' '})...)
		}
	}
	if w.row.open {
		if !w.row.layout {
			w.lines = 0
			if !w.row.begun {
				w.lines = w.row.lines
			}
		}
		w.breakLines(w.gap)
		w.item = false
	}
	w.row = tableRow{}
}

var markedBreak = lazyregexp.New(`[\x01\x02][\x01\x02 ]*`)

// layOut makes the breaks that are marked in the row, and the borders of its cells, new lines. What follows in the row is
// written like that at once.
func (w *writer) layOut() {
	w.pipes()
	r := &w.row
	if end := bytes.LastIndexByte(w.out[:r.start], '\n'); r.spaced && end >= 0 {
		w.replace(end, end, "\n")
	}
	row := string(w.out[r.start:])
	for _, p := range w.positions() {
		if *p > r.start {
			*p = r.start + len(w.laidOut(row[:*p-r.start]))
		}
	}
	w.out = append(w.out[:r.start], w.laidOut(row)...)
	r.layout = true
	if r.last < r.column || r.fresh {
		w.breakLines(w.gap)
	}
	r.fresh = false
}

// laidOut returns the text of a row with new lines for breaks and borders of cells.
func (w *writer) laidOut(row string) (out []byte) {
	gap := true // at the beginning of a line
	for i := range len(row) {
		switch c := row[i]; {
		case c == '\x02':
			out = w.lineEnds(out, 2)
		case c == '\x01' && !gap:
			if w.markdown && !strings.HasPrefix(row[i+1:], "- ") {
				out = append(out, "  "...)
			}
			out = w.lineEnds(out, 1)
		case c == '\t' && !gap:
			out = w.lineEnds(out, w.gap)
		case c > '\x02' && c != '\t':
			out = append(out, c)
			gap = false
			continue
		}
		gap = true
	}
	return out
}
