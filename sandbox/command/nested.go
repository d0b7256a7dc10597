package command

import (
	"os"
	"strings"
)

// splitString judges env -S: the text becomes arguments before the rest.
func (u *use) splitString(value arg) {
	if !value.exact() || strings.ContainsAny(value.s, "$\\'\"`#") {
		u.refuse("computed", "%s -S takes %s apart in its own way", u.name, quote(show(value.s)))
		return
	}
	var args []arg
	for _, word := range strings.Fields(value.s) {
		args = append(args, text(word))
	}
	args = append(append(args, u.in.operands...), u.in.rest...)
	u.done = true
	u.c.apply(u.sh, u.name, u.prog, u.in.spec, args)
}

// shellText judges text that a new shell runs, with pos as its parameters. If
// that shell may be another than bash, the text must be right for both.
func (c *checker) shellText(sh *shell, a arg, pos []arg, who string, isBash bool) {
	s := strings.ReplaceAll(a.s, string(rune(aNumber)), "1")
	if a.many || markAt(s) >= 0 {
		c.refuse("computed", who+" runs "+quote(show(a.s))+", which is known only when it runs", "write the command out")
		return
	}
	fresh := shell{dirs: sh.dirs, pos: pos, posKnown: true, stdin: sh.stdin, stdinKnown: sh.stdinKnown}
	posix := fresh
	c.script(&fresh, s, who)
	if !isBash && !c.refused && strings.ContainsAny(s, "&|<>($[{'") {
		c.scriptOf(&posix, s, who, c.parsePOSIX)
	}
}

// copied refuses copying a denied program, which would run under another name.
func (c *checker) copied(sh *shell, files []arg) {
	if c.p.Resolver == nil || sh.dirs == nil {
		return
	}
	for _, a := range files {
		if !a.exact() || a.s == "" || strings.HasPrefix(a.s, "-") {
			continue
		}
		for _, path := range joined(sh.dirs, a.s) {
			info, err := c.p.Resolver.Stat(path)
			if err != nil {
				continue
			}
			for _, r := range c.p.denied.all {
				if r.file != nil && os.SameFile(r.file, info) {
					c.refuse("denied: "+r.text, "copying or linking "+a.s+" would give "+r.words[0]+" another name", "")
					return
				}
			}
		}
	}
}
