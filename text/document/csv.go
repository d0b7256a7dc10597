package document

import (
	"encoding/csv"
	"errors"
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
