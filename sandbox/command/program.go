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

// ownFile returns the identity of the program at path, unless it is a link to
// a program of many names (busybox): that file is not this program alone.
func ownFile(r Resolver, path string) os.FileInfo {
	if path == "" {
		return nil
	}
	real, err := r.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	if base := filepath.Base(real); base != filepath.Base(path) && MultiCall(base) {
		return nil
	}
	info, err := r.Stat(real)
	if err != nil {
		return nil
	}
	return info
}

const multiCall = ` busybox toybox coreutils systemctl kmod lvm mtools git box uutils rustup volta-shim pyenv mise asdf ccache snap `

// MultiCall reports whether a file of this name is many programs, told apart
// by the name they are called with.
func MultiCall(base string) bool {
	return strings.Contains(multiCall, " "+base+" ")
}
