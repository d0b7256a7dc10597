package domain

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A checker validates arguments against the schema of p in one pass, and stops
// at as many breaches as an answer reports: invalid arguments cost no more than
// valid ones. It knows the keywords that [Param] holds, which are all that
// [SchemaOf] derives; where it meets a schema with others it is undecided, and
// the validator decides.
type checker struct {
	near      [4]step   // the path, which takes no memory for arguments that are not nested deeply,
	far       fieldPath // and its further steps
	depth     int       // of the path
	found     []InvalidField
	most      int // breaches at which to stop
	undecided bool
}

// check reports how v breaks the schema of p, by at most [maxProblems] breaches,
// and whether that is certain.
func (p *Param) check(v any) (found []InvalidField, certain bool) {
	c := checker{most: maxProblems}
	c.value(v, p)
	sortFields(c.found)
	return c.found, !c.undecided
}

func (c *checker) done() bool { return c.undecided || len(c.found) >= c.most }

func (c *checker) add(problem string) {
	c.found = append(c.found, invalidField(c.path().String(), problem))
}

func (c *checker) addAt(name, problem string) {
	c.found = append(c.found, invalidField(c.path().to(name).String(), problem))
}

func (c *checker) enter(s step) {
	if c.depth < len(c.near) {
		c.near[c.depth] = s
	} else {
		c.far = append(c.far[:c.depth-len(c.near)], s)
	}
	c.depth++
}

func (c *checker) leave() { c.depth-- }

func (c *checker) path() fieldPath {
	if c.depth <= len(c.near) {
		return slices.Clone(c.near[:c.depth])
	}
	return slices.Concat(c.near[:], c.far[:c.depth-len(c.near)])
}

func (c *checker) value(v any, p *Param) {
	if !p.plain {
		c.undecided = true
	}
	if c.done() {
		return
	}
	if p.Type != "" && !isType(v, p.Type) {
		c.add(breach("type", v, p))
		return
	}
	if p.Enum != nil && !slices.ContainsFunc(p.Enum, func(allowed any) bool { return equal(v, allowed) }) {
		c.add(breach("enum", v, p))
	}
	switch concrete := v.(type) {
	case string:
		if p.Min != "" || p.Max != "" {
			c.size("Length", utf8.RuneCountInString(concrete), v, p)
		}
		c.pattern(concrete, p)
	case json.Number:
		c.number(concrete, p)
	case []any:
		c.size("Items", len(concrete), v, p)
		c.elements(concrete, p)
	case map[string]any:
		c.members(concrete, p)
	}
}

func (c *checker) pattern(s string, p *Param) {
	if p.pattern != nil && !c.done() && !p.pattern.MatchString(s) {
		c.add(`is wrong: does not match pattern '` + strings.ReplaceAll(p.pattern.String(), `\`, `\\`) + `'`)
	}
}

// size compares the length of a string or array with its bounds.
func (c *checker) size(of string, n int, v any, p *Param) {
	switch {
	case c.done():
	case p.Min != "" && n < atoi(p.Min):
		c.add(breach("min"+of, v, p))
	case p.Max != "" && n > atoi(p.Max):
		c.add(breach("max"+of, v, p))
	}
}

// atoi reads a bound that [param] has found to be a whole number.
func atoi(bound string) int {
	n, _ := strconv.Atoi(bound)
	return n
}

func (c *checker) number(n json.Number, p *Param) {
	if p.Min == "" && p.Max == "" || c.done() {
		return
	}
	d := parseDecimal(n)
	if p.Min != "" && d.compare(parseDecimal(json.Number(p.Min))) < 0 {
		c.add(breach("minimum", n, p))
	}
	if p.Max != "" && d.compare(parseDecimal(json.Number(p.Max))) > 0 && !c.done() {
		c.add(breach("maximum", n, p))
	}
}

func (c *checker) elements(list []any, p *Param) {
	if p.Items == nil {
		return
	}
	for i, element := range list {
		if c.done() {
			return
		}
		c.enter(step{index: i})
		c.value(element, p.Items)
		c.leave()
	}
}

// members checks an object: the fields of the schema in declared order, then
// other members by name, so that the same arguments get the same answer however
// the map is iterated.
func (c *checker) members(object map[string]any, p *Param) {
	known := 0
	for i := range p.Fields {
		f := &p.Fields[i]
		v, ok := object[f.Name]
		switch {
		case ok:
			known++
			c.enter(step{f.Name, -1})
			c.value(v, f)
			c.leave()
		case f.Required && !c.done():
			c.addAt(f.Name, isRequired)
		}
	}
	switch {
	case known == len(object) || c.done():
	case p.closed:
		c.found = append(c.found, unknown(c.path(), object, p.fieldNames(), c.most-len(c.found))...)
	case p.values != nil:
		c.others(object, p)
	}
}

// others checks the members of an object that are no fields.
func (c *checker) others(object map[string]any, p *Param) {
	fields := nameSet(p.fieldNames())
	bad := smallest(object, c.most-len(c.found), func(name string, v any) bool {
		probe := checker{most: 1}
		if !fields[name] {
			probe.value(v, p.values)
		}
		return len(probe.found) > 0
	})
	for _, name := range bad {
		if c.done() {
			return
		}
		if v := object[name]; p.values.Type != "" && !isType(v, p.values.Type) {
			c.addAt(name, fmt.Sprintf("is wrong: expected %s, but got %s", p.values.Type, typeOf(v)))
			continue
		}
		c.enter(step{name, -1})
		c.value(object[name], p.values)
		c.leave()
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
		return parseDecimal(n).isInteger()
	}
	return typeOf(v) == want
}

// equal reports whether v is allowed, which is no array or object.
func equal(v, allowed any) bool {
	a, ok := v.(json.Number)
	b, both := allowed.(json.Number)
	if ok && both {
		return parseDecimal(a).compare(parseDecimal(b)) == 0
	}
	return isScalar(v) && v == allowed
}

func isScalar(v any) bool {
	kind := typeOf(v)
	return kind != "array" && kind != "object"
}

// allPlain reports whether the checker decides on everything within p.
func (p *Param) allPlain() bool {
	return p.plain && (p.Items == nil || p.Items.allPlain()) && (p.values == nil || p.values.allPlain()) &&
		!slices.ContainsFunc(p.Fields, func(f Param) bool { return !f.allPlain() })
}

// bounds notes which values a keyword bounds: imum, Length or Items. It reports
// whether all bounds of the schema are of one kind and can be read.
func bounds(kind *string, key string, value []byte) bool {
	of := key[len("min"):]
	if *kind == "" {
		*kind = of
	}
	_, err := strconv.Atoi(string(value))
	return *kind == of && (of == "imum" || err == nil)
}

// boundedBy returns which kind of bounds a schema of a type can have.
func boundedBy(kind string) string {
	switch kind {
	case "string":
		return "Length"
	case "array":
		return "Items"
	case "integer", "number":
		return "imum"
	}
	return ""
}

// allNamed reports whether each name that is needed is that of a field.
func (p *Param) allNamed(needed []byte) bool {
	var names []string
	if json.Unmarshal(needed, &names) != nil {
		return false
	}
	known := nameSet(p.fieldNames())
	return !slices.ContainsFunc(names, func(name string) bool { return !known[name] })
}
