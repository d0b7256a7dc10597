package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// paths checks the files a command names: what it writes against what the family for
// writing may write, and what it reads against the configuration of the family for
// reading, if there is any; without, what commands read is up to the kernel.
func (c *Commands) paths(reading ToolPolicy) command.Paths {
	read, write := c.reads, c.writes
	_, notRead := read.Patterns()
	_, notWritten := write.Patterns()
	p := command.Paths{
		Globs:       len(notRead)+len(notWritten) > 0,
		ReadDenied:  read.DeniedPaths(),
		WriteDenied: write.DeniedPaths(),
		Forbidden:   c.forbidden,
		Write: func(path string) error {
			if c.temporary(path) || c.inOwnTemp(path) {
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

// forbidden returns the rule that keeps commands from naming a path. With a list of
// commands also what may be there is refused; without, or for a word of which it is
// not known what is done with it, only what is.
func (c *Commands) forbidden(path string, write, strict bool) (rule, reason string) {
	guard := c.reads
	if write {
		guard = c.writes
	}
	refused := false
	if strict {
		rule, refused = guard.Protected(path)
	} else if !write || !strings.Contains(filepath.Base(path), "…") || !c.Confined() { // a computed name to write is left to the broker
		rule, refused = guard.Refused(path)
	}
	if !refused {
		return "", ""
	}
	return rule, guard.Reason(rule)
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
	return c.confinement != nil && (pathguard.Within(c.kernel.scratch.path(), path) || pathguard.Within(c.around().caches, path))
}

// inOwnTemp reports whether commands find path in a /tmp of their own.
func (c *Commands) inOwnTemp(path string) bool {
	if c.confinement == nil {
		return false
	}
	_, denied := c.writes.Denied(path)
	seen := func(dir string) bool { return pathguard.Within(dir, path) }
	return pathguard.Within("/tmp", path) && !denied && c.kernel.ownTemp() && !slices.ContainsFunc(c.confinement.spec().Keep, seen)
}

// temporaryPlace returns where the temporary file is that commands find at path, if any.
func (c *Commands) temporaryPlace(path string) string {
	path = filepath.Clean(path)
	listed := func(dir string) bool { return pathguard.Within(dir, "/tmp") } // so that it is the system's
	switch private := c.kernel.scratch.private(); {
	case !filepath.IsAbs(path) || !c.Confined() || !exists(private):
	case pathguard.Within(c.kernel.scratch.temporary(), path):
		return path
	case c.inOwnTemp(path) && !slices.ContainsFunc(c.confinement.spec().Write, listed):
		return filepath.Join(private, strings.TrimPrefix(path, "/tmp"))
	}
	return ""
}

// cmdexe denies what cmd.exe, the shell of Windows, parses differently from bash: with
// a list of commands only a program with words that mean the same to both is allowed, and
// no variables of the caller, such as PATHEXT, which decide on the program that is found.
func cmdexe(v command.Verdict, text string, variables int) command.Verdict {
	if v.Allowed && variables > 0 {
		v.Allowed, v.Plain, v.Rule = false, nil, "windows-variables"
		v.Reason = "with a list of commands, commands get no variables on this system: they decide which program is found"
		v.Hint = "leave env out, or have sandbox.env set the variables"
	}
	if v.Allowed && (len(v.Argv) != 1 || strings.ContainsAny(text, "&|<>^%!()\"'`$\\,;=~*?[]{}#\r\n\x00")) {
		v.Allowed, v.Plain, v.Rule = false, nil, "windows-words"
		v.Reason = "with a list of commands, a program with plain words is all that can be checked on this system"
		v.Hint = "give a program and its arguments without quotes, backslashes, wildcards, pipes, variables and redirections"
	}
	return v
}
