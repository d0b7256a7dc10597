package files

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/domain/nearest"
)

const (
	maxSiblings   = 10_000 // names of a directory that are looked at
	maxSuggestion = 3
)

// missing says that there is nothing at a path, names what is there and looks
// like it, and the call to make next. It tells only what list_directory would.
func (t fileTool) missing(name, message string) domain.ToolResult {
	dir, near := t.siblings(name)
	list := call("list_directory", dir)
	if len(near) == 0 {
		return domain.Failure("not_found", message+"; "+list+" shows what there is", "Call "+list+".")
	}
	next := list
	if t.name == ReadFile {
		next = call(t.name, near[0])
	}
	return domain.Failure("not_found",
		fmt.Sprintf("%s; did you mean %s? Call %s", message, strings.Join(near, ", "), next),
		fmt.Sprintf("Call %s, or %s for everything there.", next, list))
}

// siblings returns the nearest directory above name that can be listed, and up
// to three paths in it that name may be a slip for.
func (s *toolset) siblings(name string) (dir string, near []string) {
	for dir = parent(name); ; dir = parent(dir) {
		if d, err := s.listed.OpenDir(dir); err == nil {
			names, _ := d.Readdirnames(maxSiblings) // what came before an error will do
			names = slices.DeleteFunc(names, func(n string) bool {
				_, denied := d.Denied(n, false)
				return denied
			})
			d.Close()
			for _, n := range alike(firstBelow(dir, name), names) {
				near = append(near, under(dir, n))
			}
			return dir, near
		}
		if parent(dir) == dir {
			return ".", nil
		}
	}
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

// alike returns the names that are most like word, best first.
func alike(word string, names []string) (found []string) {
	lower := strings.ToLower(word)
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	likeness := func(name string) int {
		n := strings.ToLower(name)
		_, typo := nearest.Word(word, []string{name})
		switch {
		case n == lower:
			return 4
		case stem(n) != "" && stem(n) == stem(lower):
			return 3
		case typo:
			return 2
		case len(word) >= 3 && (strings.HasPrefix(n, lower) || len(n) >= 3 && strings.HasPrefix(lower, n)):
			return 1
		}
		return 0
	}
	for _, name := range names {
		if word != "" && likeness(name) > 0 {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(likeness(b), likeness(a)), strings.Compare(a, b))
	})
	return found[:min(len(found), maxSuggestion)]
}
