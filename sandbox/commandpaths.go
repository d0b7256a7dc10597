package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"toolserver/sandbox/command"
	"toolserver/sandbox/pathguard"
)

// paths checks the files a command names: what it writes against what the family for
// writing may write, and what it reads against the configuration of the family for
// reading, if there is any; without, commands may read the machine.
func (c *Commands) paths(reading ToolPolicy) command.Paths {
	read, write := c.reads, c.writes
	_, notRead := read.Patterns()
	_, notWritten := write.Patterns()
	p := command.Paths{
		Globs:       len(notRead)+len(notWritten) > 0,
		ReadDenied:  read.DeniedPaths(),
		WriteDenied: write.DeniedPaths(),
		Write: func(path string) error {
			if c.temporary(path) {
				return nil
			}
			return checkPath(write, path)
		},
	}
	switch {
	case reading.AllowedPaths != nil:
		p.Read = func(path string) error {
			if c.temporary(path) {
				return nil
			}
			return checkPath(read, path)
		}
	case reading.DeniedPaths != nil:
		p.Read = func(path string) error {
			if rule, denied := read.Denied(path); denied {
				return fmt.Errorf("%s %s", path, read.Reason(rule))
			}
			return nil
		}
	}
	return p
}

// maxListed is how many paths a verdict names at most; see [command.Verdict].
const maxListed = 256

// protect refuses a command that names a denied or protected file. The lists of
// paths cover most of what it names already, but not what it reads if configuration
// has no list for that, not what its wildcards may stand for, and nothing at all
// without a list of commands. Then what a wildcard stands for is left to the kernel
// if that confines the command.
func (c *Commands) protect(listed bool, v command.Verdict) command.Verdict {
	if !v.Allowed {
		return v
	}
	lenient := !listed && c.Confined()
	for _, use := range []struct {
		guard *pathguard.Guard
		verb  string
		paths []string
	}{
		{c.reads, "reads", v.Reads}, {c.writes, "writes", v.Writes},
	} {
		for _, path := range use.paths {
			if lenient && strings.ContainsAny(path, "*?[…") {
				continue
			}
			check := use.guard.Protected
			if !listed {
				check = use.guard.Refused
			}
			if rule, refused := check(path); refused {
				v.Allowed, v.Plain, v.Rule = false, nil, rule
				v.Reason = "the command " + use.verb + " " + path + ", which " + use.guard.Reason(rule)
				return v
			}
		}
		if listed && use.guard.Protects() && len(use.paths) >= maxListed {
			v.Allowed, v.Plain, v.Rule = false, nil, "too-complex"
			v.Reason = fmt.Sprintf("the command %s more than %d files, of which some may be protected", use.verb, maxListed-1)
			v.Hint = "split it into several commands"
			return v
		}
	}
	return v
}

// writable reports whether commands may write path.
func (c *Commands) writable(path string) bool { return checkPath(c.writes, path) == nil }

func checkPath(g *pathguard.Guard, path string) error {
	d, err := g.Check(path)
	if err != nil {
		return err
	}
	if !d.Allowed {
		return errors.New(d.Reason)
	}
	return nil
}

// temporary reports whether path is in the directory for temporary files, or for caches.
func (c *Commands) temporary(path string) bool {
	return c.confinement != nil && (pathguard.Within(c.kernel.scratch.path, path) || pathguard.Within(c.caches, path))
}

// cmdexe denies what cmd.exe, the shell of Windows, parses differently from bash: with
// a list of commands only a program with words that mean the same to both is allowed.
func cmdexe(v command.Verdict, text string) command.Verdict {
	if v.Allowed && (len(v.Argv) != 1 || strings.ContainsAny(text, "&|<>^%!()\"'`$\\,;=~*?[]{}#\r\n\x00")) {
		v.Allowed, v.Plain, v.Rule = false, nil, "windows-words"
		v.Reason = "with a list of commands, a program with plain words is all that can be checked on this system"
		v.Hint = "give a program and its arguments without quotes, backslashes, wildcards, pipes, variables and redirections"
	}
	return v
}
