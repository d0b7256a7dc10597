package linematch

import "bytes"

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
