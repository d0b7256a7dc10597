package command

import (
	"fmt"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// checker walks one request. After the first refusal it goes on as little as
// it can: refused is looked at before every command.
type checker struct {
	p        *Policy
	req      *Request
	v        Verdict
	refused  bool
	depth    int
	steps    int
	paths    int                  // looks for paths that may still be taken
	declared bool                 // a function was declared
	active   map[*syntax.Stmt]int // how often the bodies of functions are being checked; 0 for done
	seen     map[string]string    // resolved paths

	vars  *variables
	place syntax.Node // that assigns
}

// refuse ends the analysis with a refusal; only the first one counts.
func (c *checker) refuse(rule, reason, hint string) {
	if c.refused {
		return
	}
	c.refused = true
	if hint == "" {
		hint = c.p.hint
	}
	c.v.Rule, c.v.Reason, c.v.Hint = clean(rule, 80), clean(reason, maxText), clean(hint, 400)
}

// step counts work and reports whether to go on.
func (c *checker) step() bool {
	if c.steps++; c.steps > maxSteps {
		c.refuse("too-complex", fmt.Sprintf("the command has more than %d parts to check", maxSteps), "split it into several commands")
	}
	return !c.refused
}

// line shows an argument list in a message.
func line(argv []arg) string { return clean(join(argv).s, 80) }

// clean makes s fit for a message: one line, printable, at most n bytes.
func clean(s string, n int) string {
	if s = show(s); len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '�'
		}
		return r
	}, s)
}
