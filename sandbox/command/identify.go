package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// program is what a command name stands for.
type program struct {
	name    string // as written
	base    string // last element of the name
	real    string // path with links resolved, if it was found
	file    os.FileInfo
	builtin bool
	path    bool // the name is a path
	trusted bool // the file is in a directory that is searched for programs
}

// identify finds out what name stands for.
func (c *checker) identify(sh *shell, name string, from origin) program {
	p := program{name: name, base: name, trusted: true}
	if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) && !c.p.names(name) {
		c.refuse("unknown-name", "the program name "+quote(name)+" has characters outside ASCII", "")
		return p
	}
	if !strings.Contains(name, "/") {
		p.builtin = from != byExec && c.p.builtin(name)
		if c.p.Resolver != nil && !p.builtin {
			if path, err := c.p.Resolver.LookPath(name); err == nil {
				p.real = path
				p.file, _ = c.p.Resolver.Stat(path)
			}
		}
		return p
	}
	p.path, p.base = true, filepath.Base(name)
	full := name
	if !filepath.IsAbs(name) {
		if len(sh.dirs) != 1 {
			c.refuse("computed", "the program "+name+" is in a directory that is known only when the command runs", "use an absolute path")
			return p
		}
		full = sh.dirs[0] + "/" + name
	}
	if magicLink(full) {
		c.refuse("computed", "the program path "+name+" stands for what a process has open", "use the program's name")
		return p
	}
	p.real = realPath(c.p.Resolver, full, &c.paths)
	if c.paths < 0 {
		c.refuse("too-complex", "the command names too many paths to look up", "split it into several commands")
	}
	if c.p.Resolver != nil {
		p.file, _ = c.p.Resolver.Stat(p.real)
	}
	p.trusted = c.trusted(filepath.Clean(full), p)
	return p
}

// trusted reports whether a program named by path is the one that its bare
// name runs.
func (c *checker) trusted(clean string, p program) bool {
	if c.p.Resolver == nil {
		return slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"}, filepath.Dir(clean))
	}
	path, err := c.p.Resolver.LookPath(p.base)
	if err != nil || p.file == nil {
		return false
	}
	info, err := c.p.Resolver.Stat(path)
	return err == nil && os.SameFile(info, p.file)
}

// builtin reports whether bash runs name itself.
func (p *Policy) builtin(name string) bool { return p.programs["builtin "+name] != nil }

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

// deniedBy returns the deny rule that the program falls under.
func (p *Policy) deniedBy(prog program, words, args []arg) *rule {
	applies := func(r *rule) bool {
		return (len(r.argsDeny) == 0 || r.hasDenied(args) != "") && (len(r.words) == 1 || mayFollow(r.words[1:], words[1:], args))
	}
	names := []string{strings.ToLower(prog.base)}
	if real := strings.ToLower(filepath.Base(prog.real)); prog.real != "" && real != names[0] && !MultiCall(real) {
		names = append(names, real)
	}
	for _, name := range names {
		for _, r := range p.denied.base[name] {
			if (r.path == "" || r.path == prog.real || r.file != nil && prog.file != nil && os.SameFile(r.file, prog.file) || prog.real == "") && applies(r) {
				return r
			}
		}
	}
	if prog.file != nil {
		for i := range p.denied.all {
			if r := &p.denied.all[i]; r.file != nil && os.SameFile(r.file, prog.file) && applies(r) {
				return r
			}
		}
	}
	return nil
}

// mayFollow reports whether the sub-command words may be want. The words may
// also come after options whose arguments are not known here.
func mayFollow(want []string, words, args []arg) bool {
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
	for i := 1; i < len(args); i++ {
		if strings.HasPrefix(args[i-1].s, "-") || i > 1 && strings.HasPrefix(args[i-2].s, "-") {
			if starts(args[i:]) {
				return true
			}
			continue
		}
		break
	}
	return false
}

// allowedBy returns the allow rule that covers the program, or the denied
// argument that keeps it from doing so.
func (p *Policy) allowedBy(prog program, words, args []arg) (r *rule, why string) {
	for _, r := range p.allowed.base[strings.ToLower(prog.base)] {
		if r.words[0] != prog.base || !prog.trusted && r.path == "" {
			continue
		}
		if r.path != "" && (prog.builtin || !samePath(r, prog)) {
			continue
		}
		if len(r.words) > 1 && !startsWith(words[1:], r.words[1:]) {
			continue
		}
		if why = r.hasDenied(args); why == "" {
			return r, ""
		}
	}
	return nil, why
}

func samePath(r *rule, prog program) bool {
	return r.path == prog.real || r.file != nil && prog.file != nil && os.SameFile(r.file, prog.file)
}

func (p *Policy) allowedPath(prog program) bool {
	for _, r := range p.allowed.base[strings.ToLower(prog.base)] {
		if r.path != "" && samePath(r, prog) {
			return true
		}
	}
	return false
}

func startsWith(words []arg, want []string) bool {
	if len(words) < len(want) {
		return false
	}
	for i, w := range want {
		if !words[i].is(w) {
			return false
		}
	}
	return true
}
