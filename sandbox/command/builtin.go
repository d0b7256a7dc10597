package command

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// builtin is a builtin of the shell with its arguments.
type builtin struct {
	*use
	value arg // what it assigns to the variables it names
}

// cd follows a change of the directory, which may also fail.
func (b *builtin) cd() {
	sh, dir, ops := b.sh, text(b.c.p.Home), b.in.operands
	if len(ops) > 0 {
		dir = ops[0]
	}
	if b.in.doubt.s != "" || dir.is("-") || dir.s == "" && len(ops) == 0 {
		sh.dirs = nil
		return
	}
	b.c.path(sh, dir, "cd", false)
	rotates := b.name == "pushd" && (len(ops) == 0 || strings.HasPrefix(dir.s, "+"))
	if rotates || len(ops) > 1 || b.in.given("P") || !dir.exact() || sh.dirs == nil && !strings.HasPrefix(dir.s, "/") {
		sh.dirs = nil
		return
	}
	for _, d := range joined(sh.dirs, dir.s) {
		sh.alsoIn([]string{filepath.Clean(d)})
		if strings.Contains(d, "..") {
			sh.alsoIn([]string{d}) // where bash goes if the clean path is not there
		}
	}
}

func (b *builtin) eval() { b.c.runText(b.sh, join(b.in.raw), "eval", syntax.LangBash) }

func (b *builtin) source() {
	file := unknown
	if len(b.in.operands) > 0 {
		file = b.in.operands[0]
	}
	b.script(file, "")
	b.sh.dirs = nil
	b.c.vars.forget()
}

// trap checks the commands of a trap, which run at any time.
func (b *builtin) trap() {
	ops := b.in.operands
	if len(ops) == 0 || len(ops) == 1 && ops[0].exact() || ops[0].is("-") || ops[0].is("") {
		return
	}
	inner := b.sh.anywhere()
	inner.asynchronous = true
	b.c.runText(&inner, ops[0], "trap", syntax.LangBash)
}

// alias checks the text of an alias, though the shell of -c does not use it.
func (b *builtin) alias(a arg, _ string) {
	_, body, _ := strings.Cut(a.s, "=")
	if !a.exact() {
		body = a.s
	}
	inner := b.sh.anywhere()
	b.c.runText(&inner, arg{s: body, many: a.many}, "alias", syntax.LangBash)
}

// test checks -v, which evaluates its operand.
func (b *builtin) test() {
	args := b.in.raw
	for i, a := range args {
		if a.many && len(args) > 2 && !numeric(a) {
			b.c.refuse("evaluates", b.name+" gets "+quote(show(a.s))+" without quotes, which may be -v and its operand", "put it in double quotes")
			return
		}
		if i+1 >= len(args) || !a.is("-v") && (a.exact() || !a.maybeOption()) {
			continue
		}
		next := args[i+1]
		if a.is("-v") || !next.exact() || strings.Contains(next.s, "[") && strings.ContainsAny(next.s, "$`") {
			b.c.varName(next, b.name+" -v")
			return
		}
	}
}

func (b *builtin) shopt(a arg, _ string) {
	if !isListed("options of shopt", a.s, unknown) {
		b.refuse("option", "shopt %s changes how commands are read", show(a.s))
	}
}

// set checks options of the shell and notes new positional parameters.
func (b *builtin) set() {
	args := b.in.raw
	for i := 0; i < len(args); i++ {
		a := args[i].s
		named := strings.Contains(a, "o")
		switch {
		case !args[i].exact():
			b.c.refuse("computed", "set gets "+quote(show(a))+", which is known only when it runs", "use set -- for parameters")
			return
		case a == "" || a == "-" || a == "--" || a[0] != '-' && a[0] != '+':
			b.c.vars.setParameters()
			return
		case strings.ContainsAny(a, "akptP"), named && i+1 < len(args) && !isListed("options of set", args[i+1].s, unknown):
			b.refuse("option", "set %s changes how commands are read", line(args))
		}
		if named {
			i++
		}
	}
}

// readLine notes the line that read assigns, if it is known.
func (b *builtin) readLine() {
	raw := slices.ContainsFunc(b.in.opts, func(o optArg) bool { return o.name != "r" })
	if len(b.in.operands) == 1 && !raw && !strings.Contains(b.sh.stdin.s, "\n") {
		b.value = arg{s: b.sh.stdin.s}
	}
	if !b.value.exact() || b.c.vars.blind {
		b.c.named(b.sh, nil, nil, texts(strings.Fields(b.sh.stdin.s)))
	}
}

// assigned notes that the builtin assigns the variable named by a.
func (b *builtin) assigned(a arg, _ string) {
	if name := b.c.varName(a, b.name); !b.c.refused {
		b.c.checkEnvName(name, unknown, b.name)
		b.c.vars.assign(b.sh, name, b.value, name == a.s)
	}
}

// unset notes that a variable or a function is no more.
func (b *builtin) unset(a arg, _ string) {
	name := b.c.varName(a, "unset")
	if name == "PATH" {
		b.c.checkEnvName(name, unknown, "unset")
	}
	b.c.vars.assign(b.sh, name, text(""), false)
	b.sh.funcs = with(b.sh.funcs, name, nil)
}

// declared checks an operand NAME or NAME=VALUE of declare and its like.
func (b *builtin) declared(a arg, _ string) {
	c := b.c
	name, value, hasValue := strings.Cut(a.s, "=")
	name = strings.TrimSuffix(name, "+")
	if a.many && hasValue || hasValue && strings.HasPrefix(value, "(") && strings.ContainsAny(value, "$`<>\x03") {
		c.refuse("computed", b.name+" gets "+quote(show(a.s))+", which is known only when it runs", "name the variable, and quote the value")
		return
	}
	name = c.varName(arg{s: name, many: a.many}, b.name)
	if b.in.given("i") {
		arithmetic{c, b.sh}.evaluate(name)
	}
	if b.in.given("f") && (b.name == "export" || b.in.given("x")) {
		c.refuse("environment", b.name+" -f hands functions to other shells", "")
	}
	plain := !slices.ContainsFunc(b.in.opts, func(o optArg) bool { return !strings.Contains("rxg", o.name) })
	switch {
	case hasValue:
		c.checkEnvName(name, text(value), b.name)
		c.vars.assign(b.sh, name, text(value), plain && name+"="+value == a.s)
	case name == "PATH":
		c.checkEnvName(name, text(""), b.name)
	case b.name != "export" && b.name != "readonly":
		c.vars.assign(b.sh, name, text(""), false)
	}
}

// decl checks declare, export, local and their like, whose assignments the parser has taken apart.
func (c *checker) decl(sh *shell, d *syntax.DeclClause) {
	argv := []arg{text(d.Variant.Value)}
	for _, a := range d.Args {
		switch {
		case a.Name == nil:
			argv = append(argv, c.word(sh, a.Value)...)
		case a.Naked || a.Array != nil || a.Index != nil || a.Append:
			c.assignment(sh, a, false)
			argv = append(argv, text(a.Name.Value))
		default:
			argv = append(argv, text(a.Name.Value+"="+c.value(sh, a.Value).s))
		}
	}
	c.vars.place = d
	c.check(sh, argv, byName)
}
