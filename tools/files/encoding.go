package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"

	"toolserver/tools/files/textfile"
)

const utf8BOM = "\xEF\xBB\xBF"

// encodedText is the text of a file that can be written back: unchanged, it
// makes the same bytes again.
type encodedText struct {
	text    string // UTF-8 without byte order mark, line ends as in the file
	bom     string
	charset string // utf-8, utf-16le or utf-16be
}

// decodeText returns the text of a file in UTF-8, or in UTF-16 with a byte order
// mark. For others the error says what the file is, after the word "is"; it is
// one of package textfile or an [*uneditableError].
func decodeText(raw []byte) (encodedText, error) {
	text, charset, err := textfile.Decode(raw, textfile.Charset{})
	if err != nil {
		return encodedText{}, err
	}
	e := encodedText{text: string(text), charset: charset}
	switch charset {
	case "utf-8":
		if bytes.HasPrefix(raw, []byte(utf8BOM)) {
			e.bom = utf8BOM
		}
	case "utf-16le", "utf-16be":
		e.bom = string(raw[:2])
	default:
		return encodedText{}, &uneditableError{charset}
	}
	return e, nil
}

// uneditableError is an encoding that is read and not written.
type uneditableError struct{ charset string }

func (e *uneditableError) Error() string {
	return fmt.Sprintf("in %s, and only utf-8 and utf-16 with a byte order mark can be edited", e.charset)
}

// encode returns the bytes of a file with another text.
func (e encodedText) encode(text string) []byte {
	if e.charset == "utf-8" {
		return append(append(make([]byte, 0, len(e.bom)+len(text)), e.bom...), text...)
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if e.charset == "utf-16be" {
		order = binary.BigEndian
	}
	b := append(make([]byte, 0, 2+2*len(text)), e.bom...)
	for _, r := range text {
		if high, low := utf16.EncodeRune(r); high != '\uFFFD' {
			b = order.AppendUint16(order.AppendUint16(b, uint16(high)), uint16(low))
		} else {
			b = order.AppendUint16(b, uint16(r))
		}
	}
	return b
}

// hasCRLF reports whether text has lines, and each ends in CR LF.
func hasCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && n == strings.Count(text, "\r\n")
}

// toCRLF makes the line ends of text CR LF.
func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
