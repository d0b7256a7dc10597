package command

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// shell is what is known of one shell at one point of the walk. It is copied
// by value for a subshell or a branch; its lists are never changed in place.
type shell struct {
	facts *facts
	vars  *binding
	funcs *function
	// dirs are the directories the shell may be in, uncleaned; nil = unknown.
	dirs []string
	// pos are the positional parameters; posKnown says whether that is all.
	pos      []arg
	posKnown bool
	// stdin is what standard input holds, if stdinKnown.
	stdin      arg
	stdinKnown bool
}

// binding is a variable with a known value. The variable is assigned at one
// place of the script only, and that place was passed.
type binding struct {
	name  string
	value arg
	known bool
	next  *binding
	// length counts this binding and those behind it.
	length int
}

// function is a declared function; body is nil where it may not be declared.
type function struct {
	name string
	body *syntax.Stmt
	next *function
}

// maxVars bounds the constants that are followed, because they are searched.
const maxVars = 200

func (s *shell) bind(name string, value arg) {
	if s.facts.dynamic || s.facts.assigned[name] != 1 || specialVar(name) {
		return
	}
	n := 0
	if s.vars != nil {
		n = s.vars.length
	}
	s.vars = &binding{name: name, value: value, known: n < maxVars, next: s.vars, length: n + 1}
}

func (s *shell) lookup(name string) (arg, bool) {
	if s.facts.assigned[name] != 1 {
		return arg{}, false
	}
	for b := s.vars; b != nil; b = b.next {
		if b.name == name {
			return b.value, b.known
		}
	}
	return arg{}, false
}

func (s *shell) function(name string) (body *syntax.Stmt, found bool) {
	for f := s.funcs; f != nil; f = f.next {
		if f.name == name {
			return f.body, true
		}
	}
	return nil, false
}

// forget makes the value of a variable unknown.
func (s *shell) forget(name string) {
	b := &binding{name: name, next: s.vars, length: 1}
	if s.vars != nil {
		b.length = s.vars.length + 1
	}
	s.vars = b
}

// merge joins in what holds after a branch that may or may not have run.
func (s *shell) merge(after *shell) {
	for b := after.vars; b != s.vars && b != nil; b = b.next {
		if b.known {
			defer func(name string) {
				s.forget(name)
			}(b.name)
		}
	}
	for f := after.funcs; f != s.funcs && f != nil; f = f.next {
		defer func(name string) {
			s.funcs = &function{name: name, next: s.funcs}
		}(f.name)
	}
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
