package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/scratch"
)

// An access is what commands may read and write.
type access struct {
	reads, writes *pathguard.Guard
	scratch       *scratch.Dir
}

// writable reports whether commands may write path, as policy says.
func (a access) writable(path string) bool { return checkPath(a.writes, path) == nil }

// theirs reports whether commands can neither replace a directory nor be refused what is in it.
func (a access) theirs(dir string) bool {
	_, unwritable := a.writes.Refused(dir)
	_, unreadable := a.reads.Refused(dir)
	return !a.writable(dir) && !unwritable && !unreadable
}

// commandFiles are the files of this machine as commands find them.
type commandFiles struct {
	access
	kernel      *Kernel
	around      func() *surroundings
	confinement *confinement // nil if the kernel layer is off
}

// paths checks the files a command names: what it writes against what the family for
// writing may write, and what it reads against the configuration of the family for
// reading, if there is any; without, what commands read is up to the kernel.
func (c *commandFiles) paths(reading ToolPolicy) command.Paths {
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
func (c *commandFiles) forbidden(path string, write, strict bool) (rule, reason string) {
	guard := c.reads
	if write {
		guard = c.writes
	}
	refused := false
	if strict {
		rule, refused = guard.Protected(path)
	} else if !write || !strings.Contains(filepath.Base(path), "…") || !c.confinement.applies() { // a computed name to write is left to the broker
		rule, refused = guard.Refused(path)
	}
	if !refused {
		return "", ""
	}
	return rule, guard.Reason(rule)
}

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
func (c *commandFiles) temporary(path string) bool {
	return c.confinement != nil && (pathguard.Within(c.scratch.Path(), path) || pathguard.Within(c.around().caches, path))
}

// inOwnTemp reports whether commands find path in a /tmp of their own.
func (c *commandFiles) inOwnTemp(path string) bool {
	if c.confinement == nil {
		return false
	}
	_, denied := c.writes.Denied(path)
	seen := func(dir string) bool { return pathguard.Within(dir, path) }
	return pathguard.Within("/tmp", path) && !denied && c.kernel.ownTemp() && !slices.ContainsFunc(c.confinement.spec().Keep, seen)
}

// temporaryPlace returns where the temporary file is that commands find at path, if any.
func (c *commandFiles) temporaryPlace(path string) string {
	path = filepath.Clean(path)
	listed := func(dir string) bool { return pathguard.Within(dir, "/tmp") } // so that it is the system's
	switch private := c.scratch.Private(); {
	case !filepath.IsAbs(path) || !c.confinement.applies() || !exists(private):
	case pathguard.Within(c.scratch.Temporary(), path):
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
