package domain

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// FuzzCheck checks that the validator agrees with what the checker finds and, of
// a schema that the checker knows all of, with what it does not find.
func FuzzCheck(f *testing.F) {
	for _, seed := range []struct{ schema, args string }{
		{`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`},
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":5},"l":{"type":"array","items":{"type":"boolean"},"maxItems":2}}}`, `{"n":3,"l":[true]}`},
		{`{"type":"object","properties":{"o":{"type":"object","properties":{"e":{"enum":["x","y"],"type":"string"}},"required":["e","z"]}}}`, `{"o":{"e":"x"}}`},
		{`{"type":"object","properties":{"s":{"type":"string","minimum":3,"maxLength":1}},"minProperties":2}`, `{"s":"é"}`},
		{`{"type":"object","properties":{"n":{"type":"number","maximum":1.5}},"required":[]}`, `{"n":1e1}`},
		{`{"type":"object","type":"string","properties":{"n":true}}`, `{"n":1}`},
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":-2.50},"m":{"enum":[1.0,"a",null,true]}}}`, `{"n":-25e-1,"m":10e-1}`},
		{`{"type":"object","properties":{"s":{"type":"string","pattern":"^a+$","title":"S"}},"additionalProperties":{"type":"integer"}}`, `{"s":"b","t":0.1e1}`},
		{`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{},"a":{"enum":["x"],"enum":["y"]}},"additionalProperties":{}}`, `{"a":"x"}`},
		{`{"type":"object","properties":{"r":{"$ref":"#/$defs/x","type":"string"}},"$defs":{"x":{"enum":[[1],2]}}}`, `{"r":2}`},
		{`{"type":"object","patternProperties":{"^x":{}},"properties":{"l":{"prefixItems":[{}],"items":false}},"additionalProperties":false}`, `{"xy":1,"l":[1]}`},
		{`{"type":"object","properties":{"s":{"minLength":1,"minLength":1e0,"minimum":2,"enum":[[1],"a"]}},"minProperties":1}`, `{"s":[2]}`},
		{`{"type":"object","properties":{"l":{"items":{"properties":{"x":{"type":["null"]}},"required":["x"]}}}}`, `{"l":[{"x":null},{"x":1},{}]}`},
	} {
		f.Add([]byte(seed.schema), []byte(seed.args))
	}
	f.Fuzz(func(t *testing.T, rawSchema, args []byte) {
		schema, err := ParseSchema(rawSchema)
		if err != nil {
			return
		}
		object, err := decodeObject(args)
		if err != nil || tooMuch(object, maxWork) != "" {
			return
		}
		root := schema.text().root
		found := root.check(object)
		if root.foreign && len(found) == 0 {
			return
		}
		compiled, err := schema.compiled()
		if err != nil {
			t.Fatalf("%s does not compile: %v", rawSchema, err)
		}
		if err := compiled.Validate(object); (err == nil) != (len(found) == 0) {
			t.Fatalf("%s by %s: the checker found %v, the validator %v", args, rawSchema, found, err)
		}
	})
}

// TestCheckAgreesWithValidator is [FuzzCheck] over schemas and arguments that
// have much to do with each other.
func TestCheckAgreesWithValidator(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	decided, valid := 0, 0
	for range 300 {
		rawSchema := `{"type":"object",` + randomMembers(r, 3) + `}`
		schema, err := ParseSchema([]byte(rawSchema))
		if err != nil {
			t.Fatalf("%s: %v", rawSchema, err)
		}
		root := schema.text().root
		compiled, _ := schema.compiled()
		for range 50 {
			args := randomValue(r, 3, true)
			object, err := decodeObject([]byte(args))
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			found := root.check(object)
			if root.foreign && len(found) == 0 {
				continue
			}
			err = compiled.Validate(object)
			if (err == nil) != (len(found) == 0) {
				t.Fatalf("%s by %s: the checker found %v, the validator %v", args, rawSchema, found, err)
			}
			decided++
			if err == nil {
				valid++
			}
		}
	}
	if decided < 10_000 || valid < 200 {
		t.Errorf("the checker decided on %d, and %d were valid: that compares too little", decided, valid)
	}
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func randomSchema(r *rand.Rand, depth int) string {
	if depth == 0 {
		return `{}`
	}
	switch r.IntN(8) {
	case 0:
		return `{"type":"string",` + pick(r, `"minLength":1`, `"maxLength":1`, `"pattern":"^a*$"`, `"enum":["a","\u00e9"]`) + `}`
	case 1:
		return `{"type":"` + pick(r, "integer", "number") + `",` + pick(r, `"minimum":0.5`, `"maximum":1e1`, `"minimum":-1,"maximum":-0.0`, `"enum":[1.0,10]`) + `}`
	case 2:
		return `{"type":"array","items":` + randomSchema(r, depth-1) + `,"minItems":1,"maxItems":2}`
	case 3:
		return `{"enum":[null,true,"a",100e-1]}`
	case 4:
		return `{"type":"` + pick(r, "null", "boolean") + `","title":"T"}`
	case 5:
		return `{"type":["string","null"]}`
	}
	return `{"type":"object",` + randomMembers(r, depth) + `}`
}

func randomMembers(r *rand.Rand, depth int) string {
	return fmt.Sprintf(`"properties":{"a":%s,"b":%s},"required":[%s],"additionalProperties":%s`, randomSchema(r, depth-1), randomSchema(r, depth-1),
		pick(r, ``, `"a"`, `"b","a"`), pick(r, `false`, `true`, `{}`, `{"type":"integer"}`, randomSchema(r, depth-1)))
}

func randomValue(r *rand.Rand, depth int, object bool) string {
	switch n := r.IntN(10); {
	case object || n < 3 && depth > 0:
		members := []string{}
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(3) > 0 {
				members = append(members, `"`+name+`":`+randomValue(r, depth-1, false))
			}
		}
		return `{` + strings.Join(members, ",") + `}`
	case n < 5 && depth > 0:
		return `[` + strings.Repeat(randomValue(r, depth-1, false)+",", r.IntN(3)) + randomValue(r, depth-1, false) + `]`
	case n < 7:
		return pick(r, `""`, `"a"`, `"\u00e9"`, `"ab"`)
	}
	return pick(r, `0`, `-0`, `1`, `1.0`, `0.5`, `0.50001`, `10`, `1e1`, `0.1E+2`, `100e-1`, `1.5`, `-1`, `-1.01`, `1e-9`, `99999999999999999999`, `null`, `true`)
}

// TestInvalidArgumentsAreBounded checks that an answer does not grow with what
// is wrong, and does not depend on the order of maps.
func TestInvalidArgumentsAreBounded(t *testing.T) {
	other, err := ParseSchema([]byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	values, err := ParseSchema([]byte(`{"type":"object","additionalProperties":{"type":"string","minLength":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	own, long := SchemaOf[editInput](), strings.Repeat("é", 1<<17)
	for _, c := range []struct {
		name   string
		schema *ToolInputSchema
		args   string
		want   string // how the message begins
	}{
		{"long name", own, `{"path":"a","edits":[{"old_text":"a","new_text":"b","` + long + `":1}]}`, "edits[0]." + long[:100] + "... is not a known argument; known: old_text,"},
		{"names", own, string(unknownNames(20_000)), "edits is required; n0 is not a known argument"},
		{"elements", own, `{"path":1,"edits":[` + strings.Repeat("1,", 100) + `1]}`, "edits[0] must be an object, not 1; edits[1] must"},
		{"values", values, string(unknownNames(20_000)), "n0 must be a string, not 1; n1 must be"},
		{"long values", values, `{"` + long + `":1,"b":""}`, "b must not be empty; " + long[:100] + "... must be a string, not 1"},
		{"enum", SchemaOf[searchInput](), `{"query":"q","sort":"` + long + `"}`, "sort must be one of relevance, date, not a string of 262144 bytes"},
		{"foreign names", other, string(unknownNames(20_000)), "n0 is not a known argument; known: path, edits; n1"},
		{"foreign long name", other, `{"` + long + `":1}`, long[:100] + "... is not a known argument"},
		{"foreign elements", other, string(badElements(40_000)), "edits[0] must be an object, not 1; edits[1] must"},
	} {
		var first string
		for range 3 {
			_, err := c.schema.Arguments([]byte(c.args))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || len(err.Error()) > maxMessage+len("...") {
				t.Fatalf("%s: got %.300v; want %s", c.name, err, c.want)
			}
			if first == "" {
				first = err.Error()
			}
			if err.Error() != first {
				t.Errorf("%s: got %s, and then %v", c.name, first, err)
			}
			bad := err.(*InvalidArguments)
			if b, _ := json.Marshal(bad.Fields); len(bad.Fields) > maxProblems || len(b) > 10_000 {
				t.Errorf("%s: %d fields of %d bytes", c.name, len(bad.Fields), len(b))
			}
		}
	}
}

// TestDeepPaths checks the names of what is wrong far down, before and after
// what is deeper still.
func TestDeepPaths(t *testing.T) {
	schema, args := `{"type":"integer"}`, `"x"`
	for range 7 {
		schema = `{"type":"object","properties":{"a":{"type":"integer"},"m":` + schema + `,"z":{"type":"integer"}}}`
		args = `{"a":1,"m":` + args + `,"z":"x"}`
	}
	s, err := ParseSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	object, err := decodeObject([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	root, c := s.text().root, checker{most: 100}
	c.value(object, &root)
	var got []string
	for _, f := range c.found {
		got = append(got, f.Field)
	}
	want := "m.m.m.m.m.m.m m.m.m.m.m.m.z m.m.m.m.m.z m.m.m.m.z m.m.m.z m.m.z m.z z"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s", got)
	}
}

// TestCheckAllocatesNothingForMoreOfTheSame checks that a hundred times as many
// breaches take no more memory.
func TestCheckAllocatesNothingForMoreOfTheSame(t *testing.T) {
	root := SchemaOf[editInput]().text().root
	for name, args := range map[string]func(int) []byte{"names": unknownNames, "elements": badElements} {
		allocs := func(size int) float64 {
			object, err := decodeObject(args(size))
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(5, func() { root.check(object) })
		}
		if few, many := allocs(1<<10), allocs(100<<10); many > few+20 {
			t.Errorf("%s: %v allocations for few, %v for many", name, few, many)
		}
	}
}

// TestValidatorLimits checks what is refused because the validator could not
// deal with it.
func TestValidatorLimits(t *testing.T) {
	schema, err := ParseSchema([]byte(`{"type":"object","minProperties":1,"additionalProperties":{"multipleOf":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	many := func(element string, n int) string { return strings.Repeat(element+",", n-1) + element }
	for _, c := range []struct{ args, want string }{
		{`{"a":1e1000}`, ""},
		{`{"a":1e1000001}`, "as high an exponent"},
		{`{"a":` + strings.Repeat("1", maxDigits+1) + `}`, "more than 1000 digits"},
		{`{"a":[` + many("1", 200_000) + `]}`, "too many values"},
		{`{"` + strings.Repeat("a", 100_000) + `":[` + many("1", 1000) + `]}`, "names that are too long"},
		{`{"a":[` + many("1", maxValues) + `]}`, "more than 500000 values"},
		{`{"a b/c~d":0.5}`, "a b/c~d is wrong: 0.5 not multipleOf 1"},
	} {
		_, err := schema.Arguments([]byte(c.args))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.50s: got %v; want %q", c.args, err, c.want)
		}
	}
}

// TestHugeNumbers checks that no number takes longer than its text.
func TestHugeNumbers(t *testing.T) {
	schema, described := SchemaOf[searchInput](), structOf[searchInput]()
	digits := strings.Repeat("7", 1<<18)
	for _, n := range []string{"1e999999999999", "-1E-99999999999999999999", digits, digits + ".5", "0." + digits, "1" + strings.Repeat("0", 1<<18)} {
		args, err := schema.Arguments(fmt.Appendf(nil, `{"query":"q","ranges":[{"from":1,"to":%s}]}`, n))
		if err == nil {
			err = assign(reflect.ValueOf(new(searchInput)).Elem(), described, map[string]any(args))
		}
		if err == nil || len(err.Error()) > 200 {
			t.Errorf("%.30s: %.300v", n, err)
		}
	}
}
