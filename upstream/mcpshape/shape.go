// Package mcpshape repairs what servers say of their tools, resources and prompts, so
// that strict clients accept it. Such clients take a list as a whole: one member of one
// item that is no valid one costs them all items of all servers.
//
// What is wrong is left out, as small as it can be, and told; what is right stays byte
// for byte. What is accepted is what the schemas of the protocol's revisions, the
// official SDKs and the APIs of models have in common; test/clients/odd.mjs lets the SDKs
// judge.
package mcpshape

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// A shape is what a JSON value may be. Of value, members, every and elements one or more
// is set, each for its kind of values.
type shape struct {
	value    func(raw []byte) bool // of what is neither an object nor an array
	members  map[string]*shape     // of an object; others are not looked at
	required []string
	every    *shape                                       // of all members of an object
	elements *shape                                       // of an array
	least    int                                          // elements of an array
	distinct bool                                         // elements of an array
	whole    bool                                         // an array is wrong if one of its elements is
	instead  string                                       // stands for an element, or for a member of every, that is wrong; empty if that is left out
	settle   func(r *repair, all members) (members, bool) // changes what fits; true if it did
}

// repair is the repair of one item.
type repair struct {
	notes   []string
	dropped int      // notes that there was no room for
	path    [][]byte // to the value that is being repaired

	// Of the schema that is being repaired.
	output     bool            // it is that of results
	refers     bool            // it has references
	broken     map[string]bool // references that lead nowhere, or round in a circle
	anchors    map[string]bool // that it has so far
	translated bool            // it had keywords of an earlier draft
}

// maxNotes bounds what is told of one item.
const maxNotes = 8

// note tells something of the value at the path, or of a part of it.
func (r *repair) note(part, text string) {
	if len(r.notes) == maxNotes {
		r.dropped++
		return
	}
	path := string(bytes.Join(r.path, []byte(".")))
	if path != "" && part != "" {
		path += "."
	}
	r.notes = append(r.notes, fmt.Sprintf("%.200s %s", path+part, text))
}

// told returns what was repaired, in sentences.
func (r *repair) told() []string {
	if r.dropped > 0 {
		return append(r.notes, fmt.Sprintf("and %d more", r.dropped))
	}
	return r.notes
}

// fit returns the value with what is wrong in it left out; ok is false if nothing of it
// can stay. What needs no repair is returned as it is.
func (r *repair) fit(s *shape, raw []byte) (fitting []byte, ok bool) {
	switch {
	case raw[0] == '{' && (s.members != nil || s.every != nil):
		return r.object(s, raw)
	case raw[0] == '[' && s.elements != nil:
		return r.array(s, raw)
	}
	return raw, s.value != nil && s.value(raw)
}

// within is [repair.fit] of a part of the value. What is wrong is replaced, if instead is
// not empty.
func (r *repair) within(s *shape, step, raw []byte, instead string) (fitting []byte, ok bool) {
	r.path = append(r.path, step)
	defer func() { r.path = r.path[:len(r.path)-1] }()
	fitting, ok = r.fit(s, raw)
	switch {
	case ok:
		return fitting, true
	case instead != "":
		r.note("", "is no valid value; it accepts anything now")
		return []byte(instead), true
	}
	r.note("", "is no valid value and is left out")
	return nil, false
}

// members are those of an object; the value of one that is left out is nil.
type members []member

type member struct{ name, value []byte }

// at returns the index of a member, or -1.
func (all members) at(name string) int {
	return slices.IndexFunc(all, func(m member) bool { return m.value != nil && string(m.name) == name })
}

// once leaves out members that are given again, and reports whether there were any: the
// last counts.
func (all members) once() (repeated bool) {
	last := make(map[string]int, len(all))
	for i, m := range all {
		if before, again := last[string(m.name)]; again {
			all[before].value, repeated = nil, true
		}
		last[string(m.name)] = i
	}
	return repeated
}

func (r *repair) object(s *shape, raw []byte) ([]byte, bool) {
	var all members
	err := rawjson.Object(raw, func(name, value []byte) error {
		all = append(all, member{name, value})
		return nil
	})
	if err != nil {
		return nil, false
	}
	changed := all.once()
	for i := range all {
		m := &all[i]
		of := s.members[string(m.name)]
		if of == nil {
			of = s.every
		}
		if of == nil || m.value == nil {
			continue
		}
		fitting, ok := r.within(of, m.name, m.value, s.instead)
		if ok && r.reference(m) {
			fitting, ok = nil, false
		}
		changed = changed || !ok || &fitting[0] != &m.value[0]
		m.value = fitting
	}
	for _, name := range s.required {
		if all.at(name) < 0 {
			return nil, false
		}
	}
	if s.settle != nil {
		var settled bool
		all, settled = s.settle(r, all)
		changed = changed || settled
	}
	if !changed {
		return raw, true
	}
	out := append(make([]byte, 0, len(raw)+16), '{')
	for _, m := range all {
		if m.value != nil {
			out = appendMember(out, m.name, m.value)
		}
	}
	return append(out, '}'), true
}

// reference reports whether a member of a schema is a reference that is known to be broken.
func (r *repair) reference(m *member) bool {
	if name := string(m.name); name != "$ref" && name != "$dynamicRef" {
		return false
	}
	ref, err := rawjson.String(m.value)
	r.refers = r.refers || err == nil
	if err != nil || !r.broken[ref] {
		return false
	}
	r.note(string(m.name), fmt.Sprintf("leads nowhere, or round in a circle, and is left out: %.100q", ref))
	return true
}

func appendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(rawjson.AppendString(object, name), ':'), value...)
}

func (r *repair) array(s *shape, raw []byte) ([]byte, bool) {
	var all [][]byte
	seen, changed, good, n := map[string]bool{}, false, true, 0
	err := rawjson.Array(raw, func(element []byte) error {
		step := strconv.AppendInt(nil, int64(n), 10)
		n++
		if s.whole {
			_, ok := r.fit(s.elements, element)
			good = good && ok
		}
		fitting, ok := r.within(s.elements, step, element, s.instead)
		if ok && s.distinct && seen[string(fitting)] {
			ok = false
			r.note(string(step), "is there twice and is left out once")
		}
		seen[string(fitting)] = s.distinct
		if changed = changed || !ok || &fitting[0] != &element[0]; ok {
			all = append(all, fitting)
		}
		return nil
	})
	switch {
	case err != nil || !good || len(all) < s.least:
		return nil, false
	case !changed:
		return raw, true
	}
	return list(all), true
}
