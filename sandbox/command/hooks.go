package command

import (
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// tar checks the archive and where an extraction goes.
func (u *use) tar() {
	extracts := u.in.given("x", "extract", "get")
	reads := extracts || u.in.given("t", "list", "d", "diff", "compare")
	switch file, ok := u.in.option("f", "file"); {
	case strings.Contains(file.value.s, ":"):
		u.refuse("network", "tar archive %s is on another machine", file.value.s)
	case ok && !file.value.is("-"):
		u.c.path(u.base, file.value, "tar archive", !reads) // it is opened before -C applies
	}
	if extracts && !u.in.given("O", "to-stdout") {
		u.write(text("."), "extraction")
	}
	for _, a := range u.in.operands {
		if !reads {
			u.read(a, "operand")
		}
	}
}

// xargs checks the command that gets words from standard input.
func (u *use) xargs() {
	argv := u.in.rest
	if len(argv) == 0 {
		return
	}
	input, out := u.sh.stdin, slices.Clone(argv)
	if repl, ok := u.in.option("I", "i", "replace"); ok {
		mark := "{}"
		if repl.has {
			mark = repl.value.s
		}
		for i := range out {
			if mark != "" {
				out[i].s = strings.ReplaceAll(out[i].s, mark, strings.TrimRight(input.s, "\n"))
			}
		}
	} else {
		many := !input.exact() || strings.ContainsAny(input.s, "'\"\\")
		for word := range strings.FieldsSeq(input.s) {
			out = append(out, arg{s: word, many: many})
		}
	}
	u.sh.stdin = unknown
	u.c.check(u.sh, out, byExec)
}

// make checks variables given on the command line: make runs their values.
func (u *use) make() {
	if f, ok := u.in.option("f"); ok && (f.value.is("-") || strings.HasPrefix(f.value.s, "/dev/") || strings.HasPrefix(f.value.s, "/proc/")) {
		u.script(text("standard input"), "-f")
	}
	for _, a := range u.in.operands {
		name, value, ok := strings.Cut(a.s, "=")
		switch {
		case strings.ContainsAny(a.s, "$`"):
			u.refuse("inline-code", "make expands %s as code", quote(show(a.s)))
		case ok && markAt(name) >= 0, a.many && a.s[0] == anyText:
			u.refuse("computed", "make may get the variable %s, which is known only when it runs", quote(show(a.s)))
		case !ok:
		case value != "" && makePrograms().MatchString(strings.TrimRight(name, ":?+ ")):
			u.c.shellText(u.sh, text(value), nil, "make "+name, false)
		case strings.ContainsAny(value, ";|&<>\n"):
			u.refuse("inline-code", "make may run the value of %s", name)
		}
	}
}

// makePrograms matches variables of make that by convention hold a program.
var makePrograms = lazyregexp.New(`^(?:SHELL|\.SHELLFLAGS|MAKE|MAKEFLAGS|MAKEFILES|CC|CXX|CPP|LD|AR|AS|RM|CP|MV|INSTALL|FC|GO|NPM|` +
	`NODE|PYTHON|LEX|YACC|RANLIB|STRIP|PKG_CONFIG|SUDO)$|_CMD$|_COMMAND$`)

// dd checks if= and of=.
func (u *use) dd() {
	for _, a := range u.in.operands {
		name, value, _ := strings.Cut(a.s, "=")
		switch {
		case name == "if":
			u.c.copied(u.sh, []arg{text(value)})
			u.read(arg{s: value, many: a.many}, "if")
		case name == "of":
			u.write(arg{s: value, many: a.many}, "of")
		case markAt(name) >= 0:
			u.refuse("computed", "dd gets an operand that is known only when it runs")
		}
	}
}

// pager refuses commands that a pager runs at start (+!rm).
func (u *use) pager() {
	for _, a := range u.in.operands {
		if rest, ok := strings.CutPrefix(a.s, "+"); ok && strings.Trim(rest, "0123456789FG") != "" {
			u.refuse("option", "%s %s is a command of its own", u.name, show(a.s))
		}
	}
}

// zip refuses spellings of -TT that hide among other letters.
func (u *use) zip() {
	if slices.ContainsFunc(u.in.opts, func(o optArg) bool { return o.option == nil && strings.Contains(o.name, "TT") }) {
		u.refuse("option", "zip -TT runs a program to test the archive")
	}
}

// toolFlag matches flags that hand programs to the tools behind the go command.
var toolFlag = lazyregexp.New(`-extld[= ]|-extar|-toolexec|-B|-wrapper|-specs|-fplugin|-fuse-ld`)

func (u *use) toolFlags(flags arg, what string) {
	if strings.Contains(flags.s, unknown.s) || flags.many {
		u.refuse("computed", "%s %s is known only when it runs", u.name, what)
	}
	if toolFlag().MatchString(flags.s) || strings.HasSuffix(what, "gccgoflags") && strings.Contains(flags.s, "@") {
		u.refuse("option", "%s %s=%s chooses a program to run", u.name, what, show(flags.s))
	}
}

// gitConfig checks git config KEY VALUE.
func (u *use) gitConfig() {
	ops, reads := u.in.operands, u.in.given("get", "get-all", "get-regexp", "get-urlmatch", "unset", "unset-all", "l", "list")
	if len(ops) > 0 {
		switch ops[0].s {
		case "get", "list", "unset":
			reads = true
		case "set", "edit":
			ops = ops[1:]
		}
	}
	switch {
	case len(ops) >= 2 && !reads:
		u.c.gitKey(ops[0], ops[1])
	case slices.ContainsFunc(ops, func(a arg) bool { return a.many }):
		u.refuse("computed", "git config gets operands that are known only when it runs")
	}
}
