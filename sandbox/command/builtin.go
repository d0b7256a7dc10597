package command

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// cd follows a change of the directory, which may also fail.
func (u *use) cd() {
	sh, dir, ops := u.sh, text(u.c.p.Home), u.in.operands
	if len(ops) > 0 {
		dir = ops[0]
	}
	if u.in.doubt.s != "" || dir.is("-") || dir.s == "" && len(ops) == 0 {
		sh.dirs = nil
		return
	}
	u.c.path(sh, dir, "cd", false)
	rotates := u.name == "pushd" && (len(ops) == 0 || strings.HasPrefix(dir.s, "+"))
	if rotates || len(ops) > 1 || u.in.given("P") || !dir.exact() || sh.dirs == nil && !strings.HasPrefix(dir.s, "/") {
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

func (u *use) eval() { u.c.runText(u.sh, join(u.in.raw), "eval", syntax.LangBash) }

func (u *use) source() {
	file := unknown
	if len(u.in.operands) > 0 {
		file = u.in.operands[0]
	}
	u.script(file, "")
	u.sh.dirs = nil
	u.c.vars.forget()
}

// trap checks the commands of a trap, which run at any time.
func (u *use) trap() {
	ops := u.in.operands
	if len(ops) == 0 || len(ops) == 1 && ops[0].exact() || ops[0].is("-") || ops[0].is("") {
		return
	}
	inner := u.sh.anywhere()
	inner.asynchronous = true
	u.c.runText(&inner, ops[0], "trap", syntax.LangBash)
}

// alias checks the text of an alias, though the shell of -c does not use it.
func (u *use) alias(a arg, _ string) {
	_, body, _ := strings.Cut(a.s, "=")
	if !a.exact() {
		body = a.s
	}
	inner := u.sh.anywhere()
	u.c.runText(&inner, arg{s: body, many: a.many}, "alias", syntax.LangBash)
}

// test checks -v, which evaluates its operand.
func (u *use) test() {
	args := u.in.raw
	for i, a := range args {
		if a.many && len(args) > 2 && !numeric(a) {
			u.c.refuse("evaluates", u.name+" gets "+quote(show(a.s))+" without quotes, which may be -v and its operand", "put it in double quotes")
			return
		}
		if i+1 >= len(args) || !a.is("-v") && (a.exact() || !a.maybeOption()) {
			continue
		}
		next := args[i+1]
		if a.is("-v") || !next.exact() || strings.Contains(next.s, "[") && strings.ContainsAny(next.s, "$`") {
			u.c.varName(next, u.name+" -v")
			return
		}
	}
}

func (u *use) shopt(a arg, _ string) {
	if !isListed("options of shopt", a.s, unknown) {
		u.refuse("option", "shopt %s changes how commands are read", show(a.s))
	}
}

// set checks options of the shell and notes new positional parameters.
func (u *use) set() {
	args := u.in.raw
	for i := 0; i < len(args); i++ {
		a := args[i].s
		named := strings.Contains(a, "o")
		switch {
		case !args[i].exact():
			u.c.refuse("computed", "set gets "+quote(show(a))+", which is known only when it runs", "use set -- for parameters")
			return
		case a == "" || a == "-" || a == "--" || a[0] != '-' && a[0] != '+':
			u.c.vars.setParameters()
			return
		case strings.ContainsAny(a, "akptP"), named && i+1 < len(args) && !isListed("options of set", args[i+1].s, unknown):
			u.refuse("option", "set %s changes how commands are read", line(args))
		}
		if named {
			i++
		}
	}
}

// readLine notes the line that read assigns, if it is known.
func (u *use) readLine() {
	raw := slices.ContainsFunc(u.in.opts, func(o optArg) bool { return o.name != "r" })
	if len(u.in.operands) == 1 && !raw && !strings.Contains(u.sh.stdin.s, "\n") {
		u.value = arg{s: u.sh.stdin.s}
	}
	if !u.value.exact() || u.c.vars.blind {
		u.c.named(u.sh, nil, nil, texts(strings.Fields(u.sh.stdin.s)))
	}
}

// assigned notes that the builtin assigns the variable named by a.
func (u *use) assigned(a arg, _ string) {
	if name := u.c.varName(a, u.name); !u.c.refused {
		u.c.checkEnvName(name, unknown, u.name)
		u.c.vars.assign(u.sh, name, u.value, name == a.s)
	}
}

// unset notes that a variable or a function is no more.
func (u *use) unset(a arg, _ string) {
	name := u.c.varName(a, "unset")
	if name == "PATH" {
		u.c.checkEnvName(name, unknown, "unset")
	}
	u.c.vars.assign(u.sh, name, text(""), false)
	u.sh.funcs = with(u.sh.funcs, name, nil)
}

// declared checks an operand NAME or NAME=VALUE of declare and its like.
func (u *use) declared(a arg, _ string) {
	c := u.c
	name, value, hasValue := strings.Cut(a.s, "=")
	name = strings.TrimSuffix(name, "+")
	if a.many && hasValue || hasValue && strings.HasPrefix(value, "(") && strings.ContainsAny(value, "$`<>\x03") {
		c.refuse("computed", u.name+" gets "+quote(show(a.s))+", which is known only when it runs", "name the variable, and quote the value")
		return
	}
	name = c.varName(arg{s: name, many: a.many}, u.name)
	if u.in.given("i") {
		arithmetic{c, u.sh}.evaluate(name)
	}
	if u.in.given("f") && (u.name == "export" || u.in.given("x")) {
		c.refuse("environment", u.name+" -f hands functions to other shells", "")
	}
	plain := !slices.ContainsFunc(u.in.opts, func(o optArg) bool { return !strings.Contains("rxg", o.name) })
	switch {
	case hasValue:
		c.checkEnvName(name, text(value), u.name)
		c.vars.assign(u.sh, name, text(value), plain && name+"="+value == a.s)
	case name == "PATH":
		c.checkEnvName(name, text(""), u.name)
	case u.name != "export" && u.name != "readonly":
		c.vars.assign(u.sh, name, text(""), false)
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
