package command

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// An effect is what an option or an operand does with its value; what names it in messages.
type effect func(u *use, value arg, what string)

// effects returns the effects by the letters of the notation. Other kinds have none.
func effects() map[string]effect {
	code := func(u *use, value arg, what string) {
		u.inline = true
		u.c.shellText(u.sh, value, nil, u.name+" "+what, false)
	}
	builtins := func(do func(*builtin, arg, string)) effect {
		return func(u *use, value arg, what string) { do(u.builtin, value, what) }
	}
	refusing := func(pattern, why string) effect {
		compiled := regexp.MustCompile(pattern)
		return func(u *use, value arg, _ string) {
			if compiled.MatchString(value.s) {
				u.refuse("option", "%s %s %s", u.name, quote(show(value.s)), why)
			}
		}
	}
	var table map[string]effect
	table = map[string]effect{
		"r": (*use).read,
		"a": (*use).readOptions,
		"+": refusing(`^[^+]|^$`, "sets the clock"),
		"w": (*use).write,
		"I": (*use).inPlace,
		"d": (*use).chdir,
		"D": (*use).project,
		"e": (*use).environment,
		"S": (*use).splitString,
		"x": code,
		"c": code,
		"m": (*use).module,
		"n": builtins((*builtin).assigned),
		"u": builtins((*builtin).unset),
		"N": builtins((*builtin).declared),
		"A": builtins((*builtin).alias),
		"o": builtins((*builtin).shopt),
		"U": refusing(`^[a-zA-Z0-9+.\x01\x02\x03\x05\x06-]+::`, "runs a program as a remote helper"), // HELPER::ADDRESS
		"g": (*use).toolFlags,
		"p": func(u *use, _ arg, _ string) { u.drop = true },
		"q": func(u *use, _ arg, _ string) { u.quiet = true },
		"C": func(u *use, _ arg, _ string) { u.text = true },
		"R": func(u *use, _ arg, _ string) { u.target = true },
		"f": func(u *use, value arg, _ string) { u.runFile("f", value) },
		"M": func(u *use, value arg, _ string) { arithmetic{u.c, u.sh}.text(value.s) },
		"l": func(u *use, value arg, what string) { // opened if it is a directory
			u.c.opened(u.sh, value, u.name+" "+what, false, false)
		},
		"k": func(u *use, value arg, _ string) {
			key, set, _ := strings.Cut(value.s, "=")
			u.c.gitKey(arg{s: key, many: value.many}, text(set))
		},
		"sed": func(u *use, value arg, _ string) {
			if s, known := u.program(value); known {
				script{u, s}.sed()
			}
		},
		"awk": func(u *use, value arg, _ string) {
			if s, known := u.program(value); known {
				script{u, s}.awk()
			}
		},
		"P": func(u *use, value arg, what string) {
			u.drop = true
			u.read(value, what)
		},
		"W": func(u *use, value arg, what string) {
			u.target = true
			u.write(value, what)
		},
		"i": func(u *use, _ arg, what string) {
			u.inline = true
			u.inlineCode(what)
		},
		"s": func(u *use, value arg, what string) {
			u.inline = true
			u.script(value, what)
		},
		"G": func(u *use, dir arg, what string) {
			u.c.name(u.sh, dir.s, false, u.name+" "+what)
			table["!"](u, dir, what)
		},
		"!": func(u *use, _ arg, what string) {
			u.refuse("option", "%s %s is refused: it runs programs, changes what runs, or leaves the working directory", u.name, what)
		},
	}
	for name, hook := range map[string]func(*use){
		"find": func(u *use) { newSearch(u.in.raw).check(u) },
		"tar":  (*use).tar, "xargs": (*use).xargs, "make": (*use).make,
		"dd": (*use).dd, "zip": (*use).zip, "pager": (*use).pager, "git-config": (*use).gitConfig,
		"popd":  func(u *use) { u.sh.dirs = nil },
		"shift": func(u *use) { u.c.vars.setParameters() },
	} {
		table["@"+name] = func(u *use, _ arg, _ string) { hook(u) }
	}
	for name, hook := range map[string]func(*builtin){
		"cd": (*builtin).cd, "eval": (*builtin).eval, "source": (*builtin).source, "trap": (*builtin).trap,
		"test": (*builtin).test, "set": (*builtin).set, "read": (*builtin).readLine,
	} {
		table["@"+name] = func(u *use, _ arg, _ string) { hook(u.builtin) }
	}
	return table
}

func (u *use) inlineCode(what string) {
	if u.c.p.InlineCode == Deny {
		u.c.refuse("inline-code", u.name+" "+what+" runs code given in the command", "put the code in a file and run that, or use an allowed command")
	}
}

// script checks a file of code.
func (u *use) script(file arg, what string) {
	if u.c.p.OpaqueScripts == Deny {
		who := strings.TrimSpace(u.name + " " + what)
		u.c.refuse("opaque-scripts", who+" runs code from "+quote(show(file.s))+", which is not looked into", "write the commands out")
		return
	}
	u.read(file, what)
}

func (u *use) chdir(dir arg, what string) {
	u.read(dir, what)
	if u.sh.dirs = joined(u.sh.dirs, dir.s); !dir.exact() {
		u.sh.dirs = nil
	}
}

// project checks a directory whose files decide what the program runs.
func (u *use) project(dir arg, what string) {
	u.chdir(dir, what)
	home := realPath(u.c.dir, &u.c.looks)
	for _, d := range u.sh.dirs {
		path, err := u.c.resolve(d)
		if err == nil && (path == home || strings.HasPrefix(path, strings.TrimSuffix(home, "/")+"/")) {
			continue
		}
		u.refuse("option", "%s %s leaves the working directory for %s, whose files decide what runs", u.name, what, quote(show(dir.s)))
	}
	if u.sh.dirs == nil {
		u.refuse("computed", "%s %s is known only when it runs", u.name, what)
	}
}

func (u *use) module(name arg, what string) {
	u.inline = true
	if markAt(name.s) >= 0 || isListed("python modules", name.s, unknown) {
		u.inlineCode(what + " " + show(name.s))
	}
}

func (u *use) environment(a arg, _ string) {
	name, value, _ := strings.Cut(a.s, "=")
	if a.many || markAt(name) >= 0 {
		u.refuse("computed", "%s sets a variable that is known only when it runs", u.name)
		return
	}
	u.c.checkEnvName(name, text(value), "")
}

// splitString checks env -S: the text becomes arguments before the rest.
func (u *use) splitString(value arg, _ string) {
	if !value.exact() || strings.ContainsAny(value.s, "$\\'\"`#") {
		u.refuse("computed", "%s -S takes %s apart in its own way", u.name, quote(show(value.s)))
		return
	}
	args := slices.Concat(texts(strings.Fields(value.s)), u.in.operands, u.in.rest)
	u.quiet = true
	u.c.apply(u.sh, u.name, u.prog, u.in.spec, args)
}

// shellText checks text that a new shell runs, with pos as its parameters. If
// that shell may be another than bash, the text must be right for both.
func (c *checker) shellText(sh *shell, a arg, pos []arg, who string, isBash bool) {
	fresh := shell{dirs: sh.dirs, pos: append([]arg{}, pos...), stdin: sh.stdin}
	posix := fresh
	c.runText(&fresh, a, who, syntax.LangBash)
	if !isBash && !c.refused && strings.ContainsAny(a.s, "&|<>($[{'") {
		c.runText(&posix, a, who, syntax.LangPOSIX)
	}
}

// countedName matches text in which a number that is not known is a part of a name, or of a parameter.
var countedName = lazyregexp.New(`(?:^|[^-0-9A-Za-z_])[A-Za-z_][0-9A-Za-z_]*\x04|[${!]\x04`)

// runText checks text that runs in sh.
func (c *checker) runText(sh *shell, a arg, who string, language syntax.LangVariant) {
	s := strings.ReplaceAll(a.s, number.s, "1")
	if a.many || markAt(s) >= 0 || countedName().MatchString(a.s) {
		c.refuse("computed", who+" runs "+quote(show(a.s))+", which is known only when it runs", "write the command out")
		c.spelled(sh, a.s, "the code of "+who)
	} else if strings.TrimSpace(s) != "" {
		c.run(sh, s, "the text of "+who, language)
	}
}
