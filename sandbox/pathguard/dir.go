package pathguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolserver/toolserver/osfile"
)

// fileSystem is how a platform opens what is at a canonical path. A symlink anywhere
// on it is an error, so that what was checked is what is opened.
type fileSystem interface {
	// open opens a file for w. The error is an *Error, completed by request.failure, if s lets it not be used so.
	open(real string, w want, s *snapshot) (File, error)
	openDir(real string) (dir, error)
}

// dir is an open directory. Its names are reached through its descriptor, so
// it does not matter what happens to the path it once had. A name is a single
// component and never followed if it is a symlink.
type dir interface {
	osfile.Dir
	Mkdir(name string, perm fs.FileMode) error
	Symlink(target, name string) error
	Close() error
	// child opens a subdirectory, and no symlink to one.
	child(name string) (dir, error)
	// writable reports why the process may not write to name.
	writable(name string) error
	// anonymous creates a file that vanishes with the process until link names it;
	// the error is errors.ErrUnsupported where the file system cannot.
	anonymous(perm fs.FileMode) (*os.File, error)
	// link gives an anonymous file a name, which must be free: else it returns
	// fs.ErrExist.
	link(f *os.File, name string) error
	// move gives what has a name here another one in to. Unless it may replace what has
	// that, it returns fs.ErrExist.
	move(name string, to dir, as string, replace bool) error
	// Stat describes the directory itself.
	Stat() (fs.FileInfo, error)
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

// suits checks the kind of a file before it is opened for w. The error is an *Error,
// which [request.failure] completes.
func (s *snapshot) suits(w want, info Info) error {
	switch {
	case w == wantDir && !info.Mode.IsDir():
		return &Error{Kind: KindNotADirectory, Reason: "is " + kindName(info.Mode) + ", not a directory"}
	case w == wantDir, w == wantInfo:
		return nil
	case !info.Mode.IsRegular():
		return &Error{Kind: KindNotAFile, Reason: "is " + kindName(info.Mode) + ", not a regular file"}
	}
	if rule, protected := s.protected[info.ID]; protected {
		return &Error{Kind: KindDenied, Rule: rule, Reason: s.policy.Reason(rule)}
	}
	if s.policy.denyHardlinks && info.Links > 1 {
		reason := fmt.Sprintf("has %d names (hard links), and hard links are denied", info.Links)
		return &Error{Kind: KindDenied, Rule: "hard links", Reason: reason}
	}
	return nil
}

// openDir opens the directory at a canonical path, and with create makes what is
// missing of it. What is made are ancestors of a target that is allowed, so only a name
// that is protected without what lies beneath it may be refused, as by [Guard.MakeDir].
func (g *Guard) openDir(path string, create bool) (dir, error) {
	d, err := g.files.openDir(path)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	q, name := request{path: path, guard: g, policy: g.policy}, filepath.Base(path)
	if rule, denied := g.snapshot(false).deniedBy(path); denied {
		return nil, q.denied(rule)
	}
	above, err := g.openDir(filepath.Dir(path), true)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	err = q.change(g.change(above, filepath.Dir(path), name, true), func() (undo func() error, err error) {
		return func() error { return above.Remove(name) }, above.Mkdir(name, 0o777)
	})
	if err == nil {
		err = osfile.SyncDir(above)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process may create it meanwhile
		return nil, err
	}
	return above.child(name)
}

// isAt reports whether d is still the directory at the canonical path real.
func (g *Guard) isAt(d dir, real string) bool {
	now, err := g.files.openDir(real)
	if err != nil {
		return false
	}
	defer now.Close()
	a, err := d.Stat()
	b, err2 := now.Stat()
	return err == nil && err2 == nil && os.SameFile(a, b)
}
