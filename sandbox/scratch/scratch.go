// Package scratch has the directories where commands may write whatever policy says: one for
// temporary files, which goes with the server, and caches, which stay for the next one.
package scratch

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

// A Dir is a directory for the temporary files of commands, which may write
// to nothing else but the paths of policy. It is made when the first command needs
// it and removed with the server. One that a killed server left behind is removed
// by the next: while a server lives it holds a lock on its own.
type Dir struct {
	// Place returns where it is made, and why that can be nowhere.
	Place func() (path string, refused error)

	user   int // whose commands use it; zero for the user of the server
	mu     sync.Mutex
	locked *os.File // nil until it is made
	gone   bool

	used     int64 // bytes that lie in it, when it was measured last
	measured time.Time
	took     time.Duration
}

const (
	prefix         = "toolserver-"
	unlockedSuffix = ".new"

	// It is measured no sooner than this after the last time, nor so often that it takes
	// more than one part in measureShare.
	measurePause = time.Second
	measureShare = 20
)

// New returns a Dir whose place is found when it is asked for first, for the commands of a user; zero for that of the server.
func New(user int) *Dir { return &Dir{Place: sync.OnceValues(findPlace), user: user} }

// findPlace returns a random path, known before the directory is made: where this
// user may write, if that is anywhere.
func findPlace() (path string, refused error) {
	name := prefix + strings.ToLower(rand.Text())
	dirs := []string{os.TempDir(), "/var/tmp"}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, cache)
	}
	for _, dir := range dirs {
		trial, err := os.MkdirTemp(dir, prefix+"*")
		if err == nil {
			_ = os.Remove(trial)
			return filepath.Join(dir, name), nil
		}
		refused = errors.Join(refused, err)
	}
	return filepath.Join(dirs[0], name), refused
}

// Path returns where it is, or will be when it is made.
func (s *Dir) Path() string {
	path, _ := s.Place()
	return path
}

// Temporary is the directory in it for temporary files.
func (s *Dir) Temporary() string { return filepath.Join(s.Path(), "tmp") }

// Private is the one that commands find as /tmp. It is not that for temporary files,
// because it has the mount points for what commands see of the system's.
func (s *Dir) Private() string { return filepath.Join(s.Path(), "private") }

// Make makes the directory, unless it is there.
func (s *Dir) Make() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return fs.ErrClosed
	}
	if s.locked != nil {
		return nil
	}
	sweep(filepath.Dir(s.Path()))
	// It has its name only once it is locked, or another server swept it.
	unlocked := s.Path() + unlockedSuffix
	err := os.Mkdir(unlocked, 0o700)
	for _, dir := range []string{"tmp", "private", goBuild} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(unlocked, dir), 0o700)
		}
	}
	if err == nil { // as programs expect of /tmp; no other user can reach it
		err = os.Chmod(filepath.Join(unlocked, "private"), 0o777|os.ModeSticky)
	}
	if err == nil && s.user != 0 { // through their group: what is no directory of this user, nobody would sweep
		err = errors.Join(os.Chown(unlocked, -1, s.user), os.Chmod(unlocked, 0o770))
		for _, dir := range []string{"tmp", filepath.Dir(goBuild), goBuild} {
			err = errors.Join(err, os.Chown(filepath.Join(unlocked, dir), s.user, s.user))
		}
	}
	if err == nil {
		s.locked, err = lock(unlocked)
	}
	if err == nil {
		err = os.Rename(unlocked, s.Path())
	}
	if err != nil {
		return fmt.Errorf("make a directory for temporary files of commands: %w", err)
	}
	return nil
}

// Size returns how many bytes lie in it, or did not long ago.
func (s *Dir) Size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	if s.locked == nil || began.Sub(s.measured) < max(measurePause, measureShare*s.took) {
		return s.used
	}
	s.used = 0
	_ = filepath.WalkDir(s.Path(), func(_ string, e fs.DirEntry, err error) error {
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

// Remove removes the directory and what is in it. It is not made again.
func (s *Dir) Remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	if s.locked == nil {
		return nil
	}
	err := removeTree(s.Path())
	return errors.Join(err, s.locked.Close())
}

// sweep removes from dir the directories of servers that were killed.
func sweep(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range old {
		name, unlocked := strings.CutSuffix(filepath.Base(path), unlockedSuffix)
		if len(name) != len(prefix)+len(rand.Text()) || unlocked && !isOld(path) {
			continue
		}
		if dir, err := lock(path); err == nil && dir != nil {
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

// lock locks a directory of this user until what it returns is closed. That
// is nil if another server holds the lock.
func lock(path string) (*os.File, error) {
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
