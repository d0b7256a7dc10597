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
	"slices"
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
	vars := &variables{byName: map[string]*variable{}}
	for _, name := range req.Env {
		*vars.get(name) = variable{many: true, text: true}
	}
	var c *checker
	var file *syntax.File
	for pass := 1; pass == 1 || vars.again; pass++ {
		vars.restart(pass)
		c = &checker{p: p, req: &req, paths: maxPaths, seen: map[string]string{}, asked: map[asked]bool{}, active: map[*syntax.Stmt]int{}, fed: map[string]printed{}, vars: vars}
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

// run parses and walks a whole script that runs in sh. The file is nil if it
// was refused before it could be parsed.
func (c *checker) run(sh *shell, src, what string, language syntax.LangVariant) *syntax.File {
	if c.depth++; c.depth > maxDepth {
		c.refuse("too-complex", "scripts are nested more than "+fmt.Sprint(maxDepth)+" deep", "")
		return nil
	}
	defer func() { c.depth-- }()
	if strings.Contains(src, "\\\n") && ambiguous().MatchString(src) {
		c.refuse("ambiguous", what+" is read in two ways: a line ends with a backslash after a comment or within an operator", "put it on one line")
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(language)).Parse(strings.NewReader(src), "")
	if err != nil {
		c.refuse("syntax", what+" is not valid bash: "+err.Error(), "check the quoting; a command that cannot be parsed is refused")
		return nil
	}
	c.stmts(sh, file.Stmts)
	c.uncalled(sh, file)
	return file
}

// plain returns the arguments of file, which are those of the last call, if it is one simple command of literals.
func (c *checker) plain(file *syntax.File) []string {
	if file == nil || len(file.Stmts) != 1 || len(c.argv) == 0 {
		return nil
	}
	st, literal := file.Stmts[0], true
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			literal = !n.Negated && !n.Background && !n.Coprocess && !n.Disown && len(n.Redirs) == 0
		case *syntax.CallExpr:
			literal = literal && len(n.Assigns) == 0
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment:
		default:
			literal = false
		}
		return literal
	})
	name := c.argv[0].s
	builtin := c.p.builtin(name)
	if !literal || name == "" || builtin && !c.p.alike(name) {
		return nil
	}
	var argv []string
	for _, a := range c.argv {
		if !a.exact() || a.odd || builtin && (strings.HasPrefix(a.s, "-") || strings.Contains(a.s, `\`)) {
			return nil
		}
		argv = append(argv, a.s)
	}
	return argv
}

// alike reports whether a builtin is, without options and escapes, no different as a program, and that may
// start by the lists.
func (p *Policy) alike(name string) bool {
	listed := func(r *rule) bool { return r.text == name }
	return slices.Contains([]string{"true", "false", "echo"}, name) && len(p.denied) == 0 && (p.any || slices.ContainsFunc(p.allowed, listed))
}

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
	program  string               // that is being decided on
	argv     []arg                // of the last simple command
	unread   bool                 // part of the text was not understood
	declared bool                 // a function was declared
	active   map[*syntax.Stmt]int // how often the bodies of functions are being checked; 0 for done
	seen     map[string]string    // resolved paths
	asked    map[asked]bool
	said     []printed          // the commands so far whose output is captured
	fed      map[string]printed // what the files of process substitutions hold

	vars  *variables
	place syntax.Node // that assigns
}

// refuse ends the analysis with a refusal if there is a list of commands. Without
// one it goes on.
func (c *checker) refuse(rule, reason, hint string) {
	if c.p.listed {
		c.deny(rule, reason, hint)
	}
	switch rule {
	case "syntax", "ambiguous", "too-complex", "malformed":
		c.unread = true
	}
}

// deny ends the analysis with a refusal; only the first one counts.
func (c *checker) deny(rule, reason, hint string) {
	if c.refused {
		return
	}
	c.refused = true
	if hint == "" && (rule == "not-allowed" || strings.HasPrefix(rule, "denied: ")) {
		hint = c.p.hint(c.program)
	}
	c.v.Rule, c.v.Reason, c.v.Hint = clean(rule, 80), clean(reason, maxText), clean(hint, 400)
}

// step counts work and reports whether to go on.
func (c *checker) step() bool {
	if c.steps++; c.steps > maxSteps {
		c.refuse("too-complex", fmt.Sprintf("the command has more than %d parts to check", maxSteps), "split it into several commands")
	}
	return !c.refused && c.steps <= maxSteps
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
