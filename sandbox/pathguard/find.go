package pathguard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Finder finds what there is of protected names, for layers that know paths
// and not names.
type Finder struct {
	first map[string][]*namePattern
	wild  []*namePattern
}

// NewFinder returns a Finder of the names.
func NewFinder(names []Name) *Finder {
	p := protection{literal: map[string][]*namePattern{}, last: map[string]bool{}}
	for _, n := range names {
		p.add(n)
	}
	return &Finder{p.literal, p.wild}
}

// maxPatternDepth is how many directories one ** of a pattern stands for at most.
const maxPatternDepth = 4

// Find returns what is protected in dir. It looks below a directory only as far
// as a pattern of several names leads there. It reads at most budget entries and
// takes them off it; what is left is negative if that did not do.
func (f *Finder) Find(dir string, budget *int) []string {
	return f.find(dir, nil, true, maxPatternDepth, budget)
}

// FindBelow is Find for dir and the directories below it, but for those that skip
// refuses, and no deeper than depth.
func (f *Finder) FindBelow(dir string, depth int, skip func(name string) bool, budget *int) []string {
	found := f.Find(dir, budget)
	if depth == 0 || *budget < 0 {
		return found
	}
	for _, e := range entries(dir, budget) {
		if e.IsDir() && !skip(e.Name()) && !slices.Contains(found, filepath.Join(dir, e.Name())) {
			found = append(found, f.FindBelow(filepath.Join(dir, e.Name()), depth-1, skip, budget)...)
		}
	}
	return found
}

// A lead is a pattern whose first names are those of a directory.
type lead struct {
	pattern *namePattern
	rest    []string
}

func (f *Finder) find(dir string, leads []lead, start bool, depth int, budget *int) (found []string) {
	for _, e := range entries(dir, budget) {
		name := foldName(e.Name())
		var on []lead
		whole := false
		follow := func(p *namePattern, rest []string) {
			switch {
			case len(rest) > 0:
				on = append(on, lead{p, rest})
			case !p.only || !e.IsDir():
				whole = true
			}
		}
		if start {
			f.begin(name, follow)
		}
		for _, l := range leads {
			l.step(name, follow)
		}
		path := filepath.Join(dir, e.Name())
		if whole {
			found = append(found, path)
		} else if len(on) > 0 && e.IsDir() && depth > 0 && *budget >= 0 {
			found = append(found, f.find(path, on, false, depth-1, budget)...)
		}
	}
	return found
}

// begin follows the patterns that begin with name.
func (f *Finder) begin(name string, follow func(*namePattern, []string)) {
	for _, p := range f.first[name] {
		if !p.excepts(name) {
			follow(p, p.names[1:])
		}
	}
	for _, p := range f.wild {
		if globMatches(p.names[0], name) && !p.excepts(name) {
			follow(p, p.names[1:])
		}
	}
}

func (n *namePattern) excepts(name string) bool {
	return len(n.names) == 1 && slices.ContainsFunc(n.except, func(e string) bool { return globMatches(e, name) })
}

// step follows a pattern by one more name.
func (l lead) step(name string, follow func(*namePattern, []string)) {
	next := l.rest
	if next[0] == "**" {
		follow(l.pattern, next)
		next = next[1:]
	}
	if globMatches(next[0], name) {
		follow(l.pattern, next[1:])
	}
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
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}
