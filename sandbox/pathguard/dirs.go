package pathguard

import (
	"errors"
	"io/fs"
	"path/filepath"

	"toolserver/sandbox/osfile"
)

// parent opens the directory of the target, and with create makes it first.
func (t target) parent(q request, create bool) (dir, error) {
	if t.path == t.root.anchorPath {
		return nil, &typeError{fs.ModeDir, wantFile}
	}
	d, err := t.descend(filepath.Dir(t.path), create)
	if t.err != nil && !create && errors.Is(err, fs.ErrNotExist) {
		err = q.error(KindNotFound, "cannot be created: its directory does not exist", err) // there is nothing to try again
	}
	return d, err
}

// descend goes from the anchor down to path, the directory of the target. The
// directories it creates need no further check: they are ancestors of a target that is allowed, and not denied because a rule that denied one of them
// would deny the target. (A name that is protected without what lies beneath it is
// harmless as a directory.)
func (t target) descend(path string, create bool) (dir, error) {
	d, err := t.root.anchor.child(".")
	if err != nil {
		return nil, err
	}
	if d, err = descend(d, splitPath(t.root.rel(path)), create); err != nil {
		return nil, err
	}
	if !d.at(path) {
		return nil, errors.Join(errElsewhere, d.close())
	}
	return d, nil
}

// descend goes from d down, one name after the other and following no symlink. It
// closes what it passes.
func descend(d dir, names []string, create bool) (dir, error) {
	for _, name := range names {
		if name == "" || name == "." {
			continue
		}
		next, err := d.child(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			// Another process may create it meanwhile.
			if err = makeDir(d, name); err == nil || errors.Is(err, fs.ErrExist) {
				next, err = d.child(name)
			}
		}
		if closing := d.close(); err == nil && closing != nil {
			err = errors.Join(closing, next.close())
		}
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// makeDir creates a directory, durably.
func makeDir(d dir, name string) error {
	names, err := d.changes()
	if err != nil {
		return err
	}
	defer names.Close()
	if err := names.Mkdir(name, 0o777); err != nil {
		return err
	}
	return osfile.SyncDir(names)
}
