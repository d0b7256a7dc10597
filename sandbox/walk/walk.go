// Package walk visits the files below an open directory, quickly and without
// ever leaving it.
//
// Every step goes from one open directory descriptor to the next by a single
// name that must not be a symbolic link, so a directory or a link that is
// exchanged while the walk runs cannot lead it elsewhere, and a file that a
// visitor opens is the one in the directory that was read. Symbolic links are
// reported and never followed.
//
// A walk is bounded in entries, depth, open descriptors and memory, obeys its
// context, and goes on after a directory that cannot be read. [Walk] visits on
// the calling goroutine; [Map] lets several workers look into the files and
// still delivers in the order of the walk. The Gitignore
// option leaves out what git would.
package walk

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	maxEntries  = 5_000_000 // where Options names no other number
	maxDepth    = 10_000    // of directories; it also ends a cycle of mounts
	maxOpenDirs = 32        // directories the walk itself keeps open, besides the root
)

// Options say what a walk visits and when it stops. The zero value visits all
// that is not hidden.
type Options struct {
	// MaxEntries is how many directory entries are read before the walk stops
	// descending and sets Stats.Truncated. 0 means 5 million.
	MaxEntries int
	// Hidden includes names that start with a dot.
	Hidden bool
	// Gitignore leaves out .git and what the .gitignore files and
	// .git/info/exclude say, from the walk's directory down.
	Gitignore bool
	// Above widens Gitignore to the rules above the walk.
	Above Above
	// DenyHardlinks keeps [Entry.Open] from opening a file that has several
	// names, of which others may be outside the walk.
	DenyHardlinks bool
	// Skip leaves out an entry and, if it is a directory, all below it.
	Skip func(*Entry) bool
}

// Stats count what a walk did.
type Stats struct {
	Entries    int  // directory entries read, also those filtered out
	Truncated  bool // there may be more: the walk came to a limit of entries or depth
	Unreadable int  // directories and ignore files that could not be read, or were moved meanwhile
}

// Results of a visitor that steer the walk; any other error ends it and is
// returned by it.
var (
	// SkipDir keeps the walk from entering the directory just visited.
	SkipDir = fs.SkipDir
	// SkipAll ends the walk without an error.
	SkipAll = fs.SkipAll
)

// Walk visits the entries below the open directory dir, which stays open and
// unchanged; path is its absolute path without symbolic links (used where the
// system has no directory descriptors, and to find [Above]). The entries of each
// directory are visited by name, a directory compared as if its name ended in a
// slash: the files come in the byte order of their relative paths.
//
// Walk returns what it counted also together with an error: the context's, the
// visitor's, or that dir itself cannot be read. Directories below that cannot be
// read are not an error, see [Stats].
func Walk(ctx context.Context, dir *os.File, path string, opt Options, visit func(*Entry) error) (Stats, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	w := &walker{ctx: ctx, opt: opt, visit: visit, scratch: *scratch}
	if w.opt.MaxEntries <= 0 {
		w.opt.MaxEntries = maxEntries
	}
	err := w.run(dir, path)
	if err == SkipAll {
		err = nil
	}
	return w.stats, err
}

// scratches keeps what names are read into for other walks.
var scratches = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

type walker struct {
	ctx     context.Context
	opt     Options
	visit   func(*Entry) error
	stats   Stats
	stack   []frame
	path    []byte // of the top frame, ends in a slash unless empty; starts at Above
	base    int    // where in path the walk's directory ends
	entry   Entry
	scratch []byte
	steps   int
}

// A frame is a directory whose entries are being visited.
type frame struct {
	dir      *dir // nil while closed to save descriptors, never for the top frame
	id       identity
	children []child
	next     int
	pathLen  int
	ignore   *ignoreLevel
}

func (w *walker) run(f *os.File, path string) error {
	defer w.closeAll()
	d, err := openRoot(f, path)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	above, err := w.rulesAbove(path)
	if err != nil {
		d.release()
		return err
	}
	w.base = len(w.path)
	if err := w.push(d, above); err != nil {
		return err
	}
	return w.loop()
}

func (w *walker) loop() error {
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		if f.next == len(f.children) {
			w.pop()
			continue
		}
		c := f.children[f.next]
		f.next++
		enter, err := w.offer(f, c)
		if err == nil && enter {
			err = w.enter(f, c.name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// offer visits c unless a filter leaves it out, and reports whether it is a
// directory to enter.
func (w *walker) offer(f *frame, c child) (enter bool, err error) {
	if w.steps++; w.steps%16 == 0 {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
	}
	if !w.opt.Hidden && c.name[0] == '.' {
		return false, nil
	}
	if w.opt.Gitignore {
		if c.name == ".git" {
			return false, nil
		}
		if f.ignore.ignores(w.path, c.name, c.kind.IsDir()) {
			return false, nil
		}
	}
	w.entry = Entry{dir: f.dir, name: c.name, prefix: w.path[w.base:], kind: c.kind, single: w.opt.DenyHardlinks}
	if w.opt.Skip != nil && w.opt.Skip(&w.entry) {
		return false, nil
	}
	err = w.visit(&w.entry)
	if err == SkipDir {
		return false, nil
	}
	return c.kind.IsDir(), err
}

func (w *walker) enter(f *frame, name string) error {
	if len(w.stack) >= maxDepth || w.stats.Entries >= w.opt.MaxEntries {
		w.stats.Truncated = true
		return nil
	}
	d, err := f.dir.open(name)
	if err != nil {
		w.stats.Unreadable++
		return nil
	}
	w.path = append(append(w.path, name...), '/')
	return w.push(d, f.ignore)
}

// push makes d, whose path is w.path, the top frame and reads it.
func (w *walker) push(d *dir, above *ignoreLevel) error {
	n := len(w.stack)
	if n < cap(w.stack) {
		w.stack = w.stack[:n+1] // keeps the memory of an earlier frame's children
	} else {
		w.stack = append(w.stack, frame{})
	}
	f := &w.stack[n]
	*f = frame{dir: d, children: f.children[:0], pathLen: len(w.path), ignore: above}
	if n > maxOpenDirs {
		w.evict(&w.stack[n-maxOpenDirs])
	}
	return w.load(f)
}

// evict closes the directory of f until the walk comes back to it.
func (w *walker) evict(f *frame) {
	if f.dir == nil {
		return
	}
	var err error
	if f.id, err = f.dir.id(); err == nil {
		f.dir.release()
		f.dir = nil
	}
}

// pop leaves the top frame. If the one below was evicted it is opened again
// through the directory just left, and must be the same one; if the tree was
// changed so that it is not, the walk goes on at the nearest directory it still
// has open.
func (w *walker) pop() {
	n := len(w.stack) - 1
	left := w.stack[n].dir
	defer left.release()
	w.drop()
	if n == 0 {
		return
	}
	f := &w.stack[n-1]
	if f.dir != nil {
		return
	}
	f.dir, _ = left.reopenParent(f.id, w.stack[0].dir, w.path[w.base:])
	for f.dir == nil { // ends at the root at the latest, which is never evicted
		w.stats.Unreadable++
		w.drop()
		f = &w.stack[len(w.stack)-1]
	}
}

// drop removes the top frame without closing its directory.
func (w *walker) drop() {
	n := len(w.stack) - 1
	w.stack[n].dir = nil
	w.stack = w.stack[:n]
	if n > 0 {
		w.path = w.path[:w.stack[n-1].pathLen]
	}
}

func (w *walker) closeAll() {
	for i := range w.stack {
		if w.stack[i].dir != nil {
			w.stack[i].dir.release()
		}
	}
}

// load reads the directory of f within the budget of entries. Its error is the
// context's, or that the walk's own directory cannot be read.
func (w *walker) load(f *frame) error {
	for more := true; more; {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		var err error
		f.children, more, err = f.dir.read(w.scratch, f.children)
		if err != nil && len(w.stack) == 1 {
			return fmt.Errorf("reading the directory: %w", err)
		}
		if err != nil {
			w.stats.Unreadable++
		}
		if left := w.opt.MaxEntries - w.stats.Entries; len(f.children) > left {
			f.children = f.children[:left]
			w.stats.Truncated = true
			break
		}
	}
	w.stats.Entries += len(f.children)
	for i := range f.children {
		w.resolve(f, &f.children[i])
	}
	if w.opt.Gitignore {
		f.ignore = w.rulesOf(f)
	}
	// By their bytes, a directory as if its name ended in a slash, which is what orders whole paths.
	slices.SortFunc(f.children, func(a, b child) int {
		n := min(len(a.name), len(b.name))
		return cmp.Or(strings.Compare(a.name[:n], b.name[:n]), int(a.at(n))-int(b.at(n)))
	})
	return nil
}

// resolve asks for the kind of an entry where the directory does not tell it.
func (w *walker) resolve(f *frame, c *child) {
	if c.kind != kindUnknown {
		return
	}
	c.kind = fs.ModeDevice // or the like
	if info, err := f.dir.info(c.name); err == nil {
		c.kind = info.Mode.Type()
	}
}
