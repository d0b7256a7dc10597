package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolserver/toolserver/wire/rawjson"
)

// compile prepares the validator that the checker is compared with.
func compile(t testing.TB, raw []byte) *jsonschema.Schema {
	t.Helper()
	compiled, err := jsonschema.CompileString("schema://tool", string(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return compiled
}

// FuzzCheck checks that the validator agrees with what the checker finds.
func FuzzCheck(f *testing.F) {
	schema := Of[searchArguments]()
	compiled := compile(f, schema.Raw())
	for _, seed := range []string{
		`{"query":"x"}`, `{"query":"","count":21,"safe":"x"}`, `{"query":"x","sites":["a","b","c","d"],"sort":"date"}`,
		`{"query":"x","ranges":[{"from":-1},{"to":1},{"from":1e0,"to":2.5,"x":1}],"env":{"A":1}}`, `{"query":"\u00e9","ratio":1.50,"count":1e1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		v, err := rawjson.DecodeMax(args, 10_000)
		if err != nil || slices.ContainsFunc(numbers(v), func(n json.Number) bool { return len(n) > 100 || strings.ContainsAny(string(n), "eE") }) {
			return // which the validator writes out
		}
		found := schema.root().Check(v)
		if err := compiled.Validate(v); (err == nil) != (len(found) == 0) {
			t.Fatalf("%s: the checker found %v, the validator %v", args, found, err)
		}
	})
}

// numbers returns all numbers in a value.
func numbers(v any) (all []json.Number) {
	switch v := v.(type) {
	case json.Number:
		return []json.Number{v}
	case []any:
		for _, element := range v {
			all = append(all, numbers(element)...)
		}
	case map[string]any:
		for _, member := range v {
			all = append(all, numbers(member)...)
		}
	}
	return all
}

// TestCheckAgreesWithValidator is [FuzzCheck] over schemas and arguments that
// have much to do with each other.
func TestCheckAgreesWithValidator(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	decided, valid := 0, 0
	for range 300 {
		rawSchema := `{"type":"object",` + randomMembers(r, 3) + `}`
		root, err := param("", []byte(rawSchema), false)
		if err != nil {
			t.Fatalf("%s: %v", rawSchema, err)
		}
		prepare(&root)
		compiled := compile(t, []byte(rawSchema))
		for range 50 {
			args := randomValue(r, 3, true)
			object, err := decode([]byte(args))
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			found := root.Check(object)
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

// prepare compiles patterns, as those of own tools are.
func prepare(p *Param) {
	if p.pattern != "" {
		p.matches = regexp.MustCompile(p.pattern)
	}
	for i := range p.Fields {
		prepare(&p.Fields[i])
	}
	for _, inner := range []*Param{p.Items, p.values} {
		if inner != nil {
			prepare(inner)
		}
	}
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func randomSchema(r *rand.Rand, depth int) string {
	if depth == 0 {
		return `{}`
	}
	switch r.IntN(7) {
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
	values, err := Parse([]byte(`{"type":"object","additionalProperties":{"type":"string","minLength":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	own, long := Of[editInput](), strings.Repeat("é", 1<<17)
	for _, c := range []struct {
		name   string
		schema *Input
		args   string
		want   string // how the message begins
	}{
		{"long name", own, `{"path":"a","edits":[{"old_text":"a","new_text":"b","` + long + `":1}]}`, "edits[0]." + long[:100] + "... is not a known argument; known: old_text,"},
		{"names", own, string(unknownNames(20_000)), "edits is required; n0 is not a known argument"},
		{"elements", own, `{"path":1,"edits":[` + strings.Repeat("1,", 100) + `1]}`, "edits[0] must be an object, not 1; edits[1] must"},
		{"values", values, string(unknownNames(20_000)), "n0 must be a string, not 1; n1 must be"},
		{"long values", values, `{"` + long + `":1,"b":""}`, "b must not be empty; " + long[:100] + "... must be a string, not 1"},
		{"enum", Of[searchArguments](), `{"query":"q","sort":"` + long + `"}`, "sort must be one of relevance, date, not a string of 262144 bytes"},
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
	s, err := Parse([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	object, err := decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	root, c := s.root(), checker{most: 100}
	c.value(object, &root.Param)
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
	root := Of[editInput]().root()
	for name, args := range map[string]func(int) []byte{"names": unknownNames, "elements": badElements} {
		allocs := func(size int) float64 {
			object, err := decode(args(size))
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(5, func() { root.Check(object) })
		}
		if few, many := allocs(1<<10), allocs(100<<10); many > few+20 {
			t.Errorf("%s: %v allocations for few, %v for many", name, few, many)
		}
	}
}

// TestHugeNumbers checks that no number takes longer than its text.
func TestHugeNumbers(t *testing.T) {
	schema, described := Of[searchArguments](), StructOf[searchArguments]()
	digits := strings.Repeat("7", 1<<18)
	for _, n := range []string{"1e999999999999", "-1E99999999999999999999", digits, digits + ".5", "0." + digits, "1" + strings.Repeat("0", 1<<18)} {
		args, err := schema.Arguments(fmt.Appendf(nil, `{"query":"q","ranges":[{"from":1,"to":%s}]}`, n))
		if err == nil {
			err = Assign(reflect.ValueOf(new(searchArguments)).Elem(), described, map[string]any(args))
		}
		if err == nil || len(err.Error()) > 200 {
			t.Errorf("%.30s: %.300v", n, err)
		}
	}
}

// TestLargeIntegers has numbers next to each other that are one as floats.
func TestLargeIntegers(t *testing.T) {
	s, err := Parse([]byte(`{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","maximum":9007199254740992},"e":{"enum":[9007199254740992]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, good := range map[string]bool{
		`{"n":9007199254740992}`: true, `{"n":9007199254740993}`: false, `{"n":5.5}`: false, `{"n":5.0}`: true,
		`{"e":9007199254740992}`: true, `{"e":9007199254740993}`: false, `{"n":-9007199254740993.5}`: false,
	} {
		if _, err := s.Arguments([]byte(args)); (err == nil) != good {
			t.Errorf("%s: %v", args, err)
		}
	}
}
