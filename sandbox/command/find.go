package command

import (
	"slices"
	"strings"
)

// find checks find(1), whose expression starts programs and writes files.
func (u *use) find() {
	c, sh := u.c, u.sh
	starts, rest := findStarts(u.in.raw)
	for _, a := range starts {
		if a.many && a.maybeOption() && c.mayStartWithDash(sh, a) {
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "put it in double quotes after ./")
		}
		c.read(sh, a, "find")
	}
	found := findOutput(starts, rest)
	for i := 0; i < len(rest) && !c.refused; i++ {
		a := rest[i]
		next := arg{}
		if i+1 < len(rest) {
			next = rest[i+1]
		}
		switch {
		case a.many || a.maybeOption() && !a.exact() || next.many && slices.Contains(findTakes, a.s):
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "quote the pattern")
		case a.is("-exec"), a.is("-execdir"), a.is("-ok"), a.is("-okdir"):
			i += c.findExec(sh, rest[i+1:], found, strings.HasSuffix(a.s, "dir"))
		case a.is("-delete"):
			for _, s := range starts {
				c.write(sh, s, "find -delete")
			}
			c.actsAs(sh, "rm", "find -delete")
		case a.is("-fprint"), a.is("-fprint0"), a.is("-fls"), a.is("-fprintf"):
			u.write(next, a.s)
			i++
		case a.is("-files0-from"):
			u.read(next, a.s)
			i++
		case slices.Contains(findTakes, a.s):
			i++
		}
	}
}

// findTakes lists the tests whose argument is not an action.
var findTakes = []string{"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type", "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-user", "-group", "-uid", "-gid", "-perm", "-maxdepth", "-mindepth", "-links", "-inum", "-samefile", "-lname", "-ilname", "-fstype", "-printf", "-context", "-used", "-D"}

// findStarts splits off the starting points; without one it is the directory
// that find runs in.
func findStarts(args []arg) (starts, rest []arg) {
	for i, a := range args {
		if len(starts) == 0 && (a.is("-H") || a.is("-L") || a.is("-P") || strings.HasPrefix(a.s, "-O")) {
			continue
		}
		if strings.HasPrefix(a.s, "-") || a.is("!") || a.is("(") || a.is(")") || a.is(",") {
			rest = args[i:]
			break
		}
		starts = append(starts, a)
	}
	if len(starts) == 0 {
		starts = []arg{text(".")}
	}
	return starts, rest
}

// findOutput returns what the names that find prints look like.
func findOutput(starts, rest []arg) arg {
	if len(starts) != 1 || !starts[0].exact() {
		return arg{s: string(rune(aToken)), many: true}
	}
	out := strings.TrimSuffix(starts[0].s, "/") + "/" + string(rune(anyBelow))
	for i, a := range rest {
		if a.is("-printf") || a.is("-o") || a.is("-or") || a.is("!") || a.is("-not") || a.is(",") {
			return arg{s: strings.TrimSuffix(starts[0].s, "/") + "/" + string(rune(anyBelow)), many: true}
		}
		if a.is("-name") && i+1 < len(rest) && rest[i+1].exact() {
			name := strings.TrimLeft(rest[i+1].s, "*")
			if name != rest[i+1].s || !strings.Contains(out, "\x06\x01") {
				out = strings.TrimSuffix(starts[0].s, "/") + "/" + string(rune(anyBelow)) + strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x01", "]", "\x01", "\\", "\x01").Replace(name)
			}
		}
	}
	return arg{s: out, many: true}
}

// findExec checks the command of -exec and returns how many words it takes.
func (c *checker) findExec(sh *shell, args []arg, found arg, dir bool) int {
	n := 0
	var argv []arg
	for ; n < len(args); n++ {
		a := args[n]
		if a.is(";") || a.is("+") && n > 0 && args[n-1].is("{}") {
			break
		}
		if a.is("{}") {
			a = arg{s: found.s}
		} else if strings.Contains(a.s, "{}") {
			a.s = strings.ReplaceAll(a.s, "{}", unknown.s)
		}
		argv = append(argv, a)
	}
	inner := *sh
	if dir {
		inner.dirs = nil
	}
	if len(argv) > 0 {
		c.check(&inner, argv, byExec)
	}
	return n + 1
}
