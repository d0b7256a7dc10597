package command

import (
	"fmt"
	"path/filepath"
	"strings"
)

// subcommand returns the program and the words that a rule for a sub-command
// is compared with: the arguments, without options that come before it.
func (c *checker) subcommand(prog program, args []arg) []arg {
	words := args
	if s, _ := c.p.find(prog); s != nil && s.sub && !prog.builtin {
		words = s.takeApart(args).rest
	}
	return append([]arg{text(prog.base)}, words...)
}

// examine judges what a program that may run does with its arguments.
func (c *checker) examine(sh *shell, prog program, args []arg) {
	s, name := c.p.find(prog)
	if s == nil {
		if !strings.HasPrefix(prog.base, "ld-") || !strings.Contains(prog.base, ".so") {
			return
		}
		s, name = c.p.programs["ld.so"], "ld.so"
	}
	c.apply(sh, name, prog, s, args)
}

// apply judges args by a spec. Name is the table's name of the program.
func (c *checker) apply(sh *shell, name string, prog program, s *spec, args []arg) {
	if c.depth++; c.depth > maxDepth {
		c.refuse("too-complex", "programs that start programs are nested too deep", "")
	}
	defer func() { c.depth-- }()
	if c.refused {
		return
	}
	if name == "find" || name == "gfind" {
		c.find(sh, prog, args)
		return
	}
	in := s.takeApart(args)
	if s.risky && in.doubt.s != "" && c.mayStartWithDash(sh, in.doubt) {
		c.refuse("computed", fmt.Sprintf("%s may be an option of %s, which is known only when it runs", quote(show(in.doubt.s)), name), "put -- before it, or write ./* for *")
		return
	}
	inner := *sh
	u := &use{c: c, base: sh, sh: &inner, name: name, prog: prog, in: in}
	if inner.vars != nil {
		inner.vars = nil // the program does not see them
	}
	for _, o := range in.opts {
		if o.option != nil && o.effect != "" {
			u.effect(o.effect, o.value, o.dashes+o.name)
		}
	}
	if c.refused || u.quiet || u.done {
		return
	}
	if hook := hookOf(name); hook != nil {
		hook(u)
	}
	if !c.refused && !u.done {
		u.operands()
	}
}

// mayStartWithDash reports whether a word that starts unknown may be an
// option. A glob is looked up in the directory.
func (c *checker) mayStartWithDash(sh *shell, a arg) bool {
	if a.s[0] != anyName && a.s[0] != anyByte || c.p.Resolver == nil || sh.dirs == nil {
		return true
	}
	for _, w := range c.v.Writes {
		if strings.HasPrefix(filepath.Base(w), "-") {
			return true // a file of such a name is being made
		}
	}
	for _, dir := range sh.dirs {
		names, err := c.p.Resolver.Names(dir)
		if err != nil || len(names) >= 10_000 {
			return true
		}
		for _, n := range names {
			if strings.HasPrefix(n, "-") {
				return true
			}
		}
	}
	return false
}

// use is one program being judged with its arguments.
type use struct {
	c    *checker
	base *shell // where the program starts
	sh   *shell // the same after options that change the directory
	name string
	prog program
	in   *invocation

	drop   bool // the first data operand was given as an option
	text   bool // the first operand is shell text
	inline bool // code was given in an option
	quiet  bool // nothing runs
	done   bool // the hook judged the operands
	target bool // the operands go to a directory given in an option
}

func (u *use) refuse(rule, format string, args ...any) {
	u.c.refuse(rule, fmt.Sprintf(format, args...), "")
}
