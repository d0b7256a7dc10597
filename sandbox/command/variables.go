package command

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is what a request does to one variable, wherever that happens. A
// value is taken as known only if it comes from a single place of the request,
// so that no loop, trap or function can change it unseen; and as a number only
// if no place assigns anything else. What breaks such an assumption after it
// was used sends the analysis back to the start, which then knows better.
type variable struct {
	place place
	// many: several places assign it, or one in a way that is not followed.
	many bool
	// text: it may hold something other than a number.
	text bool
	// constant, number and initial say what was assumed of it: one value, a
	// number, the value from the start. arith: arithmetic evaluates it.
	constant, number, initial, arith bool
}

// place is a position in a script; the zero place is none.
type place struct {
	script string
	offset uint
}

// variables are the variables of a request by name; "@" stands for the
// positional parameters.
type variables struct {
	byName map[string]*variable
	// blind: nothing is assumed of any variable.
	blind bool
	again bool // an assumption was wrong
}

// maxPasses bounds how often an analysis starts again before it assumes
// nothing; maxVars how many values are followed.
const (
	maxPasses = 4
	maxVars   = 200
)

func newVariables(callerSets []string) *variables {
	vs := &variables{byName: map[string]*variable{}}
	for _, name := range callerSets {
		vs.byName[name] = &variable{many: true, text: true}
	}
	return vs
}

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
	vs.again, vs.blind = false, vs.blind || pass == maxPasses
	for _, v := range vs.byName {
		*v = variable{many: v.many, text: v.text}
	}
}

// update notes an assignment and checks it against what was assumed.
func (vs *variables) update(v *variable, at place, followed bool, value arg) {
	v.many = v.many || !followed || v.initial || v.place != place{} && v.place != at
	v.place = at
	v.text = v.text || !numeric(value)
	if !vs.blind && (v.many && v.constant || v.text && v.number) {
		vs.again = true
	}
}

// lose assumes nothing from now on, because code that is not seen may assign.
func (vs *variables) lose() {
	if !vs.blind {
		vs.blind, vs.again = true, true
	}
}

// numeric reports whether the value is a number, or empty.
func numeric(value arg) bool { return strings.Trim(value.s, "0123456789-\x04") == "" }

// at notes where the assignments that follow are.
func (c *checker) at(n syntax.Node) { c.offset = n.Pos().Offset() }

// assign notes that the variable gets a value at the current place. The value
// is followed from there unless followed is false.
func (c *checker) assign(sh *shell, name string, value arg, followed bool) {
	v := c.vars.get(name)
	c.vars.update(v, place{c.script, c.offset}, followed && !c.asynchronous, value)
	if v.arith && v.text {
		c.refuseArith(name)
	}
	if !followed {
		value = unknown
	}
	if len(sh.vars) >= maxVars {
		c.vars.lose()
	}
	sh.bind(name, value)
}

// valueOf returns what is known of a variable.
func (c *checker) valueOf(sh *shell, name string) arg {
	if numberVar(name) {
		return number
	}
	v := c.vars.get(name)
	if c.vars.blind {
		return unknown
	}
	if value, known := c.initial(sh, name); known && c.untouched(name) {
		return value
	}
	value, known := sh.vars[name]
	switch {
	case specialVar(name):
	case known && !v.many:
		v.constant = true
		return value
	case v.place != place{} && !v.text:
		v.number = true
		return number // or empty
	}
	return unknown
}

// untouched reports whether the variable still has the value from the start.
func (c *checker) untouched(name string) bool {
	v := c.vars.get(name)
	if c.vars.blind || v.many || v.place != (place{}) {
		return false
	}
	v.initial, v.constant = true, true
	return true
}

// initial returns the value that a variable has from the start.
func (c *checker) initial(sh *shell, name string) (value arg, known bool) {
	switch {
	case name == "HOME" && c.p.Home != "":
		return text(c.p.Home), true
	case name == "TMPDIR" && c.p.Temp != "":
		return text(c.p.Temp), true
	case name == "PWD" && len(sh.dirs) == 1:
		return text(sh.dirs[0]), true
	}
	return unknown, false
}

// parameters returns the positional parameters, or nil if they are not known.
func (c *checker) parameters(sh *shell) []arg {
	v := c.vars.get("@")
	if v.many || c.vars.blind {
		return nil
	}
	v.constant = true
	return sh.pos
}

// setParameters notes that the positional parameters change on the way.
func (c *checker) setParameters() {
	c.vars.update(c.vars.get("@"), place{}, false, unknown)
}

// evaluate notes that arithmetic evaluates the value of the variable as an
// expression, and refuses if that may be more than a number.
func (c *checker) evaluate(name string) {
	v := c.vars.get(name)
	v.arith = true
	if (v.text || specialVar(name) || !syntax.ValidName(name)) && !numberVar(name) {
		c.refuseArith(name)
	}
}
