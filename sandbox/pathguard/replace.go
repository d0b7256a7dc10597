package pathguard

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/osfile"
)

// ReplaceOptions say how [Guard.Replace] writes.
type ReplaceOptions struct {
	// CreateDirs creates missing parent directories with the permissions
	// 0777 less the umask. They stay if the replacement fails.
	CreateDirs bool
	// NoReplace makes it an error (KindExists) if there is a file already,
	// also one that appears while the content is written.
	NoReplace bool
	// Like is a file whose permissions, owner and time of change the new one gets, as far
	// as possible; nil for those of the file that is replaced.
	Like *osfile.Info
	// Perm are the permissions of a new file, less the umask; zero means 0666.
	Perm fs.FileMode
	// Before is called with the canonical path of the file once the content is on
	// the disk and before it has its name. An error cancels, and is returned.
	Before func(real string) error
}

// replacement is a file that is being replaced.
type replacement struct {
	*held
	options ReplaceOptions
	temp    string // name of the temporary file, if it has one
}

// Replace writes the file at path anew, at once: the content is on the disk before it
// has the name, and a process that opens the path, also after a crash at any moment,
// finds the old or the new content whole. A path that leads through symbolic links
// replaces the file they point to and keeps the links. An existing file must be a
// regular one that the process may write; its permissions, its access control list
// and user attributes are kept, and its owner as far as the process may set it. Its
// other hard links keep the old content. If Replace fails, the old file is still
// there; only when the final flush of the directory fails is the new one there but
// perhaps not durable. Created tells that there was no file before. The error is an
// [*Error], or that of ReplaceOptions.Before.
func (g *Guard) Replace(path string, content []byte, o ReplaceOptions) (created bool, err error) {
	return g.Fill(path, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	}, o)
}

// Fill is [Guard.Replace] with content that fill writes. An error of fill cancels; one
// that is no [*Error] and not of the file system is returned.
func (g *Guard) Fill(path string, fill func(*os.File) error, o ReplaceOptions) (created bool, err error) {
	q, err := g.request(path)
	if err != nil {
		return false, err
	}
	r := &replacement{options: o}
	if r.held, err = g.hold(q, true, o.CreateDirs, r.inspect); err != nil {
		return false, err
	}
	defer r.parent.Close()
	if created, err = r.write(fill); err == nil {
		err = q.failure(osfile.SyncDir(r.parent))
	}
	return created, err
}

// inspect looks at the file that is there already.
func (r *replacement) inspect(s *snapshot, h *held) error {
	switch {
	case h.info == nil:
		return nil
	case h.info.Mode()&fs.ModeSymlink != 0 && !h.request.itself:
		return osfile.ErrMoved // a link since the path was resolved
	case r.options.NoReplace && !h.info.IsDir():
		return fs.ErrExist
	}
	if err := s.suits(wantAppend, Info{h.real, osfile.Of(h.info)}); err != nil {
		return err
	}
	return h.request.failure(h.parent.writable(h.name))
}

// A file that is being written has no name if the file system can do so (O_TMPFILE),
// and a process that is killed leaves nothing. Only to replace an existing file does
// it get a temporary name, for the instant between linkat and renameat; other file
// systems need the name from the start. What a process that was killed leaves under
// such a name is removed by a later write into the same directory.
const (
	tempPrefix = ".toolserver-"
	tempSuffix = ".tmp"
	sweepPause = time.Hour // between two looks at the same directory
	maxSweeps  = 1000      // directories that are remembered
)

// sweeps are the directories in which temporary files were looked for.
type sweeps = share.Store[string, struct{}]

func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func isTemp(name string) bool {
	return len(name) == len(tempPrefix)+26+len(tempSuffix) &&
		strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// write writes the content, gives it its name, and reports whether the name is new.
func (r *replacement) write(fill func(*os.File) error) (created bool, err error) {
	perm := cmp.Or(r.options.Perm, 0o666)
	if r.info != nil || r.options.Like != nil {
		perm = 0o600 // until keep: the content is for nobody who could not read it before
	}
	done, dir := r.request.guard.swept, filepath.Dir(r.real)
	if _, swept := done.Get("", dir); !swept {
		done.Put("", dir, struct{}{}, 0)
		osfile.Sweep(r.parent, 0, isTemp, r.parent.Remove)
	}
	f, err := r.parent.anonymous(perm)
	if errors.Is(err, errors.ErrUnsupported) {
		r.temp = tempName()
		f, err = r.parent.OpenFile(r.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	}
	if err != nil {
		return false, r.request.failure(err)
	}
	err = fill(f)
	switch {
	case err != nil:
	case r.options.Like != nil:
		err = become(f, *r.options.Like)
	case r.info != nil:
		err = r.keep(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		err = r.unfilled(err)
	} else if r.options.Before != nil {
		err = r.options.Before(r.real)
	}
	if err == nil {
		err = r.request.change(r.repository, func() (func() error, error) {
			created, err = r.place(f)
			return func() error { return r.parent.Remove(r.name) }, r.request.failure(err)
		})
	}
	if closing := f.Close(); err == nil && closing != nil {
		return created, r.request.failure(closing)
	}
	if err != nil && r.temp != "" {
		if left := r.parent.Remove(r.temp); left != nil && !errors.Is(left, fs.ErrNotExist) {
			r.leave(left)
		}
	}
	return created, err
}

// leave reports that the temporary file could not be removed, which a later write into the
// directory tries again.
func (r *replacement) leave(err error) {
	if left := r.request.guard.left; left != nil {
		left(filepath.Join(filepath.Dir(r.real), r.temp), err)
	}
}

// keep makes the new file look like the one that it is going to replace. Owner and
// group are kept as far as the process may set them. Setuid and setgid are not
// kept, as the kernel clears them on any write. The access control list comes
// last because chmod changes its mask.
func (r *replacement) keep(f *os.File) error {
	if err := keepOwner(f, osfile.Of(r.info)); err != nil {
		return err
	}
	from, err := r.parent.OpenFile(r.name, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		return nil // not readable for us, so its attributes are not either
	}
	defer from.Close()
	if info, err := from.Stat(); err == nil && os.SameFile(info, r.info) {
		copyAttributes(f, from)
	}
	return nil
}

// keepOwner gives the new file the owner and permissions that another one has.
func keepOwner(f *os.File, old osfile.Info) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if now := osfile.Of(now); old.UID != now.UID || old.GID != now.GID {
		if f.Chown(old.UID, old.GID) != nil {
			_ = f.Chown(-1, old.GID) // a file of another owner: its group is better than nothing
		}
	}
	return f.Chmod(old.Mode.Perm())
}

// become makes the new file look like one that is moved.
func become(f *os.File, like osfile.Info) error {
	err := keepOwner(f, like)
	if err == nil {
		setTime(f, like.ModTime)
	}
	return err
}

// unfilled returns why the content could not be written: what stopped fill, or an
// [*Error] about the file system.
func (r *replacement) unfilled(err error) error {
	if _, ours := errors.AsType[*fs.PathError](err); !ours {
		if _, ours = errors.AsType[*Error](err); !ours {
			return err
		}
	}
	return r.request.failure(err)
}

// place gives the finished file its name and reports whether the name is new.
func (r *replacement) place(f *os.File) (created bool, err error) {
	if !r.request.guard.isAt(r.parent, filepath.Dir(r.real)) {
		return false, r.request.error(KindIO, "was not written: its directory was moved meanwhile", nil)
	}
	if r.info == nil {
		if r.temp == "" {
			err = r.parent.link(f, r.name)
		} else {
			err = r.parent.move(r.temp, r.parent, r.name, false)
			if two, ok := errors.AsType[*twoNamesError](err); ok {
				r.leave(two.err)
				err = nil
			}
		}
		if err == nil || r.options.NoReplace || r.temp == "" && !errors.Is(err, fs.ErrExist) {
			return err == nil, err
		}
		// Another process created the file while this one was written, or the
		// file system can only rename.
	}
	if now, err := r.parent.Lstat(r.name); err == nil && !now.Mode().IsRegular() {
		return false, r.request.error(KindNotAFile, "was not written: it is "+kindName(now.Mode())+" by now", nil)
	}
	if r.temp == "" {
		temp := tempName()
		if err := r.parent.link(f, temp); err != nil {
			return false, err
		}
		r.temp = temp
	}
	return false, r.parent.move(r.temp, r.parent, r.name, true)
}

// Append adds data to the end of the regular file at path, which must exist,
// in one write with O_APPEND, so that appends of several processes do not mix.
// If not all can be appended, nothing is, as [osfile.Append] says. The error is
// an [*Error].
func (g *Guard) Append(path string, data []byte) error {
	f, err := g.open(path, wantAppend)
	if err != nil {
		return err
	}
	q := request{path: path, guard: g, policy: g.policy}
	err = osfile.Append(f.File, data)
	closing := f.Close()
	if err != nil {
		return q.error(KindIO, err.Error(), err)
	}
	if closing != nil {
		return q.error(KindIO, "was appended to, but the file system may have lost it again: "+cause(closing), closing)
	}
	return nil
}
