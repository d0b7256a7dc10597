package command

import (
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// shells lists the shells whose language is checked: bash, and those that know
// less. Others (zsh, fish) read the same text differently.
var shells = []string{"sh", "bash", "dash", "ash", "rbash"}

// tar checks the archive and where an extraction goes.
func (u *use) tar() {
	extracts := u.in.given("x", "extract", "get")
	reads := extracts || u.in.given("t", "list", "d", "diff", "compare")
	if file, ok := u.in.option("f", "file"); ok && !strings.Contains(file.value.s, ":") {
		if !file.value.is("-") {
			u.c.path(u.base, file.value, "tar archive", !reads) // it is opened before -C applies
		}
	} else if ok {
		u.refuse("network", "tar archive %s is on another machine", file.value.s)
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
	input := u.sh.stdin
	repl, ok := u.in.option("I", "i", "replace")
	mark := "{}"
	if repl.has {
		mark = repl.value.s
	}
	out := slices.Clone(argv)
	switch {
	case ok && mark != "":
		for i := range out {
			out[i].s = strings.ReplaceAll(out[i].s, mark, strings.TrimRight(input.s, "\n"))
		}
	case ok:
	case !input.exact() || strings.ContainsAny(input.s, "'\"\\"):
		for word := range strings.FieldsSeq(input.s) {
			out = append(out, arg{s: word, many: true})
		}
	default:
		out = append(out, texts(strings.Fields(input.s))...)
	}
	u.sh.stdin = unknown
	u.c.check(u.sh, out, byExec)
}

// parallel checks the command that gets words, if its shell reads it as plain words.
func (u *use) parallel() {
	words := u.in.rest
	if i := slices.IndexFunc(words, func(a arg) bool { return strings.HasPrefix(a.s, ":::") }); i >= 0 {
		words = words[:i]
	}
	template := join(words)
	plain := texts(strings.Fields(strings.ReplaceAll(template.s, "{}", "\x05")))
	if len(plain) == 0 || template.many || strings.ContainsAny(join(plain).s, "{}$`;|&<>()\\'\"*?[~#=\x01\x02\x03") {
		u.script(text("its input"), "")
		return
	}
	u.c.check(u.sh, append(plain, unknowns), byExec)
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

// plus refuses an operand that sets the clock.
func (u *use) plus(a arg, _ string) {
	if !strings.HasPrefix(a.s, "+") {
		u.refuse("option", "%s %s sets the clock", u.name, quote(show(a.s)))
	}
}

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

// find checks find(1), whose expression starts programs and writes files.
func (u *use) find() {
	c, sh := u.c, u.sh
	starts, rest := findStarts(u.in.raw)
	acts := slices.ContainsFunc(rest, func(a arg) bool {
		return strings.HasPrefix(a.s, "-exec") || strings.HasPrefix(a.s, "-ok") || a.is("-delete")
	})
	for _, a := range starts {
		if a.many && a.maybeOption() && c.mayStartWithDash(sh, a) {
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "put it in double quotes after ./")
		}
		c.path(sh, a, "find", false)
	}
	for i := 0; i < len(rest) && !c.refused; i++ {
		a, next := rest[i], arg{}
		if i+1 < len(rest) {
			next = rest[i+1]
		}
		takes := isListed("find tests", a.s, unknown)
		switch {
		case a.many || a.maybeOption() && !a.exact() || next.many && takes:
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "quote the pattern")
		case a.is("-exec"), a.is("-execdir"), a.is("-ok"), a.is("-okdir"):
			i += c.findExec(sh, rest[i+1:], findOutput(starts, rest), strings.HasSuffix(a.s, "dir"))
		case a.is("-delete"):
			for _, s := range starts {
				c.path(sh, s, "find -delete", true)
			}
			c.actsAs("rm", "find -delete")
		case strings.HasPrefix(a.s, "-fprint") || a.is("-fls"):
			u.write(next, a.s)
			i++
		case takes:
			if acts && isListed("find names", a.s, unknown) && (i == 0 || !rest[i-1].is("!") && !rest[i-1].is("-not")) {
				c.name(sh, findOutput(starts, rest[i:min(i+2, len(rest))]).s, true, "find")
			}
			i++
			if a.is("-files0-from") {
				u.read(next, a.s)
				c.substituted(sh, []arg{next})
			}
		}
	}
}

// findStarts splits off the starting points; without one it is the directory that find runs in.
func findStarts(args []arg) (starts, rest []arg) {
	for len(args) > 0 && (slices.ContainsFunc([]string{"-H", "-L", "-P"}, args[0].is) || strings.HasPrefix(args[0].s, "-O")) {
		args = args[1:]
	}
	n := slices.IndexFunc(args, func(a arg) bool {
		return strings.HasPrefix(a.s, "-") || slices.ContainsFunc([]string{"!", "(", ")", ","}, a.is)
	})
	if n < 0 {
		n = len(args)
	}
	if n == 0 {
		return []arg{text(".")}, args
	}
	return args[:n], args[n:]
}

// findOutput returns what the names that find prints look like.
func findOutput(starts, rest []arg) arg {
	if len(starts) != 1 || !starts[0].exact() {
		return arg{s: "\x05", many: true}
	}
	below := arg{s: strings.TrimSuffix(starts[0].s, "/") + "/\x06", many: true}
	out := below
	for i, a := range rest {
		if isListed("find names", a.s, unknown) && i+1 < len(rest) && rest[i+1].exact() {
			pattern := strings.TrimLeft(rest[i+1].s, "*")
			out.s = below.s + strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x01", "]", "\x01", "\\", "\x01").Replace(pattern)
		}
		if slices.ContainsFunc([]string{"-printf", "-o", "-or", "!", "-not", ","}, a.is) {
			return below
		}
	}
	return out
}

// findExec checks the command of -exec and returns how many words it takes.
func (c *checker) findExec(sh *shell, args []arg, found arg, dir bool) int {
	n := 0
	var argv []arg
	for ; n < len(args) && !args[n].is(";") && !(args[n].is("+") && n > 0 && args[n-1].is("{}")); n++ {
		a := args[n]
		if a.is("{}") {
			a.s = found.s
		}
		a.s = strings.ReplaceAll(a.s, "{}", unknown.s)
		argv = append(argv, a)
	}
	inner := *sh
	if dir {
		inner.dirs = nil
	}
	c.check(&inner, argv, byExec)
	return n + 1
}

// gitConfig checks a key=value of git's configuration.
func (u *use) gitConfig(a arg, _ string) {
	key, value, _ := strings.Cut(a.s, "=")
	u.gitKey(arg{s: key, many: a.many}, text(value))
}

func (u *use) gitKey(key, value arg) {
	if !key.exact() || !isListed("git keys", strings.ToLower(key.s), value) {
		u.refuse("option", "git configuration %s may choose a program to run", quote(show(key.s)))
	}
}

// remoteHelper matches a URL of the form helper::address.
var remoteHelper = lazyregexp.New(`^[a-zA-Z0-9+.\x01\x02\x03\x05\x06-]+::`)

// remote refuses addresses for which git runs a program.
func (u *use) remote(url arg, _ string) {
	if remoteHelper().MatchString(url.s) {
		u.refuse("option", "%s %s runs a program as a remote helper", u.name, quote(show(url.s)))
	}
}

// gitSetConfig checks git config KEY VALUE.
func (u *use) gitSetConfig() {
	ops := u.in.operands
	switch {
	case len(ops) == 0:
	case ops[0].is("set") || ops[0].is("edit"):
		ops = ops[1:]
	case ops[0].is("get") || ops[0].is("list") || ops[0].is("unset"):
		return
	}
	if len(ops) < 2 || u.in.given("get", "get-all", "get-regexp", "get-urlmatch", "unset", "unset-all", "l", "list") {
		if slices.ContainsFunc(ops, func(a arg) bool { return a.many }) {
			u.refuse("computed", "git config gets operands that are known only when it runs")
		}
		return
	}
	u.gitKey(ops[0], ops[1])
}
