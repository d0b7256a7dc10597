package document

import (
	"fmt"
	"io"
)

// XlsxRows returns the cells of an Excel workbook as text: for each sheet a
// line "## Name" and a line for each row, with a TAB between cells.
//
// Empty cells before a filled one keep their place, empty rows before a filled
// one too unless they are many, which is said in a line. Dates are ISO 8601,
// numbers are as stored without regard to their format, a formula is its last
// result or, if none was stored, "=" and the formula. Line breaks and TABs
// inside a cell are spaces. Hidden sheets are marked as such.
//
// The error is a [*FormatError] if r is not such a workbook, or a
// [*LimitError], which comes with the text up to there.
func XlsxRows(r io.ReaderAt, size int64, limits Limits) (string, error) {
	limits = limits.orDefault()
	a, err := openArchive(r, size, limits)
	if err != nil {
		return "", readError("xlsx", err)
	}
	x := &xlsx{a: a, out: &budget{left: limits.Text, max: limits.Text}}
	err = readError("xlsx", x.read())
	return trimmed(x.text), err
}

// xlsx is a workbook being read.
type xlsx struct {
	a         *archive
	out       *budget
	text      []byte
	strings   sharedStrings
	formats   []valueFormat // of cell styles, by their number
	epoch1904 bool          // days count from 1904

	row      int    // number of the row being read
	shown    int    // number of the last row that was written
	line     []byte // the row
	column   int    // of the last cell in line, from 1
	at       int    // of the last cell read, which may be empty
	cellText []byte // scratch
}

// sheet is a sheet as the workbook lists it.
type sheet struct{ name, state, id string }

func (x *xlsx) read() error {
	main, err := x.a.mainPart("xl/workbook.xml")
	if err != nil {
		return err
	}
	rels, err := x.a.relations(main)
	if err != nil {
		return err
	}
	sheets, err := x.workbook(main)
	if err != nil {
		return err
	}
	if err := x.strings.read(x.a, related(rels, "sharedStrings")); err != nil {
		return err
	}
	if x.formats, err = readFormats(x.a, related(rels, "styles")); err != nil {
		return err
	}
	for _, s := range sheets {
		rel := rels[s.id]
		if rel.kind != "worksheet" || rel.external {
			continue
		}
		if err := x.sheet(s, rel.target); err != nil {
			return err
		}
	}
	return nil
}

// workbook returns the sheets in their order.
func (x *xlsx) workbook(part string) (sheets []sheet, err error) {
	if !x.a.has(part) {
		return nil, fmt.Errorf("%w: %s", errNoPart, part)
	}
	err = x.a.each(part, func(t *tokens, e element) error {
		switch e.name {
		case "workbookPr":
			v := e.attr("date1904")
			x.epoch1904 = v == "1" || v == "true"
		case "sheets":
			return t.children(func(_ *tokens, e element) error {
				sheets = append(sheets, sheet{name: e.attr("name"), state: e.attr("state"), id: e.attr("id")})
				return nil
			})
		}
		return nil
	})
	return sheets, err
}

// sheet writes the rows of one sheet.
func (x *xlsx) sheet(s sheet, part string) error {
	if len(x.text) > 0 {
		x.text = append(x.text, '\n')
	}
	title := "## " + string(appendFlat(nil, []byte(s.name)))
	if s.state == "hidden" || s.state == "veryHidden" {
		title += " (hidden)"
	}
	if !x.out.take(len(title) + 2) {
		return x.out.err
	}
	x.text = append(append(x.text, title...), '\n')
	x.row, x.shown = 0, 0
	return x.a.each(part, func(t *tokens, e element) error {
		if e.name != "sheetData" {
			return nil
		}
		return t.children(x.readRow)
	})
}

// maxGap is the most empty rows in a row that are written as such.
const maxGap = 10

func (x *xlsx) readRow(t *tokens, e element) error {
	if e.name != "row" {
		return nil
	}
	x.row++
	if n := atoi(e.attr("r")); n > 0 && n <= maxRow {
		x.row = n
	}
	x.line, x.column, x.at = x.line[:0], 0, 0
	err := t.children(x.readCell)
	if x.column == 0 {
		return err
	}
	if gap := x.row - x.shown - 1; gap > maxGap {
		x.write(fmt.Sprintf("[rows %d-%d are empty]\n", x.shown+1, x.row-1))
	} else {
		for range gap {
			x.write("\n")
		}
	}
	x.shown = x.row
	x.out.take(1)
	x.text = append(append(x.text, x.line...), '\n')
	if err == nil {
		err = x.out.err
	}
	return err
}

func (x *xlsx) write(s string) {
	if x.out.take(len(s)) {
		x.text = append(x.text, s...)
	}
}

// Bounds of a sheet (Microsoft's specifications and limits of Excel).
const (
	maxRow    = 1 << 20
	maxColumn = 1 << 14
)
