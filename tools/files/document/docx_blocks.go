package document

import (
	"bytes"
	"strings"
)

// skipped are elements whose text is not part of the document's: deleted and
// moved-away text, former properties, placeholders' settings, and the reading
// aid printed above a character.
func skipped(name string) bool {
	switch name {
	case "del", "moveFrom", "delText", "delInstrText", "rt", "sdtPr", "sdtEndPr", "tblPr", "tblGrid", "tblPrEx",
		"pPrChange", "rPrChange", "sectPrChange", "trPrChange", "tcPrChange", "tblPrChange", "numberingChange":
		return true
	}
	return false
}

// blocks reads the paragraphs and tables inside the element just begun.
func (d *docx) blocks(t *tokens, to *block) error {
	return t.children(func(t *tokens, e element) error { return d.block(t, e, to) })
}

// block reads one of them. An element it does not know is taken for what only
// groups others, as content controls and insertions do.
func (d *docx) block(t *tokens, e element, to *block) error {
	switch {
	case skipped(e.name):
		return nil
	case e.name == "p":
		return d.paragraph(t, to)
	case e.name == "tbl":
		return d.table(t, to)
	case e.name == "sectPr":
		return d.section(t)
	case e.name == "AlternateContent":
		return alternatives(t, func(t *tokens) error { return d.blocks(t, to) })
	}
	return d.blocks(t, to)
}

// section notes the headers and footers of a section.
func (d *docx) section(t *tokens) error {
	return t.children(func(_ *tokens, e element) error {
		if e.name == "headerReference" || e.name == "footerReference" {
			d.addMarginal(e)
		}
		return nil
	})
}

// alternatives reads one branch of mc:AlternateContent (ECMA-376 part 3), the
// first choice or else the fallback, since they say the same in other words.
func alternatives(t *tokens, read func(t *tokens) error) error {
	taken := false
	return t.children(func(t *tokens, e element) error {
		if taken || e.name != "Choice" && e.name != "Fallback" {
			return nil
		}
		taken = true
		return read(t)
	})
}

// paragraph is a paragraph being read.
type paragraph struct {
	text   []byte
	boxes  block // of the text boxes anchored in it
	hidden bool  // in a run that is

	style       string
	list, level string // w:numId and w:ilvl
	outline     string
	endDeleted  bool
}

func (d *docx) paragraph(t *tokens, to *block) error {
	var p paragraph
	if err := d.inlines(t, &p); err != nil {
		to.line(nil, p.text) // what there is, should the error be a limit
		return err
	}
	for i := range d.fields {
		// A field whose result has not begun within its paragraph is broken;
		// it must not hide the rest of the document.
		d.fields[i].result = true
	}
	if p.endDeleted {
		to.pending = append(to.pending, p.text...)
	} else {
		to.line(d.prefix(&p, len(to.pending) > 0), p.text)
	}
	p.boxes.flush()
	to.text = append(to.text, p.boxes.text...)
	return d.out.err
}

// prefix returns the marks of a heading or list item. An empty paragraph gets
// none, unless it counts in a list.
func (d *docx) prefix(p *paragraph, joined bool) []byte {
	list, level := d.styles.list(p)
	var label string
	if list != "" && (joined || len(bytes.TrimSpace(p.text)) > 0) {
		label = d.numbering.label(list, level)
	}
	heading := d.styles.heading(p)
	if heading > 0 && d.cells == 0 && (joined || len(p.text) > 0) {
		label = strings.Repeat("#", heading) + " " + label
	} else if label != "" && d.cells == 0 {
		label = strings.Repeat("  ", level) + label
	}
	if !d.out.take(len(label) + 1) {
		return nil
	}
	return []byte(label)
}

// table reads a table, one line for each row.
func (d *docx) table(t *tokens, to *block) error {
	return t.children(func(t *tokens, e element) error {
		switch {
		case skipped(e.name):
			return nil
		case e.name == "tr":
			return d.row(t, to)
		}
		return d.table(t, to) // a content control or insertion around rows
	})
}

// tableRow is a row being read.
type tableRow struct {
	line    []byte
	cells   int
	deleted bool
}

func (d *docx) row(t *tokens, to *block) error {
	var r tableRow
	err := d.rowCells(t, &r)
	if !r.deleted {
		to.line(nil, r.line)
	}
	if err == nil {
		err = d.out.err
	}
	return err
}

func (d *docx) rowCells(t *tokens, r *tableRow) error {
	return t.children(func(t *tokens, e element) error {
		switch {
		case e.name == "trPr":
			return t.children(func(_ *tokens, e element) error {
				switch e.name {
				case "del":
					r.deleted = true
				case "gridBefore":
					d.span(r, e.attr("val"), 0)
				}
				return nil
			})
		case skipped(e.name):
			return nil
		case e.name == "tc":
			return d.cell(t, r)
		}
		return d.rowCells(t, r)
	})
}

// cell reads a cell and appends it to its row. A cell that spans columns is
// followed by empty ones, so that columns stay in line.
func (d *docx) cell(t *tokens, r *tableRow) error {
	var b block
	span := ""
	d.cells++
	err := t.children(func(t *tokens, e element) error {
		if e.name != "tcPr" {
			return d.block(t, e, &b)
		}
		return t.children(func(_ *tokens, e element) error {
			if e.name == "gridSpan" {
				span = e.attr("val")
			}
			return nil
		})
	})
	d.cells--
	b.flush()
	if r.cells > 0 && d.out.take(1) {
		r.line = append(r.line, '\t')
	}
	r.cells++
	r.line = appendFlat(r.line, b.text)
	d.span(r, span, 1)
	return err
}

// maxSpan is the most columns a table of Word can have.
const maxSpan = 63

// span appends the columns that a span covers beyond the have first.
func (d *docx) span(r *tableRow, val string, have int) {
	for n := min(atoi(val), maxSpan); n > have; n-- {
		if r.cells > 0 && d.out.take(1) {
			r.line = append(r.line, '\t')
		}
		r.cells++
	}
}
