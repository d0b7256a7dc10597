package command

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call checks a simple command and returns it as it runs.
func (c *checker) call(sh *shell, call *syntax.CallExpr, redirs []*syntax.Redirect) (argv []arg) {
	argv = c.words(sh, call.Args)
	for _, a := range call.Assigns {
		// With a command, the assignment is for that only, and read splits with IFS.
		if a.Name != nil && a.Name.Value == "IFS" && len(argv) > 0 && argv[0].is("read") {
			c.value(sh, a.Value)
			continue
		}
		c.assignment(sh, a, len(call.Args) == 0)
	}
	if c.refused || len(argv) == 0 {
		return nil
	}
	c.vars.place = call
	c.check(sh, argv, inShell)
	c.argv = argv
	if len(argv) > 1 && argv[0].is("cat") && slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool {
		return r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrClob
	}) {
		c.copied(sh, argv[1:])
	}
	if !argv[0].exact() || sh.funcs[argv[0].s] != nil {
		return nil
	}
	return argv
}

// origin says how a command is started.
type origin uint8

const (
	inShell origin = iota // by the shell: functions and builtins apply
	byName                // by the shell's command or builtin: no functions
	byExec                // by another program: only programs
)

// check decides on one command: the name in argv[0] and what it does with its arguments.
func (c *checker) check(sh *shell, argv []arg, from origin) {
	if !c.step() || len(argv) == 0 {
		return
	}
	if len(c.v.Argv) < maxListed {
		words := make([]string, len(argv))
		for i, a := range argv {
			words[i] = show(a.s)
		}
		c.v.Argv = append(c.v.Argv, words)
	}
	name := argv[0]
	if !name.exact() || name.odd || name.s == "" {
		c.refuse("computed", "the program name "+quote(show(name.s))+" is known only when the command runs", "write the program's name out")
		c.named(sh, nil, nil, argv)
		return
	}
	if from == inShell {
		if body := sh.funcs[name.s]; body != nil {
			if c.vars.blind || c.vars.get("@").many { // else the body is checked with them
				c.named(sh, nil, nil, argv[1:])
			}
			c.inline(sh, body, argv[1:])
			return
		}
	}
	prog := c.identify(sh, name.s, from)
	if c.refused {
		return
	}
	if prog.path {
		c.name(sh, name.s, false, "the program")
	}
	args := argv[1:]
	words := args // that a rule for a sub-command is compared with
	s, known := c.p.find(prog)
	if s != nil && s.sub {
		words = s.takeApart(args).rest
	}
	c.permit(prog, append([]arg{text(prog.base)}, words...), args)
	if c.v.Rule == "not-allowed" && prog.trusted && !prog.path && (prog.builtin || prog.real != "") {
		c.v.UnlistedCommand = prog.name
		if s != nil && s.sub && len(words) > 0 {
			c.v.UnlistedCommand += " " + show(words[0].s) // of which a list takes only what is known
		}
	}
	if s == nil {
		c.named(sh, nil, nil, args)
		c.spelled(sh, sh.stdin.s, "standard input")
		c.substituted(sh, args)
	} else if !c.refused {
		c.apply(sh, known, prog, s, args)
	}
}

// inline checks the body of a function for one call.
func (c *checker) inline(sh *shell, body *syntax.Stmt, args []arg) {
	inner := *sh
	if inner.pos = args; join(args).many {
		inner.pos = nil
	}
	switch c.active[body] {
	case 0:
	case 1: // a function that calls itself is checked once more, for any arguments
		inner = sh.anywhere()
	default:
		return
	}
	c.deeper("functions call each other too deep", func() {
		c.body(&inner, body)
		sh.merge(&inner)
	})
}

// body checks the body of a function.
func (c *checker) body(sh *shell, body *syntax.Stmt) {
	c.active[body]++
	c.stmt(sh, body)
	c.active[body]--
}

// declareFunc notes a function. It may not take the name of a command: a later
// use of that name would not mean what the lists mean.
func (c *checker) declareFunc(sh *shell, f *syntax.FuncDecl) {
	if f.Name == nil {
		c.refuse("ambiguous", "a function declaration is not of bash", "")
		return
	}
	name := f.Name.Value
	path, _ := c.p.LookPath(name)
	if path != "" || c.p.builtin(name) || c.p.programs[name] != nil || c.p.names(name) || name == "command_not_found_handle" || strings.ContainsAny(name, "/\\") {
		c.refuse("shadow", "the function "+name+" takes the name of a command", "give the function another name")
	}
	c.declared = true
	sh.funcs = with(sh.funcs, name, f.Body)
}

// uncalled checks the functions that no call has checked, for any arguments in any directory.
func (c *checker) uncalled(sh *shell, file *syntax.File) {
	if !c.declared || c.refused {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok && !c.refused {
			if _, called := c.active[f.Body]; !called {
				inner := sh.anywhere()
				c.body(&inner, f.Body)
			}
		}
		return !c.refused
	})
}

func quote(s string) string { return "“" + s + "”" }
