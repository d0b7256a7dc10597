package command

import "strings"

// golang refuses flags that hand programs to the tools behind the go command.
func (u *use) golang() {
	for _, name := range []string{"ldflags", "gcflags", "asmflags", "gccgoflags"} {
		o, ok := u.in.option(name)
		if !ok {
			continue
		}
		if strings.Contains(o.value.s, unknown.s) || o.value.many {
			u.refuse("computed", "%s -%s is known only when it runs", u.name, name)
		}
		for _, bad := range []string{"-extld=", "-extld ", "-extar", "-toolexec", "-B", "-wrapper", "-specs", "-fplugin", "-fuse-ld", "@"} {
			if strings.Contains(o.value.s, bad) && (bad != "@" || name == "gccgoflags") {
				u.refuse("option", "%s -%s=%s chooses a program to run", u.name, name, show(o.value.s))
			}
		}
	}
}
