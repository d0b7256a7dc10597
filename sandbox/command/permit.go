package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// names reports whether a rule of either list is about this name.
func (p *Policy) names(name string) bool {
	name = strings.ToLower(name)
	return p.allowed.base[name] != nil || p.denied.base[name] != nil
}

// permit applies the lists: denied first, then allowed. Words is the program
// and its sub-command words, args all its arguments.
func (c *checker) permit(prog program, words, args []arg) {
	shown := append([]arg{text(prog.name)}, words[1:]...)
	if r := c.p.deniedBy(prog, words, args); r != nil {
		what := line(shown)
		if prog.real != "" && filepath.Base(prog.real) != prog.base {
			what += " (" + prog.real + ")"
		}
		c.refuse("denied: "+r.text, what+" is denied", "")
		return
	}
	if c.p.any {
		if prog.path && !prog.trusted && c.p.opaqueDenied() && !c.p.allowedPath(prog) {
			c.refuse("opaque-scripts", prog.name+" is a program outside the directories of PATH", "run an installed program by its name, or list this path in allowed_commands")
		}
		return
	}
	r, why := c.p.allowedBy(prog, words, args)
	switch {
	case r == nil && why != "":
		c.refuse("args_deny", line(shown)+" may not get "+why, "leave "+why+" out")
	case r == nil:
		c.refuse("not-allowed", line(shown)+" is not allowed", "")
	case len(r.words) > 1:
		c.mutating(r, prog, args)
	}
}

// deniedBy returns the deny rule that the program falls under, by its name, the
// name of its file, or the file itself.
func (p *Policy) deniedBy(prog program, words, args []arg) *rule {
	names := []string{strings.ToLower(prog.base)}
	if real := strings.ToLower(filepath.Base(prog.real)); prog.real != "" && !MultiCall(real) {
		names = append(names, real)
	}
	for i := range p.denied.all {
		r := &p.denied.all[i]
		named := slices.Contains(names, strings.ToLower(r.words[0])) && (r.path == "" || r.path == prog.real || prog.real == "")
		if (named || r.isFile(prog.file)) && (len(r.argsDeny) == 0 || r.hasDenied(args) != "") && mayFollow(r.words[1:], words[1:], args) {
			return r
		}
	}
	return nil
}

// mayFollow reports whether the sub-command words may be want. The words may
// also come after options whose arguments are not known here.
func mayFollow(want []string, words, args []arg) bool {
	if len(want) == 0 {
		return true
	}
	starts := func(list []arg) bool {
		for i, w := range want {
			if i >= len(list) {
				return false
			}
			if list[i].many {
				return true
			}
			if !list[i].is(w) && (list[i].exact() || !matches(list[i].s, w)) {
				return false
			}
		}
		return true
	}
	if starts(words) || starts(args) {
		return true
	}
	for i := 1; i < len(args) && (strings.HasPrefix(args[i-1].s, "-") || i > 1 && strings.HasPrefix(args[i-2].s, "-")); i++ {
		if starts(args[i:]) {
			return true
		}
	}
	return false
}

// allowedBy returns the allow rule that covers the program, or the denied
// argument that keeps it from doing so.
func (p *Policy) allowedBy(prog program, words, args []arg) (r *rule, why string) {
	for _, r := range p.allowed.base[strings.ToLower(prog.base)] {
		byPath := r.path != "" && !prog.builtin && r.samePath(prog)
		byName := r.path == "" && prog.trusted
		if r.words[0] == prog.base && (byPath || byName) && startsWith(words[1:], r.words[1:]) {
			if why = r.hasDenied(args); why == "" {
				return r, ""
			}
		}
	}
	return nil, why
}

func (r *rule) isFile(file os.FileInfo) bool {
	return r.file != nil && file != nil && os.SameFile(r.file, file)
}

func (r *rule) samePath(prog program) bool { return r.path == prog.real || r.isFile(prog.file) }

func (p *Policy) allowedPath(prog program) bool {
	return slices.ContainsFunc(p.allowed.base[strings.ToLower(prog.base)], func(r *rule) bool { return r.path != "" && r.samePath(prog) })
}

func startsWith(words []arg, want []string) bool {
	return len(words) >= len(want) && slices.EqualFunc(words[:len(want)], want, arg.is)
}
