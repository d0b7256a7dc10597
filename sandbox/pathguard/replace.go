package pathguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ReplaceOptions say how [Guard.Replace] writes.
type ReplaceOptions struct {
	// CreateDirs creates missing parent directories with the permissions
	// 0777 less the umask. They stay if the replacement is aborted.
	CreateDirs bool
	// NoReplace makes it an error (KindExists) if there is a file already,
	// also one that appears while the content is written.
	NoReplace bool
	// MaxBytes bounds the content; 0 means no bound.
	MaxBytes int64
	// Perm are the permissions of a new file before the umask; 0 means 0666.
	Perm fs.FileMode
}

// Replaced describes a committed replacement.
type Replaced struct {
	Real    string // canonical path of the file
	Created bool   // there was no file before
	Bytes   int64
}

// Replacement is the new content of a file. Nothing is visible at the path
// before Commit. It is not safe for concurrent use.
type Replacement struct {
	request request
	options ReplaceOptions
	parent  dir
	real    string // canonical path of the file
	old     *Info  // nil if there was no file
	temp    string // name of the temporary file; "" while it has none
	file    *os.File
	bytes   int64
	err     error // first failure, which makes Commit fail
	done    bool
}

// Replace begins to write the file at path anew. A path that leads through
// symbolic links replaces the file they point to and keeps the links. An
// existing file must be a regular one that the process may write; its
// permissions, its access control list and user attributes are kept, and its
// owner as far as the process may set it. Its other hard links keep the old
// content. The caller ends with Commit or Abort. The error is an [*Error].
func (g *Guard) Replace(path string, o ReplaceOptions) (*Replacement, error) {
	q, err := g.request("replace", path)
	if err != nil {
		return nil, err
	}
	var r *Replacement
	err = retry(func() error {
		r, err = g.stage(q, o)
		return err
	})
	if err != nil {
		return nil, q.failure(err)
	}
	return r, nil
}

func (g *Guard) stage(q request, o ReplaceOptions) (*Replacement, error) {
	s := g.snapshot(true)
	defer s.release()
	t, err := s.creation(q)
	if err != nil {
		return nil, err
	}
	parent, err := t.parent(o.CreateDirs)
	if err != nil {
		if t.err != nil && !o.CreateDirs {
			err = q.parentFailure(err)
		}
		return nil, err
	}
	r := &Replacement{request: q, options: o, parent: parent, real: t.path}
	if err := r.inspect(s); err != nil {
		return nil, errors.Join(err, parent.close())
	}
	if err := r.createTemp(); err != nil {
		return nil, errors.Join(q.failure(err), parent.close())
	}
	return r, nil
}

// inspect looks at the file that is there already.
func (r *Replacement) inspect(s *snapshot) error {
	name := filepath.Base(r.real)
	old, err := r.parent.lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return r.request.failure(err)
	case old.Mode&fs.ModeSymlink != 0:
		return errElsewhere // a link since the path was resolved
	case r.options.NoReplace && !old.Mode.IsDir():
		return r.request.failure(fs.ErrExist)
	}
	if err := s.suits(wantAppend, old); err != nil {
		return err
	}
	if err := r.parent.writable(name); err != nil {
		return r.request.failure(err)
	}
	r.old = &old
	return nil
}

// Real returns the canonical path of the file that Commit writes.
func (r *Replacement) Real() string { return r.real }

// Write adds to the new content. More than ReplaceOptions.MaxBytes fails with
// KindTooLarge, and so does Commit then. The error is an [*Error].
func (r *Replacement) Write(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.done {
		return 0, r.request.failure(fs.ErrClosed)
	}
	if limit := r.options.MaxBytes; limit > 0 && r.bytes+int64(len(p)) > limit {
		r.err = r.request.error(KindTooLarge, fmt.Sprintf("may not be written: the content is larger than %d bytes", limit), nil)
		return 0, r.err
	}
	n, err := r.file.Write(p)
	r.bytes += int64(n)
	if err != nil {
		r.err = r.request.failure(err)
		return n, r.err
	}
	return n, nil
}

// Abort discards the new content. After Commit it does nothing, so it can be
// deferred.
func (r *Replacement) Abort() error {
	if r.done {
		return nil
	}
	r.done = true
	err := r.file.Close()
	if r.temp != "" {
		err = errors.Join(err, r.parent.remove(r.temp))
	}
	if err = errors.Join(err, r.parent.close()); err != nil {
		return r.request.failure(err)
	}
	return nil
}

// Commit puts the content in place at once: it is on the disk before it has
// the name, and whoever opens the path, also after a crash at any moment,
// finds the old or the new content whole. If it fails, the old file is still
// there; only when the final flush of the directory fails is the new one there
// but perhaps not durable. The error is an [*Error].
func (r *Replacement) Commit() (Replaced, error) {
	if r.done {
		return Replaced{}, r.request.failure(fs.ErrClosed)
	}
	created, err := r.commit()
	// What is not renamed or published by now is discarded; after success
	// Abort only closes.
	if closing := r.Abort(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		return Replaced{}, r.request.failure(err)
	}
	return Replaced{Real: r.real, Created: created, Bytes: r.bytes}, nil
}

func (r *Replacement) commit() (created bool, err error) {
	if r.err != nil {
		return false, r.err
	}
	if !r.parent.at(filepath.Dir(r.real)) {
		return false, r.request.error(KindIO, "was not written: its directory was moved meanwhile", nil)
	}
	if r.old != nil {
		if err := r.parent.keep(r.file, filepath.Base(r.real), *r.old); err != nil {
			return false, err
		}
	}
	if err := r.file.Sync(); err != nil {
		return false, err
	}
	if created, err = r.place(); err != nil {
		return false, err
	}
	return created, r.parent.sync()
}
