package runner

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/toolserver/toolserver/osfile"
)

// Limits bounds what is kept of a stream. Output beyond it is still read, and
// counted, so that the command does not block.
type Limits struct {
	// Inline is how many bytes of a stream are kept in memory, half from its
	// beginning and half from its end; zero means 30,000.
	Inline int
	// Spill is how many bytes from the beginning of a stream can be read again
	// through [Output.ReadAt] once it is larger than Inline; they are kept in an
	// unnamed temporary file. Zero means 64 MiB, negative none.
	Spill int64
}

// Output is what is kept of one stream: the beginning and the end in memory, and
// the beginning up to a larger limit in a temporary file that is made only when
// memory does not suffice. It is safe for concurrent use, also while the stream
// grows.
type Output struct {
	limits Limits
	spills *atomic.Int64 // bytes in the temporary files of all outputs of a Runner

	mu      sync.Mutex
	head    []byte
	tail    []byte // what came after head: at least as much of its end as is kept
	total   int64
	lines   int64    // newlines in all of it
	spill   *os.File // nil if none was needed, or it is closed
	spilled int64    // bytes in it
	failed  bool     // the file could not be made or written, or is closed
	ended   bool     // nothing will be added
}

// maxSpills bounds the temporary files of all outputs together.
const maxSpills = 2 << 30

func (o *Output) write(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spillOver(p)
	o.total += int64(len(p))
	o.lines += int64(bytes.Count(p, []byte{'\n'}))
	size := o.limits.Inline / 2
	if n := min(len(p), o.limits.Inline-size-len(o.head)); n > 0 {
		o.head = append(o.head, p[:n]...)
		p = p[n:]
	}
	o.tail = append(o.tail, p[max(0, len(p)-size):]...)
	if len(o.tail) > 2*size {
		o.tail = append(o.tail[:0], o.end()...)
	}
}

// end returns the end of the stream that is kept, as long as nothing is written.
func (o *Output) end() []byte { return o.tail[max(0, len(o.tail)-o.limits.Inline/2):] }

// spillOver is called before p is added to what is in memory.
func (o *Output) spillOver(p []byte) {
	if o.failed || o.spilled >= o.limits.Spill || o.spill == nil && o.total+int64(len(p)) <= int64(o.limits.Inline) {
		return
	}
	if o.spill == nil {
		var err error
		if o.spill, err = osfile.Unnamed(""); err != nil {
			o.failed = true
			return
		}
		p = bytes.Join([][]byte{o.head, o.tail, p}, nil) // nothing was lost so far
	}
	n, err := o.spill.Write(p[:min(int64(len(p)), o.limits.Spill-o.spilled)])
	o.spilled += int64(n)
	// A full disk, or too many copies, cost the rest of this one, not the call.
	o.failed = o.spills.Add(int64(n)) > maxSpills || err != nil
}

// finish notes that nothing will be added.
func (o *Output) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}

func (o *Output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.spill
	o.spills.Add(-o.spilled)
	o.spill, o.spilled, o.failed = nil, 0, true
	if f == nil {
		return nil
	}
	return f.Close()
}

// Total is the size of the whole stream in bytes, kept or not.
func (o *Output) Total() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// A Cut is the stretch in the middle of a stream that [Output.Parts] leaves out.
type Cut struct {
	Bytes int64
	Lines int64 // newlines among them
}

// Truncated reports whether [Output.Parts] leaves something out, with all that is kept.
func (o *Output) Truncated() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total > int64(len(o.head)+len(o.end()))
}

// Parts returns the beginning of the stream and its end as valid UTF-8, of at most so
// many bytes together, with what was cut between them. Where nothing was cut head is all
// of it and tail is empty. The cut falls between lines or, where those are long, between
// characters; bytes that are not UTF-8 become U+FFFD.
func (o *Output) Parts(most int) (head string, cut Cut, tail string) {
	o.mu.Lock()
	h, t := o.head, bytes.Clone(o.end())
	total, lines := o.total, o.lines
	o.mu.Unlock()
	if total <= int64(len(h)+len(t)) && total <= int64(most) {
		return validText(append(bytes.Clone(h), t...)), Cut{}, ""
	}
	if total <= int64(len(h)+len(t)) { // both are parts of the same
		h = append(bytes.Clone(h), t...)
		t = h
	}
	h, t = h[:min(len(h), most-most/2)], t[max(0, len(t)-most/2):]
	h, t = trimPartialLine(trimPartialEnd(h)), trimPartialFirst(trimPartialStart(t))
	newline := []byte{'\n'}
	cut.Bytes = total - int64(len(h)+len(t))
	cut.Lines = lines - int64(bytes.Count(h, newline)+bytes.Count(t, newline))
	return validText(h), cut, validText(t)
}

// Head returns the beginning of the stream as valid UTF-8, of at most so many bytes and what
// is kept in memory of it.
func (o *Output) Head(most int) string {
	b := make([]byte, min(int64(most), o.Size()))
	n, _ := o.ReadAt(b, 0)
	if b = b[:n]; int64(n) < o.Total() {
		b = trimPartialEnd(b)
	}
	return validText(b)
}

// trimPartialLine cuts off the last line, whose rest is missing, unless that is most of b.
func trimPartialLine(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n') + 1; i > len(b)/2 {
		return b[:i]
	}
	return b
}

// trimPartialFirst cuts off the first line, whose beginning is missing, likewise.
func trimPartialFirst(b []byte) []byte {
	if i := bytes.IndexByte(b, '\n') + 1; i > 0 && i <= len(b)/2 {
		return b[i:]
	}
	return b
}

// Size is how many bytes from the beginning of the stream [Output.ReadAt] can
// return: all of them, unless the stream is larger than both limits or there was
// no room for the temporary file.
func (o *Output) Size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size()
}

func (o *Output) size() int64 {
	size := max(int64(len(o.head)), o.spilled)
	if size >= o.total-int64(len(o.end())) { // what is in memory goes on there
		return o.total
	}
	return size
}

// ReadAt reads the stream's bytes as they came, as [io.ReaderAt] says, up to
// [Output.Size].
func (o *Output) ReadAt(p []byte, off int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.readAt(p, off)
}

// readAt also reads the end of the stream behind what was not kept.
func (o *Output) readAt(p []byte, off int64) (n int, err error) {
	end := o.end()
	endAt := o.total - int64(len(end))
	for n < len(p) && err == nil {
		var read int
		switch at := off + int64(n); {
		case at < int64(len(o.head)):
			read = copy(p[n:], o.head[at:])
		case at >= endAt && at < o.total:
			read = copy(p[n:], end[at-endAt:])
		case at < o.spilled:
			read, err = o.spill.ReadAt(p[n:][:min(int64(len(p)-n), o.spilled-at)], at)
		default:
			err = io.EOF
		}
		n += read
	}
	return n, err
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
func (o *Output) Page(offset int64, limit int) (Page, error) {
	if offset < 0 {
		return Page{Start: offset, Next: offset}, nil
	}
	b := make([]byte, min(maxPage, max(minPage, limit)))
	o.mu.Lock()
	start, size := offset, o.size()
	if offset >= size { // the bytes there are not kept
		start = max(offset, o.total-int64(len(o.end())))
	}
	n, err := o.readAt(b, start)
	end := start + int64(n)
	last := o.ended && end >= o.total || end == size && size < o.total // nothing will follow here
	o.mu.Unlock()
	if err != nil && err != io.EOF {
		return Page{}, fmt.Errorf("read the output at offset %d: %w", offset, err)
	}
	b = b[:n]
	if start > offset {
		b = trimPartialStart(b)
		start = end - int64(len(b))
	}
	if !last {
		b = trimPartialEnd(b)
	}
	return Page{Text: validText(b), Start: start, Next: start + int64(len(b))}, nil
}

// validText returns output as valid UTF-8. Lines that are not are read as the system does.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var text strings.Builder
	for line := range bytes.Lines(b) {
		if utf8.Valid(line) {
			text.Write(line)
		} else {
			text.WriteString(foreignText(line))
		}
	}
	return text.String()
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
