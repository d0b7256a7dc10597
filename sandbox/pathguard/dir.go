package pathguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"toolserver/sandbox/osfile"
)

// dir is an open directory. Its names are reached through its descriptor, so
// it does not matter what happens to the path it once had. A name is a single
// component and never followed if it is a symlink.
type dir interface {
	// open opens what rel, which may have several components, leads to and
	// answers only for a descriptor that s permits. With follow, symlinks that
	// stay beneath the directory are followed. The error is errElsewhere
	// if the descriptor is not where it should be, a *typeError or
	// *linksError if the file is of the wrong kind, else the system's.
	open(rel string, w want, follow bool, s *snapshot) (opened, error)
	// child opens a subdirectory, and no symlink to one; "." is the directory itself.
	child(name string) (dir, error)
	// changes opens the directory for changing its names.
	changes() (*os.Root, error)
	// writable reports why the process may not write to name.
	writable(name string) error
	// anonymous creates a file without a name, or returns errors.ErrUnsupported.
	anonymous(perm fs.FileMode) (*os.File, error)
	// publish gives an anonymous file its name, which must be free.
	publish(f *os.File, name string) error
	// renameNew renames only if name is free, else it returns fs.ErrExist.
	renameNew(old, name string) error
	// at reports whether the directory still has the canonical path real.
	at(real string) bool
	close() error
}

// want is what an open file is for.
type want int

const (
	wantFile   want = iota // read a regular file
	wantAppend             // append to a regular file
	wantDir                // list a directory
	wantInfo               // no descriptor is kept
)

type opened struct {
	file *os.File // nil for wantInfo
	info Info
}

// Info describes a file.
type Info struct {
	Real string // the real path, free of symlinks
	osfile.Info
}

// protectedID is a protected file that exists.
type protectedID struct {
	id   osfile.ID
	rule string
}

// protectedFile returns the rule that protects a file, whatever name it was
// found under.
func (s *snapshot) protectedFile(info osfile.Info) (rule string, protected bool) {
	for _, p := range s.protected {
		if p.id == info.ID {
			return p.rule, true
		}
	}
	return "", false
}

// close is for a descriptor through which nothing was written.
func (o opened) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}

// errElsewhere says that what was opened is not at a permitted path. The
// caller looks again: either the request is to be refused or files moved.
var errElsewhere = errors.New("the file is not at a permitted path")

// typeError says that a file is not of the kind that was asked for.
type typeError struct {
	mode fs.FileMode
	want want
}

func (e *typeError) Error() string {
	if e.want == wantDir {
		return "is " + kindName(e.mode) + ", not a directory"
	}
	return "is " + kindName(e.mode) + ", not a regular file"
}

// linksError says that hard links are denied and the file has several names.
type linksError struct{ n uint64 }

func (e *linksError) Error() string {
	return fmt.Sprintf("has %d names (hard links), and hard links are denied", e.n)
}

// protectedError says that a file is protected, under another name.
type protectedError struct{ rule string }

func (e *protectedError) Error() string { return "is " + e.rule }

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

// suits checks the kind of a file before it is opened for w.
func (s *snapshot) suits(w want, info Info) error {
	switch {
	case w == wantInfo:
		return nil
	case w == wantDir && !info.Mode.IsDir(), w != wantDir && !info.Mode.IsRegular():
		return &typeError{info.Mode, w}
	case w == wantDir:
		return nil
	}
	if rule, protected := s.protectedFile(info.Info); protected {
		return &protectedError{rule}
	}
	if s.denyHardlinks && info.Links > 1 {
		return &linksError{info.Links}
	}
	return nil
}
