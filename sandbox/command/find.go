package command

import (
	"slices"
	"strings"
)

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
		takes := slices.Contains(findTakes, a.s)
		switch {
		case a.many || a.maybeOption() && !a.exact() || next.many && takes:
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "quote the pattern")
		case a.is("-exec"), a.is("-execdir"), a.is("-ok"), a.is("-okdir"):
			i += c.findExec(sh, rest[i+1:], findOutput(starts, rest), strings.HasSuffix(a.s, "dir"))
		case a.is("-delete"):
			for _, s := range starts {
				c.path(sh, s, "find -delete", true)
			}
			c.actsAs(sh, "rm", "find -delete")
		case strings.HasPrefix(a.s, "-fprint") || a.is("-fls"):
			u.write(next, a.s)
			i++
		case takes:
			if acts && slices.Contains(findNames, a.s) && (i == 0 || !rest[i-1].is("!") && !rest[i-1].is("-not")) {
				c.name(sh, findOutput(starts, rest[i:min(i+2, len(rest))]).s, true, "find")
			}
			i++
			if a.is("-files0-from") {
				u.read(next, a.s)
			}
		}
	}
}

// findTakes lists the tests whose argument is not an action.
var findTakes = []string{"-files0-from", "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype", "-type", "-xtype", "-size", "-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-user", "-group", "-uid", "-gid", "-perm", "-maxdepth", "-mindepth", "-links", "-inum", "-samefile", "-lname", "-ilname", "-fstype", "-printf", "-context", "-used", "-D"}

// findNames lists the tests of names.
var findNames = []string{"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-samefile"}

// findStarts splits off the starting points; without one it is the directory that find runs in.
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
		return arg{s: "\x05", many: true}
	}
	below := arg{s: strings.TrimSuffix(starts[0].s, "/") + "/\x06", many: true}
	out := below
	for i, a := range rest {
		if slices.Contains(findNames, a.s) && i+1 < len(rest) && rest[i+1].exact() {
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
