package pathguard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"toolserver/sandbox/appender"
	"toolserver/sandbox/osfile"
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
	real    string      // canonical path of the file
	name    string      // its last name
	old     fs.FileInfo // nil if there was no file
	temp    string      // name of the temporary file; empty once it has the other
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
	q, err := g.request(path)
	if err != nil {
		return nil, err
	}
	var r *Replacement
	err = g.retry(q, true, func(s *snapshot, real string) error {
		parent, err := g.openDir(filepath.Dir(real), o.CreateDirs)
		if !o.CreateDirs && errors.Is(err, fs.ErrNotExist) {
			return q.error(KindNotFound, "cannot be created: its directory does not exist", err)
		}
		if err != nil {
			return err
		}
		r = &Replacement{request: q, options: o, parent: parent, real: real, name: filepath.Base(real)}
		if err = r.inspect(s); err == nil {
			err = r.createTemp()
		}
		if err != nil {
			return errors.Join(err, parent.Close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// inspect looks at the file that is there already.
func (r *Replacement) inspect(s *snapshot) error {
	old, err := r.parent.Lstat(r.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return r.request.failure(err)
	case old.Mode()&fs.ModeSymlink != 0:
		return errMoved // a link since the path was resolved
	case r.options.NoReplace && !old.IsDir():
		return r.request.failure(fs.ErrExist)
	}
	if err := s.suits(wantAppend, Info{r.real, osfile.Of(old)}); err != nil {
		return err
	}
	if err := r.parent.writable(r.name); err != nil {
		return r.request.failure(err)
	}
	r.old = old
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
		err = errors.Join(err, r.parent.Remove(r.temp))
	}
	if err = errors.Join(err, r.parent.Close()); err != nil {
		return r.request.failure(err)
	}
	return nil
}

// Commit puts the content in place at once: it is on the disk before it has
// the name, and a process that opens the path, also after a crash at any moment,
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
	if !r.request.guard.isAt(r.parent, filepath.Dir(r.real)) {
		return false, r.request.error(KindIO, "was not written: its directory was moved meanwhile", nil)
	}
	if r.old != nil {
		if err := r.keep(); err != nil {
			return false, err
		}
	}
	if err := r.file.Sync(); err != nil {
		return false, err
	}
	if created, err = r.place(); err != nil {
		return false, err
	}
	r.temp = ""
	return created, osfile.SyncDir(r.parent)
}

// keep makes the new file look like the one that it is going to replace. Owner and
// group are kept as far as the process may set them. Setuid and setgid are not
// kept, as the kernel clears them on any write. The access control list comes
// last because chmod changes its mask.
func (r *Replacement) keep() error {
	now, err := r.file.Stat()
	if err != nil {
		return err
	}
	if old, now := osfile.Of(r.old), osfile.Of(now); old.UID != now.UID || old.GID != now.GID {
		if r.file.Chown(old.UID, old.GID) != nil {
			_ = r.file.Chown(-1, old.GID) // a file of another owner: its group is better than nothing
		}
	}
	if err := r.file.Chmod(r.old.Mode().Perm()); err != nil {
		return err
	}
	from, err := r.parent.OpenFile(r.name, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		return nil // not readable for us, so its attributes are not either
	}
	defer from.Close()
	if info, err := from.Stat(); err == nil && os.SameFile(info, r.old) {
		copyAttributes(r.file, from)
	}
	return nil
}

// The content is written to a temporary file in the same directory. What a process
// that was killed leaves there is removed by a later write into the same directory.
const (
	tempPrefix = ".toolserver-"
	tempSuffix = ".tmp"
	sweepPause = time.Hour // between two looks at the same directory
)

func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func isTemp(name string) bool {
	return len(name) == len(tempPrefix)+26+len(tempSuffix) &&
		strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

func (r *Replacement) createTemp() (err error) {
	perm := fs.FileMode(0o666)
	if r.old != nil {
		perm = 0o600 // until keep: the content is for nobody who could not read it before
	}
	swept := &r.request.guard.swept
	if last, ok := swept.Load(filepath.Dir(r.real)); !ok || time.Since(last.(time.Time)) > sweepPause {
		swept.Store(filepath.Dir(r.real), time.Now())
		osfile.Sweep(r.parent, isTemp)
	}
	r.temp = tempName()
	r.file, err = r.parent.OpenFile(r.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return err
}

// place gives the finished file its name and reports whether the name is new.
func (r *Replacement) place() (created bool, err error) {
	if r.old == nil {
		err := r.parent.publish(r.temp, r.name)
		if err == nil || r.options.NoReplace {
			return err == nil, err
		}
		// Somebody created the file while this one was written, or the
		// file system can only rename.
	}
	if now, err := r.parent.Lstat(r.name); err == nil && !now.Mode().IsRegular() {
		return false, r.request.error(KindNotAFile, "was not written: it is "+kindName(now.Mode())+" by now", nil)
	}
	return false, r.parent.Rename(r.temp, r.name)
}

// Append adds data to the end of the regular file at path, which must exist,
// in one write with O_APPEND, so that appends of several processes do not mix.
// If not all can be appended, nothing is (see package appender for what that
// excludes). Program is a program whose main calls [appender.RunChild] when
// [appender.IsChild], so that an append is whole even if this process is killed;
// without it only an append that fails is taken back. The error is an [*Error].
func (g *Guard) Append(path string, data []byte, program string) error {
	f, err := g.open(path, wantAppend)
	if err != nil {
		return err
	}
	q := request{path: path, guard: g}
	err = appender.Append(f.File, data, program)
	closing := f.Close()
	if err != nil {
		return q.error(KindIO, err.Error(), err)
	}
	if closing != nil {
		return q.error(KindIO, "was appended to, but the file system may have lost it again: "+cause(closing), closing)
	}
	return nil
}
