package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/osfile"
)

// A scratch is a directory for the temporary files of commands, which may write
// to nothing else but the paths of policy. It is made when the first command needs
// it and removed with the server. One that a killed server left behind is removed
// by the next: while a server lives it holds a lock on its own.
type scratch struct {
	place func() (path string, refused error) // where it is made, and why that can be nowhere

	mu   sync.Mutex
	lock *os.File // nil until it is made
	gone bool

	used     int64 // bytes that lie in it, when it was measured last
	measured time.Time
	took     time.Duration
}

const (
	scratchPrefix  = "toolserver-"
	unlockedSuffix = ".new"

	// It is measured no sooner than this after the last time, nor so often that it takes
	// more than one part in measureShare.
	measurePause = time.Second
	measureShare = 20
)

// newScratch returns a scratch whose place is found when it is asked for first.
func newScratch() *scratch { return &scratch{place: sync.OnceValues(placeScratch)} }

// placeScratch returns a random path, known before the directory is made: where this
// user may write, if that is anywhere.
func placeScratch() (path string, refused error) {
	name := scratchPrefix + strings.ToLower(rand.Text())
	dirs := []string{os.TempDir(), "/var/tmp"}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, cache)
	}
	for _, dir := range dirs {
		trial, err := os.MkdirTemp(dir, scratchPrefix+"*")
		if err == nil {
			_ = os.Remove(trial)
			return filepath.Join(dir, name), nil
		}
		refused = errors.Join(refused, err)
	}
	return filepath.Join(dirs[0], name), refused
}

// path returns where it is, or will be when it is made.
func (s *scratch) path() string {
	path, _ := s.place()
	return path
}

// temporary is the directory in it for temporary files.
func (s *scratch) temporary() string { return filepath.Join(s.path(), "tmp") }

// private is the one that commands find as /tmp. It is not that for temporary files,
// because it has the mount points for what commands see of the system's.
func (s *scratch) private() string { return filepath.Join(s.path(), "private") }

// make makes the directory, unless it is there.
func (s *scratch) make() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return fs.ErrClosed
	}
	if s.lock != nil {
		return nil
	}
	sweepScratch(filepath.Dir(s.path()))
	// It has its name only once it is locked, or another server swept it.
	unlocked := s.path() + unlockedSuffix
	err := os.Mkdir(unlocked, 0o700)
	for _, dir := range []string{"tmp", "private", goBuild} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(unlocked, dir), 0o700)
		}
	}
	if err == nil { // as programs expect of /tmp; no other user can reach it
		err = os.Chmod(filepath.Join(unlocked, "private"), 0o777|os.ModeSticky)
	}
	if err == nil {
		s.lock, err = lockScratch(unlocked)
	}
	if err == nil {
		err = os.Rename(unlocked, s.path())
	}
	if err != nil {
		return fmt.Errorf("make a directory for temporary files of commands: %w", err)
	}
	return nil
}

// size returns how many bytes lie in it, or did not long ago.
func (s *scratch) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if s.lock == nil || began.Sub(s.measured) < max(measurePause, measureShare*s.took) {
		return s.used
	}
	s.used = 0
	_ = filepath.WalkDir(s.path(), func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil {
			file := osfile.Of(info)
			s.used += file.Used / int64(max(file.Links, 1))
		}
		return nil
	})
	s.measured, s.took = time.Now(), time.Since(began)
	return s.used
}

func (s *scratch) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.lock == nil {
		return nil
	}
	err := removeTree(s.path())
	return errors.Join(err, s.lock.Close())
}

// sweepScratch removes from dir the directories of servers that were killed.
func sweepScratch(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"*"))
	for _, path := range old {
		name, unlocked := strings.CutSuffix(filepath.Base(path), unlockedSuffix)
		if len(name) != len(scratchPrefix)+len(rand.Text()) || unlocked && !isOld(path) {
			continue
		}
		if dir, err := lockScratch(path); err == nil && dir != nil {
			_ = removeTree(path) // the next server tries again
			dir.Close()
		}
	}
}

// isOld reports whether a directory is not just being made.
func isOld(path string) bool {
	info, err := os.Stat(path)
	return err == nil && time.Since(info.ModTime()) > time.Minute
}

// removeTree removes also what commands made unwritable, as some do with what they
// have downloaded.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// lockScratch locks a directory of this user until what it returns is closed. That
// is nil if another server holds the lock.
func lockScratch(path string) (*os.File, error) {
	// Others may put anything where temporary files are.
	dir, err := os.OpenFile(path, os.O_RDONLY|osfile.Directory|osfile.NoWait, 0)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil && osfile.Of(info).UID != os.Geteuid() { // both are -1 on Windows
		err = os.ErrPermission
	}
	locked := false
	if err == nil {
		locked, err = osfile.TryLock(dir)
	}
	if !locked {
		dir.Close()
		dir = nil
	}
	return dir, err
}
