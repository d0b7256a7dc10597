package command

import (
	"os"
	"path/filepath"
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
		if p.builtin = from != byExec && c.p.builtin(name); !p.builtin {
			p.real, p.file = c.p.lookPath(name)
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
	if magicLink().MatchString(full) {
		c.refuse("computed", "the program path "+name+" stands for what a process has open", "use the program's name")
		return p
	}
	p.real = realPath(full, &c.paths)
	if c.paths < 0 {
		c.refuse("too-complex", "the command names too many paths to look up", "split it into several commands")
	}
	p.file, _ = os.Stat(p.real)
	_, bare := c.p.lookPath(p.base)
	p.trusted = p.file != nil && bare != nil && os.SameFile(bare, p.file)
	return p
}

// builtin reports whether bash runs name itself.
func (p *Policy) builtin(name string) bool { return p.programs["builtin "+name] != nil }

// ownFile returns the identity of the program at path, unless it is a link to
// a program of many names (busybox): that file is not this program alone.
func ownFile(path string) os.FileInfo {
	real, err := filepath.EvalSymlinks(path)
	if base := filepath.Base(real); err != nil || base != filepath.Base(path) && MultiCall(base) {
		return nil
	}
	info, _ := os.Stat(real)
	return info
}

const multiCall = ` busybox toybox coreutils systemctl kmod lvm mtools git box uutils rustup volta-shim pyenv mise asdf ccache snap `

// MultiCall reports whether a file of this name is many programs, distinguished
// by the name they are called with.
func MultiCall(base string) bool {
	return strings.Contains(multiCall, " "+base+" ")
}
