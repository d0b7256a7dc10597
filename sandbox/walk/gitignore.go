package walk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolserver/toolserver/sandbox/glob"
)

// Above names a directory that holds the walk's, so that the Gitignore option
// also obeys the rules between the repository's top and the walk: they are read
// from the deepest directory at or below Dir that has a .git, and from those
// between it and the walk. Nothing above Dir is looked at. The zero value
// starts at the walk's directory.
type Above struct {
	Dir  *os.File
	Path string // absolute, without symbolic links, a prefix of the walk's path
}

// rulesAbove reads the ignore files of the directories above the walk and sets
// w.path to the path that leads from there to it.
func (w *walker) rulesAbove(path string) (*ignoreLevel, error) {
	if !w.opt.Gitignore || w.opt.Above.Dir == nil {
		return nil, nil
	}
	rel, err := filepath.Rel(w.opt.Above.Path, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("the directory %q is not inside %q", path, w.opt.Above.Path)
	}
	if rel == "." {
		return nil, nil
	}
	d, err := openRoot(w.opt.Above.Dir, w.opt.Above.Path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: w.opt.Above.Path, Err: err}
	}
	var rules *ignoreLevel
	inRepo := false
	for name := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		_, err := d.info(".git")
		inRepo = inRepo || err == nil
		if inRepo {
			rules = w.extend(rules, d, err == nil, true)
		}
		below, err := d.open(name)
		d.release()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		d = below
		w.path = append(append(w.path, name...), '/')
	}
	d.release()
	return rules, nil
}

// maxIgnoreFile bounds how much of one ignore file is obeyed.
const maxIgnoreFile = 1 << 20

// An ignoreLevel is one ignore file that holds for a directory and all below,
// and through outer the weaker ones.
type ignoreLevel struct {
	outer *ignoreLevel
	base  int // length of the path of the file's directory
	rules []rule
}

// ignores decides about name in the directory at path: the last rule that matches
// wins, in the strongest file that has one.
func (l *ignoreLevel) ignores(path []byte, name string, isDir bool) bool {
	full := ""
	rel := func() string {
		if full == "" {
			full = string(path) + name
		}
		return full[l.base:]
	}
	for ; l != nil; l = l.outer {
		for i := len(l.rules) - 1; i >= 0; i-- {
			if r := &l.rules[i]; (isDir || !r.dirOnly) && r.MatchEntry(name, rel) {
				return !r.negated
			}
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
	rules, whole := parseRules(text)
	if !whole || err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.stats.Unreadable++
	}
	if len(rules) == 0 {
		return outer
	}
	return &ignoreLevel{outer: outer, base: len(w.path), rules: rules}
}

// openInfo opens .git/info below d; nil if there is none, as where .git is a
// file that points elsewhere.
func (w *walker) openInfo(d *dir) (info *dir) {
	git, err := d.open(".git")
	if err == nil {
		info, err = git.open("info")
		git.release()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		w.stats.Unreadable++
	}
	return info
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

var errIgnoreSize = errors.New("larger than 1 MiB: the rest is ignored")

// maxRules bounds the patterns obeyed in one ignore file, because each name is
// held against them.
const maxRules = 10_000

// A rule is a pattern of an ignore file.
type rule struct {
	*glob.Pattern
	negated bool
	dirOnly bool
}

// parseRules parses the text of an ignore file as gitignore(5) says. A pattern git
// could never match is left out. whole is false if there are too many.
func parseRules(text []byte) (rules []rule, whole bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range bytes.Lines(text) {
		if r, ok := parseRule(string(line)); ok {
			if len(rules) == maxRules {
				return rules, false
			}
			rules = append(rules, r)
		}
	}
	return rules, true
}

func parseRule(line string) (rule, bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	if i := strings.IndexByte(line, 0); i >= 0 {
		line = line[:i]
	}
	line = trimSpaces(line)
	var r rule
	if line, r.negated = strings.CutPrefix(line, "!"); line == "" {
		return rule{}, false
	}
	line, r.dirOnly = strings.CutSuffix(line, "/")
	var err error
	r.Pattern, err = glob.Gitignore(line)
	return r, err == nil && strings.Trim(line, "/") != ""
}

// trimSpaces removes trailing spaces that no backslash keeps.
func trimSpaces(s string) string {
	end := len(s)
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
			end = len(s)
		case s[i] != ' ':
			end = len(s)
		case end == len(s):
			end = i
		}
	}
	return s[:end]
}
