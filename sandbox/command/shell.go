package command

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// shell is what is known of one shell at one point of the walk. It is copied by value for a subshell or
// a branch; its maps and lists are never changed in place.
type shell struct {
	vars  map[string]arg
	funcs map[string]*syntax.Stmt
	// dirs are the directories the shell may be in, uncleaned; nil = unknown.
	dirs []string
	// pos are the positional parameters; nil = unknown.
	pos []arg
	// stdin is what standard input holds.
	stdin arg
	// asynchronous: what runs may run at any time (trap).
	asynchronous bool
}

// anywhere returns the shell at a point that is not known.
func (s *shell) anywhere() shell {
	inner := *s
	inner.vars, inner.dirs, inner.pos = nil, nil, nil
	return inner
}

// with returns m with one more entry.
func with[V any](m map[string]V, key string, value V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	out[key] = value
	return out
}

// common returns the entries that a and b share.
func common[V comparable](a, b map[string]V) map[string]V {
	differs := func(key string, value V) bool {
		other, ok := b[key]
		return !ok || other != value
	}
	for key, value := range a {
		if differs(key, value) {
			a = maps.Clone(a)
			maps.DeleteFunc(a, differs)
			break
		}
	}
	return a
}

// merge joins in what holds after a branch that may or may not have run.
func (s *shell) merge(after *shell) {
	s.vars, s.funcs = common(s.vars, after.vars), common(s.funcs, after.funcs)
	s.alsoIn(after.dirs)
}

// alsoIn notes that the shell may be in one of dirs too; nil and too many make it unknown where it is.
func (s *shell) alsoIn(dirs []string) {
	all := slices.Clone(s.dirs)
	for _, d := range dirs {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	if s.dirs == nil || dirs == nil || len(all) > maxDirs {
		all = nil
	}
	s.dirs = all
}
