package call

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// shortEntry is an entry of a [List] whose long values are cut.
type shortEntry struct {
	text    string
	results json.RawMessage
	note    string // says that they are, and how to read them
}

// minValue is how short values of an entry may become, in bytes.
const minValue = 100

// shorten cuts the values of an entry that has more than room characters by itself, and
// keeps the entry as it is for read_large_result. It is not ok if long values are not what
// makes the entry long.
func (b *bounds) shorten(text string, results []byte, room int) (short shortEntry, ok bool) {
	for most := room; most >= minValue; most /= 2 {
		short = shortEntry{text: b.lines(text, most), results: b.strings(results, most)}
		if max(utf8.RuneCountInString(short.text), utf8.RuneCount(short.results)/StructuredShare) > room {
			continue
		}
		short.note = fmt.Sprintf("the entry is too long: what has more than %s bytes is cut", brief.Thousands(most))
		if b.store != nil {
			short.note += "; all of it: " + b.keep(string(results)).Call(1)
		}
		return short, true
	}
	return short, false
}

// lines cuts the lines of a text or, if that is JSON, its strings.
func (b *bounds) lines(text string, most int) string {
	if rawjson.Valid([]byte(text)) == nil {
		return string(b.strings([]byte(text), most))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = brief.Clip(line, most)
	}
	return strings.Join(lines, "\n")
}

// strings cuts the strings of JSON that has no spaces, except names of members.
func (b *bounds) strings(raw []byte, most int) []byte {
	return rawjson.ReplaceStrings(raw, func(s string, end int) (string, bool) {
		name := end < len(raw) && raw[end] == ':'
		return b.marks.clip(s, most), !name && len(s) > most
	})
}
