package domain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type rangeInput struct {
	From int `json:"from" min:"0" doc:"First."`
	To   int `json:"to,omitempty" doc:"Last."`
}

type searchInput struct {
	Query  string            `json:"query" min:"1" max:"400" doc:"What to look for, in words."`
	Count  int               `json:"count" default:"5" min:"1" max:"20" doc:"How many results."`
	Sites  []string          `json:"sites,omitempty" max:"3" doc:"Only these sites."`
	Safe   bool              `json:"safe" default:"true" doc:"Leave out adult content."`
	Sort   string            `json:"sort" default:"relevance" enum:"relevance|date" doc:"Order."`
	Ratio  *float64          `json:"ratio" doc:"A ratio."`
	Ranges []rangeInput      `json:"ranges,omitempty" doc:"Ranges."`
	Env    map[string]string `json:"env,omitempty" doc:"Environment."`
}

// run executes tool once with args, alone in a registry.
func run(t *testing.T, tool Tool, args string) (ToolResult, error) {
	t.Helper()
	registry, err := NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	exec := NewExecutor(registry, NewResultStore(PageBytes(0)), Settings{}, nil)
	return exec.Call(t.Context(), ExecuteToolCommand{Tool: tool.Name, Arguments: json.RawMessage(args)})
}

func TestArguments(t *testing.T) {
	var got searchInput
	tool := Define(Tool{Name: "search", Description: "Searches."}, func(_ context.Context, in searchInput) (ToolResult, error) {
		got = in
		return Text("ok"), nil
	})
	const defaults = `"safe":true,"sort":"relevance","ratio":null}`
	for _, test := range []struct {
		args string
		want string // the input as the handler gets it, as JSON
		err  string // or the whole message
	}{
		{args: `{"query":"go"}`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"go","count":"7"}`, want: `{"query":"go","count":7,` + defaults},
		{args: `{"query":"go","count":7.0}`, want: `{"query":"go","count":7,` + defaults},
		{args: `{"query":"go","count":1e1}`, want: `{"query":"go","count":10,` + defaults},
		{args: `{"query":"go","count":null,"sites":null}`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"go","safe":"false"}`, want: `{"query":"go","count":5,"safe":false,"sort":"relevance","ratio":null}`},
		{args: `{"query":"go","ratio":1.5}`, want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":1.5}`},
		{args: `{"query":"go","sites":["a","b"]}`, want: `{"query":"go","count":5,"sites":["a","b"],` + defaults},
		{args: `{"query":"go","ranges":[{"from":"3"}],"env":{"A":"b"}}`,
			want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":3}],"env":{"A":"b"}}`},

		{args: `{"query":"go","sites":"a"}`, want: `{"query":"go","count":5,"sites":["a"],` + defaults},
		{args: `{"query":"go","sites":"[\"a\",\"b\"]"}`, want: `{"query":"go","count":5,"sites":["a","b"],` + defaults},
		{args: `{"query":"go","ranges":{"from":1},"env":"{\"A\":\"b\"}"}`,
			want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":1}],"env":{"A":"b"}}`},
		{args: `{"query":"go","ranges":"{\"from\":\"1\"}","safe":"True"}`, want: `{"query":"go","count":5,"safe":true,"sort":"relevance","ratio":null,"ranges":[{"from":1}]}`},
		{args: `"{\"query\":\"go\"}"`, want: `{"query":"go","count":5,` + defaults},
		{args: `{"query":"[1]"}`, want: `{"query":"[1]","count":5,` + defaults}, // a string where one is wanted
		{args: `{"QUERY":"go","count":"7"}`, want: `{"query":"go","count":7,` + defaults},

		{args: `{}`, err: `search: query is required`},
		{args: `{"query":["go"]}`, err: `search: query must be a string, not an array`},
		{args: `{"query":"go","sites":"['a', 'b']"}`, err: `search: sites must be an array, not the string "['a', 'b']"`},
		{args: `{"query":"go","sites":""}`, err: `search: sites must be an array, not the string ""`},
		{args: `{"query":"go","sites":1}`, err: `search: sites must be an array, not 1`},
		{args: `{"query":"go","ranges":"[{\"from\":1,\"to\":2}` + strings.Repeat(" ", 100) + `"}`, err: `search: ranges must be an array, not a string of 118 bytes`},
		{args: ``, err: `search: query is required`},
		{args: `null`, err: `search: query is required`},
		{args: `{"query":null}`, err: `search: query must be a string, not null`},
		{args: `[]`, err: `search: arguments must be an object, not an array`},
		{args: `"x"`, err: `search: arguments must be an object, not the string "x"`},
		{args: `{`, err: `search: arguments are not JSON at byte 1: expected a string`},
		{args: `{"query":""}`, err: `search: query must not be empty`},
		{args: `{"query":7}`, err: `search: query must be a string, not 7`},
		{args: `{"query":"go","count":21}`, err: `search: count must be at most 20, not 21`},
		{args: `{"query":"go","count":0}`, err: `search: count must be at least 1, not 0`},
		{args: `{"query":"go","count":1.5}`, err: `search: count must be an integer, not 1.5`},
		{args: `{"query":"go","count":"many"}`, err: `search: count must be an integer, not the string "many"`},
		{args: `{"query":"go","sites":[1]}`, err: `search: sites[0] must be a string, not 1`},
		{args: `{"query":"go","sites":["a","b","c","d"]}`, err: `search: sites must have at most 3 elements`},
		{args: `{"query":"go","sort":"dat"}`, err: `search: sort must be one of relevance, date, not the string "dat"; did you mean date?`},
		{args: `{"query":"go","cuont":1}`, err: `search: cuont is not a known argument; did you mean count?`},
		{args: `{"q":"go","to":1,"head_limit":2}`, err: `search: head_limit is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env; q is not a known argument; query is required; to is not a known argument; did you mean ranges[].to?`},
		{args: `{"query":"go","yyy":1,"zzz":1}`, err: `search: yyy is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env; zzz is not a known argument`},
		{args: `{"query":"go","zzz":1}`, err: `search: zzz is not a known argument; known: query, count, sites, safe, sort, ratio, ranges, env`},
		{args: `{"query":"go","ranges":[{"from":1},{"form":2}]}`,
			err: `search: ranges[1].form is not a known argument; did you mean from?; ranges[1].from is required`},
		{args: `{"query":"go","env":{"A":1}}`, err: `search: env.A must be a string, not 1`},
		{args: `{"query":"go","ranges":[{"from":99999999999999999999}]}`, err: `search: ranges: 0: from: 99999999999999999999 is too large`},
	} {
		got = searchInput{}
		_, err := run(t, tool, test.args)
		if test.err != "" {
			if CodeOf(err) != CodeInvalidParams || err.Error() != test.err {
				t.Errorf("%s\n got %v\nwant %s", test.args, err, test.err)
			}
			continue
		}
		if b, _ := json.Marshal(got); err != nil || string(b) != test.want {
			t.Errorf("%s\n got %s, error %v\nwant %s", test.args, b, err, test.want)
		}
	}
}

func TestInvalidArgumentsData(t *testing.T) {
	tool := Define(Tool{Name: "search", Description: "Searches."}, func(context.Context, searchInput) (ToolResult, error) { return Text(""), nil })
	_, err := run(t, tool, `{"count":0}`)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatal(err)
	}
	b, _ := json.Marshal(e.Envelope())
	want := `{"error_type":"invalid_arguments","fields":[{"field":"count","problem":"must be at least 1, not 0"},{"field":"query","problem":"is required"}],` +
		`"next_action_hint":"Correct the arguments named in the message and call search again.","tool":"search"}`
	if string(b) != want {
		t.Errorf("got %s\nwant %s", b, want)
	}
}

func TestSchemaOf(t *testing.T) {
	b, _ := json.Marshal(SchemaOf[searchInput]())
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
		_, err := ParseSchema([]byte(schema))
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
	schema := SchemaOf[tagged]()
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
		b, _ := got.JSON()
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
	schema, err := ParseSchema([]byte(`{"type":"object","additionalProperties":false,"required":["n","scale"],"properties":{
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
		schema, err := ParseSchema([]byte(`{"type":"object","$defs":{` + defs + `},"properties":{"x":{"$ref":"#/$defs/d60"}}}`))
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
	schema := SchemaOf[searchInput]()
	described := structOf[searchInput]()
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
		var in searchInput
		if assign(reflect.ValueOf(&in).Elem(), described, map[string]any(args)) != nil {
			return // a number beyond int64
		}
		again, err := args.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := schema.Arguments(again); err != nil {
			t.Fatalf("%q was accepted, and then %s was not: %v", raw, again, err)
		}
	})
}
