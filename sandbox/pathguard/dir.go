package pathguard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"toolserver/sandbox/osfile"
)

// dir is an open directory. Its names are reached through its descriptor, so
// it does not matter what happens to the path it once had. A name is a single
// component and never followed if it is a symlink.
type dir interface {
	osfile.Dir
	Mkdir(name string, perm fs.FileMode) error
	Rename(old, name string) error
	Close() error
	// open opens what rel, which may have several components, leads to and
	// answers only for a descriptor that s permits. With follow, symlinks that
	// stay beneath the directory are followed. The error is errElsewhere
	// if the descriptor is not where it should be, a *refusal if the file must
	// not be used for w, else the system's.
	open(rel string, w want, follow bool, s *snapshot) (File, error)
	// child opens a subdirectory, and no symlink to one; "." is the directory itself.
	child(name string) (dir, error)
	// writable reports why the process may not write to name.
	writable(name string) error
	// anonymous creates a file without a name, or returns errors.ErrUnsupported.
	anonymous(perm fs.FileMode) (*os.File, error)
	// publish gives the file temp, or an anonymous file if temp is empty, a
	// name, which must be free: else it returns fs.ErrExist.
	publish(f *os.File, temp, name string) error
	// at reports whether the directory still has the canonical path real.
	at(real string) bool
}

// want is what an open file is for.
type want int

const (
	wantFile   want = iota // read a regular file
	wantAppend             // append to a regular file
	wantDir                // list a directory
	wantInfo               // no descriptor is kept
)

// File is an open file, which after [Guard.Open] is a regular one open for reading.
type File struct {
	*os.File
	// Info describes the file as it was when it was opened.
	Info Info
}

// Info describes a file.
type Info struct {
	Real string // the real path, free of symlinks
	osfile.Info
}

// errElsewhere says that what was opened is not at a permitted path. The
// caller looks again: either the request is to be refused or files moved.
var errElsewhere = errors.New("the file is not at a permitted path")

// refusal says why a file at a permitted path must not be used.
type refusal struct {
	kind   Kind
	rule   string // for KindDenied
	reason string // the rule's own if empty
}

func (e *refusal) Error() string { return cmp.Or(e.reason, "is "+e.rule) }

func kindName(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "a regular file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a FIFO (named pipe)"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	}
	return "a special file"
}

// suits checks the kind of a file before it is opened for w. The error is a *refusal.
func (s *snapshot) suits(w want, info Info) error {
	switch {
	case w == wantDir && !info.Mode.IsDir():
		return &refusal{kind: KindNotADirectory, reason: "is " + kindName(info.Mode) + ", not a directory"}
	case w == wantDir, w == wantInfo:
		return nil
	case !info.Mode.IsRegular():
		return &refusal{kind: KindNotAFile, reason: "is " + kindName(info.Mode) + ", not a regular file"}
	}
	if rule, protected := s.protectedFile(info.Info); protected {
		return &refusal{kind: KindDenied, rule: rule}
	}
	if s.denyHardlinks && info.Links > 1 {
		reason := fmt.Sprintf("has %d names (hard links), and hard links are denied", info.Links)
		return &refusal{kind: KindDenied, rule: "hard links", reason: reason}
	}
	return nil
}

// parent opens the directory of the target, and with create makes it first.
func (t target) parent(q request, create bool) (dir, error) {
	if t.path == t.root.anchorPath {
		return nil, &refusal{kind: KindNotAFile, reason: "is a directory, not a regular file"}
	}
	d, err := t.descend(filepath.Dir(t.path), create)
	if t.err != nil && !create && errors.Is(err, fs.ErrNotExist) {
		err = q.error(KindNotFound, "cannot be created: its directory does not exist", err) // there is nothing to try again
	}
	return d, err
}

// descend goes from the anchor down to path, the directory of the target. The
// directories it creates need no further check: they are ancestors of a target that
// is allowed, and a rule that denied one of them would deny the target. (A name that
// is protected without what lies beneath it is harmless as a directory.)
func (t target) descend(path string, create bool) (dir, error) {
	d, err := t.root.anchor.child(".")
	if err != nil {
		return nil, err
	}
	if d, err = descend(d, splitPath(t.root.rel(path)), create); err != nil {
		return nil, err
	}
	if !d.at(path) {
		return nil, errors.Join(errElsewhere, d.Close())
	}
	return d, nil
}

// descend goes from d down, one name after the other and following no symlink. It
// closes all directories on the way.
func descend(d dir, names []string, create bool) (dir, error) {
	for _, name := range names {
		if name == "" || name == "." {
			continue
		}
		next, err := d.child(name)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = d.Mkdir(name, 0o777); err == nil {
				err = osfile.SyncDir(d)
			}
			if err == nil || errors.Is(err, fs.ErrExist) { // another process may create it meanwhile
				next, err = d.child(name)
			}
		}
		if closing := d.Close(); err == nil && closing != nil {
			err = errors.Join(closing, next.Close())
		}
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}
