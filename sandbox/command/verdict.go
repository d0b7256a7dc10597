package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Request is a command to decide on.
type Request struct {
	// Command is the text that bash would get with -c.
	Command string
	// Dir is the absolute directory it would start in.
	Dir string
	// Env names the variables that the caller sets for it.
	Env []string
}

// Verdict is the decision on a request. The texts are single lines of at most
// a few hundred bytes.
type Verdict struct {
	Allowed bool
	// Rule is the list entry ("denied: rm") or built-in rule ("inline-code")
	// that decided; empty if the command is allowed.
	Rule string
	// Reason says what was judged and why it is refused.
	Reason string
	// Hint says what would be allowed.
	Hint string
	// Argv holds the simple commands found, as they would run, those behind
	// wrappers included; at most 256. Parts that are known only when the
	// command runs are shown as "…", globs as "*" and "?".
	Argv [][]string
	// Reads and Writes are absolute paths that the command names for reading
	// and writing, as far as they are known; at most 256 each.
	Reads, Writes []string
	// Plain is the argument list if the whole request is one simple command of
	// literal words, so that it can run without a shell; nil otherwise.
	Plain []string
}

// clean makes s fit for a message: one line, printable, at most n bytes.
func clean(s string, n int) string {
	s = show(s)
	if len(s) > n {
		cut := n
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}
