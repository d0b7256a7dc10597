package command

import (
	"slices"
	"strings"
)

// search is what find(1) is given: where it starts, and an expression, which starts programs and writes files.
type search struct{ starts, rest []arg }

// newSearch splits off the starting points; without one it is the directory that find runs in.
func newSearch(args []arg) search {
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
		return search{[]arg{text(".")}, args}
	}
	return search{args[:n], args[n:]}
}

// output returns what the names that find prints look like.
func (s search) output() arg {
	if len(s.starts) != 1 || !s.starts[0].exact() {
		return arg{s: token.s, many: true}
	}
	below := arg{s: strings.TrimSuffix(s.starts[0].s, "/") + "/\x06", many: true}
	out := below
	for i, a := range s.rest {
		if isListed("find names", a.s, unknown) && i+1 < len(s.rest) && s.rest[i+1].exact() {
			pattern := strings.TrimLeft(s.rest[i+1].s, "*")
			out.s = below.s + strings.NewReplacer("*", "\x01", "?", "\x02", "[", "\x01", "]", "\x01", "\\", "\x01").Replace(pattern)
		}
		if slices.ContainsFunc([]string{"-printf", "-o", "-or", "!", "-not", ","}, a.is) {
			return below
		}
	}
	return out
}

// check checks the actions of the expression.
func (s search) check(u *use) {
	c, sh := u.c, u.sh
	acts := slices.ContainsFunc(s.rest, func(a arg) bool {
		return strings.HasPrefix(a.s, "-exec") || strings.HasPrefix(a.s, "-ok") || a.is("-delete")
	})
	for _, a := range s.starts {
		if a.many && a.maybeOption() && c.mayStartWithDash(sh, a) {
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "put it in double quotes after ./")
		}
		c.path(sh, a, "find", false)
	}
	for i := 0; i < len(s.rest) && !c.refused; i++ {
		a, next := s.rest[i], arg{}
		if i+1 < len(s.rest) {
			next = s.rest[i+1]
		}
		takes := isListed("find tests", a.s, unknown)
		switch {
		case a.many || a.maybeOption() && !a.exact() || next.many && takes:
			c.refuse("computed", quote(show(a.s))+" may be an action of find, which is known only when it runs", "quote the pattern")
		case a.is("-exec"), a.is("-execdir"), a.is("-ok"), a.is("-okdir"):
			i += s.exec(u, s.rest[i+1:], strings.HasSuffix(a.s, "dir"))
		case a.is("-delete"):
			for _, start := range s.starts {
				c.path(sh, start, "find -delete", true)
			}
			c.actsAs("rm", "find -delete")
		case strings.HasPrefix(a.s, "-fprint") || a.is("-fls"):
			u.write(next, a.s)
			i++
		case takes:
			if acts && isListed("find names", a.s, unknown) && (i == 0 || !s.rest[i-1].is("!") && !s.rest[i-1].is("-not")) {
				c.name(sh, search{s.starts, s.rest[i:min(i+2, len(s.rest))]}.output().s, true, "find")
			}
			i++
			if a.is("-files0-from") {
				u.read(next, a.s)
				c.substituted(sh, []arg{next})
			}
		}
	}
}

// exec checks the command of -exec and returns how many words it takes.
func (s search) exec(u *use, args []arg, dir bool) int {
	n := 0
	var argv []arg
	for ; n < len(args) && !args[n].is(";") && !(args[n].is("+") && n > 0 && args[n-1].is("{}")); n++ {
		a := args[n]
		if a.is("{}") {
			a.s = s.output().s
		}
		a.s = strings.ReplaceAll(a.s, "{}", unknown.s)
		argv = append(argv, a)
	}
	inner := *u.sh
	if dir {
		inner.dirs = nil
	}
	u.c.check(&inner, argv, byExec)
	return n + 1
}
