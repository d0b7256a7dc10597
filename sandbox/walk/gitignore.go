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

	"toolserver/sandbox/glob"
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
		w.stats.Unreadable++
	}
	rules, whole := parseRules(text)
	if !whole {
		w.stats.Unreadable++
	}
	if rules == nil {
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

// A ruleSet holds the patterns of one ignore file; the last that matches
// decides. Most patterns name a file or an extension, so those are found by
// lookup and only the others are tried one by one.
type ruleSet struct {
	rules  []rule
	names  map[string][]int // by whole base name
	exts   map[string][]int // by what follows the last dot, with the dot
	others []int
}

type rule struct {
	*glob.Pattern
	negated bool
	dirOnly bool
}

// parseRules parses the text of an ignore file as gitignore(5) says; nil if it
// has no patterns. A pattern git could never match is left out. whole is false if
// there are too many.
func parseRules(text []byte) (set *ruleSet, whole bool) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	for line := range bytes.Lines(text) {
		r, ok := parseRule(string(line))
		if !ok {
			continue
		}
		if set == nil {
			set = &ruleSet{names: map[string][]int{}, exts: map[string][]int{}}
		}
		if len(set.rules) == maxRules {
			return set, false
		}
		set.add(r)
	}
	return set, true
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

func (s *ruleSet) add(r rule) {
	n := len(s.rules)
	s.rules = append(s.rules, r)
	switch {
	case r.Whole:
		s.names[r.Tail] = append(s.names[r.Tail], n)
	case strings.LastIndexByte(r.Tail, '.') == 0:
		s.exts[r.Tail] = append(s.exts[r.Tail], n)
	default:
		s.others = append(s.others, n)
	}
}

// A subject is the entry that rules decide about.
type subject struct {
	path  []byte // of its directory, ends in a slash unless empty
	base  int    // where in path the rules' own directory ends
	name  string
	isDir bool
	full  string // path and name, once some rule needed it
}

func (s *subject) rel() string {
	if s.full == "" {
		s.full = string(s.path) + s.name
	}
	return s.full[s.base:]
}

// match returns what the last matching rule says, and whether there is one.
func (s *ruleSet) match(e *subject) (ignored, found bool) {
	best := -1
	s.try(e, s.names[e.name], &best)
	if dot := strings.LastIndexByte(e.name, '.'); dot >= 0 {
		s.try(e, s.exts[e.name[dot:]], &best)
	}
	s.try(e, s.others, &best)
	if best < 0 {
		return false, false
	}
	return !s.rules[best].negated, true
}

// try raises best to the last of the candidates that matches.
func (s *ruleSet) try(e *subject, candidates []int, best *int) {
	for i := len(candidates) - 1; i >= 0 && candidates[i] > *best; i-- {
		r := &s.rules[candidates[i]]
		if r.dirOnly && !e.isDir || !strings.HasSuffix(e.name, r.Tail) {
			continue
		}
		text := e.name
		if r.Path {
			text = e.rel()
		}
		if r.Match(text) {
			*best = candidates[i]
			return
		}
	}
}
