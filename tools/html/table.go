package html

import "bytes"

// A row of cells is written as they come, but breaks within a cell are only marked at first: whether they are spaces, in a row of
// data, or new lines, in one that is there for layout, is known when the row ends or when something in it gives it away. As a
// nested table does so, the rows around the one being written are decided, and every byte is looked at once more at most.

// rowBreaks are the marks for breaks of one and two lines. They take at least the room of what they become in place.
var rowBreaks = [...]string{1: "\x01", 2: "\x02\x02"}

// maxRowBreaks is the most breaks in a row of data.
const maxRowBreaks = 24

// tableRow is a row being written.
type tableRow struct {
	open   bool
	layout bool // breaks are new lines, and so are the borders of cells
	begun  bool // has text
	fresh  bool // the current cell has no text yet
	lines  int  // breaks before the row
	start  int  // where in the output
	celled bool // has a cell
	item   bool // it begins an item of a list
	tabs   int  // borders of cells since the last text
	spaced bool // there is a blank line before it, for a block in it
	cells  int  // with text
	filled bool // the current cell is counted in cells
	breaks int  // marked
}

// tableState is what is kept of a table while another is open in it.
type tableState struct {
	row   tableRow
	level int // of lists around it
	pre   int // of verbatim elements around it
	plain bool
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
			r.spaced = r.lines < 2 && w.lines == 2
			w.newLine(max(1, r.lines, w.lines))
		} else {
			w.marker()
		}
		w.item = inCell
		r.begun, r.celled, r.fresh = true, true, true
		r.start = len(w.out)
	}
	for ; r.tabs > 0; r.tabs-- {
		w.out = append(w.out, '\t')
		r.fresh = true
	}
	if !r.filled {
		r.filled = true
		r.cells++
	}
}

// openTable begins a table in what is written so far and returns the state to go back to when it ends.
func (w *writer) openTable() tableState {
	outer := tableState{row: w.row, level: w.level, pre: w.verbatim}
	if w.row.open {
		switch {
		case w.row.candidate():
			w.layOut()
		case !w.row.layout:
			w.breakLines(w.row.lines)
			w.item = w.row.item
		}
		w.row.layout, w.row.fresh = true, false
		outer.row = w.row
		w.breakLines(1)
	} else {
		w.breakLines(2)
	}
	w.row, w.grid = tableRow{}, false
	return outer
}

// closeTable ends a table and goes back to the row it is in, if any.
func (w *writer) closeTable(outer tableState) {
	w.endRow()
	w.row, w.level, w.verbatim = outer.row, outer.level, outer.pre
	if w.row.open && !w.grid {
		w.breakLines(1)
	} else {
		w.breakLines(2)
	}
}

// openRow begins a row.
func (w *writer) openRow(layout bool) {
	w.endRow()
	w.breakLines(1)
	if !w.oneLine {
		w.row = tableRow{open: true, layout: layout, lines: w.lines, item: w.item, filled: true}
	}
}

// openCell begins a cell.
func (w *writer) openCell(first bool) {
	r := &w.row
	if r.layout || w.oneLine {
		w.breakLines(1)
		return
	}
	r.celled = true
	if !first {
		r.tabs++
	}
	r.fresh, r.filled, w.due = true, false, true
	w.lines, w.space, w.apart, w.item = 0, false, false, false
}

// endRow ends the row, if one is open, and decides what its breaks are.
func (w *writer) endRow() {
	switch {
	case !w.row.candidate():
	case w.row.cells == 1 && w.row.breaks > 0:
		w.layOut()
	default:
		w.grid = w.row.cells > 1
		w.joinLines()
	}
	if w.row.open {
		if !w.row.layout {
			w.lines = 0
			if !w.row.begun {
				w.lines = w.row.lines
			}
		}
		w.breakLines(1)
		w.item = false
	}
	w.row = tableRow{}
}

// joinLines makes the breaks that are marked in the row spaces.
func (w *writer) joinLines() {
	if w.row.breaks == 0 && !w.row.spaced {
		return
	}
	out := w.out[:w.row.start]
	if w.row.spaced {
		out = bytes.TrimSuffix(out, []byte{'\n'})
	}
	for b := w.out[w.row.start:]; len(b) > 0; {
		if b[0] > '\x02' {
			out = append(out, b[0])
			b = b[1:]
			continue
		}
		out = append(out, ' ')
		b = bytes.TrimLeft(b, "\x01\x02 ")
	}
	w.out = out
}

// layOut makes the breaks that are marked in the row, and the borders of its cells, new lines. What follows in the row is
// written like that at once.
func (w *writer) layOut() {
	r := &w.row
	out := w.out[:r.start]
	gap := true // at the beginning of a line
	mark, preStart := w.mark, w.preStart
	for i := r.start; i < len(w.out); i++ {
		if i == w.mark {
			mark = len(out)
		}
		if i == w.preStart {
			preStart = len(out)
		}
		switch c := w.out[i]; {
		case c > '\x02' && c != '\t':
			out = append(out, c)
			gap = false
		case c == '\x02' || !gap:
			out = append(out, '\n')
			gap = true
		}
	}
	w.out, w.mark, w.preStart = out, mark, preStart
	r.layout = true
	if r.tabs > 0 || r.fresh {
		r.tabs = 0
		w.breakLines(1)
	}
	r.fresh = false
}
