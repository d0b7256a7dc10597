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
	"path/filepath"
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
	vars := &variables{byName: map[string]*variable{}, initial: map[string]string{"HOME": p.Home, "TMPDIR": p.Temp}}
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

// decision is the verdict on a request as it comes about.
type decision struct {
	p       *Policy
	v       Verdict
	refused bool
	unread  bool // part of the text was not understood
	steps   int
	depth   int
	program string // that is being decided on
	argv    []arg  // of the last simple command
}

// refuse ends the analysis with a refusal if there is a list of commands. Without
// one it goes on.
func (d *decision) refuse(rule, reason, hint string) {
	if d.p.listed {
		d.deny(rule, reason, hint)
	}
	switch rule {
	case "syntax", "ambiguous", "too-complex", "malformed":
		d.unread = true
	}
}

// deny ends the analysis with a refusal; only the first one counts.
func (d *decision) deny(rule, reason, hint string) {
	if d.refused {
		return
	}
	d.refused = true
	if hint == "" && (rule == "not-allowed" || strings.HasPrefix(rule, "denied: ")) {
		hint = d.p.hint(d.program)
	}
	d.v.Rule, d.v.Reason, d.v.Hint = clean(rule, 80), clean(reason, maxText), clean(hint, 400)
}

// step counts work and reports whether to go on.
func (d *decision) step() bool {
	if d.steps++; d.steps > maxSteps {
		d.refuse("too-complex", fmt.Sprintf("the command has more than %d parts to check", maxSteps), "split it into several commands")
	}
	return !d.refused && d.steps <= maxSteps
}

// deeper goes on with something that is within something else, unless that is too deep.
func (d *decision) deeper(complaint string, goOn func()) {
	if d.depth >= maxDepth {
		d.refuse("too-complex", complaint, "")
		return
	}
	d.depth++
	goOn()
	d.depth--
}

// permit applies the lists: denied first, then allowed. Words is the program
// and its sub-command words, args all its arguments.
func (d *decision) permit(prog program, words, args []arg) {
	d.program = prog.base
	shown := append([]arg{text(prog.name)}, words[1:]...)
	if r := d.p.deniedBy(prog, words, args); r != nil {
		what := line(shown)
		if prog.real != "" && filepath.Base(prog.real) != prog.base {
			what += " (" + prog.real + ")"
		}
		d.refuse("denied: "+r.text, what+" is denied", "")
		return
	}
	if prog.builtin && (isListed("free builtins", prog.base, unknown) || prog.base == "command" && len(args) > 0 && (args[0].is("-v") || args[0].is("-V"))) {
		return
	}
	if d.p.any {
		listed := func(r *rule) bool { return r.path != "" && r.about(prog.base) && r.samePath(prog) }
		if prog.path && !prog.trusted && d.p.OpaqueScripts == Deny && !slices.ContainsFunc(d.p.allowed, listed) {
			d.refuse("opaque-scripts", prog.name+" is a program outside the directories of PATH",
				"run an installed program by its name, or list this path in allowed_commands")
		}
		return
	}
	r, why := d.p.allowedBy(prog, words, args)
	switch {
	case r == nil && why != "":
		d.refuse("args_deny", line(shown)+" may not get "+why, "leave "+why+" out")
	case r == nil:
		d.refuse("not-allowed", line(shown)+" is not allowed", "")
	case len(r.words) > 1 && !r.rest:
		d.mutating(r, prog, words[1].s, args)
	}
}

// mutating refuses destructive words after a sub-command that a rule allows,
// unless the rule itself spells them out.
func (d *decision) mutating(r *rule, prog program, sub string, args []arg) {
	words := wordLists()["mutations"][prog.base+"."+sub]
	if words == "" || len(r.words) > 2 {
		return
	}
	for w := range strings.SplitSeq(words[1:], ",") {
		for i, a := range args {
			if strings.HasPrefix(w, "-") && optionIs(a.s, w) ||
				!strings.HasPrefix(w, "-") && i > 0 && args[i-1].is(sub) && (a.is(w) || !a.exact()) {
				d.refuse("mutating", prog.base+" "+sub+" "+w+" changes things, and the rule "+quote(r.text)+" is taken to allow looking",
					"add "+quote(r.text+" "+w)+" to allowed_commands")
				return
			}
		}
	}
}

// actsAs applies the lists to name, because an option does what it does.
func (d *decision) actsAs(name, who string) {
	argv, prog := []arg{text(name)}, d.p.found(name)
	if r := d.p.deniedBy(prog, argv, nil); r != nil {
		d.refuse("denied: "+r.text, who+" does what "+name+" does, which is denied", "")
	} else if r, _ := d.p.allowedBy(prog, argv, nil); r == nil && !d.p.any {
		d.refuse("not-allowed", who+" does what "+name+" does, which is not allowed", "")
	}
}

// checkEnvName refuses an assignment to a variable that changes what runs.
func (d *decision) checkEnvName(name string, value arg, where string) {
	if !isListed("code variables", name, value) || isListed("harmless variables", name, value) {
		return
	}
	what := name + "=" + show(value.s)
	if where != "" {
		what = where + " " + name
	}
	d.refuse("environment", what+" changes which programs or code run later", "run the command without setting "+name)
}

// varName checks an operand that names a variable to a builtin, and returns
// the name: a subscript in it would be evaluated.
func (d *decision) varName(a arg, where string) string {
	name, subscript, indexed := strings.Cut(a.s, "[")
	if a.many || !syntax.ValidName(name) || indexed && strings.TrimLeft(subscript, "0123456789@*") != "]" {
		d.refuse("evaluates", where+" evaluates "+show(a.s)+" as a variable", "name a variable without a computed subscript")
	}
	return name
}

// note adds a path to the verdict.
func (d *decision) note(path string, write bool) {
	list := &d.v.Reads
	if write {
		list = &d.v.Writes
	}
	if len(*list) < maxListed && path != "" {
		*list = append(*list, show(path))
	}
}

// plain returns the arguments of file, which are those of the last call, if it is one simple command of literals.
func (d *decision) plain(file *syntax.File) []string {
	if file == nil || len(file.Stmts) != 1 || len(d.argv) == 0 {
		return nil
	}
	st := file.Stmts[0]
	literal := !st.Negated && !st.Background && !st.Coprocess && !st.Disown
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n.(type) {
		case nil, *syntax.Stmt, *syntax.CallExpr, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment:
		default:
			literal = false
		}
		return literal
	})
	name := d.argv[0].s
	builtin := d.p.builtin(name)
	if !literal || name == "" || builtin && !d.p.programToo(name) {
		return nil
	}
	var argv []string
	for _, a := range d.argv {
		if !a.exact() || a.odd || builtin && (strings.HasPrefix(a.s, "-") || strings.Contains(a.s, `\`)) {
			return nil
		}
		argv = append(argv, a.s)
	}
	return argv
}

// programToo reports whether a builtin is, without options and escapes, no different as a program, and that may
// start by the lists.
func (p *Policy) programToo(name string) bool {
	listed := func(r *rule) bool { return r.text == name }
	return slices.Contains([]string{"true", "false", "echo"}, name) && len(p.denied) == 0 && (p.any || slices.ContainsFunc(p.allowed, listed))
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

// gitKey refuses a key of git's configuration that may choose a program.
func (d *decision) gitKey(key, value arg) {
	if !key.exact() || !isListed("git keys", strings.ToLower(key.s), value) {
		d.refuse("option", "git configuration "+quote(show(key.s))+" may choose a program to run", "")
	}
}
