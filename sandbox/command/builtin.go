package command

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin reports whether bash runs name itself. See bash(1), SHELL BUILTIN
// COMMANDS.
func builtin(name string) bool {
	switch name {
	case ":", ".", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete",
		"compopt", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false",
		"fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd",
		"printf", "pushd", "pwd", "read", "readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend",
		"test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// builtin judges what a builtin does with its arguments.
func (c *checker) builtin(sh *shell, name string, args []arg) {
	switch name {
	case "cd", "pushd":
		c.cd(sh, args)
	case "popd":
		sh.dirs = nil
	case "eval":
		c.eval(sh, args)
	case ".", "source":
		c.source(sh, name, args)
	case "command", "builtin", "exec":
		c.through(sh, name, args)
	case "trap":
		c.trap(sh, args)
	case "alias":
		c.alias(sh, args)
	case "test", "[":
		c.test(name, args)
	case "set":
		c.shifting(sh, name)
		c.options(sh, name, args)
	case "shift":
		c.shifting(sh, name)
	case "shopt":
		c.options(sh, name, args)
	case "mapfile", "readarray", "complete", "compgen", "compopt", "bind", "enable", "fc", "hash":
		c.lookups(sh, name, args)
	case "read", "unset", "printf", "wait", "getopts", "export", "readonly", "declare", "typeset", "local", "let":
		c.namers(sh, name, args)
	case "history":
		for _, a := range args {
			if !a.exact() || strings.HasPrefix(a.s, "-") && strings.ContainsAny(a.s, "awrn") {
				c.refuse("option", "history "+show(a.s)+" reads or writes a file", "")
			}
		}
	}
}

// dynamic checks that a builtin which breaks the view of constants was seen
// when the script was looked over.
func (c *checker) dynamic(sh *shell, name string) {
	if !sh.facts.dynamic && sh.facts.assigned != nil {
		c.refuse("computed", name+" is spelt in a way that hides it", "write "+name+" plainly")
	}
	sh.vars = nil
}

// shifting checks that a builtin which changes the positional parameters was seen
// when the script was looked over.
func (c *checker) shifting(sh *shell, name string) {
	if !sh.facts.shifting && sh.facts.assigned != nil {
		c.refuse("computed", name+" is spelt in a way that hides it", "write "+name+" plainly")
	}
}

func (c *checker) cd(sh *shell, args []arg) {
	var dir arg
	for _, a := range args {
		switch {
		case a.many || dir.s != "" || a.maybeOption() && a.s[0] != '-':
			sh.dirs = nil
		case a.is("-"), strings.HasPrefix(a.s, "-") && strings.Contains(a.s, "P"):
			sh.dirs = nil
			return
		case !strings.HasPrefix(a.s, "-") && a.s != "":
			dir = a
		}
	}
	if dir.s == "" && sh.dirs != nil && len(args) == 0 {
		dir = text(c.p.Home)
	}
	if dir.s == "" {
		return
	}
	c.read(sh, dir, "cd")
	if !dir.exact() || sh.dirs == nil && !strings.HasPrefix(dir.s, "/") {
		sh.dirs = nil
		return
	}
	for _, d := range joined(sh.dirs, dir.s) {
		sh.moveTo(union(sh.dirs, []string{filepath.Clean(d)}))
		if strings.Contains(d, "..") {
			sh.moveTo(union(sh.dirs, []string{d})) // where bash goes if the clean path is not there
		}
	}
}

func (c *checker) eval(sh *shell, args []arg) {
	c.dynamic(sh, "eval")
	words := make([]string, len(args))
	for i, a := range args {
		if !a.exact() {
			c.refuse("computed", "eval runs "+quote(line(args))+", which is known only when it runs", "write the command out")
			return
		}
		words[i] = a.s
	}
	if s := strings.Join(words, " "); strings.TrimSpace(s) != "" {
		c.script(sh, s, "the text of eval")
	}
}

func (c *checker) source(sh *shell, name string, args []arg) {
	c.dynamic(sh, name)
	file := unknown
	if len(args) > 0 {
		file = args[0]
	}
	if c.p.opaqueDenied() {
		c.refuse("opaque-scripts", name+" runs the commands in "+quote(show(file.s))+", which are not looked into", "write the commands out")
		return
	}
	sh.dirs = nil
	c.read(sh, file, name)
}

// through judges command, builtin and exec, which run another command.
func (c *checker) through(sh *shell, name string, args []arg) {
	i := 0
	for ; i < len(args) && strings.HasPrefix(args[i].s, "-") && args[i].exact(); i++ {
		switch a := args[i].s; {
		case a == "--":
			args = args[i+1:]
			i = 0
		case name == "command" && strings.ContainsAny(a, "vV"):
			return // only tells what the name means
		case name == "exec" && strings.HasSuffix(a, "a"):
			i++
			continue
		default:
			continue
		}
		break
	}
	if args = args[min(i, len(args)):]; len(args) == 0 {
		return
	}
	from := byName
	if name == "exec" {
		from = byExec
	}
	if name == "builtin" && args[0].exact() && !builtin(args[0].s) {
		return // an error in bash
	}
	c.judge(sh, args, from)
}

func (c *checker) trap(sh *shell, args []arg) {
	c.dynamic(sh, "trap")
	for len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) < 2 && (len(args) == 0 || args[0].exact()) || args[0].is("-") || args[0].is("") || args[0].is("-l") || args[0].is("-p") {
		return
	}
	if !args[0].exact() {
		c.refuse("computed", "trap runs "+quote(show(args[0].s))+", which is known only when it runs", "write the command out")
		return
	}
	inner := *sh
	inner.dirs, inner.posKnown = nil, false
	c.script(&inner, args[0].s, "the text of trap")
}

// alias judges alias definitions, though the shell of -c does not use them.
func (c *checker) alias(sh *shell, args []arg) {
	for _, a := range args {
		_, body, ok := strings.Cut(a.s, "=")
		switch {
		case !a.exact():
			c.refuse("computed", "alias defines "+quote(show(a.s))+", which is known only when it runs", "")
		case ok && strings.TrimSpace(body) != "":
			inner := *sh
			inner.vars, inner.dirs = nil, nil
			c.script(&inner, body, "the text of alias")
		}
	}
}

// integer notes that a variable has the integer attribute: from now on, and in
// a loop also before, what is assigned to it is evaluated as arithmetic.
func (c *checker) integer(sh *shell, name string) {
	if sh.facts.tainted[name] || c.callerSets(name) {
		c.refuseArith("what is assigned to " + name)
	}
	if c.integers == nil {
		c.integers = map[string]bool{}
	}
	c.integers[name] = true
}

// decl judges declare, export, local and their like.
func (c *checker) decl(sh *shell, d *syntax.DeclClause) {
	name := d.Variant.Value
	argv := []arg{text(name)}
	flags := ""
	for _, a := range d.Args {
		c.assign(sh, a)
		switch {
		case a.Name != nil:
			argv = append(argv, text(a.Name.Value))
		case a.Value != nil:
			for _, v := range c.expand(sh, []*syntax.Word{a.Value}) {
				argv = append(argv, v)
				if v.exact() && strings.HasPrefix(v.s, "-") {
					flags += v.s
				}
			}
		}
	}
	c.record(argv)
	c.permit(program{name: name, base: name, builtin: true, trusted: true}, argv, nil)
	c.namers(sh, name, argv[1:])
	if strings.Contains(flags, "i") {
		for _, a := range d.Args {
			if a.Name != nil {
				c.integer(sh, a.Name.Value)
			}
		}
	}
	for _, a := range d.Args {
		if a.Name == nil || a.Value == nil || c.refused {
			continue
		}
		switch {
		case strings.Contains(flags, "i"):
			c.arithWord(sh, a.Value)
		case strings.Contains(flags, "n"):
			c.varName(c.value(sh, a.Value), name+" -n")
		case strings.Trim(flags, "-rxg") == "" && a.Index == nil && !a.Append && !a.Naked:
			sh.bind(a.Name.Value, c.value(sh, a.Value))
		}
	}
	if (name == "export" || strings.Contains(flags, "x")) && strings.Contains(flags, "f") {
		c.refuse("environment", name+" "+flags+" hands functions to other shells", "")
	}
}
