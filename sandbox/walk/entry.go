package walk

import (
	"errors"
	"io/fs"

	"github.com/toolserver/toolserver/osfile"
)

// ErrNotRegular is returned by [Entry.Open] for anything but a regular file:
// a FIFO, a socket or a device is never waited on.
var ErrNotRegular = errors.New("not a regular file")

// ErrHardlinks is returned by [Entry.Open] for a file that has several names, if
// the walk denies these.
var ErrHardlinks = errors.New("has several names (hard links), and hard links are denied")

// Entry is one name in a directory. It is valid only during the call it is
// passed to; the strings taken from it stay valid.
type Entry struct {
	dir    *dir
	name   string
	prefix []byte      // the directory's path relative to the root, "" or ending in a slash
	kind   fs.FileMode // only the type
	single bool        // to be opened only if it has no other name
}

// Name returns the base name, as the file system has it: any bytes but slash
// and NUL.
func (e *Entry) Name() string { return e.name }

// Rel returns the slash-separated path relative to the walk's directory.
func (e *Entry) Rel() string {
	if len(e.prefix) == 0 {
		return e.name
	}
	return string(e.prefix) + e.name
}

// IsDir reports whether the entry is a directory.
func (e *Entry) IsDir() bool { return e.kind.IsDir() }

// IsRegular reports whether the entry is a regular file.
func (e *Entry) IsRegular() bool { return e.kind.IsRegular() }

// IsSymlink reports whether the entry is a symbolic link.
func (e *Entry) IsSymlink() bool { return e.kind == fs.ModeSymlink }

// Info asks the file system for size, mode and time of the entry itself, not of
// what it links to.
func (e *Entry) Info() (osfile.Info, error) {
	info, err := e.dir.info(e.name)
	return info, e.wrap("stat", err)
}

// Readlink returns the target of a symbolic link, as written in it.
func (e *Entry) Readlink() (string, error) {
	target, err := e.dir.readlink(e.name)
	return target, e.wrap("readlink", err)
}

// Open opens a regular file in the directory that was read. It does not follow
// links and does not wait; what is no regular file (any more) is an error.
func (e *Entry) Open() (File, error) {
	f, err := e.dir.openFile(e.name)
	if err == nil && e.single && f.Info().Links > 1 {
		f.Close()
		f, err = File{}, ErrHardlinks
	}
	return f, e.wrap("open", err)
}

func (e *Entry) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: e.Rel(), Err: err}
}

// kindUnknown is the type of an entry where the directory does not tell it.
const kindUnknown = fs.ModeIrregular

// child is a name of a directory that the walk has still to handle.
type child struct {
	name string
	kind fs.FileMode
}

// at returns byte n of what orders the name; no name has a zero byte.
func (c *child) at(n int) byte {
	switch {
	case n < len(c.name):
		return c.name[n]
	case n == len(c.name) && c.kind.IsDir():
		return '/'
	}
	return 0
}
