package command

import (
	"path/filepath"
	"strings"
)

// operands judges the operands in the order that the spec names them.
func (u *use) operands() {
	left := u.in.operands
	if u.in.spec.sub {
		u.subcommand()
		return
	}
	if u.target {
		for _, a := range left {
			u.effect("r", a, "operand")
		}
		return
	}
	for i, kind := range u.in.spec.operands {
		if kind == "!" && i == 0 {
			u.refuse("option", "%s starts programs or code in ways that are not looked into", u.name)
			return
		}
		switch kind {
		case ".", "r", "w", "i", "c", "sed", "awk", "!":
			if u.drop && i == 0 || len(left) == 0 {
				continue
			}
			u.effect(kind, left[0], "operand")
			left = left[1:]
		case "=":
			for len(left) > 0 && strings.Contains(left[0].s, "=") {
				u.effect("e", left[0], "operand")
				left = left[1:]
			}
		default:
			u.remaining(kind, left)
		}
		if u.c.refused {
			return
		}
	}
}

// remaining judges a kind that takes all operands that are left.
func (u *use) remaining(kind string, left []arg) {
	switch kind {
	case "r*", "w*":
		for _, a := range left {
			u.effect(kind[:1], a, "operand")
		}
	case "r*w":
		u.copy(left)
	case "c*":
		u.joinedText(left)
	case "X", "x":
		if kind == "X" && len(u.in.opts) > 0 {
			u.refuse("unknown-option", "%s %s%s: where the command begins after it is not known", u.name, u.in.opts[0].dashes, u.in.opts[0].name)
			return
		}
		u.command()
	case "s", "f":
		u.scriptOperand(kind)
	case "<":
		u.code(left)
	}
}

// copy judges operands of which the last is where the others go.
func (u *use) copy(list []arg) {
	if len(list) == 0 {
		return
	}
	sources, dest := list[:len(list)-1], list[len(list)-1]
	if len(list) == 1 {
		sources, dest = list, text(".")
	}
	u.c.copied(u.sh, sources)
	move := u.name == "mv"
	u.effect("w", dest, "destination")
	for _, s := range sources {
		u.effect(map[bool]string{false: "r", true: "w"}[move], s, "source")
		if name := filepath.Base(s.s); s.exact() && name != "." && name != ".." && name != "/" {
			u.effect("w", arg{s: strings.TrimSuffix(dest.s, "/") + "/" + name}, "destination")
		}
	}
}

// command judges the command behind a wrapper.
func (u *use) command() {
	if len(u.in.rest) == 0 {
		return
	}
	u.c.judge(u.sh, u.in.rest, byExec)
	u.done = true
}

// joinedText judges operands that the program joins and hands to a shell.
func (u *use) joinedText(list []arg) {
	list = append(list, u.in.rest...)
	if len(list) == 0 {
		return
	}
	words := make([]string, len(list))
	for i, a := range list {
		if a.many {
			u.c.shellText(u.sh, a, nil, u.name, false)
			return
		}
		words[i] = a.s
	}
	u.inline = true
	u.c.shellText(u.sh, text(strings.Join(words, " ")), nil, u.name, false)
}

// scriptOperand judges the file that an interpreter runs.
func (u *use) scriptOperand(kind string) {
	rest := u.in.rest
	switch {
	case len(rest) == 0:
		return
	case u.text:
		u.commandText(rest)
		return
	case u.inline:
		return
	case rest[0].is("-"):
		u.in.rest = nil
		return
	}
	u.inline = true
	u.runFile(kind, rest[0])
}

// commandText judges the operands of sh -c: the text, $0 and the parameters.
func (u *use) commandText(rest []arg) {
	u.inline = true
	if s := rest[0].s; !contains(shells, u.name) || s != "" && (s[0] == '-' || s[0] == '+') {
		u.script(rest[0], "-c")
		return
	}
	pos := rest[1:]
	if len(pos) > 0 {
		pos = pos[1:] // $0
	}
	u.c.shellText(u.sh, rest[0], pos, u.name+" -c", u.name == "bash" || u.name == "rbash")
}

// runFile judges a file of code: one that the interpreter itself is listed to
// run, or an opaque script.
func (u *use) runFile(kind string, file arg) {
	switch s := file.s; {
	case strings.HasPrefix(s, "data:"):
		u.inlineCode(quote(show(s)))
	case kind == "f" && u.listed() && !strings.HasPrefix(s, "/dev/") && !strings.HasPrefix(s, "/proc/"):
		u.c.read(u.sh, file, u.name)
	default:
		u.script(file, "")
	}
}

// listed reports whether the allow list names this interpreter, so that the
// operator wants it to run files.
func (u *use) listed() bool {
	for _, r := range u.c.p.allowed.base[strings.ToLower(u.prog.base)] {
		if r.words[0] == u.prog.base {
			return true
		}
	}
	return false
}

// code judges what an interpreter without operands reads: standard input.
func (u *use) code(left []arg) {
	if u.inline || len(u.in.rest) > 0 || len(left) > 0 && !left[0].is("-") {
		return
	}
	if u.sh.stdinKnown && contains(shells, u.name) && u.sh.stdin.exact() {
		u.c.shellText(u.sh, u.sh.stdin, u.in.rest, u.name+" on its standard input", u.name == "bash")
		return
	}
	u.script(text("standard input"), "without a file")
}

// subcommand judges the sub-command by a line of its own.
func (u *use) subcommand() {
	rest := u.in.rest
	if len(rest) == 0 {
		return
	}
	if !rest[0].exact() {
		u.refuse("computed", "the sub-command of %s is known only when it runs", u.name)
		return
	}
	name := u.name + " " + rest[0].s
	s := u.c.p.programs[name]
	if s == nil {
		if u.in.spec.strict {
			u.refuse("unknown-subcommand", "%s may be an alias or an external program", name)
		}
		return
	}
	u.c.apply(u.sh, name, u.prog, s, rest[1:])
}
