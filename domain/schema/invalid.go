package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/domain/structschema"
)

// InvalidArguments says how a call's arguments violate the tool's schema.
type InvalidArguments struct {
	Fields []InvalidField
}

// InvalidField is one violation.
type InvalidField struct {
	Field   string `json:"field"`   // where: edits[0].old_text; empty for the arguments as a whole
	Problem string `json:"problem"` // what, and what is allowed
}

// Bounds of what a message says; a model corrects a few mistakes at a time.
const (
	maxProblems = 8
	maxPath     = 200
	maxProblem  = 1000
	maxMessage  = 2000
)

func (e *InvalidArguments) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = strings.TrimSpace(f.Field + " " + f.Problem)
	}
	return brief.Clip(strings.Join(parts, "; "), maxMessage)
}

// Invalid returns the error that one field causes.
func Invalid(field, problem string) *InvalidArguments {
	return &InvalidArguments{[]InvalidField{invalidField(field, problem)}}
}

func invalidField(field, problem string) InvalidField {
	return InvalidField{brief.Clip(field, maxPath), brief.Clip(problem, maxProblem)}
}

// join returns the path that leads from a value along two paths, such as
// edits[0] and old_text; either may be empty.
func join(path, further string) string {
	if path != "" && further != "" && further[0] != '[' {
		path += "."
	}
	return brief.Clip(path+further, maxPath)
}

// unknown notes members of the object, by name, that are no fields, each with the field
// that was probably meant. Where one has none, all fields are named, once.
func (c *checker) unknown(object map[string]any, p *Param) {
	fields := p.fieldNames()
	known := nameSet(fields)
	list := "; known: " + strings.Join(fields, ", ")
	if len(fields) == 0 {
		list = "; there are none"
	}
	for _, name := range smallest(object, c.most-len(c.found), func(name string, _ any) bool { return !known[name] }) {
		problem := "is not a known argument"
		if near, ok := p.meant(name); ok {
			problem += "; did you mean " + near
		} else {
			problem += list
			list = ""
		}
		c.add(name, problem)
	}
}

// meant returns the field that an unknown name probably stands for, as a path, since it may
// be one of the elements of a list, and what there is to say about it.
func (p *Param) meant(name string) (string, bool) {
	named := make([]nearest.Named, len(p.Fields))
	for i, f := range p.Fields {
		named[i] = nearest.Named{Name: f.Name, Also: slices.Concat(f.also, f.near), Hint: f.hint}
	}
	if near, ok := nearest.Meant(name, named); ok {
		return strings.TrimSpace(near.Name + "? " + near.Hint), true
	}
	for _, f := range p.Fields {
		if f.Items == nil {
			continue
		}
		if near, ok := f.Items.meant(name); ok {
			return f.Name + "[]." + near, true
		}
	}
	return "", false
}

// smallest returns the names that pick selects, in order, but no more than n,
// which is at least 1. It keeps no others: the rest may be millions.
func smallest(object map[string]any, n int, pick func(name string, v any) bool) (names []string) {
	for name, v := range object {
		full := len(names) == n
		if full && name > names[n-1] || !pick(name, v) {
			continue
		}
		if full {
			names = names[:n-1]
		}
		at, _ := slices.BinarySearch(names, name)
		names = slices.Insert(names, at, name)
	}
	return names
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func notInEnum(value any, enum []any) string {
	allowed := make([]string, len(enum))
	for i, v := range enum {
		allowed[i] = fmt.Sprint(v)
	}
	word, _ := value.(string)
	return structschema.NotAllowed(describe(value), word, allowed)
}

func article(typ string) string {
	if strings.ContainsRune("aeiou", rune(typ[0])) {
		return "an " + typ
	}
	return "a " + typ
}

// describe names a JSON value in a message, in a few words.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		if len(v) > 32 {
			return "a number of " + strconv.Itoa(len(v)) + " digits"
		}
		return string(v)
	case string:
		if len(v) > 60 {
			return "a string of " + strconv.Itoa(len(v)) + " bytes"
		}
		return "the string " + strconv.Quote(v)
	case []any:
		return "an array"
	}
	return "an object"
}
