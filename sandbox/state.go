package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/osfile"
)

// State is a private directory of its owner, for tokens, pins, catalogs and the like:
// only this user can read it, and no file tool or command can reach it. Nothing is
// made before it is first used. Several processes may use it at the same time.
type State struct {
	base  string // of all owners; empty if it is not known
	owner string // the directory; empty if none is declared
	sweep sync.Once
}

// MaxState bounds what is kept under one name, in bytes.
const MaxState = 16 << 20

var errStateSize = fmt.Errorf("it has more than %d bytes", MaxState)

// maxStateName bounds a name, with room for what temporary files and locks put before
// it.
const maxStateName = 128

const (
	tempPrefix = ".tmp-"
	lockPrefix = ".lock-"
)

// State returns the state of the owner.
func (c Capabilities) State() *State {
	return NewState(c.sandbox.policy.StateDirectory, c.owner.Keeps)
}

// NewState returns what an owner keeps in a state directory. The program's own parts
// use it; tools get theirs from [Capabilities.State].
func NewState(directory, owner string) *State { return &State{base: directory, owner: owner} }

// Read returns what was last written under name. The error is [fs.ErrNotExist] if
// nothing was.
func (s *State) Read(name string) (data []byte, err error) {
	err = s.in("read", name, false, func(dir *os.Root) error {
		info, err := dir.Lstat(name)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return errors.New("it is not a regular file; remove it")
		case info.Size() > MaxState:
			return errStateSize
		}
		if info.Mode().Perm()&0o077 != 0 { // somebody has copied it here
			_ = dir.Chmod(name, 0o600) // it can be read all the same
		}
		data, err = dir.ReadFile(name)
		return err
	})
	return data, err
}

// Write keeps data under name. A reader, also after a crash, gets all of the old or
// all of the new.
func (s *State) Write(name string, data []byte) error {
	return s.in("write", name, true, func(dir *os.Root) error {
		if len(data) > MaxState {
			return errStateSize
		}
		s.sweep.Do(func() {
			osfile.Sweep(dir, 0, func(name string) bool { return strings.HasPrefix(name, tempPrefix) }, dir.Remove)
		})
		temp := tempPrefix + strings.ToLower(rand.Text())
		if err := osfile.Write(dir, temp, data, 0o600, func() error { return dir.Rename(temp, name) }); err != nil {
			return err
		}
		return osfile.SyncDir(dir)
	})
}

// Remove forgets what is kept under name. It is no error if there is nothing.
func (s *State) Remove(name string) error {
	err := s.in("remove", name, false, func(dir *os.Root) error {
		if err := dir.Remove(name); err != nil {
			return err
		}
		return osfile.SyncDir(dir)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lockPause is how often a lock that somebody has is tried.
const lockPause = 10 * time.Millisecond

// Lock waits until no other holder has the lock called name, in this process or
// another, or until ctx ends. Its holder calls unlock; when a process ends, so do its
// locks. A lock has nothing to do with what is kept under the same name.
func (s *State) Lock(ctx context.Context, name string) (unlock func(), err error) {
	err = s.in("lock", name, true, func(dir *os.Root) error {
		f, err := dir.OpenFile(lockPrefix+name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		locked, err := osfile.TryLock(f)
		for err == nil && !locked {
			select {
			case <-time.After(lockPause):
				locked, err = osfile.TryLock(f)
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			f.Close()
			return err
		}
		unlock = sync.OnceFunc(func() { _ = f.Close() }) // which ends the lock
		return nil
	})
	return unlock, err
}

// in runs what is to be done in the owner's directory, which create makes unless
// there is one.
func (s *State) in(op, name string, create bool, do func(*os.Root) error) error {
	if err := s.check(name); err != nil {
		return err
	}
	dir, err := s.open(create)
	if err == nil {
		defer dir.Close()
		if err = do(dir); err == nil {
			return nil
		}
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		err = fmt.Errorf("%s %s of the state of %s: %w", op, name, s.owner, err)
	}
	if !create && errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	return err
}

// open opens the owner's directory.
func (s *State) open(create bool) (*os.Root, error) {
	if create {
		if err := os.MkdirAll(s.base, 0o700); err != nil {
			return nil, fmt.Errorf("make the state directory: %w", err)
		}
	}
	base, err := osfile.OpenPrivate(s.base)
	if err != nil {
		return nil, fmt.Errorf("the state directory: %w, or set state_directory in the configuration", err)
	}
	defer base.Close()
	if create {
		if err = base.Mkdir(s.owner, 0o700); err == nil {
			err = osfile.SyncDir(base)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the state directory of %s: %w", s.owner, err)
		}
	}
	return osfile.SubPrivate(base, s.owner)
}

// Directory opens the directory, and makes it unless there is one, for an owner that keeps files of its own in it.
func (s *State) Directory() (*os.Root, error) {
	if err := s.check(s.owner); err != nil {
		return nil, err
	}
	return s.open(true)
}

// Unnamed returns a file in the directory that is gone when it is closed.
func (s *State) Unnamed() (*os.File, error) {
	dir, err := s.Directory()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return osfile.Unnamed(dir.Name())
}

// check reports why nothing can be kept under a name.
func (s *State) check(name string) error {
	switch {
	case s.owner == "":
		return errors.New("the tool does not declare that it keeps state")
	case s.base == "":
		return errors.New("there is no state directory, since the home directory is not known: set HOME, or state_directory in the configuration")
	case len(name) > maxStateName || !stateName().MatchString(name):
		return fmt.Errorf("%.200q cannot be the name of state: use at most %d letters, digits, dots, dashes and underscores, a letter or digit first",
			name, maxStateName)
	}
	return nil
}

// stateName matches a name that is a file on every system.
var stateName = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9_-])?\z`)
