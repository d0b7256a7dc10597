package command

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// prints says what programs print, where scripts commonly use it: # a number,
// - words that do not start with a dash, ./ paths below the directory. In a
// command, _ is an operand, _* any number of them, and * anything.
const prints = `
# nproc; wc; wc -l; wc -c; wc -w; wc -m; date +%s; date +%Y; date +%s%N; grep -c _; stat -c %s _; stat -c %Y _; git rev-list --count _*
- date; date -u; date -I; date +%F; date +%Y%m%d; date +%H%M%S; date +%Y%m%d%H%M%S; date +%Y-%m-%d; date +%T; date +%Y%m%d-%H%M%S; date +%Y%m%d_%H%M%S
- uname; uname -s; uname -m; uname -r; hostname; hostname -s; whoami; arch; id; id -u; id -g; id -un; id -gn
- git rev-parse _*; git rev-parse --short _*; git rev-parse --abbrev-ref _*; git rev-parse --verify _*; git rev-parse --show-toplevel
- git merge-base *; git describe *; git symbolic-ref *; git branch --show-current; git rev-list _*; git rev-list -n 1 _*; git rev-list -1 _*
./ git ls-files _*; git ls-files -- _*; git diff --name-only _*; git diff --name-only -- _*; git diff --name-only --cached; git diff --name-only --staged
./ git diff --cached --name-only; git diff --staged --name-only
`

type printing struct {
	command []string
	output  arg
}

var printings = sync.OnceValue(func() (table []printing) {
	values := map[string]arg{"#": number, "-": {s: "\x05"}, "./": {s: "./\x06", many: true}}
	for line := range strings.Lines(strings.TrimSpace(prints)) {
		kind, commands, _ := strings.Cut(line, " ")
		for command := range strings.SplitSeq(commands, ";") {
			table = append(table, printing{strings.Fields(command), values[kind]})
		}
	}
	return table
})

// matches reports whether argv is the command.
func (p *printing) matches(argv []arg) bool {
	for i, word := range p.command {
		switch {
		case word == "*":
			return true
		case word == "_*":
			return !slices.ContainsFunc(argv[i:], func(a arg) bool { return a.maybeOption() || strings.HasPrefix(a.s, "..") })
		case i >= len(argv) || word == "_" && (argv[i].many || argv[i].maybeOption()) || word != "_" && !argv[i].is(word):
			return false
		}
	}
	return len(argv) == len(p.command)
}

// outputOf returns what is known of the text that statements print, without
// trailing newlines.
func (c *checker) outputOf(sh *shell, stmts []*syntax.Stmt) (out arg) {
	if len(stmts) != 1 {
		return unknown
	}
	if b, ok := stmts[0].Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		for _, st := range pipeParts(b) {
			out = c.printedBy(sh, st, out)
		}
		return out
	}
	return c.printedBy(sh, stmts[0], unknown)
}

// printedBy returns what a simple command prints, given what it reads.
func (c *checker) printedBy(sh *shell, st *syntax.Stmt, in arg) arg {
	call, ok := st.Cmd.(*syntax.CallExpr)
	for _, r := range st.Redirs {
		input := r.Op == syntax.RdrIn || r.Op == syntax.WordHdoc || r.Op == syntax.Hdoc
		ok = ok && (input || r.N != nil && r.N.Value == "2")
		in = unknown
	}
	if !ok || len(call.Args) == 0 || c.steps >= maxSteps {
		return unknown
	}
	c.steps++
	argv := c.expand(sh, call.Args)
	if len(argv) == 0 || !argv[0].exact() || sh.funcs[argv[0].s] != nil {
		return unknown
	}
	args := argv[1:]
	switch name := argv[0].s; name {
	case "echo", "printf":
		return echoed(name, args)
	case "sort", "uniq", "head", "tail", "grep", "egrep", "fgrep", "shuf", "tac", "cat": // pass lines on
		if markAt(in.s) >= 0 && (name != "cat" || len(args) == 0) && !(name == "grep" && len(args) > 0 && args[0].is("-c")) {
			return in
		}
	case "find":
		starts, rest := findStarts(args)
		if s := starts[0].s; s != "" && s[0] != '-' {
			return findOutput(starts, rest)
		}
		return unknown
	case "mktemp":
		if dir := cmp.Or(c.p.Temp, "/tmp"); c.untouched("TMPDIR") && (len(args) == 0 || len(args) == 1 && args[0].is("-d")) {
			return text(strings.TrimSuffix(dir, "/") + "/tmp.\x01")
		}
	case "ls":
		return listed(args)
	case "seq", "expr":
		if !slices.ContainsFunc(args, func(a arg) bool { return !numeric(a) && !strings.Contains("+*/%", a.s) }) {
			return arg{s: number.s, many: name == "seq"}
		}
	}
	for i := range printings() {
		if p := &printings()[i]; p.matches(argv) {
			return p.output
		}
	}
	return unknown
}

// echoed returns what echo and printf print.
func echoed(name string, args []arg) arg {
	if name == "echo" && len(args) > 0 && strings.HasPrefix(args[0].s, "-") {
		if !args[0].is("-n") {
			return unknown
		}
		args = args[1:]
	}
	if name == "printf" {
		switch {
		case len(args) == 2 && (args[0].is("%s") || args[0].is(`%s\n`)):
			args = args[1:]
		case len(args) != 1 || strings.ContainsAny(args[0].s, `%\`):
			return unknown
		}
	}
	words := make([]string, len(args))
	for i, a := range args {
		if a.many {
			return unknown
		}
		words[i] = a.s
	}
	return text(strings.Join(words, " "))
}

// listed returns what ls prints: names in the directory, or the operands.
func listed(args []arg) arg {
	dots := false
	for _, a := range args {
		switch {
		case strings.HasPrefix(a.s, "-"):
			dots = dots || !a.exact() || strings.ContainsAny(a.s, "aAlfRos")
		case a.s == "" || a.s[0] == '.' || strings.ContainsAny(a.s, "/\x03\x05\x06"):
			return unknown
		}
	}
	if dots {
		return unknown
	}
	return arg{s: string(rune(anyName)), many: true}
}
