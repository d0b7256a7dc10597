package pathguard

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox/repository"
)

// This file asks package repository about what is written, by the text of a path like all
// rules, and by the open directory right before and after the change.

// repository returns the rule that protects what is at the clean path, or would be, since a
// directory on the way is a repository or would become one.
func (p *protection) repository(path string, directory bool) (rule string, protected bool) {
	if p == nil || !p.repositories {
		return "", false
	}
	for at, last := path, true; at != filepath.Dir(at); at, last = filepath.Dir(at), false {
		dir, name := filepath.Dir(at), filepath.Base(at)
		if !repository.Concerns(filepath.ToSlash(dir), name) {
			continue
		}
		if _, err := os.Lstat(at); !last && err == nil && name != "hooks" {
			continue // a directory on the way
		}
		c := repository.Change{Dir: inNamed(dir), Path: filepath.ToSlash(dir), Name: name, Directory: last && directory || !last && name != "hooks"}
		if rule, protected = c.Refused(); protected && p.has(rule) {
			return rule, true
		}
	}
	return "", false
}

// has reports whether a rule is one of those for names.
func (p *protection) has(rule string) bool {
	return slices.ContainsFunc(p.names().all, func(n *pattern) bool { return n.rule == rule })
}

// change returns what a repository has to do with a name in an open directory whose
// canonical path is given.
func (g *Guard) change(d dir, real, name string, directory bool) *repository.Change {
	if g.protection == nil || !g.protection.repositories {
		return new(repository.Change) // which no rule is about
	}
	return &repository.Change{Dir: heldDir{contents{d}, d, real, g}, Path: filepath.ToSlash(real), Name: name, Directory: directory}
}

// lockWait bounds how long a change waits for others; what they do takes no time.
const lockWait = 2 * time.Second

// enter keeps others, brokers of commands too, from changing repositories until leave.
func (p *policy) enter(c *repository.Change) (leave func()) {
	if !repository.Concerns(c.Path, c.Name) || p.protection.lock == "" {
		return func() {}
	}
	f, err := OpenLock(p.protection.lock)
	if err != nil {
		return func() {} // it is looked at afterwards in any case
	}
	for until := time.Now().Add(lockWait); time.Now().Before(until); time.Sleep(time.Millisecond) {
		if locked, err := osfile.TryLock(f); locked || err != nil {
			break
		}
	}
	return func() { f.Close() }
}

// OpenLock opens the file of [Protection.Lock], and makes it where it is missing, with its
// directory, but no home directory: there are users who are to have none.
func OpenLock(file string) (*os.File, error) {
	if _, err := os.Stat(filepath.Join(filepath.Dir(file), "../../..")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
}

// refused returns an [*Error], to be completed by [request.failure], if a rule that a
// [repository.Change] has returned is in force.
func (p *policy) refused(rule string, refused bool) error {
	if !refused || !p.protection.has(rule) {
		return nil
	}
	return &Error{Kind: KindDenied, Rule: rule, Reason: p.Reason(rule)}
}

// contents are what is in a directory. No symlink is followed.
type contents struct{ osfile.Dir }

func (d contents) Exists(name string) bool {
	_, err := d.Lstat(name)
	return err == nil
}

func (d contents) Read(name string) (text string, perm uint32, err error) {
	f, info, err := d.open(name, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, repository.MaxConfig+1))
	if err == nil && len(b) > repository.MaxConfig {
		err = fs.ErrInvalid
	}
	return string(b), uint32(info.Mode.Perm()), err
}

func (d contents) List(name string) ([]string, error) {
	f, _, err := d.open(name, fs.ModeDir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// open opens what is a regular file or a directory, as kind says.
func (d contents) open(name string, kind fs.FileMode) (*os.File, osfile.Info, error) {
	info, err := d.Lstat(name)
	switch {
	case err != nil:
		return nil, osfile.Info{}, err
	case info.IsDir() && kind == 0:
		return nil, osfile.Info{}, fs.ErrNotExist
	case info.Mode().Type() != kind:
		return nil, osfile.Info{}, fs.ErrInvalid
	}
	return osfile.OpenSame(d, name, os.O_RDONLY, info)
}

// named opens what is in a directory that has this path.
type named string

func (dir named) path(name string) string { return filepath.Join(string(dir), name) }

func (dir named) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(dir.path(name), flag, perm)
}

func (dir named) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(dir.path(name)) }
func (dir named) Remove(name string) error               { return os.Remove(dir.path(name)) }

// namedDir is a directory by its path, which nothing is changed in.
type namedDir struct{ contents }

func inNamed(path string) namedDir { return namedDir{contents{named(path)}} }

func (d namedDir) Replace(string, string, uint32) error { return nil }
func (d namedDir) Close()                               {}

func (d namedDir) Above(levels int) (repository.Dir, error) {
	return inNamed(d.Dir.(named).path(strings.Repeat("../", levels))), nil
}

// heldDir is an open directory.
type heldDir struct {
	contents
	dir   dir
	real  string
	guard *Guard
}

func (d heldDir) Close() { d.dir.Close() }

func (d heldDir) Replace(name, text string, perm uint32) error {
	temp := tempName()
	return osfile.Write(d.dir, temp, []byte(text), fs.FileMode(perm), func() error { return d.dir.move(temp, d.dir, name, true) })
}

func (d heldDir) Above(levels int) (repository.Dir, error) {
	real := filepath.Join(d.real, strings.Repeat("../", levels))
	above, err := d.guard.files.openDir(real)
	return heldDir{contents{above}, above, real, d.guard}, err
}
