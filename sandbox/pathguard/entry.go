package pathguard

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/sandbox/glob"
)

// An Entry is an entry of a list of paths: a path, or a glob in the notation of
// [glob.Glob]. It governs what it names and everything beneath.
type Entry struct {
	// Path is clean, and relative if the entry is. It is what the entry names or, with
	// a Glob, the directory below which that matches.
	Path string
	// Glob is relative to Path; empty for a plain path.
	Glob string
	// Anywhere says that the entry has wildcards and no slash, or begins with **/: it
	// is about any depth below each directory of a policy.
	Anywhere bool
}

// wild matches a name with wildcards, and escaped matches an escaped character.
var (
	wild    = lazyregexp.New(`^(\\.|[^\\])*?[*?[{]`)
	escaped = lazyregexp.New(`\\(.)`)
)

// ParseEntry parses an entry. The error says what is wrong with it.
func ParseEntry(text string) (e Entry, err error) {
	if err = validPath("path", text); err != nil {
		return e, err
	}
	slashed := filepath.ToSlash(text)
	names := strings.Split(strings.TrimRight(slashed, "/"), "/")
	plain := 0
	for plain < len(names) && !wild().MatchString(names[plain]) {
		plain++
	}
	e.Path = escaped().ReplaceAllString(strings.Join(names[:plain], "/"), "$1")
	if strings.HasPrefix(slashed, "/") || filepath.VolumeName(text) != "" {
		e.Path += "/"
	}
	e.Path = filepath.Clean(filepath.FromSlash(e.Path))
	if plain == len(names) {
		return e, nil
	}
	names = names[plain:]
	if _, err = glob.Compile(strings.Join(names, "/")); err != nil {
		return e, err
	}
	if e.Anywhere = plain == 0 && (len(names) == 1 || names[0] == "**"); e.Anywhere {
		names = append([]string{"**"}, names...)
	}
	for len(names) > 0 && names[len(names)-1] == "**" {
		names = names[:len(names)-1] // which is what an entry governs anyhow
	}
	e.Glob = strings.Join(names, "/")
	return e, nil
}

// newEntries makes rules of a list of paths, which what names in errors. Relative ones
// start at dir. Those without a place hold below each of the bases, and are about the
// further ones themselves, too.
func newEntries(what string, list []string, dir string, bases, further []string, fold func(string) string) (rules []rule, err error) {
	for _, text := range list {
		e := Entry{Path: filepath.Clean(text)}
		if !slices.Contains(bases, text) { // which are no entries, whatever their names
			if e, err = ParseEntry(text); err != nil {
				return nil, fmt.Errorf("%s: %w", what, err)
			}
		}
		if !filepath.IsAbs(e.Path) {
			e.Path = filepath.Join(dir, e.Path)
		}
		places := []string{e.Path}
		if e.Anywhere {
			places = slices.Concat(bases, further)
		}
		for i, place := range places {
			r := rule{text: place, real: resolve(place).path}
			if e.Glob != "" {
				r.name, r.below = text, e.Glob
				if r.glob, err = glob.Compile("/" + fold(e.Glob) + "{,/**}"); err != nil {
					return nil, fmt.Errorf("%s: %w", what, err)
				}
				if i >= len(bases) && e.Anywhere && r.glob.Match(fold(filepath.Base(place))) {
					r.glob = nil
				}
			}
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// governs reports whether the rule is about path, which is clean, where the rule leads
// to the path at.
func (r *rule) governs(at, path string) bool {
	if !Within(at, path) {
		return false
	}
	rel := strings.TrimLeft(path[len(at):], separator)
	return r.glob == nil || rel != "" && r.glob.Match(filepath.ToSlash(rel))
}

// Patterns returns the entries with wildcards as absolute globs for canonical paths. Like
// any entry each governs what is beneath, too, which a glob says with {,/**} at its end.
func (p *policy) Patterns() (allow, deny []string) {
	list := func(rules []rule) (globs []string) {
		for _, r := range rules {
			if r.glob != nil {
				globs = append(globs, strings.TrimRight(glob.Quote(filepath.ToSlash(r.real)), "/")+"/"+r.below)
			}
		}
		return globs
	}
	return list(p.allow), list(p.deny)
}

// DeniesByGlob reports whether an entry with wildcards denies the canonical path.
func (p *policy) DeniesByGlob(path string) bool {
	return slices.ContainsFunc(p.deny, func(r rule) bool { return r.glob != nil && r.governs(r.real, foldPath(path)) })
}

// AllowedPaths returns the allowed paths that are no globs, without links.
func (p *policy) AllowedPaths() (paths []string) {
	for _, r := range p.allow {
		if r.glob == nil {
			paths = append(paths, r.real)
		}
	}
	return paths
}
