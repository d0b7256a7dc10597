package document

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

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
