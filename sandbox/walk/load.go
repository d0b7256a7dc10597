package walk

import (
	"fmt"
	"strings"
)

// load reads the directory of f: whole where its order or its ignore file must
// be known first, in parts that are visited and forgotten otherwise.
func (w *walker) load(f *frame) error {
	if w.opt.Sorted || w.opt.Gitignore {
		return w.loadWhole(f)
	}
	f.streamed = true
	for {
		w.names.reset()
		more, err := w.readPart(f)
		if err != nil {
			return err
		}
		w.chunk = w.names.appendTo(w.chunk[:0])
		for _, c := range w.chunk {
			w.resolve(f, &c)
			enter, err := w.offer(f, c)
			if err != nil {
				return err
			}
			if enter {
				f.children = append(f.children, child{name: strings.Clone(c.name), kind: c.kind})
			}
		}
		if !more {
			return nil
		}
	}
}

func (w *walker) loadWhole(f *frame) error {
	w.names.reset()
	for more := true; more; {
		var err error
		if more, err = w.readPart(f); err != nil {
			return err
		}
	}
	f.children = w.names.appendTo(f.children[:0])
	for i := range f.children {
		w.resolve(f, &f.children[i])
	}
	if w.opt.Gitignore {
		f.ignore = w.rulesOf(f)
	}
	if w.opt.Sorted {
		sortChildren(f.children)
	}
	return nil
}

// readPart appends the next names to w.names within the budget of entries. Its
// error is the context's, or that the walk's own directory cannot be read; one
// below that cannot be read to its end is a problem that is noted.
func (w *walker) readPart(f *frame) (more bool, err error) {
	if err := w.ctx.Err(); err != nil {
		return false, err
	}
	before := len(w.names.refs)
	more, err = f.dir.read(w.scratch, &w.names)
	if err != nil && len(w.stack) == 1 {
		return false, fmt.Errorf("reading the directory: %w", err)
	}
	if err != nil {
		w.stats.problem(strings.TrimSuffix(w.rel(), "/"), err)
	}
	got := len(w.names.refs) - before
	if left := w.opt.MaxEntries - w.stats.Entries; got > left {
		w.names.refs = w.names.refs[:before+left]
		w.stats.Truncated = true
		got, more = left, false
	}
	w.stats.Entries += got
	return more, nil
}

// resolve asks for the kind of an entry where the directory does not tell it.
func (w *walker) resolve(f *frame, c *child) {
	if c.kind != kindUnknown {
		return
	}
	c.kind = kindOther
	if info, err := f.dir.info(c.name); err == nil {
		c.kind = kindOfMode(info.Mode)
	}
}
