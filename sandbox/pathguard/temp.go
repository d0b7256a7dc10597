package pathguard

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// A file that is being written has no name while the file system can do so
// (O_TMPFILE), and a process that is killed leaves nothing. Only to take the
// place of an existing file does it get a temporary name, for the instant
// between linkat and renameat; file systems without O_TMPFILE need the name
// from the start. What a kill leaves under such a name is removed by a later
// write into the same directory.
const (
	tempPrefix = ".toolserver-"
	tempSuffix = ".tmp"
	// tempAge is how long ago a temporary file was last written to be
	// taken for abandoned.
	tempAge = time.Hour
	// sweepLimit bounds the names looked at for abandoned files per write.
	sweepLimit = 4096
)

func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func isTemp(name string) bool {
	return len(name) == len(tempPrefix)+26+len(tempSuffix) &&
		strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

func (r *Replacement) createTemp() error {
	perm := r.options.Perm.Perm()
	if perm == 0 {
		perm = 0o666
	}
	if r.old != nil {
		perm = 0o600 // until keep: the content is for nobody who could not read it before
	}
	r.sweep()
	f, err := r.parent.anonymous(perm)
	if errors.Is(err, errors.ErrUnsupported) {
		name := tempName()
		if f, err = r.parent.create(name, perm); err == nil {
			r.temp = name
		}
	}
	r.file = f
	return err
}

// place gives the finished file its name and reports whether the name is new.
func (r *Replacement) place() (created bool, err error) {
	name := filepath.Base(r.real)
	if r.old == nil {
		err := r.placeNew(name)
		if err == nil {
			return true, nil
		}
		if r.options.NoReplace || r.temp == "" && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		// Somebody created the file while this one was written, or the
		// file system can only rename.
	}
	if now, err := r.parent.lstat(name); err == nil && !now.Mode.IsRegular() {
		return false, r.request.error(KindNotAFile, "was not written: it is "+kindName(now.Mode)+" by now", nil)
	}
	if r.temp == "" {
		temp := tempName()
		if err := r.parent.publish(r.file, temp); err != nil {
			return false, err
		}
		r.temp = temp
	}
	if err := r.parent.rename(r.temp, name); err != nil {
		return false, err
	}
	r.temp = ""
	return false, nil
}

// placeNew fails with fs.ErrExist if the name is taken, which the kernel decides
// without a race.
func (r *Replacement) placeNew(name string) error {
	if r.temp == "" {
		return r.parent.publish(r.file, name)
	}
	err := r.parent.renameNew(r.temp, name)
	if err == nil {
		r.temp = ""
	}
	return err
}

// sweep removes what killed processes left. It is a courtesy: its failures are
// not those of the write.
func (r *Replacement) sweep() {
	names, err := r.parent.names(sweepLimit)
	if err != nil {
		return
	}
	for _, name := range names {
		if !isTemp(name) {
			continue
		}
		info, err := r.parent.lstat(name)
		if err == nil && info.Mode.IsRegular() && time.Since(info.ModTime) > tempAge {
			_ = r.parent.remove(name)
		}
	}
}
