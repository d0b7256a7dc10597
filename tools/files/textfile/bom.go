package textfile

import "bytes"

// boms lists the byte order marks (Unicode 16.0, section 23.8). UTF-32LE comes
// before UTF-16LE, whose mark is a prefix of its own.
var boms = [...]struct{ mark, charset string }{
	{"\xEF\xBB\xBF", utf8Name},
	{"\xFF\xFE\x00\x00", utf32leName},
	{"\x00\x00\xFE\xFF", utf32beName},
	{"\xFF\xFE", utf16leName},
	{"\xFE\xFF", utf16beName},
}

// resolve returns the charset that a file beginning with head is in, and the
// length of the byte order mark to skip. A mark overrules UTF-8, decides the
// byte order of utf-16 and utf-32, and is skipped where it only confirms what
// was asked for; any other charset is taken at its word.
func (c Charset) resolve(head []byte) (Charset, int) {
	name, length := markOf(head)
	switch {
	case name == c.Name():
		return c, length
	case c.isUTF8() && name != "":
		return mustLookup(name), length
	case c.name == utf16Name:
		if name == utf16leName || name == utf16beName {
			return mustLookup(name), length
		}
		return mustLookup(utf16Order(head)), 0
	case c.name == utf32Name:
		if name == utf32leName || name == utf32beName {
			return mustLookup(name), length
		}
		return mustLookup(utf32Order(head)), 0
	}
	return c, 0
}

func markOf(head []byte) (charset string, length int) {
	for _, b := range boms {
		if bytes.HasPrefix(head, []byte(b.mark)) {
			return b.charset, len(b.mark)
		}
	}
	return "", 0
}

// mustLookup returns a charset of our own table.
func mustLookup(name string) Charset {
	return aliases()[squeeze(name)].charset()
}

// utf16Order guesses the byte order of UTF-16 without a mark: the high byte of
// most characters of most languages is the more often zero one. In doubt it is
// little-endian, as the WHATWG Encoding standard has it.
func utf16Order(head []byte) string {
	var zeros [2]int
	for i, b := range head {
		if b == 0 {
			zeros[i&1]++
		}
	}
	if zeros[0] > zeros[1] {
		return utf16beName
	}
	return utf16leName
}

// utf32Order tells the byte order of UTF-32 without a mark: the highest byte
// of every character is zero, and the lowest hardly ever.
func utf32Order(head []byte) string {
	var zeros [4]int
	for i, b := range head {
		if b == 0 {
			zeros[i&3]++
		}
	}
	if zeros[0] > zeros[3] {
		return utf32beName
	}
	return utf32leName
}
