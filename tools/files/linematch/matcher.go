package linematch

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
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
	classes *classes
	needles []needle // one of them is in every match; none if not known
	exact   bool     // each occurrence of a needle is a match
	exotic  bool     // a needle also has spellings outside ASCII
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
	if hasNewline(ast) {
		return nil, errors.New(`the pattern asks for a line break, but lines are matched one at a time: search for the parts separately`)
	}
	m := &Matcher{}
	m.setNeedles(ast)
	if m.prog, err = syntax.Compile(ast.Simplify()); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	if n := len(m.prog.Inst); n > maxInstructions {
		return nil, fmt.Errorf("the pattern is too large: its repetitions unfold to %d steps, the most is %d", n, maxInstructions)
	}
	if m.re, err = regexp.Compile(pattern); err != nil {
		return nil, fmt.Errorf("invalid pattern: %w", err)
	}
	m.classes = newClasses(m.prog)
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
	where := ""
	if i := bytes.Index([]byte(pattern), []byte(s.Expr)); i >= 0 && s.Expr != "" && s.Expr != pattern {
		where = fmt.Sprintf(" at character %d", len([]rune(pattern[:i]))+1)
	}
	hint := ""
	if s.Code == syntax.ErrInvalidPerlOp || s.Code == syntax.ErrInvalidEscape {
		hint = " (the syntax is RE2: no look-around and no back-references)"
	}
	return fmt.Errorf("invalid pattern: %s: %q%s%s; to search for it as plain text, ask for a fixed string", s.Code, s.Expr, where, hint)
}

func hasNewline(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, '\n') {
		return true
	}
	return slices.ContainsFunc(re.Sub, hasNewline)
}

// Find returns where in a line, given without its ending, the leftmost match
// is; nil if there is none.
func (m *Matcher) Find(line []byte) []int { return m.re.FindIndex(line) }

// binaryPrefix is how much of a file decides whether it is text.
const binaryPrefix = 8 << 10

// IsBinary reports whether a file that starts with these bytes is not text: it
// has a NUL in the first 8 KiB.
func IsBinary(start []byte) bool {
	return bytes.IndexByte(start[:min(len(start), binaryPrefix)], 0) >= 0
}
