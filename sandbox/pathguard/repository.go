package pathguard

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolserver/sandbox/osfile"
	"toolserver/sandbox/repository"
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
		c := repository.Change{Dir: namedDir(dir), Path: filepath.ToSlash(dir), Name: name, Directory: last && directory || !last && name != "hooks"}
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
	return &repository.Change{Dir: heldDir{d, real, g}, Path: filepath.ToSlash(real), Name: name, Directory: directory}
}

// lockWait bounds how long a change waits for others; what they do takes no time.
const lockWait = 2 * time.Second

// enter keeps others, brokers of commands too, from changing repositories until leave.
func (g *Guard) enter(c *repository.Change) (leave func()) {
	if !repository.Concerns(c.Path, c.Name) || g.protection.lock == "" {
		return func() {}
	}
	f, err := OpenLock(g.protection.lock)
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

// OpenLock opens the file of [Protection.Lock], and makes it where it is missing.
func OpenLock(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
}

// refused returns an [*Error], to be completed by [request.failure], if a rule that a
// [repository.Change] has returned is in force.
func (g *Guard) refused(rule string, refused bool) error {
	if !refused || !g.protection.has(rule) {
		return nil
	}
	return &Error{Kind: KindDenied, Rule: rule, Reason: g.Reason(rule)}
}

// namedDir is a directory by its path, which nothing is changed in.
type namedDir string

func (d namedDir) Exists(name string) bool {
	_, err := os.Lstat(filepath.Join(string(d), name))
	return err == nil
}

func (d namedDir) Read(name string) (string, uint32, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return "", 0, err
	}
	defer root.Close()
	return readText(root, name)
}

func (d namedDir) List(name string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(string(d), name))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (d namedDir) Replace(string, string, uint32) error { return nil }
func (d namedDir) Close()                               {}

func (d namedDir) Above(levels int) (repository.Dir, error) {
	return namedDir(filepath.Join(string(d), strings.Repeat("../", levels))), nil
}

// heldDir is an open directory.
type heldDir struct {
	dir
	real  string
	guard *Guard
}

func (d heldDir) Close() { d.dir.Close() }

func (d heldDir) Exists(name string) bool {
	_, err := d.Lstat(name)
	return err == nil
}

func (d heldDir) Read(name string) (string, uint32, error) { return readText(d.dir, name) }

func (d heldDir) List(name string) ([]string, error) {
	below, err := d.child(name)
	if err != nil {
		return nil, err
	}
	defer below.Close()
	list, err := below.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer list.Close()
	return list.Readdirnames(-1)
}

func (d heldDir) Replace(name, text string, perm uint32) error {
	temp := tempName()
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(perm))
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = d.move(temp, d.dir, name, true)
	}
	if err != nil {
		_ = d.Remove(temp)
	}
	return err
}

func (d heldDir) Above(levels int) (repository.Dir, error) {
	real := filepath.Join(d.real, strings.Repeat("../", levels))
	above, err := d.guard.files.openDir(real)
	return heldDir{above, real, d.guard}, err
}

// readText reads a regular file of a bounded size.
func readText(d osfile.Dir, name string) (string, uint32, error) {
	info, err := d.Lstat(name)
	switch {
	case err != nil:
	case info.IsDir():
		err = fs.ErrNotExist
	case !info.Mode().IsRegular():
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", 0, err
	}
	f, _, err := osfile.OpenSame(d, name, os.O_RDONLY, info)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, repository.MaxConfig+1))
	if err == nil && len(text) > repository.MaxConfig {
		err = fs.ErrInvalid
	}
	return string(text), uint32(info.Mode().Perm()), err
}
