package walk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
)

// maxIgnoreFile bounds how much of one ignore file is obeyed.
const maxIgnoreFile = 1 << 20

// An ignoreLevel is one ignore file that holds for a directory and all below,
// and through outer the weaker ones.
type ignoreLevel struct {
	outer *ignoreLevel
	base  int // length of the path of the file's directory
	rules *ruleSet
}

// ignores decides about name in the directory at path: the strongest file with
// an opinion wins.
func (l *ignoreLevel) ignores(path []byte, name string, isDir bool) bool {
	if l == nil {
		return false
	}
	s := subject{path: path, name: name, isDir: isDir}
	for ; l != nil; l = l.outer {
		s.base = l.base
		if ignored, found := l.rules.match(&s); found {
			return ignored
		}
	}
	return false
}

// rulesOf returns the rules that hold in the directory of f, whose names have
// been read.
func (w *walker) rulesOf(f *frame) *ignoreLevel {
	has := func(name string) bool {
		return slices.ContainsFunc(f.children, func(c child) bool { return c.name == name })
	}
	return w.extend(f.ignore, f.dir, has(".git"), has(".gitignore"))
}

// extend adds the ignore files of d, whose path is w.path, to outer. A
// directory with its own .git is another repository, where the rules from above
// do not hold.
func (w *walker) extend(outer *ignoreLevel, d *dir, hasGit, hasFile bool) *ignoreLevel {
	if hasGit {
		outer = nil
		if info := w.openInfo(d); info != nil {
			outer = w.withFile(nil, info, "exclude")
			info.release()
		}
	}
	if hasFile {
		outer = w.withFile(outer, d, ".gitignore")
	}
	return outer
}

// withFile adds the rules of the file name in d, which hold from w.path down.
func (w *walker) withFile(outer *ignoreLevel, d *dir, name string) *ignoreLevel {
	text, err := readSmall(d, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.stats.problem(w.rel()+name, err)
	}
	rules, err := parseRules(text)
	if err != nil {
		w.stats.problem(w.rel()+name, err)
	}
	if rules == nil {
		return outer
	}
	return &ignoreLevel{outer: outer, base: len(w.path), rules: rules}
}

// openInfo opens .git/info below d; nil if there is none, as where .git is a
// file that points elsewhere.
func (w *walker) openInfo(d *dir) *dir {
	for i, name := range []string{".git", "info"} {
		next, err := d.open(name)
		if i > 0 {
			d.release()
		}
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				w.stats.problem(w.rel()+".git", err)
			}
			return nil
		}
		d = next
	}
	return d
}

// readSmall returns the start of the file, up to maxIgnoreFile and then an
// error besides; the line that was cut is left out.
func readSmall(d *dir, name string) ([]byte, error) {
	f, err := d.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile+1))
	if len(text) > maxIgnoreFile {
		return text[:bytes.LastIndexByte(text[:maxIgnoreFile], '\n')+1], errIgnoreSize
	}
	return text, err
}

var errIgnoreSize = errors.New("larger than 1 MiB: the rest is not obeyed")
