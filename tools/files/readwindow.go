package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/textfile"
)

// source is text a window is taken of: a file, or what was made of a document.
type source struct {
	r        io.ReaderAt
	size     int64 // of r
	fileSize int64
	format   string // of a document
	note     string // why the text is not all of the document; "" if it is
}

// markerRoom is what is left free for the marker, without the path in it.
const markerRoom = 400

// numberRoom is what Numbered puts in front of a line at most.
const numberRoom = 22

// room returns how many bytes of text a window may have besides its marker.
func (c *reading) room() int {
	marker := markerRoom + len(strconv.Quote(c.path))
	if c.untrusted() {
		marker += call.MarkRoom
	}
	return max(c.options.MaxChars-marker, c.options.MaxChars/2)
}

// untrusted reports whether somebody else wrote the file for sure: mail, however it is read.
func (c *reading) untrusted() bool { return document.DetectText(c.path, c.head).Kind == document.Mail }

// window returns the lines that are asked for, as many as fit.
func (c *reading) window(ctx context.Context, src source) (domain.ToolResult, error) {
	cs := c.cs
	if src.format != "" {
		cs = textfile.Charset{}
	}
	rg := textfile.Range{MaxBytes: c.room()}
	if c.in.Offset != nil {
		rg.Offset = *c.in.Offset
	}
	if c.in.Limit != nil {
		rg.Limit = *c.in.Limit
	}
	switch {
	case c.in.LineNumbers:
		rg.MaxBytes -= 4 * numberRoom // a line that is cut still has its number
	case src.format != "" && src.note == "" && !c.untrusted() && src.size <= int64(c.options.MaxChars):
		rg.MaxBytes = c.options.MaxChars // a whole document needs no marker
	}
	w, err := textfile.Lines(src.r, src.size, cs, rg)
	if past, ok := errors.AsType[*textfile.PastEndError](err); ok && src.note != "" {
		return domain.Failure("out_of_range", fmt.Sprintf("%s: offset %d is past the %d lines that were read. %s", c.path, rg.Offset, past.Total, notAll(src.note)),
			fmt.Sprintf("Choose an offset of at most %d.", max(past.Total, 1))), nil
	}
	if err != nil {
		return c.unreadable(ctx, err)
	}
	text := w.Text
	if c.in.LineNumbers {
		text = c.numbered(&w)
	}
	return c.answer(ctx, text, w, src), nil
}

// answer returns the text of a window.
func (c *reading) answer(ctx context.Context, text []byte, w textfile.Window, src source) domain.ToolResult {
	if len(text) > 0 && c.untrusted() {
		text = []byte(call.Untrusted(ctx, "Mail", "its sender", string(text)))
	}
	res := domain.Text(c.marked(text, w, src))
	if res.Empty = "[the file is empty]"; src.fileSize > 0 {
		res.Empty = "[the file has no text]"
	}
	meta := &readMeta{
		Path: c.path, SizeBytes: src.fileSize, TotalLines: lineCount(w.TotalLines), StartLine: w.Start, EndLine: w.End,
		Truncated: w.More || w.Cut || src.note != "", Encoding: w.Charset, Format: src.format,
	}
	if src.note != "" {
		meta.TotalLines, meta.AtLeast, meta.Incomplete = -1, w.TotalLines, src.note
	}
	res.Meta = meta
	return res
}

// numbered returns the text of w with line numbers, and takes lines away from
// its end until that fits.
func (c *reading) numbered(w *textfile.Window) []byte {
	text, used := textfile.Numbered(w.Text, w.Start, c.room())
	if used < len(w.Text) {
		w.Text = w.Text[:used]
		w.NextOffset = w.Start + countLines(w.Text)
		w.More, w.End = true, w.NextOffset-1
	}
	return text
}

// marked returns text and, if there is more to the file, a last line that says
// so and holds the literal next call.
func (c *reading) marked(text []byte, w textfile.Window, src source) string {
	if !w.More && !w.Cut && src.note == "" {
		return string(text)
	}
	var b strings.Builder
	b.Grow(len(text) + markerRoom + len(c.path))
	b.Write(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteByte('[')
	if w.Cut {
		fmt.Fprintf(&b, "Line %d is too long for one answer; to find a place in it: grep(pattern=\"...\", path=%q). ", w.Start, c.path)
	}
	b.WriteString(c.shown(w, src))
	if src.note != "" {
		b.WriteString(" " + notAll(src.note))
	}
	if w.More {
		b.WriteString(" To read on: " + c.next(w))
		if src.format == "" && c.in.Format == "" && document.DetectText(c.path, c.head).Kind == document.HTML {
			fmt.Fprintf(&b, " Without markup: read_file(path=%q, format=\"text\")", c.path)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// notAll says that the text of a document ends before the document does.
func notAll(note string) string { return "The document has more than these lines: " + note + "." }

// shown says which part of the file the window is.
func (c *reading) shown(w textfile.Window, src source) string {
	lines := fmt.Sprintf("Showed lines %d-%d", w.Start, w.End)
	if w.Start == w.End {
		lines = fmt.Sprintf("Showed line %d", w.Start)
	}
	switch {
	case w.Start < 0:
		lines = fmt.Sprintf("Showed lines %d to %d, counted from the end", w.Start, w.End)
	case w.TotalLines >= 0 && src.note != "":
		lines += fmt.Sprintf(" of at least %d", w.TotalLines)
	case w.TotalLines >= 0:
		lines += fmt.Sprintf(" of %d", w.TotalLines)
	}
	if w.Charset == "utf-8" { // else text and file are not measured alike
		lines += fmt.Sprintf(" (%s of %s)", humanSize(int64(len(w.Text))), humanSize(src.size))
	}
	return lines + "."
}

// next returns the call that goes on where w ends, with what is left of the
// limit if w did not reach it.
func (c *reading) next(w textfile.Window) string {
	args := fmt.Sprintf("path=%q, offset=%d", c.path, w.NextOffset)
	if c.in.Limit != nil {
		limit := *c.in.Limit
		if left := limit - (w.End - w.Start + 1); left > 0 {
			limit = left
		}
		args += fmt.Sprintf(", limit=%d", limit)
	}
	if c.in.Encoding != "utf-8" {
		args += fmt.Sprintf(", encoding=%q", c.in.Encoding)
	}
	if c.in.LineNumbers {
		args += ", line_numbers=true"
	}
	return "read_file(" + args + c.formatArgument() + ")"
}

// humanSize writes a size the way people read it.
func humanSize(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
