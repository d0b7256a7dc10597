package domain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A checker validates arguments against the schema of a [Param] in one pass, and
// stops at as many problems as an answer reports: invalid arguments cost no more
// than valid ones. It knows the keywords that Param holds, which are all that
// [SchemaOf] derives; where it meets a schema with others it is undecided, and
// the validator decides.
type checker struct {
	found     []InvalidField // with paths from the value that is being checked
	most      int            // problems at which to stop
	undecided bool
}

// check returns how v violates the schema of p, at most [maxProblems] times, and
// whether that is certain.
func (p *Param) check(v any) (found []InvalidField, certain bool) {
	c := checker{most: maxProblems}
	c.value(v, p)
	slices.SortFunc(c.found, compareFields)
	return c.found, !c.undecided
}

func (c *checker) done() bool { return c.undecided || len(c.found) >= c.most }

// must notes what a keyword asks of v, unless that is satisfied.
func (c *checker) must(satisfied bool, keyword string, v any, p *Param) {
	if !satisfied && !c.done() {
		c.found = append(c.found, invalidField("", violation(keyword, v, p)))
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
			f.Field = join(ClipName(name), f.Field)
		}
	}
}

func (c *checker) value(v any, p *Param) {
	c.undecided = c.undecided || !p.plain
	if c.done() {
		return
	}
	if p.Type != "" && !isType(v, p.Type) {
		c.must(false, "type", v, p)
		return
	}
	c.must(p.Enum == nil || slices.ContainsFunc(p.Enum, func(allowed any) bool { return equal(v, allowed) }), "enum", v, p)
	switch concrete := v.(type) {
	case string:
		if p.Min != "" || p.Max != "" {
			c.size("minLength", "maxLength", utf8.RuneCountInString(concrete), v, p)
		}
		c.must(p.pattern == nil || p.pattern.MatchString(concrete), "pattern", v, p)
	case json.Number:
		c.must(p.Min == "" || compareNumbers(concrete, json.Number(p.Min)) >= 0, "minimum", v, p)
		c.must(p.Max == "" || compareNumbers(concrete, json.Number(p.Max)) <= 0, "maximum", v, p)
	case []any:
		c.size("minItems", "maxItems", len(concrete), v, p)
		for i := 0; p.Items != nil && i < len(concrete) && !c.done(); i++ {
			c.within("", i, concrete[i], p.Items)
		}
	case map[string]any:
		c.members(concrete, p)
	}
}

// size compares the length of a string or array with its bounds, which [param]
// has found to be whole numbers.
func (c *checker) size(atLeast, atMost string, n int, v any, p *Param) {
	if p.Min != "" {
		least, _ := strconv.Atoi(p.Min)
		c.must(n >= least, atLeast, v, p)
	}
	if p.Max != "" {
		most, _ := strconv.Atoi(p.Max)
		c.must(n <= most, atMost, v, p)
	}
}

// members checks an object: the fields of the schema in declared order, then
// other members by name, so that the same arguments get the same answer however
// the map is iterated.
func (c *checker) members(object map[string]any, p *Param) {
	known := 0
	for i := range p.Fields {
		f := &p.Fields[i]
		if v, ok := object[f.Name]; ok {
			known++
			c.within(f.Name, -1, v, f)
		} else if f.Required && !c.done() {
			c.found = append(c.found, invalidField(ClipName(f.Name), isRequired))
		}
	}
	switch {
	case known == len(object) || c.done():
	case p.closed:
		c.found = append(c.found, unknown("", object, p.fieldNames(), c.most-len(c.found))...)
	case p.values != nil:
		fields := nameSet(p.fieldNames())
		for _, name := range smallest(object, c.most-len(c.found), func(name string, v any) bool {
			probe := checker{most: 1}
			if !fields[name] {
				probe.value(v, p.values)
			}
			return len(probe.found) > 0
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
		d := parseDecimal(n)
		return d.point >= len(d.digits)
	}
	return typeOf(v) == want
}

// equal reports whether v is allowed, which is no array or object.
func equal(v, allowed any) bool {
	a, ok := v.(json.Number)
	b, both := allowed.(json.Number)
	if ok && both {
		return compareNumbers(a, b) == 0
	}
	return isScalar(v) && v == allowed
}

func isScalar(v any) bool {
	kind := typeOf(v)
	return kind != "array" && kind != "object"
}

// decimal is a JSON number as 0.digits times ten to the power of point. Unlike
// a big.Rat it is never written out: 1e1000000 costs no more than its nine
// bytes.
type decimal struct {
	sign   int    // -1, 0 or 1
	digits string // without zeros at either end
	point  int
}

func parseDecimal(n json.Number) decimal {
	mantissa, exponent := string(n), "0"
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, exponent = mantissa[:i], mantissa[i+1:]
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+frac, "0")
	if digits == "" {
		return decimal{}
	}
	const limit = 1 << 40                          // further than any message can move the point with its digits
	shift, _ := strconv.ParseInt(exponent, 10, 64) // the nearest one if it is out of range
	d := decimal{1, strings.TrimRight(digits, "0"), len(digits) - len(frac) + int(min(max(shift, -limit), limit))}
	if negative {
		d.sign = -1
	}
	return d
}

// compareNumbers returns -1, 0 or 1 as a is less than, equal to or greater than
// b.
func compareNumbers(a, b json.Number) int {
	x, y := parseDecimal(a), parseDecimal(b)
	return cmp.Or(cmp.Compare(x.sign, y.sign), x.sign*cmp.Or(cmp.Compare(x.point, y.point), strings.Compare(x.digits, y.digits)))
}

// allPlain reports whether the checker decides on everything within p.
func (p *Param) allPlain() bool {
	return p.plain && (p.Items == nil || p.Items.allPlain()) && (p.values == nil || p.values.allPlain()) &&
		!slices.ContainsFunc(p.Fields, func(f Param) bool { return !f.allPlain() })
}

// bounds records the keyword family that bounds the value (minimum, minLength or minItems). It reports
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
