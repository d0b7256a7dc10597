package command

import (
	"fmt"
	"strings"
)

// effect applies one effect of an option or an operand to its value.
func (u *use) effect(effect string, value arg, what string) {
	c, who := u.c, u.name+" "+what
	switch effect {
	case ".":
	case "r":
		c.read(u.sh, value, who)
	case "w":
		c.write(u.sh, value, who)
	case "W":
		u.target = true
		c.write(u.sh, value, who)
	case "p":
		u.drop = true
	case "P":
		u.drop = true
		c.read(u.sh, value, who)
	case "d":
		u.chdir(value, who)
	case "D":
		u.project(value, who)
	case "e":
		u.environment(value)
	case "k":
		u.gitConfig(value)
	case "q":
		u.quiet = true
	case "!":
		u.refuse("option", "%s is refused: it runs programs, changes what runs, or leaves the working directory", who)
	default:
		if name, ok := strings.CutPrefix(effect, "~"); ok {
			c.actsAs(u.sh, name, who)
			return
		}
		u.runs(effect, value, what)
	}
}

// runs applies an effect that is about code.
func (u *use) runs(effect string, value arg, what string) {
	switch effect {
	case "x", "c":
		u.inline = true
		u.c.shellText(u.sh, value, nil, u.name+" "+what, false)
	case "C":
		u.text = true
	case "i":
		u.inline = true
		u.inlineCode(what)
	case "s":
		u.inline = true
		u.script(value, what)
	case "f":
		u.runFile("f", value)
	case "m":
		u.inline = true
		if inlineModule(value.s) {
			u.inlineCode(what + " " + show(value.s))
		}
	case "l":
		u.splitString(value)
	case "sed":
		u.drop = true
		u.sed(value)
	case "awk":
		u.drop = true
		u.awk(value)
	default:
		u.refuse("table", "%s %s has the unknown effect %s", u.name, what, effect)
	}
}

// actsAs applies the lists to name, because an option does what it does.
func (c *checker) actsAs(sh *shell, name, who string) {
	argv := []arg{text(name)}
	prog := c.identify(sh, name, byExec)
	if c.refused {
		return
	}
	if r := c.p.deniedBy(prog, argv, nil); r != nil {
		c.refuse("denied: "+r.text, who+" does what "+name+" does, which is denied", "")
	} else if r, _ := c.p.allowedBy(prog, argv, nil); r == nil && !c.p.any {
		c.refuse("not-allowed", who+" does what "+name+" does, which is not allowed", "")
	}
}

func (u *use) inlineCode(what string) {
	if u.c.p.inlineDenied() {
		u.c.refuse("inline-code", u.name+" "+what+" runs code given in the command", "put the code in a file and run that, or use an allowed command")
	}
}

// script judges a file of code.
func (u *use) script(file arg, what string) {
	if u.c.p.opaqueDenied() {
		u.c.refuse("opaque-scripts", fmt.Sprintf("%s runs code from %s, which is not looked into", strings.TrimSpace(u.name+" "+what), quote(show(file.s))), "write the commands out")
		return
	}
	u.c.read(u.sh, file, u.name+" "+what)
}

func (u *use) chdir(dir arg, who string) {
	u.c.read(u.sh, dir, who)
	if !dir.exact() {
		u.sh.dirs = nil
		return
	}
	u.sh.moveTo(joined(u.sh.dirs, dir.s))
}

// project judges a directory whose files decide what the program runs.
func (u *use) project(dir arg, who string) {
	u.chdir(dir, who)
	home := realPath(u.c.p.Resolver, u.c.req.Dir, &u.c.paths)
	for _, d := range u.sh.dirs {
		path, err := u.c.resolve(d)
		if err == nil && (path == home || strings.HasPrefix(path, strings.TrimSuffix(home, "/")+"/")) {
			continue
		}
		u.refuse("option", "%s leaves the working directory for %s, whose files decide what runs", who, quote(show(dir.s)))
	}
	if u.sh.dirs == nil {
		u.refuse("computed", "%s is known only when it runs", who)
	}
}

// inlineModule reports whether a module of Python runs code from its
// arguments or from standard input.
func inlineModule(name string) bool {
	switch name {
	case "timeit", "code", "codeop", "pdb", "bdb", "trace", "profile", "cProfile", "runpy", "idlelib", "asyncio", "IPython", "ipykernel", "ptpython", "bpython", "sqlite3", "doctest", "zipapp":
		return true
	}
	return markAt(name) >= 0
}

// joined returns dir as seen from each of dirs.
func joined(dirs []string, dir string) []string {
	if strings.HasPrefix(dir, "/") {
		return []string{dir}
	}
	var out []string
	for _, d := range dirs {
		if len(d)+len(dir) > maxPath {
			return nil // too long to be worth following
		}
		out = append(out, strings.TrimSuffix(d, "/")+"/"+dir)
	}
	return out
}

func (u *use) environment(a arg) {
	name, value, _ := strings.Cut(a.s, "=")
	if a.many || markAt(name) >= 0 {
		u.refuse("computed", "%s sets a variable that is known only when it runs", u.name)
		return
	}
	u.c.checkEnvName(name, text(value), "")
}
