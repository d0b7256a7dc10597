package pathguard

import (
	"errors"
	"io/fs"
	"path/filepath"

	"toolserver/sandbox/osfile"
)

// Mkdir creates the directory path with the permissions 0777 less the umask
// and returns its real path. Its parent must exist. The error is an [*Error]
// and has KindExists if there is anything at path.
func (g *Guard) Mkdir(path string) (real string, err error) {
	q, err := g.request("mkdir", path)
	if err != nil {
		return "", err
	}
	err = g.retry(q, true, func(_ *snapshot, t target) error {
		if t.err == nil {
			return q.failure(fs.ErrExist)
		}
		parent, err := t.parent(q, false)
		if err != nil {
			return err
		}
		real = t.path
		return errors.Join(makeDir(parent, filepath.Base(t.path)), parent.close())
	})
	if err != nil {
		return "", err
	}
	return real, nil
}

// MkdirAll creates the directory path and its missing parents, as far as they
// lie beneath an allowed path or lead to one that does not exist yet, with the
// permissions 0777 less the umask. It reports the real path and whether path
// was created; that it exists already is no error. The error is an [*Error].
func (g *Guard) MkdirAll(path string) (real string, created bool, err error) {
	q, err := g.request("mkdir", path)
	if err != nil {
		return "", false, err
	}
	err = g.retry(q, true, func(s *snapshot, t target) error {
		real, created = t.path, t.err != nil
		if !created {
			o, err := t.root.anchor.open(t.root.rel(t.path), wantInfo, false, s)
			if err == nil && !o.info.Mode.IsDir() {
				err = q.failure(&typeError{o.info.Mode, wantDir})
			}
			return err
		}
		made, err := t.descend(t.path, true)
		if err != nil {
			return err
		}
		return made.close()
	})
	if err != nil {
		return "", false, err
	}
	return real, created, nil
}

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

// descend goes from the anchor down to path, the target or its directory. The directories it creates need no further check: they are ancestors of a
// target that is allowed, and not denied because a rule that denied one of them
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
