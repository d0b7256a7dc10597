package document

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// xlsxRows returns the cells of an Excel workbook as text: for each sheet a
// line "## Name" and a line for each row, with a TAB between cells.
//
// Empty cells before a filled one keep their place, empty rows before a filled
// one too unless they are many, which is said in a line. Dates are ISO 8601,
// numbers are as stored without regard to their format, a formula is its last
// result or, if none was stored, "=" and the formula. Line breaks and TABs
// inside a cell are spaces. Hidden sheets are marked as such.
func xlsxRows(a *archive) ([]byte, error) {
	x := &xlsx{archive: a, grid: grid{budget: &a.budget}, ends: []uint32{0}}
	err := x.read()
	return x.rows, err
}

// xlsx is a workbook being read.
type xlsx struct {
	*archive
	grid
	shared    []byte        // strings that cells refer to
	ends      []uint32      // of the strings, and 0 first
	formats   []valueFormat // of cell styles, by their number
	epoch1904 bool          // days count from 1904

	at       int    // column of the last cell read, which may be empty
	cellText []byte // scratch
}

func (x *xlsx) read() error {
	main, rels, err := x.mainPart("xl/workbook.xml")
	if err != nil {
		return err
	}
	var sheets []element
	err = x.elements(main, func(e element) {
		switch e.name {
		case "workbookPr":
			v := e.attr("date1904")
			x.epoch1904 = v == "1" || v == "true"
		case "sheet":
			sheets = append(sheets, e)
		}
	})
	if err != nil {
		return err
	}
	if len(rels) == 0 { // in a damaged workbook; parts have these names wherever it comes from
		rels = map[string]relation{"": {"sharedStrings", "xl/sharedStrings.xml", false}, "\x00": {"styles", "xl/styles.xml", false}}
		for i, e := range sheets {
			rels[e.attr("id")] = relation{"worksheet", fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1), false}
		}
	}
	if err := x.readStrings(related(rels, "sharedStrings")); err != nil {
		return err
	}
	if x.formats, err = readFormats(x.archive, related(rels, "styles")); err != nil {
		return err
	}
	x.allowRows()
	for _, e := range sheets {
		if rel, ok := rels[e.attr("id")]; !ok || rel.kind == "worksheet" && !rel.external {
			x.miss(cmp.Or(rel.target, "a sheet"))
			if err := x.sheet(e, rel.target); err != nil {
				return err
			}
		}
	}
	return nil
}

// sheet writes the rows of the sheet that e of the workbook names.
func (x *xlsx) sheet(e element, part string) error {
	state := e.attr("state")
	if err := x.begin(e.attr("name"), state == "hidden" || state == "veryHidden"); err != nil {
		return err
	}
	return x.each(part, func(t *tokens, e element) error {
		if e.name != "sheetData" {
			return nil
		}
		return t.children(func(e element) error { return x.readRow(t, e) })
	})
}

func (x *xlsx) readRow(t *tokens, e element) error {
	if e.name != "row" {
		return nil
	}
	x.row++
	if n := atoi(e.attr("r")); n > 0 && n <= maxRow {
		x.row = n
	}
	x.at = 0
	err := t.children(func(e element) error { return x.readCell(t, e) })
	return cmp.Or(err, x.endRow())
}

// readCell appends a cell to the row being read.
func (x *xlsx) readCell(t *tokens, e element) error {
	if e.name != "c" {
		return nil
	}
	x.at = min(x.at+1, maxColumn)
	if n := columnOf(e.attr("r")); n > x.column {
		x.at = n
	}
	text, err := x.cell(t, e)
	if err != nil || len(text) == 0 {
		return err
	}
	x.at, err = x.put(x.at, text)
	return err
}

// columnOf returns the number of the column in a reference such as AB12, or 0.
func columnOf(ref string) int {
	n := 0
	for i := 0; i < len(ref) && ref[i] >= 'A' && ref[i] <= 'Z'; i++ {
		if n = n*26 + int(ref[i]-'A') + 1; n > maxColumn {
			return 0
		}
	}
	return n
}

// cell returns the text of a cell, valid until the next one is read.
func (x *xlsx) cell(t *tokens, e element) ([]byte, error) {
	var formula []byte
	value := x.cellText[:0]
	inline := false
	err := t.children(func(e element) (err error) {
		switch e.name {
		case "v":
			value, err = t.text(value)
		case "is":
			inline = true
			value, err = richText(t, value)
		case "f":
			formula, err = t.text(append(formula, '='))
		}
		return err
	})
	x.cellText = value
	if err != nil {
		return nil, err
	}
	if len(value) == 0 && len(formula) > 1 {
		return formula, nil
	}
	if inline {
		return unescape(value), nil
	}
	return x.value(e.attr("t"), atoi(e.attr("s")), value), nil
}

// value makes text of what w:v holds in a cell of the given type and style.
func (x *xlsx) value(kind string, style int, raw []byte) []byte {
	switch kind {
	case "s":
		n, err := strconv.ParseUint(string(raw), 10, 32)
		if err != nil || n+1 >= uint64(len(x.ends)) {
			x.missed = lacking("the text of a cell")
			return nil
		}
		return x.shared[x.ends[n]:x.ends[n+1]]
	case "str":
		return unescape(raw)
	case "b":
		if string(raw) == "1" {
			return []byte("TRUE")
		}
		return []byte("FALSE")
	case "n", "":
		var format valueFormat
		if style >= 0 && style < len(x.formats) {
			format = x.formats[style]
		}
		return []byte(number(string(raw), format, x.epoch1904))
	}
	return raw // "e", an error such as #REF!, and "d", a date in ISO 8601
}

// readStrings reads the texts that cells refer to by number. They are kept one
// after the other in one piece of memory, as there may be millions.
func (x *xlsx) readStrings(part string) error {
	return x.each(part, func(t *tokens, e element) error {
		if e.name != "si" {
			return nil
		}
		from := len(x.shared)
		data, err := richText(t, x.shared)
		x.shared = append(data[:from], unescape(data[from:])...)
		x.ends = append(x.ends, uint32(len(x.shared)))
		return err
	})
}

// richText appends the text of si or is: that of t and of the runs r, without
// the phonetic reading rPh.
func richText(t *tokens, b []byte) ([]byte, error) {
	err := t.children(func(e element) (err error) {
		switch e.name {
		case "t":
			b, err = t.text(b)
		case "r":
			b, err = richText(t, b)
		}
		return err
	})
	return b, err
}

// escaped is what stands for a character that XML cannot hold (ECMA-376 part 1, 22.9.2.19).
var escaped = lazyregexp.New(`_x([0-9A-Fa-f]{4})_`)

// unescape replaces _xHHHH_ by the character with that code.
func unescape(b []byte) []byte {
	if !bytes.Contains(b, []byte("_x")) {
		return b
	}
	return escaped().ReplaceAllFunc(b, func(code []byte) []byte {
		n, _ := strconv.ParseUint(string(code[2:6]), 16, 16) // the pattern has digits only
		return []byte(string(rune(n)))
	})
}

// valueFormat is what a number format makes of a number.
type valueFormat byte

const (
	plain    valueFormat = iota
	moment               // a date, a time of day or both
	duration             // hours that may be more than 24
)

// readFormats returns the formats of cell styles in their order.
func readFormats(a *archive, part string) ([]valueFormat, error) {
	var formats []valueFormat
	custom := map[int]valueFormat{}
	list := "" // that is being read
	err := a.elements(part, func(e element) {
		id := atoi(e.attr("numFmtId"))
		switch e.name {
		case "numFmts", "cellXfs", "cellStyleXfs", "dxfs":
			list = e.name
		case "numFmt":
			if list == "numFmts" {
				custom[id] = formatOf(e.attr("formatCode"))
			}
		case "xf":
			f, ok := custom[id]
			if !ok {
				f = builtinFormat(id)
			}
			if list == "cellXfs" {
				formats = append(formats, f)
			}
		}
	})
	return formats, err
}

// builtinFormat knows the formats that have only a number (ECMA-376 part 1,
// 18.8.30), those of East Asian editions of Excel among them.
func builtinFormat(id int) valueFormat {
	switch {
	case id == 46:
		return duration
	case id >= 14 && id <= 22, id == 45, id == 47, id >= 27 && id <= 36, id >= 50 && id <= 58:
		return moment
	}
	return plain
}

var (
	// literal is what is not code in a number format: quoted and escaped text, colours
	// and locales in brackets.
	literal = lazyregexp.New(`"[^"]*"?|[\\_*].|\[[^\]]*\]?`)
	// elapsed is a part of a time that counts on, such as [h].
	elapsed = lazyregexp.New(`(?i)\[(h+|m+|s+)\]`)
)

// formatOf tells whether a format code such as dd/mm/yyyy shows a date: it has
// a letter of one outside literals.
func formatOf(code string) valueFormat {
	code, _, _ = strings.Cut(code, ";") // the rest is for negative numbers and text
	switch {
	case elapsed().MatchString(code):
		return duration
	case strings.ContainsAny(literal().ReplaceAllString(code, ""), "yYmMdDhHsS"):
		return moment
	}
	return plain
}

// maxSerial is 9999-12-31, the last day Excel knows.
const maxSerial = 2958466

// number makes text of the number in a cell.
func number(raw string, format valueFormat, epoch1904 bool) string {
	if format == plain {
		return tidy(raw)
	}
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v >= maxSerial {
		return tidy(raw)
	}
	ms := int64(math.Round(v * 24 * 60 * 60 * 1000))
	if format == duration {
		return strconv.FormatInt(ms/3_600_000, 10) + clock(ms)[2:]
	}
	const day = 24 * 60 * 60 * 1000
	days, rest := ms/day, ms%day
	switch {
	case days == 0 && !epoch1904:
		return clock(rest)
	case rest == 0:
		return date(days, epoch1904)
	}
	return date(days, epoch1904) + " " + clock(rest)
}

// date returns the day with a serial number. Excel's calendar has a 29th of
// February 1900, number 60, which never was.
func date(days int64, epoch1904 bool) string {
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case epoch1904:
		base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days == 60:
		return "1900-02-29"
	case days < 60:
		days++
	}
	return base.AddDate(0, 0, int(days)).Format(time.DateOnly)
}

// clock returns the time of day, with a fraction of a second if there is one.
func clock(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	if ms%1000 != 0 {
		return t.Format("15:04:05.000")
	}
	return t.Format(time.TimeOnly)
}

// tidy rounds a number to the 15 digits that Excel shows, so that what is
// stored as 0.30000000000000004 is 0.3. Integers keep all their digits.
func tidy(raw string) string {
	raw = strings.TrimSpace(raw)
	if len(raw) <= 15 || !strings.ContainsAny(raw, ".eE") {
		return raw
	}
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	return strconv.FormatFloat(v, 'g', 15, 64)
}
