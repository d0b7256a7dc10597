// Package rawjson reads and writes JSON (RFC 8259) in one pass and without
// reflection, for the paths on which a message may be a mebibyte of text: the
// wire, tool arguments and tool results.
//
// It accepts exactly what encoding/json accepts, except that values may nest
// at most [MaxDepth] deep. Of a key given twice the last value counts. Text
// that is not UTF-8 is read with U+FFFD in place of what is wrong.
package rawjson

import "fmt"

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 1000

// A SyntaxError says where data stops being JSON.
type SyntaxError struct {
	Offset int    // of the offending byte, from 0
	Want   string // what would have been right there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: expected %s", e.Offset, e.Want)
}

// class sorts the bytes a string literal is made of.
type class uint8

const (
	plain   class = iota // stands for itself
	special              // quote, backslash or a control character
)

// stringClass is indexed by byte. It is a composite literal, not computed, so
// that it costs nothing at start-up.
var stringClass = [256]class{
	0: special, 1: special, 2: special, 3: special, 4: special, 5: special, 6: special, 7: special,
	8: special, 9: special, 10: special, 11: special, 12: special, 13: special, 14: special, 15: special,
	16: special, 17: special, 18: special, 19: special, 20: special, 21: special, 22: special, 23: special,
	24: special, 25: special, 26: special, 27: special, 28: special, 29: special, 30: special, 31: special,
	'"': special, '\\': special,
}
