package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type rangesArgument struct {
	From int `json:"from" min:"0" doc:"First."`
	To   int `json:"to,omitempty" doc:"Last."`
}

type searchArguments struct {
	Query  string            `json:"query" min:"1" max:"400" doc:"What to look for, in words."`
	Count  int               `json:"count" default:"5" min:"1" max:"20" doc:"How many results."`
	Sites  []string          `json:"sites,omitempty" max:"3" doc:"Only these sites."`
	Safe   bool              `json:"safe" default:"true" doc:"Leave out adult content."`
	Sort   string            `json:"sort" default:"relevance" enum:"relevance|date" doc:"Order."`
	Ratio  *float64          `json:"ratio" doc:"A ratio."`
	Ranges []rangesArgument  `json:"ranges,omitempty" doc:"Ranges."`
	Env    map[string]string `json:"env,omitempty" doc:"Environment."`
}

func TestSchemaOf(t *testing.T) {
	b, _ := json.Marshal(Of[searchArguments]())
	want := `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What to look for, in words.","minLength":1,"maxLength":400},` +
		`"count":{"type":"integer","description":"How many results.","default":5,"minimum":1,"maximum":20},` +
		`"sites":{"type":"array","items":{"type":"string"},"description":"Only these sites.","maxItems":3},` +
		`"safe":{"type":"boolean","description":"Leave out adult content.","default":true},` +
		`"sort":{"type":"string","description":"Order.","enum":["relevance","date"],"default":"relevance"},` +
		`"ratio":{"type":"number","description":"A ratio."},` +
		`"ranges":{"type":"array","items":{"type":"object","properties":{"from":{"type":"integer","description":"First.","minimum":0},` +
		`"to":{"type":"integer","description":"Last."}},"required":["from"],"additionalProperties":false},"description":"Ranges."},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment."}},` +
		`"required":["query"],"additionalProperties":false}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestParseSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":["string","null"]},"b":true},"allOf":[{"required":["a"]}]}`:             "",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer"}}}`:                        "",
		`{"type":"object","properties":{"mail":{"type":"string","pattern":"^(?!\\.)a"}},"patternProperties":{"^(?!x)":{}}}`: "",
		`{}`:               `"type": "object"`,
		`{"type":"array"}`: `"type": "object"`,
		`{"type":"object"`: "not JSON",
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"enum":[{"$ref":"x"}]},"$ref":{"$ref":"#"}}}`: "",
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`:                                                      "leads to nothing",
		`{"type":"object","$ref":"file:///etc/hostname"}`:                                                                "schemas are not loaded",
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`:                                          "schemas are not loaded",
		`{"type":"object","properties":{"a":{"type":"strnig"}}}`:                                                         "schema",
	} {
		_, err := Parse([]byte(schema))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", schema, err, want)
		}
	}
}

// tagged has the tags that no schema has.
type tagged struct {
	Path  string       `json:"path" also:"file_path file"`
	From  int          `json:"from,omitempty" near:"tail" hint:"It may be negative."`
	To    string       `json:"to,omitempty" list:"true"`
	Edits []taggedEdit `json:"edits"`
}

type taggedEdit struct {
	Old string `json:"old_text" also:"old_string search"`
	New string `json:"new_text" also:"new_string"`
}

// TestNamesOfArguments accepts other names for arguments where they have one meaning, and a
// list where a text has several values.
func TestNamesOfArguments(t *testing.T) {
	schema := Of[tagged]()
	const edits = `"edits":[{"new_text":"b","old_text":"a"}]`
	for args, want := range map[string]string{
		`{"file_path":"x","edits":[{"oldText":"a","new_string":"b"}]}`:                         `{` + edits + `,"path":"x"}`,
		`{"path":"x","old_string":"a","new_text":"b"}`:                                         `{` + edits + `,"path":"x"}`,
		`{"filePath":"x","to":["a@x","b@x"],` + edits + `}`:                                    `{` + edits + `,"path":"x","to":"a@x, b@x"}`,
		`{"path":"x","edits":"[{\"search\":\"a\",\"new_text\":\"b\"}]"}`:                       `{` + edits + `,"path":"x"}`,
		`{"path":"x","file":"y",` + edits + `}`:                                                `file is not a known argument; did you mean path?`,
		`{"file_path":"x","file":"y",` + edits + `}`:                                           `file is not a known argument; did you mean path?; file_path is not a known argument; did you mean path?; path is required`,
		`{"path":"x","tail":2,` + edits + `}`:                                                  `tail is not a known argument; did you mean from? It may be negative.`,
		`{"path":"x","to":["a",1],` + edits + `}`:                                              `to must be a string, not an array`,
		`{"path":"x","old_string":"a"}`:                                                        `edits[0].new_text is required`,
		`{"path":"x","edits":[{"old_text":"a","old_string":"c","new_text":"b"}]}`:              `edits[0].old_string is not a known argument; did you mean old_text?`,
		`{"path":"x","` + strings.Repeat("p", 1000) + `":1,"old_string":"a","new_string":"b"}`: strings.Repeat("p", 100) + `... is not a known argument; known: path, from, to, edits`,
	} {
		got, err := schema.Arguments([]byte(args))
		b, _ := json.Marshal(got)
		if err != nil {
			b = []byte(err.Error())
		}
		if string(b) != want {
			t.Errorf("%s\n got %s\nwant %s", args, b, want)
		}
	}
}

// TestConverted converts arguments for another server, which decides what is valid.
func TestConverted(t *testing.T) {
	schema, err := Parse([]byte(`{"type":"object","additionalProperties":false,"required":["n","scale"],"properties":{
		"n":{"type":"integer","maximum":3},"f":{"type":"number"},"b":{"type":"boolean"},"s":{"type":"string"},
		"l":{"type":"array","items":{"type":"string"}},"any":{"type":"array"},"o":{"type":"object","properties":{"n":{"type":"integer"}}},
		"objects":{"type":"array","items":{"$ref":"#/$defs/Point"}},"point":{"allOf":[{"$ref":"#/$defs/Point"}],"default":null},
		"maybe":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},"either":{"type":["string","array"]},
		"free":{},"yes":true,"both":{"oneOf":[{"type":"boolean"},{"type":"integer"}]},"scale":{"type":"string","default":"css"},
		"loop":{"$ref":"#/$defs/Loop"},"lists":{"$ref":"#/$defs/Lists"}},
		"$defs":{"Lists":{"type":"array","items":{"$ref":"#/$defs/Lists"}},"Point":{"type":"object","properties":{"x":{"type":"number"}}},"Loop":{"anyOf":[{"$ref":"#/$defs/Loop"},{"$ref":"#/$defs/Loop"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		``: ``, `null`: `null`, ` {"n" : 1.50e0 , "n":2} `: `{"n" : 1.50e0 , "n":2}`,
		`{"n":"5"}`: `{"n":5}`, `{"n":"5.0"}`: `{"n":5.0}`, `{"n":"5.5"}`: `{"n":"5.5"}`, `{"n":"five"}`: `{"n":"five"}`, `{"n":4}`: `{"n":4}`, `{"n":null}`: `{"n":null}`,
		`{"f":"12345678901234567890.10"}`: `{"f":12345678901234567890.10}`, `{"b":"true"}`: `{"b":true}`, `{"b":"1"}`: `{"b":"1"}`,
		`{"s":"[1]"}`: `{"s":"[1]"}`, `{"s":5}`: `{"s":5}`, `{"s":["a"]}`: `{"s":["a"]}`,
		`{"l":"[\"a\"]"}`: `{"l":["a"]}`, `{"l":"a,b"}`: `{"l":["a,b"]}`, `{"l":"['a']"}`: `{"l":"['a']"}`, `{"l":5}`: `{"l":5}`, `{"any":5}`: `{"any":[5]}`,
		`{"o":"{\"n\":\"1\",\"u\":2.50}","f" : 1.0}`: `{"o":{"n":1,"u":2.50},"f":1.0}`, `{"o":[]}`: `{"o":[]}`,
		`{"objects":{"x":"1"}}`: `{"objects":[{"x":1}]}`, `{"objects":"{\"x\":1}"}`: `{"objects":[{"x":1}]}`, `{"objects":["{\"x\":1}"]}`: `{"objects":[{"x":1}]}`,
		`{"point":"{\"x\":\"1\"}"}`: `{"point":{"x":1}}`, `{"maybe":"[\"1\"]"}`: `{"maybe":[1]}`, `{"maybe":3}`: `{"maybe":[3]}`, `{"maybe":null}`: `{"maybe":null}`, `{"maybe":"null"}`: `{"maybe":null}`,
		`{"either":"[1]"}`: `{"either":"[1]"}`, `{"free":"[1]","yes":"1"}`: `{"free":"[1]","yes":"1"}`, `{"both":"true"}`: `{"both":true}`, `{"both":"1"}`: `{"both":1}`,
		`{"loop":"[1]"}`: `{"loop":"[1]"}`, `{"unknown":"1"}`: `{"unknown":"1"}`,
		`{"lists":5}`: `{"lists":5}`, `{"lists":"5"}`: `{"lists":"5"}`, `{"lists":[["[]"]]}`: `{"lists":[[[]]]}`,
		`[]`: `arguments must be an object, not an array`, `{`: `arguments are not JSON at byte 1: expected a string`,
	} {
		got, err := schema.Converted([]byte(args))
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != want {
			t.Errorf("%s\n got %s\nwant %s", args, got, want)
		}
	}
}

// TestSchemasAreNotExpanded reads schemas that are small and would be large, and converts
// arguments by them. With a validator it never ended.
func TestSchemasAreNotExpanded(t *testing.T) {
	for name, form := range map[string]string{"allOf": "allOf", "anyOf": "anyOf", "oneOf": "oneOf"} {
		defs := `"d0":{"type":"string","pattern":"(a+)+((b{1,500}){1,500})"}`
		for i := range 60 {
			defs += fmt.Sprintf(`,"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, form, i, i)
		}
		schema, err := Parse([]byte(`{"type":"object","$defs":{` + defs + `},"properties":{"x":{"$ref":"#/$defs/d60"}}}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, args := range []string{`{"x":"y"}`, `{"x":[` + strings.Repeat(`"1",`, 10_000) + `1]}`} {
			if got, err := schema.Converted([]byte(args)); err != nil || string(got) != args {
				t.Errorf("%s: %.100s, %v", name, got, err)
			}
		}
	}
}

// FuzzArguments checks that no arguments do more than fail, and that what is
// accepted is stable: accepted again as it was handed on.
func FuzzArguments(f *testing.F) {
	schema := Of[searchArguments]()
	described := StructOf[searchArguments]()
	for _, s := range []string{`{"query":"x"}`, `{"query":"x","count":"3","ranges":[{"from":1e2}]}`, `{"a":[[[]]]}`, `null`, `{"query":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, err := schema.Arguments(raw)
		if err != nil {
			if _, ok := errors.AsType[*InvalidArguments](err); !ok {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		var in searchArguments
		if Assign(reflect.ValueOf(&in).Elem(), described, map[string]any(args)) != nil {
			return // a number beyond int64
		}
		again, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Arguments(again); err != nil {
			t.Fatalf("%q was accepted, and then %s was not: %v", raw, again, err)
		}
	})
}
