package pathguard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolserver/toolserver/osfile"
)

// Tree is a directory that is being made. Until [Tree.Commit] it has a temporary name, so
// that what is there after a crash at any moment is all of it or nothing. The temporary
// directory of a process that was killed is removed by a later Tree in the same directory.
type Tree struct {
	*held
	guard *Guard
	temp  string
	lock  *os.File // while it is open nobody else takes the directory for abandoned
	top   dir
	last  dir    // the directory that was used last
	rel   string // of last
}

// NewTree begins to make a directory at path, where nothing may be. With createDirs it
// creates missing directories above. The error is an [*Error]. The caller calls Close.
func (g *Guard) NewTree(path string, createDirs bool) (t *Tree, err error) {
	q, err := g.request(path)
	if err != nil {
		return nil, err
	}
	q.itself = true
	t = &Tree{guard: g, temp: tempName()}
	t.held, err = g.hold(q, true, createDirs, func(_ *snapshot, h *held) error {
		if h.info != nil {
			return fs.ErrExist
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sweepTrees(t.parent)
	if err = t.parent.Mkdir(t.temp, 0o700); err == nil {
		t.top, err = t.parent.child(t.temp)
	}
	if err == nil {
		t.last, t.rel = t.top, "."
		t.lock, err = t.top.OpenFile(".", os.O_RDONLY, 0)
	}
	if err != nil {
		t.Close()
		return nil, q.failure(err)
	}
	_, _ = osfile.TryLock(t.lock) // without a lock it is not removed by others, either
	return t, nil
}

// in returns the directory that is to hold rel, and the name there. It refuses what is
// denied where it will be.
func (t *Tree) in(rel string, directory bool) (dir, string, error) {
	rule, denied := t.guard.snapshot(false).deniedAt(filepath.Join(t.real, rel), directory)
	if !denied { // of what is there so far
		rule, denied = t.guard.protection.repository(filepath.Join(filepath.Dir(t.real), t.temp, rel), directory)
	}
	if denied {
		q := t.request
		q.path = filepath.Join(q.path, rel)
		return nil, "", q.denied(rule)
	}
	above := filepath.Dir(rel)
	if above != t.rel {
		t.leave()
		for _, name := range splitPath(above) {
			if name == "." {
				break
			}
			next, err := t.last.child(name)
			t.leave()
			if err != nil {
				return nil, "", t.request.failure(err)
			}
			t.last = next
		}
		t.rel = above
	}
	return t.last, filepath.Base(rel), nil
}

// leave closes the directory that was used last.
func (t *Tree) leave() {
	if t.last != t.top {
		t.last.Close()
	}
	t.last, t.rel = t.top, "."
}

// MakeDir creates a directory of the tree. The one above it is there already.
func (t *Tree) MakeDir(rel string, perm fs.FileMode) error {
	return t.add(rel, true, func(d dir, name string) error { return d.Mkdir(name, perm.Perm()|0o700) })
}

// Symlink creates a symlink of the tree.
func (t *Tree) Symlink(target, rel string) error {
	return t.add(rel, false, func(d dir, name string) error { return d.Symlink(target, name) })
}

func (t *Tree) add(rel string, directory bool, create func(d dir, name string) error) error {
	d, name, err := t.in(rel, directory)
	if err != nil {
		return err
	}
	return t.request.failure(create(d, name))
}

// Fill creates a file of the tree with the content that fill writes. With like it gets the
// permissions, owner and time of change of that file, as far as possible, and is on the
// disk afterwards. An error of fill is returned.
func (t *Tree) Fill(rel string, perm fs.FileMode, like *osfile.Info, fill func(*os.File) error) error {
	d, name, err := t.in(rel, false)
	if err != nil {
		return err
	}
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm.Perm()|0o200)
	if err != nil {
		return t.request.failure(err)
	}
	err = fill(f)
	if err == nil && like != nil {
		err = errors.Join(become(f, *like), f.Sync())
	}
	return errors.Join(err, f.Close())
}

// Commit gives the directory its name, which must be free still. Before is called with
// the canonical path before that. The error is an [*Error], or that of before.
func (t *Tree) Commit(perm fs.FileMode, before func(real string) error) error {
	if err := before(t.real); err != nil {
		return err
	}
	t.leave()
	err := t.lock.Chmod(perm.Perm())
	if err == nil && !t.guard.isAt(t.parent, filepath.Dir(t.real)) {
		err = osfile.ErrMoved
	}
	if err == nil {
		err = t.request.change(t.repository, func() (func() error, error) {
			return func() error { return t.parent.move(t.name, t.parent, t.temp, false) }, t.parent.move(t.temp, t.parent, t.name, false)
		})
	}
	if err == nil {
		t.temp = ""
		err = osfile.SyncDir(t.parent)
	}
	return t.request.failure(err)
}

// Close removes what has not been committed.
func (t *Tree) Close() {
	if t.top != nil {
		t.leave()
		t.top.Close()
	}
	if t.temp != "" {
		removeTree(t.parent, t.temp)
	}
	if t.lock != nil {
		t.lock.Close()
	}
	t.parent.Close()
}

// removeTree removes a directory that was made by a Tree, as far as it can.
func removeTree(parent dir, name string) {
	h := &held{parent: parent, name: name}
	_ = h.below(context.Background(), func(d dir, rel string, _ fs.FileInfo) error { return d.Remove(filepath.Base(rel)) })
	_ = parent.Remove(name)
}

// sweepTrees removes the temporary directories that killed processes left in a directory.
func sweepTrees(parent dir) {
	osfile.Sweep(parent, fs.ModeDir, isTemp, func(name string) error {
		d, err := parent.child(name)
		if err != nil {
			return err
		}
		defer d.Close()
		f, err := d.OpenFile(".", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		locked, err := osfile.TryLock(f)
		if locked {
			removeTree(parent, name)
		}
		return err
	})
}
