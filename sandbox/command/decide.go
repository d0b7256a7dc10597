// Package command decides whether a shell command may run.
//
// A [Policy] is compiled once from lists of allowed and denied programs. Its [Policy.Decide] parses the
// text as bash does, walks everything in it that could start a program or touch a file, looks through
// the programs that start others (env, xargs, find -exec, sh -c and the like), and answers with a
// [Verdict] that names the rule and says what would be allowed.
//
// Nothing runs. Whatever cannot be decided by reading is refused. The file system is consulted only to tell
// what a name or a link stands for; what an allowed program does once it runs is not checked here.
//
// What the programs do with their arguments is data, not code: one line for a program in programs.txt.
package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
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

// Verdict is the decision on a request. The texts are single lines of at most a few hundred bytes.
type Verdict struct {
	Allowed bool
	// Rule is the list entry ("denied: rm") or built-in rule ("inline-code")
	// that decided; empty if the command is allowed.
	Rule string
	// Reason says what was checked and why it is refused.
	Reason string
	// Hint says what would be allowed.
	Hint string
	// Argv holds the simple commands found, as they would run, those behind wrappers included; at most
	// 256. Parts that are known only when the command runs are shown as "…", globs as "*" and "?".
	Argv [][]string
	// Reads and Writes are absolute paths that the command names for reading
	// and writing, as far as they are known; at most 256 each.
	Reads, Writes []string
	// UnlistedCommand or UnlistedPath is set if what refuses the request is that no list has this program with
	// its sub-command, or the path that it writes.
	UnlistedCommand, UnlistedPath string
	// Plain is the argument list if the whole request is one simple command of
	// literal words, so that it can run without a shell; nil otherwise.
	Plain []string
}

// The limits of an analysis. What is over a limit is refused.
const (
	maxCommand = 32 << 10 // bytes of a request
	maxNesting = 40       // brackets within brackets
	maxDepth   = 12       // scripts within scripts, and functions within functions
	maxSteps   = 20_000   // commands and expansions looked at
	maxPaths   = 8_000    // looks at the file system for paths
	maxDirs    = 8        // directories that the shell may be in
	maxPath    = 1024     // bytes of a directory that cd is followed into
	maxListed  = 256      // entries of a list in a Verdict
	maxText    = 240      // bytes of a reason
)

// Decide tells whether the command of req may run. It never panics and takes at most some milliseconds, whatever
// the text. Without a list it may, unless it names a file that [Paths.Forbidden] is about; what cannot be decided
// then ends nothing, and what cannot be read is searched for such names.
func (p *Policy) Decide(req Request) (v Verdict) {
	defer func() {
		if recover() != nil { // a mistake in here or in the parser is no reason to run something, nor to end the server
			v = Verdict{Rule: "broken", Reason: "the command could not be checked, because of a mistake in the analysis", Hint: "write it in another way"}
		}
	}()
	vars := &variables{byName: map[string]*variable{}, home: p.Home, temp: p.Temp}
	for _, name := range req.Env {
		*vars.get(name) = variable{many: true, text: true}
	}
	var c *checker
	var file *syntax.File
	for pass := 1; pass == 1 || vars.again; pass++ {
		vars.restart(pass)
		c = newChecker(p, req.Dir, vars)
		sh := &shell{dirs: []string{req.Dir}, pos: []arg{}, stdin: unknown}
		if why := malformed(req.Command); why != "" {
			c.refuse("malformed", why, "send one command of plain UTF-8 text")
		} else {
			file = c.run(sh, req.Command, "the command", syntax.LangBash)
		}
		if c.unread {
			c.spelled(sh, req.Command, "the command")
		}
	}
	if c.v.Allowed = !c.refused; c.v.Allowed {
		c.v.Plain = c.plain(file)
	}
	return c.v
}

// malformed says why no shell should get this text at all, or returns "".
func malformed(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "the command is empty"
	case len(s) > maxCommand:
		return fmt.Sprintf("the command has %d bytes: at most %d are checked", len(s), maxCommand)
	case !utf8.ValidString(s):
		return "the command is not valid UTF-8"
	}
	depth, deepest := 0, 0
	for _, r := range s {
		switch {
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7f && r < 0xa0, r == 0xfeff, unicode.Is(unicode.Bidi_Control, r):
			return fmt.Sprintf("the command holds the invisible character %U", r)
		case r == '(' || r == '{':
			depth++
			deepest = max(deepest, depth)
		case r == ')' || r == '}':
			depth = max(depth-1, 0)
		}
	}
	if deepest > maxNesting || strings.Count(s, `\\\\`) > 100 && strings.Contains(s, "`") {
		return fmt.Sprintf("the command nests brackets more than %d deep", maxNesting)
	}
	return ""
}

// ambiguous matches where the parser and bash are known to read a text
// differently. It is about a backslash at the end of a line: bash lets it
// continue no comment, but it joins the halves of $( and <(.
var ambiguous = lazyregexp.New("(?m)(?:[$<>(\\[{!@?*+`]|(?:^|[ \t;&|()<>`])#.*)\\\\\n")
