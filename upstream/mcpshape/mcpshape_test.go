package mcpshape

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestSchemas repairs schemas. test/clients/odd.mjs has the clients judge many more.
func TestSchemas(t *testing.T) {
	for _, test := range []struct{ input, want, note string }{
		{``, `{"type":"object","properties":{}}`, ""},
		{`{"properties":{"a":true,"b":false,"c":null}}`, `{"properties":{"a":{},"b":{"not":{}},"c":{}},"type":"object"}`, "inputSchema.properties.c is no valid value; it accepts anything now"},
		{`{"type":["object","null"],"properties":{"a":{"type":"int"}},"required":null}`, `{"type":"object","properties":{"a":{}}}`, "inputSchema.properties.a.type is no valid value and is left out; inputSchema.required is no valid"},
		{`{"type":"object","properties":{"a":{"type":"array"},"b":{"items":[{"type":"string"}],"additionalItems":false}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"prefixItems":[{"type":"string"}],"items":false}}}`, ""},
		{`{"type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"a":{"exclusiveMinimum":1,"maximum":2}}}`, ""},
		// What is required of each value moves to the root.
		{`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}}}`,
			`{"$defs":{"A":{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}},"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}`, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["a"]},{"properties":{"a":{"minLength":1},"b":{}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":1}]},"b":{}},"required":["a","b"]}`, ""},
		{`{"allOf":[{"$ref":"#/$defs/A","required":["a"]},{"anyOf":[{"required":["b"]},{"required":["c"]}]}],"$defs":{"A":{"properties":{"a":{}}}}}`,
			`{"$defs":{"A":{"properties":{"a":{}}}},"required":["a"],"properties":{"a":{}},"allOf":[{"anyOf":[{"required":["b"]},{"required":["c"]}]}],"type":"object"}`, ""},
		// What is required of some values is left to the server.
		{`{"anyOf":[{"properties":{"a":{"type":"string"},"c":{}},"required":["c","a"]},{"properties":{"a":{"type":"number"},"c":{}},"required":["c"]},{"type":"string"}]}`,
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}]},"c":{}},"required":["c"],"type":"object"}`, "inputSchema.anyOf is left to the server to check"},
		{`{"type":"object","not":{"required":["a"]},"properties":{}}`, `{"type":"object","properties":{}}`, "inputSchema.not is left to the server to check"},
		// References.
		{`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#n"},"c":{"$anchor":"n"},"d":{"$ref":"#/properties/a%7E1"},"a/":{}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#n"},"c":{"$anchor":"n"},"d":{},"a_":{}}}`, "properties.d.$ref leads nowhere"},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.com/s"}},"allOf":[{"$ref":"#"}]}`, `{"type":"object","properties":{"a":{}}}`, "leads nowhere, or round in a circle"},
	} {
		raw := `{"name":"a","inputSchema":` + test.input + `}`
		if test.input == "" {
			raw = `{"name":"a"}`
		}
		tool, err := NewTool([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", test.input, err)
			continue
		}
		var got struct {
			Schema json.RawMessage `json:"inputSchema"`
		}
		_ = json.Unmarshal(tool.Raw, &got)
		if notes := strings.Join(tool.Notes, "; "); string(got.Schema) != test.want || !strings.Contains(notes, test.note) {
			t.Errorf("%s:\ngot  %s (%s)\nwant %s (%s)", test.input, got.Schema, notes, test.want, test.note)
		}
	}
}

// TestNames has arguments whose names APIs of models refuse called by others, however many
// look alike.
func TestNames(t *testing.T) {
	tool, err := NewTool([]byte(`{"name":"a","inputSchema":{"type":"object","properties":{"$filter":{},"_filter":{},"":{},"é":{}},"required":["$filter","_filter"],"if":{"required":["$filter"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tool.Raw), `{"type":"object","properties":{"_filter_0c097d40":{},"_filter":{},"_":{},"__4a99557e":{}},"required":["_filter_0c097d40","_filter"]}`) ||
		tool.Arguments["_filter_0c097d40"] != "$filter" || len(tool.Arguments) != 3 {
		t.Errorf("%s, %v", tool.Raw, tool.Arguments)
	}
	many := ""
	for i := range 2500 {
		many += `,"` + strings.Repeat("x", 70) + strconv.Itoa(i) + `":{}`
	}
	tool, err = NewTool([]byte(`{"name":"a","inputSchema":{"type":"object","properties":{` + many[1:] + `}}}`))
	if err != nil || len(tool.Arguments) != 2500 {
		t.Errorf("%d, %v", len(tool.Arguments), err)
	}
	for name := range tool.Arguments {
		if len(name) > maxName {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
}

// TestBounds has schemas that take too much, to check or to read.
func TestBounds(t *testing.T) {
	bomb := `{"type":"object","$defs":{"d0":{}`
	chain := `{"type":"object","$defs":{"d0":{}`
	for i := 1; i <= 60; i++ {
		bomb += strings.NewReplacer("N", strconv.Itoa(i), "M", strconv.Itoa(i-1)).Replace(`,"dN":{"allOf":[{"$ref":"#/$defs/dM"},{"$ref":"#/$defs/dM"}]}`)
	}
	for i := 1; i <= 3000; i++ {
		chain += strings.NewReplacer("N", strconv.Itoa(i), "M", strconv.Itoa(i-1)).Replace(`,"dN":{"$ref":"#/$defs/dM"}`)
	}
	for name, schema := range map[string]string{
		"bomb":  bomb + `},"properties":{"x":{"$ref":"#/$defs/d60"}}}`,
		"chain": chain + `},"properties":{"x":{"$ref":"#/$defs/d3000"}}}`,
	} {
		tool, err := NewTool([]byte(`{"name":"a","inputSchema":` + schema + `,"outputSchema":` + schema + `}`))
		if err != nil || string(tool.Raw) != `{"name":"a","inputSchema":{"type":"object","properties":{}}}` || len(tool.Notes) != 2 {
			t.Errorf("%s: %.200s, %v, %v", name, tool.Raw, tool.Notes, err)
		}
	}
	for _, schema := range []string{strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat("}", 200), `{"description":"` + strings.Repeat("x", maxSchema) + `"}`, `7`, `false`, `"x"`} {
		if tool, err := NewTool([]byte(`{"name":"a","inputSchema":` + schema + `}`)); err == nil {
			t.Errorf("%.50s: %.200s", schema, tool.Raw)
		}
	}
}

// TestOwnTools checks that what this program offers needs no repair.
func TestOwnTools(t *testing.T) {
	b, err := os.ReadFile("../../testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var own []json.RawMessage
	if err := json.Unmarshal(b, &own); err != nil || len(own) == 0 {
		t.Fatalf("%d tools, %v", len(own), err)
	}
	for _, raw := range own {
		var compact bytes.Buffer
		_ = json.Compact(&compact, raw)
		raw = compact.Bytes()
		if tool, err := NewTool(raw); err != nil || string(tool.Raw) != string(raw) || tool.Notes != nil {
			t.Errorf("%.60s: %v, %v", raw, tool.Notes, err)
		}
	}
}

// TestPatterns tells what is a regular expression to all clients.
func TestPatterns(t *testing.T) {
	for expression, want := range map[string]bool{
		`^[a-z0-9_-]{1,64}$`: true, `\d+(?:\.\d{2})?`: true, `^\/a\b`: true, `[\w.-]+`: true, `a|b`: true, `[^\]]`: true, ``: true,
		`(?i)a`: false, `(?P<a>b)`: false, `\Aa\z`: false, `(`: false, `a{`: false, `}`: false, `[[:alpha:]]`: false, `\-`: false, `[\w-.]`: false, `(?<=a)b`: false, `\p{L}`: false,
	} {
		if isPattern(expression) != want {
			t.Errorf("%q: %v", expression, !want)
		}
	}
}

// FuzzItems checks that what is repaired is JSON, and that nothing is repaired twice.
func FuzzItems(f *testing.F) {
	f.Add(`{"name":"a","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[null]}}},"icons":[{}],"annotations":null}`)
	f.Add(`{"name":"a","name":"b","uri":"x","uriTemplate":"{x}","arguments":[{"name":"x"},7],"outputSchema":{"type":"object","pattern":"("}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			t.Skip()
		}
		raw = strings.TrimSpace(raw)
		if tool, err := NewTool([]byte(raw)); err == nil {
			again, err := NewTool(tool.Raw)
			if err != nil || string(again.Raw) != string(tool.Raw) {
				t.Errorf("%s\nbecomes %s\nand then %s, %v", raw, tool.Raw, again.Raw, err)
			}
		}
		for _, required := range []string{Resource, Template, Prompt} {
			fitting, _, err := Item(required, []byte(raw))
			if err != nil {
				continue
			}
			again, notes, err := Item(required, fitting)
			if err != nil || notes != nil || string(again) != string(fitting) {
				t.Errorf("%s\nbecomes %s\nand then %s, %v, %v", raw, fitting, again, notes, err)
			}
		}
	})
}
