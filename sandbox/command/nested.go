package command

import (
	"os"
	"strings"
)

// shellText judges text that a new shell runs, with pos as its parameters. If
// that shell may be another than bash, the text must be right for both.
func (c *checker) shellText(sh *shell, a arg, pos []arg, who string, isBash bool) {
	s := strings.ReplaceAll(a.s, string(rune(aNumber)), "1")
	if a.many || markAt(s) >= 0 {
		c.refuse("computed", who+" runs "+quote(show(a.s))+", which is known only when it runs", "write the command out")
		return
	}
	if pos == nil {
		pos = []arg{}
	}
	fresh := shell{dirs: sh.dirs, pos: pos, stdin: sh.stdin}
	posix := fresh
	c.run(&fresh, s, who)
	if !isBash && !c.refused && strings.ContainsAny(s, "&|<>($[{'") {
		c.runParsed(&posix, s, who, c.parsePOSIX)
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
