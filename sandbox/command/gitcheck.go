package command

import (
	"slices"
	"strings"

	"toolserver/lazyregexp"
)

// gitConfig checks a key=value of git's configuration.
func (u *use) gitConfig(a arg, _ string) {
	key, value, _ := strings.Cut(a.s, "=")
	u.gitKey(arg{s: key, many: a.many}, text(value))
}

func (u *use) gitKey(key, value arg) {
	if !key.exact() || !isListed("git keys", strings.ToLower(key.s), value) {
		u.refuse("option", "git configuration %s may choose a program to run", quote(show(key.s)))
	}
}

// remoteHelper matches a URL of the form helper::address.
var remoteHelper = lazyregexp.New(`^[a-zA-Z0-9+.\x01\x02\x03\x05\x06-]+::`)

// remote refuses addresses for which git runs a program.
func (u *use) remote(url arg, _ string) {
	if remoteHelper().MatchString(url.s) {
		u.refuse("option", "%s %s runs a program as a remote helper", u.name, quote(show(url.s)))
	}
}

// gitSetConfig checks git config KEY VALUE.
func (u *use) gitSetConfig() {
	ops := u.in.operands
	switch {
	case len(ops) == 0:
	case ops[0].is("set") || ops[0].is("edit"):
		ops = ops[1:]
	case ops[0].is("get") || ops[0].is("list") || ops[0].is("unset"):
		return
	}
	if len(ops) < 2 || u.in.given("get", "get-all", "get-regexp", "get-urlmatch", "unset", "unset-all", "l", "list") {
		if slices.ContainsFunc(ops, func(a arg) bool { return a.many }) {
			u.refuse("computed", "git config gets operands that are known only when it runs")
		}
		return
	}
	u.gitKey(ops[0], ops[1])
}

// mutating refuses destructive words after a sub-command that a rule allows,
// unless the rule itself spells them out.
func (c *checker) mutating(r *rule, prog program, sub string, args []arg) {
	words := wordLists()["mutations"][prog.base+"."+sub]
	if words == "" || len(r.words) > 2 {
		return
	}
	for w := range strings.SplitSeq(words[1:], ",") {
		for i, a := range args {
			if strings.HasPrefix(w, "-") && optionIs(a.s, w) ||
				!strings.HasPrefix(w, "-") && i > 0 && args[i-1].is(sub) && (a.is(w) || !a.exact()) {
				c.refuse("mutating", prog.base+" "+sub+" "+w+" changes things, and the rule "+quote(r.text)+" is taken to allow looking",
					"add "+quote(r.text+" "+w)+" to allowed_commands")
				return
			}
		}
	}
}
