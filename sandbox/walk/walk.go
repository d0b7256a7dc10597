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
	"context"
	"fmt"
	"io/fs"
	"os"
)

const (
	maxEntries = 5_000_000 // where Options names no other number
	maxDepth   = 200       // of directories, all of which are open; it also ends a cycle of mounts
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
	w := &walker{ctx: ctx, opt: opt, visit: visit}
	if w.opt.MaxEntries <= 0 {
		w.opt.MaxEntries = maxEntries
	}
	err := w.run(dir, path)
	if err == SkipAll {
		err = nil
	}
	return w.stats, err
}

type walker struct {
	ctx   context.Context
	opt   Options
	visit func(*Entry) error
	stats Stats
	stack []frame
	path  []byte // of the top frame, ends in a slash unless empty; starts at Above
	base  int    // where in path the walk's directory ends
	entry Entry
	steps int
}

// A frame is a directory whose entries are being visited.
type frame struct {
	dir      *dir
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
	return w.load(f)
}

// pop leaves the top frame.
func (w *walker) pop() {
	n := len(w.stack) - 1
	w.stack[n].dir.release()
	w.stack[n].dir = nil
	w.stack = w.stack[:n]
	if n > 0 {
		w.path = w.path[:w.stack[n-1].pathLen]
	}
}

func (w *walker) closeAll() {
	for i := range w.stack {
		w.stack[i].dir.release()
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
		f.children, more, err = f.dir.read(f.children)
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
	if w.opt.Gitignore {
		f.ignore = w.rulesOf(f)
	}
	sortChildren(f.children)
	return nil
}
