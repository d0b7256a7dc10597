package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test judges the operands of test and [: -v evaluates its operand.
func (c *checker) test(name string, args []arg) {
	for i, a := range args {
		if a.many && len(args) > 2 && strings.Trim(a.s, string(rune(aNumber))) != "" {
			c.refuse("evaluates", name+" gets "+quote(show(a.s))+" without quotes, which may be -v and its operand", "put it in double quotes")
			return
		}
		if i+1 >= len(args) || !a.is("-v") && (a.exact() || !a.maybeOption()) {
			continue
		}
		next := args[i+1]
		if a.is("-v") || !next.exact() || strings.Contains(next.s, "[") && strings.ContainsAny(next.s, "$`") {
			c.varName(next, name+" -v")
			return
		}
	}
}

// safeShopt lists the options of shopt that do not change how commands are
// read or found.
var safeShopt = []string{"nullglob", "failglob", "globstar", "inherit_errexit", "lastpipe", "nocasematch", "extglob", "checkwinsize", "xpg_echo", "cmdhist", "huponexit", "execfail"}

var safeSetO = []string{"errexit", "nounset", "pipefail", "xtrace", "verbose", "noexec", "noglob", "noclobber", "errtrace", "functrace", "monitor", "notify", "nolog", "ignoreeof", "emacs", "vi", "hashall"}

// options judges set and shopt.
func (c *checker) options(sh *shell, name string, args []arg) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.exact():
			if i > 0 && args[0].is("--") {
				continue
			}
			c.refuse("computed", name+" gets "+quote(show(a.s))+", which is known only when it runs", "use set -- for parameters")
			return
		case name == "shopt" && !strings.HasPrefix(a.s, "-"):
			if !contains(safeShopt, a.s) {
				c.refuse("option", "shopt "+a.s+" changes how commands are read", "")
			}
		case name == "shopt":
			if strings.Contains(a.s, "o") {
				c.refuse("option", "shopt "+a.s+" is not judged", "use set -o")
			}
		case a.is("--") || a.is("-"):
			sh.pos, sh.posKnown = args[i+1:], !sh.facts.shifting && sh.posKnown
			return
		case strings.HasPrefix(a.s, "-o") || strings.HasPrefix(a.s, "+o") || strings.HasPrefix(a.s, "-") && strings.HasSuffix(a.s, "o") || strings.HasPrefix(a.s, "+") && strings.HasSuffix(a.s, "o"):
			if strings.ContainsAny(a.s, "akp") || i+1 < len(args) && !contains(safeSetO, args[i+1].s) {
				c.refuse("option", "set "+line(args)+" changes how commands are read", "")
			}
			i++
		case strings.HasPrefix(a.s, "-") || strings.HasPrefix(a.s, "+"):
			if strings.ContainsAny(a.s, "akpotP") {
				c.refuse("option", "set "+a.s+" changes how commands are read", "")
			}
		default:
			if sh.posKnown || sh.vars != nil {
				sh.pos, sh.posKnown = nil, false
			}
			return
		}
	}
}

// lookups judges builtins that change what names mean, or call back.
func (c *checker) lookups(sh *shell, name string, args []arg) {
	bad := map[string]string{"mapfile": "C", "readarray": "C", "complete": "CFWX", "compgen": "CFWX", "compopt": "", "bind": "xfmp", "enable": "fndp", "fc": "es", "hash": "p"}[name]
	if name == "mapfile" || name == "readarray" {
		c.dynamic(sh, name)
	}
	for _, a := range args {
		switch {
		case a.many || a.maybeOption() && !a.exact():
			c.refuse("computed", name+" gets "+quote(show(a.s))+", which is known only when it runs", "")
		case strings.HasPrefix(a.s, "-") && strings.ContainsAny(a.s, bad) && bad != "":
			c.refuse("evaluates", name+" "+a.s+" runs code or changes what a name means", "")
		case name == "enable" || name == "bind" || name == "complete" || name == "fc":
			if name != "fc" || a.s != "-l" {
				c.refuse("evaluates", name+" changes what names or keys mean", "")
			}
		case strings.ContainsAny(a.s, "[") && strings.ContainsAny(a.s, "$`"):
			c.varName(a, name)
		case !strings.HasPrefix(a.s, "-") && (name == "mapfile" || name == "readarray") && syntax.ValidName(a.s):
			c.checkEnvName(a.s, unknown, name)
		}
	}
}

// namers judges builtins whose operands name variables.
func (c *checker) namers(sh *shell, name string, args []arg) {
	first := true
	if name != "read" && name != "unset" && name != "printf" && name != "wait" && name != "getopts" && name != "let" {
		c.integerArgs(sh, args)
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if name == "printf" {
			c.printf(args)
			return
		}
		if strings.HasPrefix(a.s, "-") && first {
			if a.is("--") {
				first = false
			}
			if takesWord(name, a.s) {
				i++
				if i < len(args) && (name == "wait" || strings.HasSuffix(a.s, "a")) {
					c.named(sh, name, args[i])
				}
			}
			if a.exact() {
				continue
			}
		}
		if name == "wait" && (i == 0 || !args[i-1].is("-p")) && !strings.Contains(a.s, "[") && (!a.many || a.s == string(rune(aNumber))) {
			continue
		}
		if name == "getopts" && i == 0 {
			continue
		}
		c.named(sh, name, a)
	}
	if name == "read" && len(args) > 0 && sh.stdinKnown {
		last := args[len(args)-1]
		if n := 0; last.exact() && syntax.ValidName(last.s) && sh.facts.assigned[last.s] == 1 && onlyName(args, &n) {
			sh.bind(last.s, arg{s: strings.SplitN(sh.stdin.s+"\n", "\n", 2)[0]})
			if strings.Contains(sh.stdin.s, "\n") {
				sh.bind(last.s, unknown)
			}
		}
	}
}

// integerArgs notes the variables that operands of declare -i name.
func (c *checker) integerArgs(sh *shell, args []arg) {
	found := false
	for _, a := range args {
		switch {
		case strings.HasPrefix(a.s, "-"):
			found = found || strings.Contains(a.s, "i") || !a.exact()
		case found:
			name, _, _ := strings.Cut(a.s, "=")
			name = strings.TrimSuffix(name, "+")
			if c.integers == nil {
				c.integers = map[string]bool{}
			}
			c.integers[name] = true
			if sh.facts.tainted[name] && !strings.Contains(a.s, "=") {
				c.refuseArith("what is assigned to " + name)
			}
		}
	}
}

// onlyName reports whether read gets options and one name.
func onlyName(args []arg, n *int) bool {
	for _, a := range args {
		if !strings.HasPrefix(a.s, "-") {
			*n++
		} else if a.s != "-r" {
			return false
		}
	}
	return *n == 1
}

// takesWord reports whether the option of a builtin has an argument apart.
func takesWord(name, opt string) bool {
	if name != "read" && name != "wait" {
		return false
	}
	i := strings.IndexAny(opt, "adinNptu")
	return i == len(opt)-1 && (name == "read" || opt[i] == 'p')
}

// named judges one operand that names a variable, perhaps with a value.
func (c *checker) named(sh *shell, builtin string, a arg) {
	name, value, hasValue := strings.Cut(a.s, "=")
	if builtin == "let" {
		c.arithText(sh, a.s)
		return
	}
	if a.many && strings.Contains(a.s, "=") {
		c.refuse("computed", builtin+" gets "+quote(show(a.s))+", which is known only when it runs", "name the variable, and quote the value")
		return
	}
	name = strings.TrimSuffix(name, "+")
	c.varName(arg{s: name, many: a.many}, builtin)
	if hasValue && strings.HasPrefix(value, "(") && strings.ContainsAny(value, "$`<>\x03") {
		c.refuse("evaluates", builtin+" evaluates the elements of "+quote(show(a.s)), "")
	}
	if c.integers[name] {
		c.arithText(sh, value)
		if builtin == "read" || builtin == "printf" {
			c.refuseArith("what " + builtin + " assigns to " + name)
		}
	}
	if builtin == "unset" {
		sh.funcs = &function{name: name, next: sh.funcs}
	}
	if hasValue || builtin == "read" || builtin == "getopts" || name == "PATH" {
		c.checkEnvName(name, text(value), builtin)
	}
}

// printf judges -v NAME.
func (c *checker) printf(args []arg) {
	a := args[0]
	switch {
	case a.is("-v") && len(args) > 1:
		c.varName(args[1], "printf -v")
		c.checkEnvName(args[1].s, unknown, "printf -v")
	case strings.HasPrefix(a.s, "-v"):
		c.varName(arg{s: a.s[2:], many: a.many}, "printf -v")
		c.checkEnvName(a.s[2:], unknown, "printf -v")
	case a.many || len(args) > 1 && a.maybeOption() && !a.exact():
		c.refuse("evaluates", "printf gets "+quote(show(a.s))+", which may be -v, from the command", "start with a literal format, or use printf -- FORMAT")
	}
}
