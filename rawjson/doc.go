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
