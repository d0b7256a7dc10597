package textfile

import (
	"bytes"
	"strconv"
)

// numberWidth is the width that line numbers are padded to, as by cat -n.
const numberWidth = 6

// AppendNumbered appends text to dst with the number of each line and a TAB in
// front of it. first is the number of the first line.
func AppendNumbered(dst, text []byte, first int) []byte {
	const padding = "      "
	var digits [20]byte
	for n := first; len(text) > 0; n++ {
		line := text
		if at := bytes.IndexByte(text, '\n'); at >= 0 {
			line = text[:at+1]
		}
		text = text[len(line):]
		number := strconv.AppendInt(digits[:0], int64(n), 10)
		dst = append(dst, padding[:max(0, numberWidth-len(number))]...)
		dst = append(dst, number...)
		dst = append(dst, '\t')
		dst = append(dst, line...)
	}
	return dst
}

// Numbered is AppendNumbered into a new slice of about the right size.
func Numbered(text []byte, first int) []byte {
	lines := bytes.Count(text, []byte{'\n'}) + 1
	return AppendNumbered(make([]byte, 0, len(text)+lines*(numberWidth+2)), text, first)
}
