package call

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
)

// A List is the result of a tool that finds many things. It is bounded by whole entries, so
// that text and structured content have the same ones and neither is cut. Structured
// content, which names the members of each entry, may have [StructuredShare] times the
// characters of the text.
type List[T any] struct {
	Entries []T
	Offset  int      // of the first entry, from 0
	Total   int      // how many entries there are altogether; 0 if it is not known
	More    bool     // there may be entries after these, if Total is not known
	Notes   []string // end the text
	None    string   // what models read if there are no entries, such as "no matches"

	Text    func(entries []T) string
	Results func(entries []T, next int) any // next is the offset of the entries that follow, or 0
	Next    func(next int) string           // says how to read those; nil for an argument offset
}

// StructuredShare is how many times as long as text structured content may be.
const StructuredShare = 2

// ListFrom returns a list of what follows the first offset entries of all.
func ListFrom[T any](all []T, offset int) List[T] {
	return List[T]{Entries: all[min(offset, len(all)):], Offset: offset, Total: len(all)}
}

// ListRoom returns how many characters of text a [List] may have in the result of the call
// that ctx belongs to, so that a tool need not collect more; of none, the usual number.
func ListRoom(ctx context.Context) int {
	c := callOf(ctx)
	if c.Tool == nil {
		return domain.PageBytes(0)
	}
	return domain.PageBytes(c.catalog.Settings.Limits.ResultChars(c.Tool.MaxResultChars))
}

// Result returns as many entries as a result of the call that ctx belongs to may have, and
// says how to read on. An entry that is too long by itself is shortened.
func (l List[T]) Result(ctx context.Context) (domain.ToolResult, error) {
	c, room := callOf(ctx), ListRoom(ctx)
	for n := len(l.Entries); ; {
		next := 0
		if n < len(l.Entries) || n > 0 && (l.More || l.Offset+n < l.Total) {
			next = l.Offset + n
		}
		text, results := l.Text(l.Entries[:n]), json.RawMessage(nil)
		size := utf8.RuneCountInString(text)
		if size <= room || n <= 1 {
			var err error
			if results, err = json.Marshal(l.Results(l.Entries[:n], next)); err != nil {
				return domain.ToolResult{}, fmt.Errorf("structured content: %w", err)
			}
			size = max(size, utf8.RuneCount(results)/StructuredShare)
		}
		if size > room && n > 1 {
			n = max(1, n*room/size)
			continue
		}
		if size > room {
			// A secret that is cut would not be found any more.
			text, results = c.catalog.Redactor.Text(text), c.catalog.Redactor.JSON(results)
			b := c.bounds()
			if short, ok := b.shorten(text, results, room); ok {
				text, results, l.Notes = short.text, short.results, append(slices.Clip(l.Notes), short.note)
			}
		}
		r := domain.Text(text)
		r.Results, r.Listed = results, true
		switch {
		case n > 0:
		case text == "":
			r.Empty = "[" + l.none() + "]"
		case l.Offset > 0:
			l.Notes = append(slices.Clip(l.Notes), l.none())
		}
		if notes := l.notes(next); len(notes) > 0 {
			r.Content = append(r.Content, domain.Content{Type: domain.TextContent, Text: "\n[" + strings.Join(notes, "; ") + "]"})
		}
		return r, nil
	}
}

// none says that there are no entries.
func (l List[T]) none() string {
	switch {
	case l.Offset > 0 && l.Total > 0:
		return fmt.Sprintf("%s at offset %s: there are %s", l.None, brief.Thousands(l.Offset), brief.Thousands(l.Total))
	case l.Offset > 0:
		return fmt.Sprintf("%s after the first %s", l.None, brief.Thousands(l.Offset))
	}
	return l.None
}

// notes returns what ends the text. Next is the offset of the entries that follow, or 0.
func (l List[T]) notes(next int) []string {
	if next == 0 {
		return l.Notes
	}
	how, total := fmt.Sprintf("call again with offset=%d", next), ""
	if l.Next != nil {
		how = l.Next(next)
	}
	if l.Total > 0 {
		total = " of " + brief.Thousands(l.Total)
	}
	return append([]string{fmt.Sprintf("entries %s to %s%s; there are more: %s", brief.Thousands(l.Offset+1), brief.Thousands(next), total, how)}, l.Notes...)
}
