package pathguard

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Mkdir creates the directory path with the permissions 0777 less the umask
// and returns its real path. Its parent must exist. The error is an [*Error]
// and has KindExists if there is anything at path.
func (g *Guard) Mkdir(path string) (real string, err error) {
	q, err := g.request("mkdir", path)
	if err != nil {
		return "", err
	}
	err = retry(func() error {
		real, err = g.mkdir(q)
		return err
	})
	if err != nil {
		return "", q.failure(err)
	}
	return real, nil
}

// retry repeats a step that failed only because files moved meanwhile.
func retry(step func() error) error {
	var err error
	for range maxTries {
		if err = step(); err == nil || !moved(err) {
			break
		}
	}
	return err
}

func (g *Guard) mkdir(q request) (string, error) {
	s := g.snapshot(true)
	defer s.release()
	t, err := s.creation(q)
	if err != nil {
		return "", err
	}
	if t.err == nil {
		return "", q.failure(fs.ErrExist)
	}
	parent, err := t.parent(false)
	if err != nil {
		return "", q.parentFailure(err)
	}
	defer parent.close()
	return t.path, parent.mkdir(filepath.Base(t.path))
}

// parentFailure makes a missing parent final: there is nothing to try again.
func (q request) parentFailure(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return q.error(KindNotFound, "cannot be created: its directory does not exist", err)
	}
	return err
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
	err = retry(func() error {
		real, created, err = g.mkdirAll(q)
		return err
	})
	if err != nil {
		return "", false, q.failure(err)
	}
	return real, created, nil
}

func (g *Guard) mkdirAll(q request) (string, bool, error) {
	s := g.snapshot(true)
	defer s.release()
	t, err := s.creation(q)
	if err != nil {
		return "", false, err
	}
	if t.err == nil {
		o, err := t.root.anchor.open(t.root.rel(t.path), wantInfo, false, s)
		if err == nil && !o.info.Mode.IsDir() {
			err = q.failure(&typeError{o.info.Mode, wantDir})
		}
		return t.path, false, err
	}
	made, err := t.descend(t.root.rel(t.path), true)
	if err != nil {
		return "", false, err
	}
	defer made.close()
	if !made.at(t.path) {
		return "", false, errElsewhere
	}
	return t.path, true, nil
}

// creation is the target of a request that may create path. It fails if path
// neither exists nor consists of plain names below a directory that does.
func (s *snapshot) creation(q request) (target, error) {
	t, err := s.target(q)
	if err == nil && t.err != nil && !t.creatable {
		err = q.failure(t.err)
	}
	return t, err
}

// parent opens the directory of the target, and with create makes it first.
func (t target) parent(create bool) (dir, error) {
	if t.path == t.root.anchorPath {
		return nil, &typeError{fs.ModeDir, wantFile}
	}
	parent := filepath.Dir(t.path)
	d, err := t.descend(t.root.rel(parent), create)
	if err != nil {
		return nil, err
	}
	if !d.at(parent) {
		return nil, errors.Join(errElsewhere, d.close())
	}
	return d, nil
}

// descend goes from the anchor down to rel, one name after the other and
// following no link. The directories it creates need no further judgement:
// they are ancestors of a target that is allowed, and not denied because a
// rule that denied one of them would deny the target. (A name that is protected
// without what lies beneath it is harmless as a directory.)
func (t target) descend(rel string, create bool) (dir, error) {
	d, err := t.root.anchor.again()
	if err != nil {
		return nil, err
	}
	for _, name := range cleanNames(rel) {
		next, err := d.child(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			next, err = makeChild(d, name)
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

// makeChild creates a directory, durably, or takes one that somebody else has
// created meanwhile.
func makeChild(d dir, name string) (dir, error) {
	err := d.mkdir(name)
	if err == nil {
		err = d.sync()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return d.child(name)
}
