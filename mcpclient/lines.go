package mcpclient

import (
	"bytes"
	"io"
	"regexp"
	"sync"
)

const (
	lineBuffer = 32 << 10
	keptEnds   = 256 // of each end of a line that is too long
)

// lineReader reads lines. One that does not fit into its buffer gets memory of its
// own.
type lineReader struct {
	in         io.Reader
	limit      int
	buf        []byte
	start, end int // of what has been read and not returned
	err        error
}

// next returns a line without its end, and whether its memory belongs to the
// caller; else it is valid until the next call. Of a line that exceeds the limit it
// returns both ends and errLineTooLong.
func (l *lineReader) next() (line []byte, owned bool, err error) {
	for {
		read := l.buf[l.start:l.end]
		if i := bytes.IndexByte(read, '\n'); i >= 0 {
			l.start += i + 1
			return l.checked(read[:i], false)
		}
		switch {
		case l.err != nil:
			l.start = l.end
			if len(read) > 0 {
				return l.checked(read, false)
			}
			return nil, false, l.err
		case len(read) == len(l.buf):
			return l.long()
		case l.end == len(l.buf):
			l.start, l.end = 0, copy(l.buf, read)
		}
		l.fill()
	}
}

func (l *lineReader) checked(line []byte, owned bool) ([]byte, bool, error) {
	if len(line) > l.limit {
		return line, owned, errLineTooLong
	}
	return bytes.TrimSuffix(line, []byte{'\r'}), owned, nil
}

func (l *lineReader) fill() {
	n, err := l.in.Read(l.buf[l.end:])
	l.end += n
	l.err = err
}

// long returns a line of which the buffer is full.
func (l *lineReader) long() ([]byte, bool, error) {
	line := append(make([]byte, 0, 3*len(l.buf)), l.buf[:l.end]...)
	l.start, l.end = 0, 0
	tooLong := false
	for l.err == nil {
		if len(line) > l.limit {
			if !tooLong { // both ends of it
				tooLong = true
				line = append(append(make([]byte, 0, 2*keptEnds+len(l.buf)), line[:keptEnds]...), line[len(line)-keptEnds:]...)
			}
		}
		l.fill()
		read := l.buf[:l.end]
		i := bytes.IndexByte(read, '\n')
		if i < 0 {
			i = len(read)
		}
		line = append(line, read[:i]...)
		if tooLong {
			line = append(line[:keptEnds], line[max(keptEnds, len(line)-keptEnds):]...)
		}
		if i < len(read) {
			l.start = i + 1
			break
		}
		l.end = 0
	}
	if tooLong {
		return line, true, errLineTooLong
	}
	return l.checked(line, true)
}

// What both ends of a message say. Nothing inside of it can look like its first or
// last members.
var (
	isMessage = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[{\[]`) })
	isRequest = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:[^,:{}]{1,100},\s*)?"method"`)
	})
	idFirst = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?[0-9]+)\s*,\s*"(?:result|error)"`)
	})
	isResponse = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"`)
	})
	idLast = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`,\s*"id"\s*:\s*(-?[0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
	})
)

// responseID returns whether a message of which only both ends are known can be a
// response, and its ID; nil if they do not say.
func responseID(ends []byte) (id []byte, maybe bool) {
	if !isMessage().Match(ends) || isRequest().Match(ends) {
		return nil, false
	}
	if m := idFirst().FindSubmatch(ends); m != nil {
		return m[1], true
	}
	if m := idLast().FindSubmatch(ends); m != nil && isResponse().Match(ends) {
		return m[1], true
	}
	return nil, true
}
