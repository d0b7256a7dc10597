package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// use is one program or builtin with its arguments.
type use struct {
	c    *checker
	base *shell // where the program starts
	sh   *shell // the same after options that change the directory
	name string
	prog program
	in   *invocation

	builtin *builtin // that it is, if it is one

	drop   bool // the first data operand was given as an option
	text   bool // the first operand is shell text
	inline bool // code was given in an option
	quiet  bool // nothing runs, or the operands were checked with an option
	target bool // the operands go to a directory given in an option
	writes bool // what is read is written, too
}

func (u *use) refuse(rule, format string, args ...any) {
	u.c.refuse(rule, fmt.Sprintf(format, args...), "")
}

func (u *use) read(a arg, what string) { u.c.path(u.sh, a, u.name+" "+what, u.writes) }

// inPlace notes that the files are written, too.
func (u *use) inPlace(suffix arg, _ string) {
	u.writes = true
	if ops := u.in.operands; suffix.s == "" && len(ops) > 0 && ops[0].is("") {
		u.in.operands = ops[1:] // BSD: -i ''
	}
}

// readOptions checks an operand that, with an @ before it, is a file of options.
func (u *use) readOptions(a arg, what string) {
	if strings.HasPrefix(a.s, "@") {
		u.refuse("option", "%s reads options from the file %s", u.name, quote(show(a.s[1:])))
	}
	u.read(a, what)
}

func (u *use) write(a arg, what string) { u.c.path(u.sh, a, u.name+" "+what, true) }

// apply checks args by a spec. Name is the table's name of the program.
func (c *checker) apply(sh *shell, name string, prog program, s *spec, args []arg) {
	in := s.takeApart(args)
	if in.gives("C") || !s.has("s") && !s.has("f") {
		args = args[:len(args)-len(in.rest)] // the rest belongs to another program
	}
	c.named(sh, s, in, args)
	alone := name == "printf" && len(args) == 1 // the format, or an option without one
	if s.risky && in.doubt.s != "" && !alone && c.mayStartWithDash(sh, in.doubt) {
		why := quote(show(in.doubt.s)) + " may be an option of " + name + ", which is known only when it runs"
		c.refuse("computed", why, "put -- before it, or write ./* for *")
		return
	}
	u := &use{c: c, base: sh, sh: sh, name: name, prog: prog, in: in}
	u.builtin = &builtin{use: u, value: unknown}
	if name == "printf" {
		u.builtin.value = echoed(name, in.operands)
	}
	if !prog.builtin {
		inner := *sh
		inner.vars = nil // the program does not see them
		u.sh = &inner
	}
	c.deeper("programs that start programs are nested too deep", u.effects)
	reads := slices.ContainsFunc(in.opts, optArg.lists)
	data := !reads && s.is(".", "r", "y", "l", "t", "sed", "awk", "@find")
	if !prog.builtin && !s.sub && !data && (reads || !isListed("filters", name, unknown)) || name == "mapfile" || name == "readarray" {
		c.spelled(sh, u.sh.stdin.s, "standard input")
	}
	if !data && (reads || !s.is("r*w", "@test")) {
		c.substituted(sh, args)
	}
}

// effects checks what the options do, and then the operands.
func (u *use) effects() {
	for _, o := range u.in.opts {
		if o.option != nil && o.do != nil {
			o.do(u, o.value, o.dashes+o.name)
		}
	}
	if !u.c.refused && !u.quiet {
		u.operands()
	}
}

// lists reports whether what the option names has names of files, or code.
func (o optArg) lists() bool {
	if o.option == nil {
		return listing().MatchString(o.name)
	}
	return o.kind == "s" || o.kind == "f" || o.kind != "P" && slices.ContainsFunc(o.names, listing().MatchString)
}

// listing matches options whose values are lists of files.
var listing = lazyregexp.New(`stdin|from-file|files0?-from|arg-file`)

// operands checks the operands in the order that the spec names them.
func (u *use) operands() {
	left := u.in.operands
	if u.in.spec.sub {
		u.subcommand()
		return
	}
	if u.target {
		u.c.copied(u.sh, left)
		for _, a := range left {
			u.read(a, "operand")
		}
		return
	}
	for i, op := range u.in.spec.operands {
		kind, all := strings.CutSuffix(op.kind, "*")
		switch {
		case kind == "!" && i == 0:
			u.refuse("option", "%s starts programs or code in ways that are not looked into", u.name)
		case kind[0] == '@':
			op.do(u, arg{}, "")
		case kind == "=":
			for len(left) > 0 && strings.Contains(left[0].s, "=") {
				u.environment(left[0], "")
				left = left[1:]
			}
		case kind == "r*w":
			u.copy(left)
		case kind == "c" && all:
			if list := append(left, u.in.rest...); len(list) > 0 {
				u.inline = true
				u.c.shellText(u.sh, join(list), nil, u.name, false)
			}
		case kind == "X" && len(u.in.opts) > 0:
			u.refuse("unknown-option", "%s %s%s: where the command begins after it is not known", u.name, u.in.opts[0].dashes, u.in.opts[0].name)
		case kind == "X", kind == "x":
			from := byExec
			if u.prog.builtin && u.name != "exec" {
				from = byName
			}
			u.c.check(u.sh, u.in.rest, from)
		case kind == "s", kind == "f":
			u.scriptOperand(kind)
		case kind == "<":
			u.code(left)
		case all && op.do != nil:
			for _, a := range left {
				op.do(u, a, "operand")
			}
		case !all && len(left) > 0 && !(u.drop && i == 0):
			if op.do != nil {
				op.do(u, left[0], "operand")
			}
			left = left[1:]
		}
		if u.c.refused {
			return
		}
	}
}

// copy checks operands of which the last is where the others go.
func (u *use) copy(list []arg) {
	if len(list) == 0 {
		return
	}
	sources, dest := list[:len(list)-1], list[len(list)-1]
	if len(list) == 1 {
		sources, dest = list, text(".")
	}
	u.c.copied(u.sh, sources)
	u.write(dest, "destination")
	for _, s := range sources {
		u.c.path(u.sh, s, u.name+" source", u.name == "mv")
		if name := filepath.Base(s.s); s.exact() && name != "." && name != ".." && name != "/" {
			u.write(arg{s: strings.TrimSuffix(dest.s, "/") + "/" + name}, "destination")
		}
	}
}

// scriptOperand checks the file that an interpreter runs, or the text, $0 and the parameters of sh -c.
func (u *use) scriptOperand(kind string) {
	rest, given := u.in.rest, u.inline
	if len(rest) == 0 || given && !u.text {
		return
	}
	u.inline = true
	switch s := rest[0].s; {
	case u.text && (!isListed("shells", u.name, unknown) || s != "" && (s[0] == '-' || s[0] == '+')):
		u.script(rest[0], "-c")
		u.c.spelled(u.sh, rest[0].s, "the code given to "+u.name)
	case u.text:
		pos := rest[min(2, len(rest)):]
		u.c.shellText(u.sh, rest[0], pos, u.name+" -c", u.name == "bash" || u.name == "rbash")
	case rest[0].is("-"):
		u.in.rest, u.inline = nil, false
	default:
		u.runFile(kind, rest[0])
	}
}

// runFile checks a file of code: one that the interpreter itself is listed to run, or an opaque script.
func (u *use) runFile(kind string, file arg) {
	listed := slices.ContainsFunc(u.c.p.allowed, func(r *rule) bool { return Like(r.words[0], u.prog.base) })
	switch s := file.s; {
	case strings.HasPrefix(s, "data:"):
		u.inlineCode(quote(show(s)))
	case kind == "f" && listed && !strings.HasPrefix(s, "/dev/") && !strings.HasPrefix(s, "/proc/"):
		u.c.path(u.sh, file, u.name, false)
	default:
		u.script(file, "")
	}
}

// code checks what an interpreter without operands reads: standard input.
func (u *use) code(left []arg) {
	switch {
	case u.inline || len(u.in.rest) > 0 || len(left) > 0 && !left[0].is("-"):
	case isListed("shells", u.name, unknown) && u.sh.stdin.exact():
		u.c.shellText(u.sh, u.sh.stdin, nil, u.name+" on its standard input", u.name == "bash")
	default:
		u.script(text("standard input"), "without a file")
		u.c.spelled(u.sh, u.sh.stdin.s, "standard input")
	}
}

// subcommand checks the sub-command by a line of its own.
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
	if s := u.c.p.programs[name]; s != nil {
		u.c.apply(u.sh, name, u.prog, s, rest[1:])
		return
	}
	u.c.named(u.sh, nil, nil, rest)
	if u.in.spec.strict {
		u.refuse("unknown-subcommand", "%s may be an alias or an external program", name)
	}
}
