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
