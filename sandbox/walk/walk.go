package walk

import (
	"context"
	"io/fs"
	"os"
)

// Walk visits the entries below the open directory dir, which stays open and
// unchanged; path is its absolute path without symbolic links (used where the
// system has no directory descriptors, and to find [Above]). It returns what it
// counted also together with an error: the context's, the visitor's, or that
// dir itself cannot be read. Directories below that cannot be read are not an
// error, see [Stats].
func Walk(ctx context.Context, dir *os.File, path string, opt Options, visit func(*Entry) error) (Stats, error) {
	w := &walker{ctx: ctx, opt: opt, visit: visit, scratch: make([]byte, 64<<10)}
	if w.opt.MaxEntries <= 0 {
		w.opt.MaxEntries = DefaultMaxEntries
	}
	if w.opt.MaxDepth <= 0 {
		w.opt.MaxDepth = DefaultMaxDepth
	}
	err := w.run(dir, path)
	if err == SkipAll {
		err = nil
	}
	return w.stats, err
}

type walker struct {
	ctx     context.Context
	opt     Options
	visit   func(*Entry) error
	stats   Stats
	stack   []frame
	path    []byte // of the top frame, ends in a slash unless empty; starts at Above
	base    int    // where in path the walk's directory ends
	entry   Entry
	names   nameList
	chunk   []child
	scratch []byte
	steps   int
}

// A frame is a directory whose entries are being handled.
type frame struct {
	dir      *dir // nil while closed to save descriptors, never for the top frame
	id       identity
	children []child
	next     int
	pathLen  int
	streamed bool // the entries have been visited, children are the directories
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
		enter := f.streamed
		if !enter {
			var err error
			if enter, err = w.offer(f, c); err != nil {
				return err
			}
		}
		if enter {
			if err := w.enter(f, c.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// offer visits c unless a filter leaves it out, and reports whether it is a
// directory to enter.
func (w *walker) offer(f *frame, c child) (enter bool, err error) {
	if w.steps++; w.steps%16 == 0 {
		if err := w.step(); err != nil {
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
		if f.ignore.ignores(w.path, c.name, c.kind == kindDir) {
			w.stats.Ignored++
			return false, nil
		}
	}
	w.entry = Entry{dir: f.dir, name: c.name, prefix: w.path[w.base:], depth: len(w.stack), kind: c.kind, single: w.opt.DenyHardlinks}
	if w.opt.Skip != nil && w.opt.Skip(&w.entry) {
		return false, nil
	}
	err = w.visit(&w.entry)
	if err == SkipDir {
		return false, nil
	}
	return c.kind == kindDir, err
}

func (w *walker) step() error {
	if w.opt.Progress != nil && w.steps%progressEvery == 0 {
		w.opt.Progress(w.stats)
	}
	return w.ctx.Err()
}

func (w *walker) enter(f *frame, name string) error {
	switch {
	case len(w.stack) >= w.opt.MaxDepth:
		w.stats.TooDeep++
		return nil
	case w.stats.Truncated:
		return nil
	}
	d, err := f.dir.open(name)
	if err != nil {
		w.stats.problem(w.rel()+name, err)
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
	w.stats.Dirs++
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
	var err error
	if f.dir, err = left.reopenParent(f.id, w.stack[0].dir, w.path[w.base:]); err == nil {
		return
	}
	for f.dir == nil { // ends at the root at the latest, which is never evicted
		w.stats.problem(w.rel(), err)
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

// rel returns the relative path of the top frame, "" or ending in a slash.
func (w *walker) rel() string { return string(w.path[w.base:]) }
