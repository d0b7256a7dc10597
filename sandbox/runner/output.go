package runner

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Output is what was kept of one stream. The zero value is an empty stream that
// was not captured.
type Output struct {
	c *capture
}

// A Cut is the stretch in the middle of a stream that [Output.Text] leaves out.
type Cut struct {
	Bytes int64
	Lines int64 // newlines among them
}

// Total is the size of the whole stream in bytes, kept or not.
func (o Output) Total() int64 {
	if o.c == nil {
		return 0
	}
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.c.total
}

// Truncated says whether [Output.Text] leaves something out.
func (o Output) Truncated() bool {
	_, cut, _ := o.Parts()
	return cut.Bytes > 0
}

// Parts returns the beginning of the stream and its end as valid UTF-8, with
// what was cut between them. Where nothing was cut head is all of it and tail is
// empty. The cut falls between characters; bytes that are not UTF-8 become
// U+FFFD.
func (o Output) Parts() (head string, cut Cut, tail string) {
	if o.c == nil {
		return "", Cut{}, ""
	}
	o.c.mu.Lock()
	h, t := o.c.head, o.c.orderedTail()
	total, lines := o.c.total, o.c.lines
	o.c.mu.Unlock()
	if total <= int64(len(h)+len(t)) {
		whole := append(append(make([]byte, 0, len(h)+len(t)), h...), t...)
		return validText(whole), Cut{}, ""
	}
	h, t = trimPartialEnd(h), trimPartialStart(t)
	newline := []byte{'\n'}
	cut.Bytes = total - int64(len(h)+len(t))
	cut.Lines = lines - int64(bytes.Count(h, newline)+bytes.Count(t, newline))
	return validText(h), cut, validText(t)
}

// Text returns the stream as valid UTF-8. Where its middle was cut a line in
// brackets stands for it and says how many bytes and lines are missing.
func (o Output) Text() string {
	head, cut, tail := o.Parts()
	if cut.Bytes == 0 {
		return head
	}
	gap := "\n"
	if head == "" || strings.HasSuffix(head, "\n") {
		gap = ""
	}
	return fmt.Sprintf("%s%s[... %d bytes, %d lines left out ...]\n%s", head, gap, cut.Bytes, cut.Lines, tail)
}

// Binary says whether the stream looks like data and not text: there is a NUL
// in the first 8 KiB.
func (o Output) Binary() bool {
	if o.c == nil {
		return false
	}
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return bytes.IndexByte(o.c.head[:min(len(o.c.head), 8<<10)], 0) >= 0
}

// Size is how many bytes from the beginning of the stream [Output.ReadAt] can
// return: all of them, unless the stream is larger than both limits or there was
// no room for the temporary file.
func (o Output) Size() int64 {
	if o.c == nil {
		return 0
	}
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.c.available()
}

// ReadAt reads the stream's bytes as they came, as [io.ReaderAt] says, up to
// [Output.Size].
func (o Output) ReadAt(p []byte, off int64) (int, error) {
	if o.c == nil {
		return 0, io.EOF
	}
	return o.c.readAt(p, off)
}

// A Page is a stretch of a stream.
type Page struct {
	Text string // valid UTF-8
	// Start is where the stretch begins. It is behind the offset that was asked
	// for when the bytes between were not kept.
	Start int64
	// Next is where the next page begins.
	Next int64
}

const (
	minPage = utf8.UTFMax
	maxPage = 1 << 20
)

// Page returns up to limit bytes of the stream from offset. A page ends between
// characters. Where there is nothing to read, or not yet, the text is empty and
// Next is Start.
func (o Output) Page(offset int64, limit int) (Page, error) {
	if o.c == nil || offset < 0 {
		return Page{Start: offset, Next: offset}, nil
	}
	buf := make([]byte, min(maxPage, max(minPage, limit)))
	n, start, last, err := o.c.read(buf, offset)
	if err != nil {
		return Page{}, fmt.Errorf("read the output at offset %d: %w", offset, err)
	}
	b := buf[:n]
	if start > offset {
		b = trimPartialStart(b)
		start += int64(n - len(b))
	}
	if !last {
		b = trimPartialEnd(b)
	}
	return Page{Text: validText(b), Start: start, Next: start + int64(len(b))}, nil
}

func (o Output) close() error {
	if o.c == nil {
		return nil
	}
	return o.c.close()
}

func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// trimPartialEnd cuts off the first bytes of a character whose rest is missing.
func trimPartialEnd(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// trimPartialStart cuts off the last bytes of a character whose beginning is
// missing.
func trimPartialStart(b []byte) []byte {
	for i := 0; i < len(b) && i < utf8.UTFMax-1; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b[min(len(b), utf8.UTFMax-1):]
}
