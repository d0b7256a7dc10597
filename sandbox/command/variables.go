package command

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is what a request does to one variable, wherever that happens. A value is taken as known
// only if it comes from a single place of the request, so that no loop, trap or function can change it
// unseen; and as a number only if no place assigns anything else. A change after something was
// concluded sends the analysis back to the start, which then knows better.
type variable struct {
	place syntax.Node // that assigns it; nil for none yet
	many  bool        // several places assign it, or one in a way that is not followed
	text  bool        // it may hold something other than a number
	read  bool        // something was concluded from the other fields
}

// variables are the variables of a request by name; "@" stands for the positional parameters.
type variables struct {
	byName map[string]*variable
	blind  bool // no value is known
	again  bool // a conclusion was wrong

	initial map[string]string // values from the start, as far as they are known
	place   syntax.Node       // that assigns
}

// maxPasses bounds how often an analysis starts again before it takes no value
// as known; maxVars how many values are followed.
const (
	maxPasses = 4
	maxVars   = 200
)

func (vs *variables) get(name string) *variable {
	v := vs.byName[name]
	if v == nil {
		v = &variable{}
		vs.byName[name] = v
	}
	return v
}

// restart prepares the next pass: what is known of variables stays.
func (vs *variables) restart(pass int) {
	vs.again, vs.blind, vs.place = false, vs.blind || pass == maxPasses, nil
	for _, v := range vs.byName {
		*v = variable{many: v.many, text: v.text}
	}
}

// update notes an assignment and checks it against what was concluded.
func (vs *variables) update(name string, at syntax.Node, followed bool, value arg) {
	v := vs.get(name)
	many := v.many || !followed || v.read && v.place == nil || v.place != nil && v.place != at
	text := v.text || !numeric(value)
	vs.again = vs.again || v.read && (many != v.many || text != v.text)
	v.place, v.many, v.text = at, many, text
}

// forget takes no value as known, because code that is not seen may assign.
func (vs *variables) forget() {
	vs.again = vs.again || !vs.blind
	vs.blind = true
}

// numeric reports whether the value is a number, or empty.
func numeric(value arg) bool { return strings.Trim(value.s, "0123456789-\x04") == "" }

// assign notes that the variable gets a value at the current place. The value
// is followed from there unless followed is false.
func (vs *variables) assign(sh *shell, name string, value arg, followed bool) {
	vs.update(name, vs.place, followed && !sh.asynchronous, value)
	if !followed {
		value = unknown
	}
	if len(sh.vars) >= maxVars {
		vs.forget()
	}
	sh.vars = with(sh.vars, name, value)
}

// valueOf returns what is known of a variable.
func (vs *variables) valueOf(sh *shell, name string) arg {
	if isListed("numeric variables", name, number) {
		return number
	}
	v := vs.get(name)
	if vs.blind {
		return unknown
	}
	start := vs.initial[name]
	if name == "PWD" && len(sh.dirs) == 1 {
		start = sh.dirs[0]
	}
	if start != "" && vs.untouched(name) {
		return text(start)
	}
	value, known := sh.vars[name]
	switch known = known && !v.many; {
	case specialVar(name) || !known && (v.place == nil || v.text):
		return unknown
	case !known:
		value = number // or empty
	}
	v.read = true
	return value
}

// untouched reports whether the variable still has the value from the start.
func (vs *variables) untouched(name string) bool {
	v := vs.get(name)
	if vs.blind || v.many || v.place != nil {
		return false
	}
	v.read = true
	return true
}

// parameters returns the positional parameters, or nil if they are not known.
func (vs *variables) parameters(sh *shell) []arg {
	v := vs.get("@")
	if v.many || vs.blind {
		return nil
	}
	v.read = true
	return sh.pos
}

// setParameters notes that the positional parameters change on the way.
func (vs *variables) setParameters() { vs.update("@", nil, false, unknown) }

// assignment checks an assignment: what it evaluates, and the variable it sets.
// It is followed if it takes effect in this shell.
func (c *checker) assignment(sh *shell, a *syntax.Assign, followed bool) {
	if !c.step() || a.Name == nil {
		return
	}
	name := a.Name.Value
	value := c.value(sh, a.Value)
	if a.Index != nil {
		arithmetic{c, sh}.subscript(a.Index)
	}
	if a.Naked {
		return
	}
	c.checkEnvName(name, value, "")
	c.name(sh, value.s, false, "an assignment")
	c.vars.place = a
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				arithmetic{c, sh}.subscript(e.Index)
			}
			if e.Value != nil {
				for _, v := range c.word(sh, e.Value) {
					c.name(sh, v.s, false, "an assignment")
					c.vars.assign(sh, name, v, false)
				}
			}
		}
	}
	c.vars.assign(sh, name, value, followed && a.Array == nil && a.Index == nil && !a.Append)
}

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
	if maps.Equal(a, b) {
		return a
	}
	a = maps.Clone(a)
	maps.DeleteFunc(a, func(key string, value V) bool {
		other, ok := b[key]
		return !ok || other != value
	})
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
