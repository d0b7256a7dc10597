package schema

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/structschema"
)

// A checker validates a value against the schema of a [Param] in one pass, and
// stops at as many problems as an answer reports: invalid arguments cost no more
// than valid ones. It knows the keywords that Param holds, which are all that
// [Of] derives.
type checker struct {
	found []InvalidField // with paths from the value that is being checked
	most  int            // problems at which to stop
}

// Check returns how v violates the schema of p, at most [maxProblems] times.
func (p *Param) Check(v any) []InvalidField {
	c := checker{most: maxProblems}
	c.value(v, p)
	slices.SortFunc(c.found, func(a, b InvalidField) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Problem, b.Problem))
	})
	return c.found
}

func (c *checker) full() bool { return len(c.found) >= c.most }

// add notes a problem of a value or, with a name, of one of its members.
func (c *checker) add(name, problem string) {
	if !c.full() {
		c.found = append(c.found, invalidField(brief.Name(name), problem))
	}
}

// within checks a member of a value or, with an index of 0 or more, an element.
func (c *checker) within(name string, index int, v any, p *Param) {
	before := len(c.found)
	c.value(v, p)
	for i := range c.found[before:] {
		f := &c.found[before+i]
		if index >= 0 {
			f.Field = join("["+strconv.Itoa(index)+"]", f.Field)
		} else {
			f.Field = join(brief.Name(name), f.Field)
		}
	}
}

func (c *checker) value(v any, p *Param) {
	if c.full() {
		return
	}
	if p.Type != "" && !isType(v, p.Type) {
		c.add("", "must be "+article(p.Type)+", not "+describe(v))
		return
	}
	if p.Enum != nil && !slices.ContainsFunc(p.Enum, func(allowed any) bool { return equal(v, allowed) }) {
		c.add("", notInEnum(v, p.Enum))
	}
	switch v := v.(type) {
	case string:
		if p.list && strings.HasPrefix(v, "[") { // so that it is converted; as it is, it would be one value
			c.add("", "must be values separated by commas")
		}
		if p.bounds == "Length" {
			c.size(utf8.RuneCountInString(v), structschema.String.Counted(), p)
		}
		if p.matches != nil && !p.matches.MatchString(v) {
			c.add("", "is wrong: does not match pattern '"+strings.ReplaceAll(p.pattern, `\`, `\\`)+"'")
		}
	case json.Number:
		if p.bounds != "imum" {
			return
		}
		switch {
		case p.Min != "" && compare(v, json.Number(p.Min)) < 0:
			c.add("", structschema.OutOfBounds("at least", p.Min, "", describe(v)))
		case p.Max != "" && compare(v, json.Number(p.Max)) > 0:
			c.add("", structschema.OutOfBounds("at most", p.Max, "", describe(v)))
		}
	case []any:
		if p.bounds == "Items" {
			c.size(len(v), structschema.List.Counted(), p)
		}
		for i := 0; p.Items != nil && i < len(v) && !c.full(); i++ {
			c.within("", i, v[i], p.Items)
		}
	case map[string]any:
		c.members(v, p)
	}
}

// size compares the length of a string or array with its bounds, which are
// integers.
func (c *checker) size(n int, counted string, p *Param) {
	if p.Min != "" {
		if least, _ := strconv.Atoi(p.Min); n < least {
			c.add("", structschema.OutOfBounds("at least", p.Min, counted, strconv.Itoa(n)))
		}
	}
	if p.Max != "" {
		if most, _ := strconv.Atoi(p.Max); n > most {
			c.add("", structschema.OutOfBounds("at most", p.Max, counted, strconv.Itoa(n)))
		}
	}
}

// members checks an object: the required names, then the fields in declared
// order, then other members by name, so that the same arguments get the same
// answer however the map is iterated.
func (c *checker) members(object map[string]any, p *Param) {
	for _, name := range p.RequiredNames {
		if _, ok := object[name]; !ok {
			c.add(name, "is required")
		}
	}
	known := 0
	for i := range p.Fields {
		if v, ok := object[p.Fields[i].Name]; ok {
			known++
			c.within(p.Fields[i].Name, -1, v, &p.Fields[i])
		}
	}
	switch {
	case known == len(object) || c.full():
	case p.Closed:
		c.unknown(object, p)
	case p.values != nil:
		fields := nameSet(p.fieldNames())
		for _, name := range smallest(object, c.most-len(c.found), func(name string, v any) bool {
			probe := checker{most: 1}
			if !fields[name] {
				probe.value(v, p.values)
			}
			return probe.full()
		}) {
			c.within(name, -1, object[name], p.values)
		}
	}
}

// typeOf names the JSON type of v; it does not tell integers from numbers.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func isType(v any, want string) bool {
	if n, ok := v.(json.Number); ok && want == "integer" {
		_, fraction, _ := strings.Cut(string(n), ".") // which a float may have lost
		f := float(n)
		return f == math.Trunc(f) && (strings.ContainsAny(fraction, "eE") || strings.Trim(fraction, "0") == "")
	}
	return typeOf(v) == want
}

// float returns a number; one that is too large is infinite, which no Go type of an argument takes.
func float(n json.Number) float64 {
	f, _ := n.Float64()
	return f
}

// compare returns -1, 0 or 1 as a is less than, equal to or greater than b: exactly if both are integers of 64 bits.
func compare(a, b json.Number) int {
	x, whole := integer(a)
	if y, both := integer(b); whole && both {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(float(a), float(b))
}

// equal reports whether v is allowed.
func equal(v, allowed any) bool {
	a, ok := v.(json.Number)
	b, both := allowed.(json.Number)
	switch {
	case ok && both:
		return compare(a, b) == 0
	case isScalar(v) && isScalar(allowed):
		return v == allowed
	}
	return reflect.DeepEqual(v, allowed)
}

func isScalar(v any) bool {
	kind := typeOf(v)
	return kind != "array" && kind != "object"
}
