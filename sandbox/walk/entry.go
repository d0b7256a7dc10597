package walk

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"

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

// A nameList collects the names of a directory in one piece of memory.
type nameList struct {
	text []byte
	refs []nameRef
}

type nameRef struct {
	off  int
	len  int32
	kind fs.FileMode
}

func (l *nameList) add(name []byte, k fs.FileMode) {
	l.refs = append(l.refs, nameRef{len(l.text), int32(len(name)), k})
	l.text = append(l.text, name...)
}

func (l *nameList) reset() { l.text, l.refs = l.text[:0], l.refs[:0] }

// child is a name of a directory that the walk has still to handle.
type child struct {
	name string
	key  uint64 // the first bytes of what orders it, where that matters
	kind fs.FileMode
}

// appendTo appends the names to into; they share one string.
func (l *nameList) appendTo(into []child) []child {
	all := string(l.text)
	into = slices.Grow(into, len(l.refs))
	for _, r := range l.refs {
		into = append(into, child{name: all[r.off : r.off+int(r.len)], kind: r.kind})
	}
	return into
}

// sortChildren orders names by their bytes, a directory as if its name ended in
// a slash, which is what orders whole paths.
func sortChildren(list []child) {
	for i := range list {
		c := &list[i]
		c.key = 0
		for n := range 8 {
			c.key = c.key<<8 | uint64(c.at(n))
		}
	}
	slices.SortFunc(list, func(a, b child) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		n := min(len(a.name), len(b.name))
		if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
			return c
		}
		return int(a.at(n)) - int(b.at(n))
	})
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
