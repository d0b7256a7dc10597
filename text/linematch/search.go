package linematch

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	bufferSize = 256 << 10
	maxBuffer  = 2 << 20
	maxLine    = 1 << 20   // a longer line is searched in pieces
	maxKept    = 256 << 10 // bytes of earlier lines kept for context
	maxWhole   = 16 << 20  // of a text that is searched at once for a pattern that may match several lines
	maxSpans   = 100_000   // matches of such a pattern in it

	binaryPrefix = 8 << 10 // bytes of a file of which one that is NUL says that it is not text
)

// SearchOptions say what a search collects.
type SearchOptions struct {
	Before, After int  // lines of context around a match
	MaxMatches    int  // matching lines after which the search stops; 0 is no limit
	MaxText       int  // bytes kept of the text of a line; 0 is no limit
	CountOnly     bool // count the matching lines and keep none
	Binary        bool // search also what is not text
}

// Line is a line that matches or is near one.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool
	// Cut tells that Text is only a part of the line: its start, or what is
	// around the match.
	Cut bool
}

// Result is what a search found, in the order of the text.
type Result struct {
	Lines   []Line
	Matches int
	Stopped bool // at MaxMatches: there may be more
	Binary  bool // not text, and searched only if that was asked for
}

// Searcher searches one text after another with the same buffer; it serves one
// goroutine. It takes 256 KiB, up to 2 MiB for texts with long lines, and 16 MiB for a
// pattern that may match several lines, of which matches across pieces of that size are missed. A line
// above 1 MiB is searched in pieces of at least that size: a match that crosses
// their border is missed, and each piece counts as beginning and ending a line.
// Context reaches back at most 256 KiB.
type Searcher struct {
	scanner *Scanner
	buf     []byte
}

// Searcher returns a new searcher for the pattern.
func (m *Matcher) Searcher() *Searcher {
	size := bufferSize
	if m.across {
		size = maxWhole
	}
	return &Searcher{scanner: m.Scanner(), buf: make([]byte, size)}
}

// Search reads r to its end and returns the matching lines. A mark of UTF-8 or UTF-16 at its
// beginning is no part of the text, which is decoded accordingly. size is the number
// of bytes r has, if that is known: then it is not read further, which saves a
// read; 0 otherwise. An error is that of r, which is also how a caller stops a
// search; the result up to it is returned too.
func (s *Searcher) Search(r io.Reader, size int64, opt SearchOptions) (Result, error) {
	c := search{Searcher: s, opt: opt, number: 1}
	for first := true; ; first = false {
		err := c.fill(r, size)
		mark := string(s.buf[:min(c.end, 3)])
		if first && err == nil && (mark == "\uFEFF" || strings.HasPrefix(mark, "\xff\xfe") || strings.HasPrefix(mark, "\xfe\xff")) {
			r, size = transform.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(s.buf[:c.end])), r), unicode.BOMOverride(transform.Nop)), 0
			c.end, c.read, c.eof = 0, 0, false
			err = c.fill(r, size)
		}
		if err != nil {
			return c.result, err
		}
		if first {
			c.result.Binary = bytes.IndexByte(s.buf[:min(c.end, binaryPrefix)], 0) >= 0
		}
		if c.result.Binary && !opt.Binary {
			return c.result, nil
		}
		limit, piece, ok := c.complete()
		switch {
		case !ok:
			continue
		case s.scanner.m.across:
			c.scanAcross(limit)
		default:
			c.scan(limit, piece)
		}
		if c.eof || c.result.Stopped && c.after == 0 {
			return c.result, nil
		}
		c.shift(limit)
	}
}

// A search is the state of one call of Search. All places are indices of buf.
type search struct {
	*Searcher
	opt     SearchOptions
	result  Result
	end     int   // of what has been read
	pos     int   // up to where it has been searched, the start of a line or piece
	read    int64 // bytes in all
	eof     bool
	known   int  // place whose line number is number
	number  int  // from 1
	emitted int  // up to where lines have been put in the result
	after   int  // lines of context still to come
	matched bool // the piece before pos belongs to a matching line
}

// fill reads until the buffer is full or the text ends, with more room if what
// is in it is the start of one line.
func (c *search) fill(r io.Reader, size int64) error {
	if c.end == len(c.buf) {
		c.buf = append(c.buf, make([]byte, min(len(c.buf), max(maxBuffer-len(c.buf), 0)))...)
	}
	for idle := 0; c.end < len(c.buf); {
		n, err := r.Read(c.buf[c.end:])
		c.end += n
		c.read += int64(n)
		if errors.Is(err, io.EOF) || err == nil && size > 0 && c.read >= size {
			c.eof = true
			return nil
		}
		if err != nil {
			return err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle == 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// complete returns up to where there are whole lines, or a piece of a long one.
func (c *search) complete() (limit int, piece, ok bool) {
	if c.eof {
		return c.end, false, true
	}
	if i := bytes.LastIndexByte(c.buf[c.pos:c.end], '\n'); i >= 0 {
		return c.pos + i + 1, false, true
	}
	return c.end, true, c.end-c.pos >= maxLine
}

// scan finds the matching lines up to limit.
func (c *search) scan(limit int, piece bool) {
	base := c.pos
	continued := c.matched
	c.matched = false
	c.scanner.Reset(c.buf[base:limit])
	for !c.result.Stopped {
		start, _, ok := c.scanner.Next()
		if !ok {
			break
		}
		c.matched = piece
		if !continued || start > 0 { // else it is the rest of a line that was found already
			c.found(base+start, limit)
		}
	}
	c.matched = c.matched || continued && piece
	c.following(limit, limit)
}

// scanAcross finds the lines of matches up to limit.
func (c *search) scanAcross(limit int) {
	for at, more := c.pos, true; more; {
		base := at
		spans := c.scanner.m.re.FindAllIndex(c.buf[base:limit], maxSpans)
		more = len(spans) == maxSpans && !c.result.Stopped
		for _, span := range spans {
			last := base + max(span[0], span[1]-1)
			at = max(at, base+bytes.LastIndexByte(c.buf[base:base+span[0]], '\n')+1)
			for at <= last && at < limit && !c.result.Stopped {
				c.found(at, limit)
				at = lineAfter(c.buf[:limit], at)
			}
		}
	}
	c.following(limit, limit)
}

func (c *search) found(start, limit int) {
	c.result.Matches++
	c.result.Stopped = c.result.Matches == c.opt.MaxMatches
	if c.opt.CountOnly {
		return
	}
	c.following(start, limit)
	for at := c.linesBefore(start, c.opt.Before, c.emitted); at < start; {
		at = c.emit(at, limit, false)
	}
	c.emit(start, limit, true)
	c.after = c.opt.After
}

// following emits the lines after the last match that begin before to.
func (c *search) following(to, limit int) {
	for c.after > 0 && c.emitted < to {
		c.emit(c.emitted, limit, false)
		c.after--
	}
}

// linesBefore returns where the n lines before the line at start begin, not
// before floor.
func (c *search) linesBefore(start, n, floor int) int {
	for ; n > 0 && start > floor; n-- {
		start = floor + bytes.LastIndexByte(c.buf[floor:start-1], '\n') + 1
	}
	return start
}

// emit adds the line at start to the result and returns where the next begins.
func (c *search) emit(start, limit int, match bool) int {
	next := lineAfter(c.buf[:limit], start)
	c.number += bytes.Count(c.buf[c.known:start], []byte("\n"))
	c.known, c.emitted = start, next
	text, cut := c.excerpt(trimEnding(c.buf[start:next]), match)
	c.result.Lines = append(c.result.Lines, Line{Number: c.number, Text: string(text), Match: match, Cut: cut})
	return next
}

// shift moves what is still needed to the start of the buffer.
func (c *search) shift(limit int) {
	keep := max(c.linesBefore(limit, c.opt.Before, min(c.emitted, limit)), limit-maxKept)
	if c.known < keep {
		c.number += bytes.Count(c.buf[c.known:keep], []byte("\n"))
		c.known = keep
	}
	copy(c.buf, c.buf[keep:c.end])
	c.end -= keep
	c.pos = limit - keep
	c.known -= keep
	c.emitted = max(c.emitted-keep, 0)
}

// excerpt returns at most MaxText bytes of a line, from its start, or from a
// little before the match if that is further on; never a part of a character.
func (c *search) excerpt(line []byte, match bool) (text []byte, cut bool) {
	if c.opt.MaxText == 0 || len(line) <= c.opt.MaxText {
		return line, false
	}
	from := 0
	if match {
		if loc := c.scanner.m.re.FindIndex(line); loc != nil && loc[1] > c.opt.MaxText {
			from = min(max(loc[0]-c.opt.MaxText/4, 0), len(line)-c.opt.MaxText)
		}
	}
	to := min(from+c.opt.MaxText, len(line))
	return line[runeStart(line, from):runeStart(line, to)], true
}

// runeStart returns i, or the start of the UTF-8 sequence that i is inside of.
func runeStart(b []byte, i int) int {
	for j := i; j > 0 && j < len(b) && i-j < utf8.UTFMax; j-- {
		if utf8.RuneStart(b[j]) {
			return j
		}
	}
	return i
}

// tooCommon is how many bytes must on average be between two lines that are
// looked at in vain; if it is less, reading every byte is cheaper.
const tooCommon = 64

// Scanner finds the matching lines of one buffer after another. It has memory
// of its own and serves one goroutine.
type Scanner struct {
	m       *Matcher
	dfa     *dfa
	buf     []byte
	pos     int    // start of the line to go on with
	next    [2]int // where the rarest byte of the literal comes next, in either case
	common  bool   // the literal turned out to be too common to be looked for first
	tries   int    // lines that had it and did not match
	earlier int    // bytes of the buffers before this one
}

// Scanner returns a new scanner for the pattern.
func (m *Matcher) Scanner() *Scanner {
	return &Scanner{m: m}
}

// Reset makes the scanner start at the beginning of buf, which must begin with
// a line; its end ends the last one. buf must not change until the next Reset.
func (s *Scanner) Reset(buf []byte) {
	s.earlier += len(s.buf)
	s.buf, s.pos, s.next = buf, 0, [2]int{-1, -1}
}

// Next returns the bounds of the next matching line, without its ending.
func (s *Scanner) Next() (start, end int, ok bool) {
	for s.pos < len(s.buf) {
		at, sure := s.candidate()
		if at < 0 {
			break
		}
		start := s.pos + bytes.LastIndexByte(s.buf[s.pos:at], '\n') + 1
		s.pos = lineAfter(s.buf, at)
		if line := s.buf[start:s.pos]; sure || s.matches(line) {
			return start, start + len(trimEnding(line)), true
		}
		s.tries++
	}
	s.pos = len(s.buf)
	return 0, 0, false
}

// candidate returns a place in the next line that may match, or -1, and whether
// it surely does.
func (s *Scanner) candidate() (at int, sure bool) {
	s.common = s.common || s.tries > 64 && s.earlier+s.pos < s.tries*tooCommon
	if len(s.m.literal.text) > 0 && !s.common {
		return s.m.literal.find(s.buf, s.pos, &s.next), s.m.exact
	}
	if s.automaton().slow {
		return s.pos, false
	}
	if at = s.dfa.find(s.buf[s.pos:]); at < 0 {
		return -1, false
	}
	return s.pos + at, true
}

func (s *Scanner) automaton() *dfa {
	if s.dfa == nil {
		s.dfa = newDFA(s.m)
	}
	return s.dfa
}

// matches decides about one line, given with its ending.
func (s *Scanner) matches(line []byte) bool {
	if s.automaton().slow {
		return s.m.re.Match(trimEnding(line))
	}
	return s.dfa.find(line) >= 0
}

// lineAfter returns where the line after the one at a place begins, or the end of the text.
func lineAfter(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// trimEnding returns the line without \n, \r\n, or \r at the end of the text.
func trimEnding(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}
