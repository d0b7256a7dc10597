// Package linematch finds the lines of a text that match a pattern, at about
// the speed the text can be read.
//
// A pattern is RE2 syntax as in package regexp, or a fixed string, and is
// matched against one line at a time without its line ending, \n or \r\n. The
// result is that of regexp.Match on each line. Only a pattern that asks for line breaks
// is matched against the whole text, with ^ and $ at its lines. It is found faster in two ways:
// where every match must contain a literal, that is searched for in the whole buffer
// and only the lines that have it are looked at; and lines are looked at by a
// deterministic automaton, built as it is needed, that reads each byte once.
//
// [Scanner] works on a buffer, [Searcher] on a reader, with line numbers and
// lines of context. The package does no input or output of its own.
package linematch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a pattern, so that neither memory nor time per byte can be made
// large by it.
const (
	maxPattern      = 4096  // bytes
	maxInstructions = 5_000 // of the compiled program
)

// Options change how a pattern is read.
type Options struct {
	FixedString bool // the pattern is literal text, not a regular expression
	IgnoreCase  bool // letters match in either case, by Unicode simple folding
}

// Matcher is a compiled pattern; it may be used by several goroutines, each
// with its own [Scanner].
type Matcher struct {
	re      *regexp.Regexp
	prog    *syntax.Prog
	literal needle // is in every match; empty if not known
	exact   bool   // each occurrence of it is a match
	across  bool   // it may match several lines
}

// Compile parses a pattern. The error says what is wrong with it and where.
func Compile(pattern string, opt Options) (*Matcher, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, the most is %d", len(pattern), maxPattern)
	}
	if opt.FixedString {
		pattern = regexp.QuoteMeta(pattern)
	}
	if opt.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	ast, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, explain(pattern, opt, err)
	}
	m := &Matcher{across: hasNewline(ast), literal: needleIn(ast)}
	m.exact = ast.Op == syntax.OpLiteral && string(ast.Rune) == string(m.literal.text) && !m.literal.fold && !slices.Contains(ast.Rune, '\r')
	if m.across {
		pattern = "(?m)" + pattern
	}
	if m.prog, err = syntax.Compile(ast.Simplify()); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	if n := len(m.prog.Inst); n > maxInstructions {
		return nil, fmt.Errorf("the pattern is too large: its repetitions unfold to %d steps, the most is %d", n, maxInstructions)
	}
	if m.re, err = regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	return m, nil
}

// explain words a syntax error, with the place where the offending part is.
func explain(pattern string, opt Options, err error) error {
	var s *syntax.Error
	if !errors.As(err, &s) {
		return fmt.Errorf("invalid pattern: %w", err)
	}
	if opt.IgnoreCase {
		pattern = pattern[len("(?i)"):]
	}
	where, hint := "", ""
	if before, _, ok := strings.Cut(pattern, s.Expr); ok && s.Expr != "" && s.Expr != pattern {
		where = fmt.Sprintf(" at character %d", utf8.RuneCountInString(before)+1)
	}
	if s.Code == syntax.ErrInvalidPerlOp || s.Code == syntax.ErrInvalidEscape || strings.HasPrefix(s.Expr, "(?<") {
		hint = " (the syntax is RE2, without look-around and back-references: search for what is around, or call bash with rg -P)"
	}
	return fmt.Errorf("invalid pattern: %s: %q%s%s; to search for it as plain text, give fixed_string: true", s.Code, s.Expr, where, hint)
}

// hasNewline reports whether a pattern asks for a line break: by itself, as (?s). or as
// [\s\S]. Classes such as \s and [^a] do not.
func hasNewline(re *syntax.Regexp) bool {
	switch {
	case re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n'), re.Op == syntax.OpAnyChar,
		re.Op == syntax.OpCharClass && slices.Equal(re.Rune, []rune{0, unicode.MaxRune}):
		return true
	}
	return slices.ContainsFunc(re.Sub, hasNewline)
}

// A needle is a literal to search for.
type needle struct {
	text []byte // in lower case if fold
	fold bool   // ASCII letters in either case
	rare int    // index of its rarest byte
	any  string // that byte, in both cases if fold
}

// needleIn returns the longest text that is in every match of a pattern; it may be empty.
func needleIn(re *syntax.Regexp) (longest needle) {
	switch re.Op {
	case syntax.OpLiteral:
		longest.fold = re.Flags&syntax.FoldCase != 0
		unsure := func(r rune) bool { // U+FFFD matches invalid bytes, and characters beyond ASCII match k and s
			return r == utf8.RuneError || longest.fold && (r >= utf8.RuneSelf || r == 'k' || r == 's')
		}
		text := string(re.Rune)
		if longest.fold {
			text = strings.ToLower(text)
		}
		for piece := range strings.FieldsFuncSeq(text, unsure) {
			if len(piece) > len(longest.text) {
				longest.text = []byte(piece)
			}
		}
		for i, b := range longest.text {
			if i == 0 || rarity(b) > rarity(longest.text[longest.rare]) {
				longest.rare, longest.any = i, string(longest.text[i:i+1])
			}
		}
		if longest.fold {
			longest.any += strings.ToUpper(longest.any)
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, part := range re.Sub {
			if n := needleIn(part); len(n.text) > len(longest.text) {
				longest = n
			}
		}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needleIn(re.Sub[0])
		}
	}
	return longest
}

// rarity is a rough estimate for source code and prose: the byte is one in 2^n.
func rarity(b byte) int {
	switch {
	case b == ' ':
		return 3
	case strings.IndexByte("etaoinsr", b) >= 0:
		return 4
	case strings.IndexByte("jqxzkv", b) >= 0:
		return 8
	case b >= 'a' && b <= 'z', strings.IndexByte("\t.,()_-/\"'=:;", b) >= 0:
		return 5
	case b >= '0' && b <= '9':
		return 6
	}
	return 7
}

// find returns where the needle is next at or after from, or -1. It looks for its rarest byte, which for most text is faster than the
// library's search by the first. Next is where that comes next in either case, so that nothing is searched for it twice.
func (n *needle) find(buf []byte, from int, next *[2]int) int {
	for at := from + n.rare; ; at++ {
		for i := range n.any {
			if next[i] < at {
				next[i] = len(buf)
				if found := bytes.IndexByte(buf[min(at, len(buf)):], n.any[i]); found >= 0 {
					next[i] = at + found
				}
			}
		}
		at = min(next[0], next[len(n.any)-1])
		start := at - n.rare
		if start+len(n.text) > len(buf) {
			return -1
		}
		if found := buf[start : start+len(n.text)]; bytes.Equal(found, n.text) || n.fold && bytes.EqualFold(found, n.text) {
			return start
		}
	}
}
