// Package repository knows a repository of git by what is in it, and what in it makes git
// run programs. The file tools and the broker of commands ask it about every change, before
// they make it and again afterwards: whoever comes second then sees what the first has done,
// so that two changes, each harmless by itself, do not add up.
package repository

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Dir is an open directory. Its methods do not follow symlinks.
type Dir interface {
	// Exists reports whether something has the name.
	Exists(name string) bool
	// Read returns the text of a regular file of at most [MaxConfig] bytes, and its
	// permissions. The error is fs.ErrNotExist if there is none, or a directory.
	Read(name string) (text string, perm uint32, err error)
	// List returns the names in a directory below.
	List(name string) (names []string, err error)
	// Replace gives the name to a new file, so that who has the old one open changes nothing.
	Replace(name, text string, perm uint32) error
	// Above returns the directory so many levels above, which the caller closes.
	Above(levels int) (Dir, error)
	Close()
}

// MaxConfig bounds the size of a configuration.
const MaxConfig = 1 << 20

// marks are what git recognises a repository by.
var marks = []string{"HEAD", "objects", "refs", "commondir"}

// last are the last names of what is protected in a repository, and of its marks.
var last = append([]string{"config", "config.worktree", "hooks", "gitdir", "attributes", "alternates", "http-alternates"}, marks...)

// prefix begins the rules, which name what is protected as in a directory that is called .git.
const prefix = "protected: .git/"

// Concerns reports whether anything of this package is about a name in a directory, whose
// path is canonical.
func Concerns(dir, name string) bool { return slices.Contains(last, name) || path.Base(dir) == "hooks" }

// Is reports whether a directory with a canonical path is a repository, or is called so.
func Is(d Dir, dir string) bool {
	return path.Base(dir) == ".git" || strings.Contains(dir, "/.git/modules/") ||
		d.Exists("HEAD") || d.Exists("commondir") || d.Exists("objects") && d.Exists("refs")
}

// IsConfig reports whether a name is that of a configuration of a repository.
func IsConfig(d Dir, dir, name string) bool {
	return (name == "config" || name == "config.worktree") && Is(d, dir)
}

// A Change gives a name in a directory to something, or changes what has it.
type Change struct {
	Dir       Dir
	Path      string // canonical, of Dir
	Name      string
	Directory bool // it is for a directory

	was     bool // Dir was a repository
	existed bool // something had the name
}

// Refused returns the rule that protects what is to change.
func (c *Change) Refused() (rule string, refused bool) {
	if !Concerns(c.Path, c.Name) {
		return "", false
	}
	c.was, c.existed = slices.Contains(marks, c.Name) && Is(c.Dir, c.Path), c.Dir.Exists(c.Name)
	return c.refused()
}

func (c *Change) refused() (rule string, refused bool) {
	above := path.Base(c.Path)
	switch {
	case IsConfig(c.Dir, c.Path, c.Name):
		return prefix + "config", true
	case above == "hooks" && !strings.HasSuffix(c.Name, ".sample"):
		return prefix + "hooks", c.isAbove(1)
	case c.Name == "hooks" && !c.Directory:
		return prefix + "hooks", Is(c.Dir, c.Path)
	case (c.Name == "commondir" || c.Name == "gitdir") && above == ".git":
		return prefix + c.Name, true
	case (c.Name == "commondir" || c.Name == "gitdir") && c.existed && path.Base(path.Dir(c.Path)) == "worktrees": // git makes new ones
		return prefix + "worktrees/**/" + c.Name, true
	case c.Name == "attributes" && above == "info":
		return prefix + "info/attributes", c.isAbove(1)
	case strings.HasSuffix(c.Name, "alternates") && strings.HasSuffix(c.Path, "/objects/info"):
		return prefix + "objects/info/" + c.Name, c.isAbove(2)
	case c.Name == "objects" && !c.Dir.Exists("refs"), c.Name == "refs" && !c.Dir.Exists("objects"): // alone it is none
	case slices.Contains(marks, c.Name) && !c.was:
		return prefix + "config", !MayBecome(c.Dir)
	}
	return "", false
}

// Settled is asked after the change. It returns the rule by which it is to be undone,
// since something else has changed meanwhile.
func (c *Change) Settled() (rule string, refused bool) {
	switch {
	case !Concerns(c.Path, c.Name):
		return "", false
	case slices.Contains(marks, c.Name):
		return prefix + "config", !c.was && Is(c.Dir, c.Path) && !MayBecome(c.Dir)
	}
	return c.refused()
}

// isAbove reports whether the directory so many levels above is a repository, or cannot be
// looked at.
func (c *Change) isAbove(levels int) bool {
	d, err := c.Dir.Above(levels)
	if err != nil {
		return true
	}
	defer d.Close()
	dir := c.Path
	for range levels {
		dir = path.Dir(dir)
	}
	return Is(d, dir)
}

// MayBecome reports whether a directory may become a repository: its configuration runs
// nothing, and is nobody's to write from here on, and it has no hooks.
func MayBecome(d Dir) bool {
	for _, name := range []string{"config", "config.worktree"} {
		text, perm, err := d.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || AddsProgram("", text, "") != "" || d.Replace(name, text, perm) != nil {
			return false
		}
	}
	return OnlySamples(d, "hooks")
}

// OnlySamples reports whether no file in a directory is a hook, or the directory does not
// exist.
func OnlySamples(d Dir, name string) bool {
	names, err := d.List(name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.ContainsFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".sample") })
}
