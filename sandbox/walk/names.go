package walk

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
)

type kind uint8

const (
	kindUnknown kind = iota
	kindFile
	kindDir
	kindLink
	kindOther
)

func kindOfMode(m fs.FileMode) kind {
	switch m.Type() {
	case 0:
		return kindFile
	case fs.ModeDir:
		return kindDir
	case fs.ModeSymlink:
		return kindLink
	}
	return kindOther
}

// A nameList collects the names of a directory in one piece of memory.
type nameList struct {
	text []byte
	refs []nameRef
}

type nameRef struct {
	off  int
	len  int32
	kind kind
}

func (l *nameList) add(name []byte, k kind) {
	l.refs = append(l.refs, nameRef{len(l.text), int32(len(name)), k})
	l.text = append(l.text, name...)
}

func (l *nameList) reset() { l.text, l.refs = l.text[:0], l.refs[:0] }

// child is a name of a directory that the walk has still to handle.
type child struct {
	name string
	key  uint64 // the first bytes of what orders it, where that matters
	kind kind
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
	case n == len(c.name) && c.kind == kindDir:
		return '/'
	}
	return 0
}
