package pathguard

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Name protects what has a name, in every directory and in any case of its
// letters.
type Name struct {
	// Pattern is a name or several with slashes between them, each a glob; **
	// between two slashes stands for any names. It governs what it names and
	// everything beneath that.
	Pattern string
	// Except are globs of single names that Pattern does not mean.
	Except []string
	// Only leaves out what lies beneath.
	Only bool
}

// Names matches paths with protected names by their text alone, one name of a path
// after the other. It is safe for concurrent use.
type Names struct {
	all        []*pattern
	first      map[string][]*pattern // by a plain first name
	globs      []*pattern            // of which the first name is a glob
	last       map[string]bool       // plain last names
	tails      []string              // last names that are globs
	workspaces []string              // folded
}

// pattern is a [Name] in the form for matching. Names are folded.
type pattern struct {
	names  []string
	except []string
	only   bool
	rule   string
}

// A lead is a pattern whose first names are those of a path so far.
type lead struct {
	*pattern
	rest []string
}

const globMarks = `*?[\`

// NewNames returns the names that are protected anywhere. Of paths in one of the
// workspaces, which are absolute, only what follows those counts.
func NewNames(names []Name, workspaces []string) *Names {
	p := &Names{first: map[string][]*pattern{}, last: map[string]bool{}}
	for _, w := range workspaces {
		p.workspaces = append(p.workspaces, foldPath(w))
	}
	for _, n := range names {
		made := &pattern{only: n.Only, rule: protectedPrefix + n.Pattern, except: n.Except, names: strings.Split(n.Pattern, "/")}
		for i, name := range made.names {
			made.names[i] = foldName(name)
		}
		p.all = append(p.all, made)
		if first := made.names[0]; strings.ContainsAny(first, globMarks) {
			p.globs = append(p.globs, made)
		} else {
			p.first[first] = append(p.first[first], made)
		}
		if last := made.names[len(made.names)-1]; strings.ContainsAny(last, globMarks) {
			p.tails = append(p.tails, last)
		} else {
			p.last[last] = true
		}
	}
	return p
}

// matches reports whether a glob matches a folded name, or, if that has wildcards, one that
// it can stand for.
func matches(pattern, name string, wildcard bool) bool {
	if wildcard {
		return meets(name, pattern)
	}
	plain := strings.LastIndexAny(pattern, globMarks+"]") + 1
	if !strings.HasSuffix(name, pattern[plain:]) {
		return false // in most cases
	}
	matched, err := path.Match(pattern, name)
	return matched && err == nil
}

// starting returns the patterns that may begin with a folded name.
func (n *Names) starting(name string, wildcard bool) [2][]*pattern {
	if wildcard {
		return [2][]*pattern{n.all}
	}
	return [2][]*pattern{n.first[name], n.globs}
}

// step follows leads by one more name of a path and, if n is not nil, begins new ones
// with it. It returns the leads from there and the patterns that are complete. In a
// name with wildcards the [wildcards] stand for text.
func (n *Names) step(leads []lead, name string, wildcard bool) (next []lead, whole []*pattern) {
	follow := func(l lead) {
		switch {
		case !matches(l.rest[0], name, wildcard):
		case len(l.rest) == 1:
			whole = append(whole, l.pattern)
		default:
			next = append(next, lead{l.pattern, l.rest[1:]})
		}
	}
	for _, l := range leads {
		if l.rest[0] == "**" {
			next = append(next, l)
			l.rest = l.rest[1:]
		}
		follow(l)
	}
	if n == nil {
		return next, whole
	}
	for _, list := range n.starting(name, wildcard) {
		for _, p := range list {
			hidden := !wildcard || strings.HasPrefix(p.names[0], ".") // or nobody could use a plain *
			if hidden && !slices.ContainsFunc(p.except, func(except string) bool { return matches(except, name, false) }) {
				follow(lead{p, p.names})
			}
		}
	}
	return next, whole
}

// matched returns the rule that protects a path of these names, which may start
// anywhere and leads to a directory or not. With wildcard it may have [wildcards].
func (n *Names) matched(path string, wildcard, directory bool) (rule string, protected bool) {
	var leads []lead
	var whole []*pattern
	for path != "" {
		var name string
		if name, path, _ = strings.Cut(path, separator); name == "" {
			continue
		}
		leads, whole = n.step(leads, foldName(name), wildcard && strings.ContainsAny(name, wildcards))
		for _, p := range whole {
			if !p.only || path == "" && !directory {
				return p.rule, true
			}
		}
	}
	return "", false
}

// Ends reports whether a path with this last name may be protected although its
// directory is not.
func (n *Names) Ends(name string) bool {
	name = foldName(name)
	return n.last[name] || slices.ContainsFunc(n.tails, func(tail string) bool { return matches(tail, name, false) })
}

// foldName returns a name in the form in which protected names are compared. A
// file system that knows a file under more than one spelling may be mounted
// anywhere, so the names that protect something are compared without case, and
// without what HFS+ and Windows ignore in a name.
func foldName(name string) string {
	for i := 0; i < len(name); i++ {
		if b := name[i]; b >= utf8.RuneSelf || b >= 'A' && b <= 'Z' || b == ' ' || b == '.' && i == len(name)-1 {
			return foldSlowly(name)
		}
	}
	return name
}

// ligatures are letters that directories which ignore case (casefold of ext4) take for
// several.
var ligatures = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")
})

func foldSlowly(name string) string {
	folded := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r)) // by way of the upper case, as for the long s
	}, ligatures().Replace(name))
	if cut := strings.TrimRight(folded, " ."); cut != "" {
		return cut
	}
	return folded
}

// wildcards are what [Guard.Protected] takes for text that is not known.
const wildcards = "*?…"

// meets reports whether the shell's wildcards in name can stand for a name that
// pattern means. They do not stand for a dot at its start, and neither is text
// that is not known taken to start with one, as any might.
func meets(name, pattern string) bool {
	if strings.HasPrefix(pattern, ".") {
		name = strings.TrimLeft(name, "…")
		if strings.IndexAny(name, "*?") == 0 {
			return false
		}
	}
	if strings.Trim(name, "…") == "" {
		return false
	}
	// reach[j] says that a text can be read from all runes of name so far and from
	// b[:j]. Where one of the two is at a star, it takes what the other has.
	b := []rune(pattern)
	reach := make([]bool, len(b)+1)
	reach[0] = true
	for j, r := range b {
		reach[j+1] = reach[j] && r == '*'
	}
	for _, r := range name {
		star := r == '*' || r == '…'
		before := reach[0] // reach[j-1] of the runes before r
		reach[0] = reach[0] && star
		for j, s := range b {
			same := before && (r == s || r == '?' || s == '?')
			before = reach[j+1]
			reach[j+1] = same || (star || s == '*') && (reach[j+1] || reach[j])
		}
	}
	return reach[len(b)]
}

// expanded returns what may be denied or protected of the paths that there are for one
// with wildcards: names that are, and links.
func (s *snapshot) expanded(path string) (found []string) {
	budget, links := maxExpanded, 0
	dirs := []string{string(filepath.Separator)}
	for names := splitPath(path); len(names) > 0 && len(dirs) > 0; names = names[1:] {
		var next []string
		for _, dir := range dirs {
			if !strings.ContainsAny(names[0], wildcards) || strings.Trim(names[0], "…") == "" {
				next = append(next, filepath.Join(dir, names[0]))
				continue
			}
			for _, e := range entries(dir, &budget) { // what cannot be listed has no wildcards expanded
				at, link := filepath.Join(dir, e.Name()), e.Type()&fs.ModeSymlink != 0
				if !meets(names[0], e.Name()) {
					continue
				}
				if link {
					links++
				}
				if _, denied := s.deniedBy(at); denied || link && links <= maxFollowed {
					found = append(found, at)
				}
				if len(names) > 1 && (link || e.IsDir()) {
					next = append(next, at)
				}
			}
		}
		dirs = next
	}
	return append(found, dirs...)
}

// entries returns what is in dir, as far as the budget goes and it can be read.
func entries(dir string, budget *int) []os.DirEntry {
	if *budget < 0 {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, _ := d.ReadDir(*budget + 1)
	*budget -= len(list)
	return list
}

// These bound what is looked at for one path.
const (
	maxExpanded = 10_000 // names of directories
	maxFollowed = 200    // links among them
)

// maxLooked is how many names of a directory are compared with protected ones. In a
// larger one only those are found that are no globs.
const maxLooked = 4096

// Find returns what there is of the names in a directory and, where names of several
// parts lead from there, below it. Its cost does not grow with what else is there. It
// also returns the directories that it has looked into.
func (n *Names) Find(dir string) (found, looked []string) { return find(dir, nil, n) }

// A Stamp tells states of a directory apart.
type Stamp struct {
	dev, ino uint64
	changed  int64
}

func find(dir string, leads []lead, begin *Names) (found, looked []string) {
	looked = []string{dir}
	for _, name := range candidates(dir, leads, begin) {
		on, whole := begin.step(leads, foldName(name), false)
		if len(on)+len(whole) == 0 {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(whole, func(n *pattern) bool { return !n.only || !info.IsDir() }) {
			found = append(found, path)
		} else if info.IsDir() && len(on) > 0 {
			more, into := find(path, on, nil)
			found, looked = append(found, more...), append(looked, into...)
		}
	}
	return found, looked
}

// candidates returns all names in a directory or, if they are too many, those that
// leads or beginnings of patterns match as they are written.
func candidates(dir string, leads []lead, begin *Names) (names []string) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if all, _ := d.Readdirnames(maxLooked + 1); len(all) <= maxLooked {
		slices.Sort(all)
		return all
	}
	if begin != nil {
		names = slices.Sorted(maps.Keys(begin.first))
	}
	for _, l := range leads {
		names = append(names, l.rest[0])
	}
	return names
}
