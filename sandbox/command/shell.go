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
	s.moveTo(union(s.dirs, after.dirs))
}

// moveTo sets where the shell may be; too many places are as good as unknown.
func (s *shell) moveTo(dirs []string) {
	if len(dirs) > 8 {
		dirs = nil
	}
	s.dirs = dirs
}

// union returns the elements of a and b; nil, which is unknown, swallows both.
func union(a, b []string) []string {
	if a == nil || b == nil {
		return nil
	}
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}
