package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// State is a private directory of its owner, for tokens, pins, catalogs and the like:
// only this user can read it, and no file tool or command can reach it. Nothing is
// made before it is first used. It may be used by several processes at a time.
type State struct {
	base  string // of all owners; empty if it is not known
	owner string // empty if it declares no state
	sweep sync.Once
}

// MaxState bounds what is kept under one name, in bytes.
const MaxState = 16 << 20

// maxStateName bounds a name, with room for what temporary files and locks put before
// it.
const maxStateName = 128

const (
	tempPrefix = ".tmp-"
	lockPrefix = ".lock-"
	// tempAge is when a temporary file is certainly one that a process left which did
	// not come to rename it.
	tempAge = time.Hour
)

// State returns the state of the owner.
func (c Capabilities) State() *State {
	if !c.owner.Keeps {
		return &State{}
	}
	c.note(func(h *Handed) { h.Keeps = true })
	return &State{base: c.sandbox.policy.StateDirectory, owner: c.owner.Tool}
}

// Read returns what was last written under name. The error is [fs.ErrNotExist] if
// nothing was.
func (s *State) Read(name string) ([]byte, error) {
	dir, err := s.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, s.failed("read", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, s.failed("read", name, errors.New("it is not a regular file; remove it"))
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, s.failed("read", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxState+1))
	if err == nil && len(data) > MaxState {
		err = fmt.Errorf("it has more than %d bytes", MaxState)
	}
	if err != nil {
		return nil, s.failed("read", name, err)
	}
	return data, nil
}

// Write keeps data under name. Whoever reads it, also after a crash, gets all of the
// old or all of the new.
func (s *State) Write(name string, data []byte) error {
	if len(data) > MaxState {
		return s.failed("write", name, fmt.Errorf("it has more than %d bytes", MaxState))
	}
	dir, err := s.make(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	s.sweep.Do(func() { sweepTemps(dir) })
	temp := tempPrefix + strings.ToLower(rand.Text())
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return s.failed("write", name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp) // or it is swept later
		return s.failed("write", name, err)
	}
	if err := syncDir(dir); err != nil {
		return s.failed("write", name, err)
	}
	return nil
}

// Remove forgets what is kept under name. It is no error if there is nothing.
func (s *State) Remove(name string) error {
	dir, err := s.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return s.failed("remove", name, err)
	}
	return nil
}

// lockPause is how often a lock that somebody has is tried.
const lockPause = 10 * time.Millisecond

// Lock waits until no other holder has the lock called name, in this process or
// another, or until ctx ends. Its holder calls unlock; when a process ends, so do its
// locks. A lock has nothing to do with what is kept under the same name.
func (s *State) Lock(ctx context.Context, name string) (unlock func(), err error) {
	dir, err := s.make(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.OpenFile(lockPrefix+name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.failed("lock", name, err)
	}
	for {
		locked, err := tryLock(f)
		if err == nil && !locked {
			err = pause(ctx, lockPause)
		}
		if err != nil {
			f.Close()
			return nil, s.failed("lock", name, err)
		}
		if locked {
			return sync.OnceFunc(func() { _ = f.Close() }), nil // which ends the lock
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *State) failed(op, name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("%s %s of the state of %s: %w", op, name, s.owner, err)
}

// open opens the owner's directory, if there is one.
func (s *State) open(name string) (*os.Root, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	base, err := s.openBase()
	if err != nil {
		return nil, err
	}
	defer base.Close()
	return s.openOwn(base)
}

// make opens the owner's directory, which is made unless there is one.
func (s *State) make(name string) (*os.Root, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.base, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	base, err := s.openBase()
	if err != nil {
		return nil, err
	}
	defer base.Close()
	if err = base.Mkdir(s.owner, 0o700); err == nil {
		err = syncDir(base)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the state directory of %s: %w", s.owner, err)
	}
	return s.openOwn(base)
}

func (s *State) openBase() (*os.Root, error) {
	return openPrivate(s.base, func() (*os.Root, error) { return os.OpenRoot(s.base) }, func() (fs.FileInfo, error) { return os.Lstat(s.base) })
}

func (s *State) openOwn(base *os.Root) (*os.Root, error) {
	return openPrivate(filepath.Join(s.base, s.owner), func() (*os.Root, error) { return base.OpenRoot(s.owner) }, func() (fs.FileInfo, error) { return base.Lstat(s.owner) })
}

// check reports why nothing can be kept under a name.
func (s *State) check(name string) error {
	switch {
	case s.owner == "":
		return errors.New("the tool does not declare that it keeps state")
	case s.base == "":
		return errors.New("there is no state directory, since the home directory is not known: set HOME, or state_directory in the configuration")
	case !validStateName(name):
		return fmt.Errorf("%.200q cannot be the name of state: use at most %d letters, digits, dots, dashes and underscores, a letter or digit first", name, maxStateName)
	}
	return nil
}

func validStateName(name string) bool {
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '-' || c == '_'):
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxStateName && !strings.HasSuffix(name, ".")
}

// openPrivate opens a directory and checks what was opened: it must be no symlink,
// belong to this user and be for nobody else.
func openPrivate(path string, open func() (*os.Root, error), lstat func() (fs.FileInfo, error)) (*os.Root, error) {
	named, err := lstat()
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, fmt.Errorf("the state directory %s is a symlink or no directory: put a directory there, or set state_directory in the configuration", path)
	}
	dir, err := open()
	if err != nil {
		return nil, err
	}
	opened, err := dir.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(named, opened):
		err = fmt.Errorf("the state directory %s was replaced while it was opened", path)
	default:
		err = private(path, opened)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// sweepTemps removes what processes left that ended while they wrote.
func sweepTemps(dir *os.Root) {
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(10_000) // the rest waits for the next time
	for _, name := range names {
		if !strings.HasPrefix(name, tempPrefix) {
			continue
		}
		if info, err := dir.Lstat(name); err == nil && time.Since(info.ModTime()) > tempAge {
			_ = dir.Remove(name)
		}
	}
}
