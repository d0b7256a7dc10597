package linematch

import "unicode/utf8"

// excerpt returns at most MaxText bytes of a line, from its start, or from a
// little before the match if that is further on; never a part of a character.
func (s *Searcher) excerpt(line []byte, match bool) (text []byte, cut bool) {
	if len(line) <= s.opt.MaxText {
		return line, false
	}
	from := 0
	if match {
		if loc := s.scanner.m.Find(line); loc != nil && loc[1] > s.opt.MaxText {
			from = min(max(loc[0]-s.opt.MaxText/4, 0), len(line)-s.opt.MaxText)
		}
	}
	to := min(from+s.opt.MaxText, len(line))
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
