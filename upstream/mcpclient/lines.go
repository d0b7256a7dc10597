package mcpclient

import (
	"bufio"
	"bytes"
	"strconv"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

const (
	lineBuffer = 32 << 10
	keptEnds   = 256 // of each end of a line that is too long
)

// lineReader reads lines. One that does not fit into its buffer gets memory of its
// own.
type lineReader struct {
	in    *bufio.Reader
	limit int
}

// next returns a line without its end, and whether its memory belongs to the
// caller; else it is valid until the next call. Of a line that exceeds the limit it
// returns both ends and errLineTooLong.
func (l *lineReader) next() (line []byte, owned bool, err error) {
	line, err = l.in.ReadSlice('\n')
	tooLong := false
	if owned = err == bufio.ErrBufferFull; owned {
		line = append(make([]byte, 0, 3*len(line)), line...)
	}
	for err == bufio.ErrBufferFull {
		var more []byte
		more, err = l.in.ReadSlice('\n')
		line = append(line, bytes.TrimSuffix(more, []byte{'\n'})...)
		if tooLong = tooLong || len(line) > l.limit; tooLong {
			line = append(line[:keptEnds], line[max(keptEnds, len(line)-keptEnds):]...)
		}
	}
	line = bytes.TrimSuffix(line, []byte{'\n'})
	switch {
	case tooLong || len(line) > l.limit:
		return line, owned, errLineTooLong
	case err != nil && len(line) == 0:
		return nil, false, err
	}
	return bytes.TrimSuffix(line, []byte{'\r'}), owned, nil // the error of its end comes again
}

// What both ends of a message say. Nothing inside of it can look like its first or
// last members.
var (
	firstMembers = lazyregexp.New(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?(?:"id"\s*:\s*([^,:{}]{1,100}?)\s*,\s*)?"(method|result|error)"`)
	lastMembers  = lazyregexp.New(`,\s*"id"\s*:\s*(-?[0-9]+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// responseID returns whether a message of which only both ends are known can be a
// response, and its ID; nil if they do not say.
func responseID(ends []byte) (id []byte, maybe bool) {
	if text := bytes.TrimSpace(ends); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	first := firstMembers().FindSubmatch(ends)
	switch {
	case first == nil:
		return nil, true
	case string(first[2]) == "method":
		return nil, false
	case first[1] != nil:
		if _, err := strconv.ParseInt(string(first[1]), 10, 64); err != nil {
			return nil, true
		}
		return first[1], true
	}
	if last := lastMembers().FindSubmatch(ends); last != nil {
		return last[1], true
	}
	return nil, true
}
