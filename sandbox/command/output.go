package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// outputOf returns what is known of the text that statements print, without
// trailing newlines. It judges nothing.
func (c *checker) outputOf(sh *shell, stmts []*syntax.Stmt) arg {
	if len(stmts) != 1 {
		return unknown
	}
	st := stmts[0]
	switch cmd := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe {
			return c.piped(sh, cmd)
		}
	case *syntax.CallExpr:
		for _, r := range st.Redirs {
			if r.N == nil || r.N.Value != "2" {
				return unknown
			}
		}
		if len(cmd.Args) > 0 && c.steps < maxSteps {
			c.steps++
			argv := c.expand(sh, cmd.Args)
			if len(argv) > 0 && argv[0].exact() {
				if _, ok := sh.function(argv[0].s); !ok {
					return c.printed(sh, argv)
				}
			}
		}
	}
	return unknown
}

// piped returns the output of a pipeline.
func (c *checker) piped(sh *shell, b *syntax.BinaryCmd) (out arg) {
	for i, st := range pipeParts(b) {
		out = c.pipeOutput(sh, st, out, i == 0)
	}
	return out
}

// pipeOutput returns what one part of a pipeline prints, given what it reads.
// Some programs pass lines on as they are.
func (c *checker) pipeOutput(sh *shell, st *syntax.Stmt, in arg, first bool) arg {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if first || !ok || len(call.Args) == 0 || len(st.Redirs) > 0 {
		return c.outputOf(sh, []*syntax.Stmt{st})
	}
	switch name, _ := static(call.Args[0]); name {
	case "sort", "uniq", "head", "tail", "grep", "egrep", "fgrep", "shuf", "tac", "cat":
		if len(call.Args) > 1 && name == "cat" || markAt(in.s) < 0 {
			return unknown
		}
		return in
	}
	return c.outputOf(sh, []*syntax.Stmt{st})
}

// printed returns what a command prints, for those where it is known.
func (c *checker) printed(sh *shell, argv []arg) arg {
	args := argv[1:]
	switch argv[0].s {
	case "echo", "printf":
		return echoed(argv[0].s, args)
	case "find":
		starts, rest := findStarts(args)
		out := findOutput(starts, rest)
		if s := starts[0].s; strings.HasPrefix(s, "-") || s == "" {
			return unknown
		}
		return out
	case "wc", "nproc", "expr", "seq":
		return arg{s: string(rune(aNumber)), many: true}
	case "date":
		if len(args) == 1 && (args[0].is("+%s") || args[0].is("+%Y")) {
			return arg{s: string(rune(aNumber))}
		}
		return arg{s: string(rune(aToken))}
	case "mktemp":
		if dir := c.temp(sh); dir != "" && (len(args) == 0 || len(args) == 1 && args[0].is("-d")) {
			return arg{s: strings.TrimSuffix(dir, "/") + "/tmp.\x01"}
		}
	case "ls":
		return listed(args)
	case "git":
		return gitPrints(args)
	case "uname", "hostname", "whoami", "arch", "id":
		return arg{s: string(rune(aToken))}
	}
	return unknown
}

// temp returns where programs make temporary files, or "".
func (c *checker) temp(sh *shell) string {
	switch {
	case sh.facts.dynamic || sh.facts.assigned["TMPDIR"] > 0 || c.callerSets("TMPDIR"):
		return ""
	case c.p.Temp != "":
		return c.p.Temp
	}
	return "/tmp"
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

// gitPrints returns what git prints where scripts commonly use it.
func gitPrints(args []arg) arg {
	if len(args) == 0 {
		return unknown
	}
	switch args[0].s {
	case "rev-parse", "merge-base", "describe", "symbolic-ref", "rev-list":
		return arg{s: string(rune(aToken))}
	case "ls-files":
		return arg{s: "./" + string(rune(anyBelow)), many: true}
	case "diff":
		for _, a := range args[1:] {
			if a.is("--name-only") {
				return arg{s: "./" + string(rune(anyBelow)), many: true}
			}
		}
	case "branch":
		if len(args) == 2 && args[1].is("--show-current") {
			return arg{s: string(rune(aToken))}
		}
	}
	return unknown
}

// printsNumber reports whether the statements print a number and nothing else.
func printsNumber(stmts []*syntax.Stmt) bool {
	if len(stmts) != 1 {
		return false
	}
	if b, ok := stmts[0].Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		return printsNumber([]*syntax.Stmt{b.Y})
	}
	call, ok := stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	name, _ := static(call.Args[0])
	first, second := "", ""
	if len(call.Args) > 1 {
		first, _ = static(call.Args[1])
	}
	if len(call.Args) > 2 {
		second, _ = static(call.Args[2])
	}
	switch name {
	case "wc":
		return len(call.Args) == 1 || strings.HasPrefix(first, "-") && len(call.Args) == 2
	case "nproc":
		return true
	case "date":
		return first == "+%s" || first == "+%Y" || first == "+%s%N"
	case "grep":
		return first == "-c" && len(call.Args) == 3
	case "stat":
		return first == "-c" && (second == "%s" || second == "%Y")
	}
	return false
}
