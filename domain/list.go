package domain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A List is the result of a tool that finds many things. It is bounded by whole entries, so
// that text and structured content have the same ones and neither is cut. Structured
// content, which names the members of each entry, may have [structuredShare] times the
// characters of the text.
type List[T any] struct {
	Entries []T
	Offset  int      // of the first entry, from 0
	More    bool     // there may be entries after these
	Notes   []string // end the text
	None    string   // what models read if there are no entries, such as "no matches"

	Text    func(entries []T) string
	Results func(entries []T, next int) any // next is the offset of the entries that follow, or 0
	Next    func(next int) string           // says how to read those; nil for an argument offset
}

const structuredShare = 2

// memberNames is how many bytes structured content has at most for each entry beside what
// the text has.
const memberNames = 100

// ListRoom returns how many characters of text a [List] may have in the result of the call
// that ctx belongs to, so that a tool need not collect more; of none, the usual number.
func ListRoom(ctx context.Context) int {
	c := callOf(ctx)
	if c.Tool == nil {
		return PageBytes(0)
	}
	return PageBytes(c.catalog.Settings.Limits.ResultChars(c.Tool.MaxResultChars))
}

// Result returns as many entries as a result of the call that ctx belongs to may have, and
// says how to read on.
func (l List[T]) Result(ctx context.Context) (ToolResult, error) {
	room := ListRoom(ctx)
	for n := len(l.Entries); ; {
		next := 0
		if n < len(l.Entries) || l.More && n > 0 {
			next = l.Offset + n
		}
		text, results := l.Text(l.Entries[:n]), l.Results(l.Entries[:n], next)
		size := utf8.RuneCountInString(text)
		if size+n*memberNames > room {
			b, err := json.Marshal(results)
			if err != nil {
				return ToolResult{}, fmt.Errorf("structured content: %w", err)
			}
			size = max(size, utf8.RuneCount(b)/structuredShare)
		}
		if size > room && n > 1 {
			n = max(1, n*room/size)
			continue
		}
		r, notes := Text(text), l.Notes
		r.Results, r.listed = results, true
		if n == 0 {
			r.Empty = "[" + l.None + "]"
			if l.Offset > 0 {
				r.Empty = fmt.Sprintf("[%s after the first %s]", l.None, Thousands(l.Offset))
			}
		}
		if next > 0 {
			how := fmt.Sprintf("call again with offset=%d", next)
			if l.Next != nil {
				how = l.Next(next)
			}
			notes = append([]string{fmt.Sprintf("entries %s to %s; there are more: %s", Thousands(l.Offset+1), Thousands(next), how)}, notes...)
		}
		if len(notes) > 0 {
			r.Content = append(r.Content, Content{Type: TextContent, Text: "\n[" + strings.Join(notes, "; ") + "]"})
		}
		return r, nil
	}
}
