package document

import "strconv"

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
	// A cell in a place already taken goes to the next one.
	column := max(x.at, x.column+1)
	tabs := column - max(x.column, 1)
	if !x.out.take(tabs + len(text)) {
		return x.out.err
	}
	for range tabs {
		x.line = append(x.line, '\t')
	}
	for _, c := range text {
		if c == '\t' || c == '\n' || c == '\r' {
			c = ' '
		}
		x.line = append(x.line, c)
	}
	x.column, x.at = column, column
	return nil
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
	err := t.children(func(t *tokens, e element) (err error) {
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
		n, err := strconv.Atoi(string(raw))
		if err != nil {
			return nil
		}
		return x.strings.at(n)
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
