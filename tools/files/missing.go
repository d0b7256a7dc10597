package files

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
)

const (
	maxSiblings   = 5000 // names of a directory that are looked at, the first it lists
	maxSuggestion = 3
)

// missing says that there is nothing at a path, names what is there and looks
// like it, and the call to make next. It tells only what list_directory would.
func (t fileTool) missing(name, message string) domain.ToolResult {
	dir, near := t.siblings(name)
	list := callOn("list_directory", dir)
	if len(near) == 0 {
		return domain.Failure("not_found", message+"; "+list+" shows what there is", "Call "+list+".")
	}
	next := fmt.Sprintf("%s again with path=%q", t.name, near[0])
	if t.name == ReadFile {
		next = cmp.Or(t.callFor(near[0]), list)
	}
	return domain.Failure("not_found",
		fmt.Sprintf("%s; did you mean %s? Call %s", message, strings.Join(near, ", "), next),
		fmt.Sprintf("Call %s, or %s for everything there.", next, list))
}

// siblings returns the nearest directory above name that can be listed, and up
// to three paths in it that name may be a slip for, with what follows in name where that
// exists.
func (s *toolset) siblings(name string) (dir string, near []string) {
	for dir = parent(name); ; dir = parent(dir) {
		if d, err := s.listed.OpenDir(dir); err == nil {
			defer d.Close()
			names, _ := d.Readdirnames(maxSiblings) // what came before an error will do
			first := firstBelow(dir, name)
			for _, n := range alike(first, names) {
				if _, denied := d.Denied(n, false); denied {
					continue
				}
				path := under(dir, n)
				if _, rest, more := strings.Cut(filepath.ToSlash(name), first+"/"); more && s.exists(path+"/"+rest) {
					path += "/" + rest
				}
				if near = append(near, path); len(near) == maxSuggestion {
					break
				}
			}
			return dir, near
		}
		if parent(dir) == dir {
			return ".", nil
		}
	}
}

// exists reports whether something is at a path that may be listed.
func (s *toolset) exists(path string) bool {
	_, err := s.listed.Stat(path)
	return err == nil
}

// firstBelow returns the first name of the path name that follows dir, one of
// its parents, or "" if it cannot be told from the spelling.
func firstBelow(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil {
		return path.Base(name)
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if first == ".." {
		return ""
	}
	return first
}

// alike returns the names that are like word, the most alike first.
func alike(word string, names []string) []string {
	if word == "" {
		return nil
	}
	type found struct {
		name             string
		likeness, typing int // of equal likeness, fewer mistakes in typing come first
	}
	var all []found
	lower, slip := strings.ToLower(word), nearest.Like(word)
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	for _, name := range names {
		n := strings.ToLower(name)
		typing, near := slip.Distance(name)
		switch {
		case n == lower:
			all = append(all, found{name, 4, 0})
		case stem(n) != "" && stem(n) == stem(lower):
			all = append(all, found{name, 3, 0})
		case near:
			all = append(all, found{name, 2, typing})
		case len(word) >= 3 && (strings.HasPrefix(n, lower) || len(n) >= 3 && strings.HasPrefix(lower, n)):
			all = append(all, found{name, 1, 0})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), cmp.Compare(a.typing, b.typing), strings.Compare(a.name, b.name))
	})
	best := make([]string, len(all))
	for i, f := range all {
		best[i] = f.name
	}
	return best
}
