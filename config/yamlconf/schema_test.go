package yamlconf_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"gopkg.in/yaml.v3"

	"github.com/toolserver/toolserver/config/yamlconf"
	"github.com/toolserver/toolserver/domain/structschema"
)

func compile(t testing.TB, v any) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", strings.NewReader(string(yamlconf.Schema(v, nil)))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// document is YAML as an editor that knows the schema sees it.
func document(t testing.TB, text string) any {
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchemaAgreesWithDecode(t *testing.T) {
	s := compile(t, defaults())
	for _, test := range []struct {
		in   string
		good bool
	}{
		{"{}", true},
		{"errors: result", true},
		{"errors: \"${MODE}\"", true},
		{"errors: loud", false},
		{"tolls: {}", false},
		{"server: {port: 80}", true},
		{"server: {port: 80.0}", true},
		{"server: {port: \"${PORT}\"}", true},
		{"server: {port: \"80\"}", false},
		{"server: {port: 0}", false},
		{"server: {port: 65536}", false},
		{"server: {port: null}", false},
		{"server: {name: \"\"}", false},
		{"server: {name: 5}", false},
		{"server: {tls: null}", true},
		{"server: {tls: {cert: x}}", true},
		{"server: {tls: {certt: x}}", false},
		{"server: null", true},
		{"server: {tokens: [null]}", false},
		{"server: {tokens: [{user: a}]}", true},
		{"limits: {strict: null, codes: null}", true},
		{"limits: {codes: []}", false},
		{"limits: {codes: [1.5]}", false},
		{"limits: {retries: 200}", false},
		{"limits: {ratio: 2}", false},
		{"limits: {max_result: 10MB}", true},
		{"limits: {max_result: 1.5 mib}", true},
		{"limits: {max_result: 10M}", false},
		{"limits: {max_result: 1.5}", false},
		{"limits: {max_result: 1}", false},
		{"tools: {bash: {timeout: 30}}", true},
		{"tools: {bash: {timeout: .5}}", true},
		{"tools: {bash: {timeout: 1h-}}", false},
		{"tools: {bash: {timeout: 1m30s}}", true},
		{"tools: {bash: {timeout: \"45\"}}", true},
		{"tools: {bash: {timeout: 601}}", false},
		{"tools: {bash: {timeout: soon}}", false},
		{"tools: {bash: {enabled: \"yes\"}}", false},
		{"tools: {bash: {allowed_commands: ls}}", false},
		{"tools: {bash: {allowed_commands: [ls]}}", true},
		{"tools: {up__x: {enabled: false}}", true},
		{"tools: {up__x: {allowed: false}}", false},
		{"mcp_servers: {a: http://x, b: {url: x}}", true},
		{"mcp_servers: {a: [1]}", false},
		{"env: {A: b}", true},
		{"env: {A: 1}", false},
		{"prefixes: [10.0.0.0/8]", true},
		{"labels: {a: a, b: b, c: c, d: d}", false},
		{"[]", false},
	} {
		invalid := s.Validate(document(t, test.in))
		_, _, err := decode(test.in)
		if (invalid == nil) != test.good || (err == nil) != test.good {
			t.Errorf("%s: schema says %v, Decode says %v; want good = %v", test.in, invalid, err, test.good)
		}
	}
	for name, text := range map[string][]byte{"template": yamlconf.Template(defaults()), "show": yamlconf.Show(defaults(), defaults(), new(yamlconf.Source))} {
		if err := s.Validate(document(t, string(text))); err != nil {
			t.Errorf("%s does not satisfy the schema: %v", name, err)
		}
	}
}

func TestSchemaText(t *testing.T) {
	type inner struct {
		Key string `yaml:"key" secret:"true" doc:"A password."`
	}
	v := struct {
		Mode  string             `yaml:"mode" enum:"a|b" doc:"The mode."`
		Wait  structschema.Bytes `yaml:"wait"`
		By    map[string]int     `yaml:"by"`
		List  []inner            `yaml:"list" min:"1"`
		Ptr   *inner             `yaml:"ptr"`
		Names map[string]bool    `yaml:"names"`
	}{Mode: "a", Wait: 1 << 20, By: map[string]int{"x": 1}, Ptr: &inner{Key: "hunter2"}}
	got := string(yamlconf.Schema(v, nil))
	const want = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":["object","null"],"properties":{` +
		`"mode":{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"string","pattern":"\\$\\{.+\\}"}],"description":"The mode.","default":"a"},` +
		`"wait":{"anyOf":[{"type":"integer","minimum":0},{"type":"string","pattern":"PATTERN"}],"default":"1MiB"},` +
		`"by":{"type":["object","null"],"additionalProperties":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"\\$\\{.+\\}"}]}},` +
		`"list":{"type":["array","null"],"items":{"type":"object","properties":{"key":{"type":"string","description":"A password.","writeOnly":true}},"additionalProperties":false},"minItems":1},` +
		`"ptr":{"type":["object","null"],"properties":{"key":{"type":"string","description":"A password.","writeOnly":true}},"additionalProperties":false},` +
		`"names":{"type":["object","null"],"additionalProperties":{"anyOf":[{"type":"boolean"},{"type":"string","pattern":"\\$\\{.+\\}"}]}}},` +
		`"additionalProperties":false}`
	flat := strings.Join(strings.FieldsFunc(got, func(r rune) bool { return r == '\n' }), "")
	flat = strings.NewReplacer("  ", "", `": `, `":`).Replace(flat)
	if start := strings.Index(flat, `"pattern":"^[0-9]+(`); start >= 0 {
		end := strings.Index(flat[start:], `"}],"default"`)
		flat = flat[:start] + `"pattern":"PATTERN` + flat[start+end:]
	}
	if flat != want {
		t.Errorf("got\n%s\nwant\n%s", flat, want)
	}
}
