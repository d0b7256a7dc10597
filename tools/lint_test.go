package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools"
)

// Bounds of a tool's description, in characters.
const (
	minDescription = 20
	maxDescription = 1024
)

// lint checks what every built-in tool must have, however little it does: names
// and texts a model can work with, a schema every model provider accepts, and
// annotations that do not contradict each other.
func lint(t testing.TB, tools ...domain.Tool) {
	t.Helper()
	if _, err := domain.NewRegistry(tools...); err != nil {
		t.Error(err)
	}
	for _, tool := range tools {
		lintTexts(t, tool)
		if tool.Input != nil {
			lintInput(t, tool)
			lintTarget(t, tool)
		}
		if tool.Output != nil {
			lintOutput(t, tool)
		}
	}
}

func lintTexts(t testing.TB, tool domain.Tool) {
	t.Helper()
	if !snakeCase.MatchString(tool.Name) {
		t.Errorf("%s: the name is not snake_case", tool.Name)
	}
	if !capitalized(tool.Title) {
		t.Errorf("%s: title %q does not start with a capital", tool.Name, tool.Title)
	}
	if !snakeCase.MatchString(tool.Category) {
		t.Errorf("%s: category %q is not snake_case", tool.Name, tool.Category)
	}
	if n := utf8.RuneCountInString(tool.Description); n < minDescription || n > maxDescription {
		t.Errorf("%s: the description has %d characters; want %d to %d", tool.Name, n, minDescription, maxDescription)
	}
	if !capitalized(tool.Description) || !strings.HasSuffix(tool.Description, ".") {
		t.Errorf("%s: description %q is not sentences", tool.Name, tool.Description)
	}
	if a := tool.Annotations; a.ReadOnly && (a.Destructive || !a.Idempotent) {
		t.Errorf("%s: what only reads is not destructive, and is idempotent: %+v", tool.Name, a)
	}
}

func lintInput(t testing.TB, tool domain.Tool) {
	t.Helper()
	root := schemaRoot(t, tool, "input", tool.Input)
	if root["additionalProperties"] != false {
		t.Errorf(`%s: the input schema's root must have "additionalProperties": false`, tool.Name)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "not", "$ref"} {
		if _, has := root[keyword]; has {
			t.Errorf("%s: the input schema's root has %s, which some model providers reject", tool.Name, keyword)
		}
	}
	lintParams(t, tool.Name+": ", tool.Input.Params())
	lintDefaults(t, tool)
}

// nameless are the tools whose calls touch nothing that an argument names, although they have one that is required
// or do more than read.
var nameless = map[string]string{
	"echo":                 "it returns what it is given",
	"capabilities_refresh": "it writes the file that the configuration names",

	"gmail_labels":            "it lists all",
	"gmail_filters":           "it lists all",
	"calendar_list_calendars": "it lists all",
}

// touches reports whether a tool is handed anything of the machine or the network.
func touches(name string) bool {
	return slices.ContainsFunc(tools.Declared(), func(t declare.Tool) bool {
		return t.Tool == name && t.Reads+t.Writes+t.Runs+t.Fetches+t.Keeps != ""
	})
}

// lintTarget checks that the record of a call can say what it touched.
func lintTarget(t testing.TB, tool domain.Tool) {
	t.Helper()
	known, required := map[string]bool{}, false
	for _, p := range tool.Input.Params() {
		known[p.Name] = true
		required = required || p.Required
	}
	for _, name := range tool.Target {
		if !known[name] {
			t.Errorf("%s: its target %s is no argument", tool.Name, name)
		}
	}
	if _, ok := nameless[tool.Name]; len(tool.Target) == 0 && !ok && (required || !tool.Annotations.ReadOnly || touches(tool.Name)) {
		t.Errorf("%s: Target names no argument, so that the record cannot say what a call touched", tool.Name)
	}
	for _, secret := range []string{"content", "content_base64", "body", "html", "message", "stdin", "env", "description", "comment"} {
		if slices.Contains(tool.Target, secret) {
			t.Errorf("%s: its target has content: %s", tool.Name, secret)
		}
	}
}

func lintOutput(t testing.TB, tool domain.Tool) {
	t.Helper()
	schemaRoot(t, tool, "output", tool.Output)
	bad := domain.Failure("not_found", "There is none.", "Look elsewhere.")
	if err := tooltest.Conforms(tool.Output, bad.Structured()); err != nil {
		t.Errorf("%s: a failure breaks the output schema: %v", tool.Name, err)
	}
}

// schemaRoot returns the root of a schema, which must be an object without $schema.
func schemaRoot(t testing.TB, tool domain.Tool, which string, schema json.Marshaler) (root map[string]any) {
	t.Helper()
	raw, err := schema.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &root)
	}
	if err != nil {
		t.Errorf("%s: %s schema: %v", tool.Name, which, err)
	}
	if root["type"] != "object" {
		t.Errorf("%s: the %s schema's root is not an object", tool.Name, which)
	}
	if _, has := root["$schema"]; has {
		t.Errorf("%s: the %s schema has $schema, which some clients reject", tool.Name, which)
	}
	return root
}

// lintParams checks parameters and what is within them.
func lintParams(t testing.TB, path string, params []schema.Param) {
	t.Helper()
	for _, p := range params {
		at := path + p.Name
		if !capitalized(p.Doc) || !strings.HasSuffix(p.Doc, ".") || sentences.MatchString(p.Doc) {
			t.Errorf("%s: doc %q is not one sentence", at, p.Doc)
		}
		lintValue(t, at, p)
	}
}

func lintValue(t testing.TB, at string, p schema.Param) {
	t.Helper()
	switch p.Type {
	case "":
		t.Errorf("%s: has no type", at)
	case "integer", "number":
		if p.Min == "" || p.Max == "" {
			t.Errorf("%s: a number without min and max", at)
		}
	}
	if p.Required && p.Default != nil {
		t.Errorf("%s: is required although it has a default", at)
	}
	lintParams(t, at+".", p.Fields)
	if p.Items != nil {
		lintValue(t, at+"[]", *p.Items)
	}
}

// lintDefaults checks that a tool accepts its own defaults.
func lintDefaults(t testing.TB, tool domain.Tool) {
	t.Helper()
	defaults := domain.Arguments{}
	for _, p := range tool.Input.Params() {
		if p.Default != nil {
			defaults[p.Name] = p.Default
		}
	}
	args, err := defaults.JSON()
	if err == nil {
		_, err = tool.Input.Arguments(args)
	}
	bad, ok := errors.AsType[*schema.InvalidArguments](err)
	if !ok {
		if err != nil {
			t.Errorf("%s: defaults: %v", tool.Name, err)
		}
		return
	}
	for _, f := range bad.Fields {
		if _, has := defaults[f.Field]; has {
			t.Errorf("%s: the default of %s breaks its own schema: it %s", tool.Name, f.Field, f.Problem)
		}
	}
}

func capitalized(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(first)
}

var (
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	sentences = regexp.MustCompile(`[.!?] \p{Lu}`) // more than one
)

type output struct {
	Count int `json:"count"`
}

func good[In any]() domain.Tool {
	return domain.Define(domain.Tool{
		Name: "good_tool2", Title: "Good tool", Category: "utility", Description: "Does what it is told to do.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, func(context.Context, In) (domain.ToolResult, error) { return domain.Text(""), nil })
}

type none struct{}

func TestLintTexts(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*domain.Tool)
		want   string
	}{
		{"good", func(*domain.Tool) {}, ""},
		{"several sentences", func(t *domain.Tool) { t.Description += " And does it well, e.g. fast." }, ""},
		{"capital in name", func(t *domain.Tool) { t.Name = "goodTool" }, "not snake_case"},
		{"dash in name", func(t *domain.Tool) { t.Name = "good-tool" }, "not snake_case"},
		{"double underscore", func(t *domain.Tool) { t.Name = "good__tool" }, "not snake_case"},
		{"no title", func(t *domain.Tool) { t.Title = "" }, "title"},
		{"small title", func(t *domain.Tool) { t.Title = "good" }, "title"},
		{"no category", func(t *domain.Tool) { t.Category = "" }, "category"},
		{"short description", func(t *domain.Tool) { t.Description = "Does it." }, "8 characters"},
		{"long description", func(t *domain.Tool) { t.Description = strings.Repeat("It works. ", 102) + "Really." }, "1027 characters"},
		{"no period", func(t *domain.Tool) { t.Description = "Does what it is told to do" }, "not sentences"},
		{"small description", func(t *domain.Tool) { t.Description = "does what it is told to do." }, "not sentences"},
		{"destructive reader", func(t *domain.Tool) { t.Annotations.Destructive = true }, "not destructive"},
		{"reader once", func(t *domain.Tool) { t.Annotations.Idempotent = false }, "is idempotent"},
		{"no handler", func(t *domain.Tool) { t.Run = nil }, "no handler"},
		{"unknown target", func(t *domain.Tool) { t.Target = []string{"path"} }, "is no argument"},
		{"no target", func(t *domain.Tool) { t.Name = "web_search" }, "Target names no argument"},
		{"no input", func(t *domain.Tool) { t.Input = nil }, "no input schema"},
		{"strict output", func(t *domain.Tool) { t.Output = parseOutput(`{"type":"object","required":["count"]}`) }, "failure breaks"},
		{"derived output", func(t *domain.Tool) { t.Output = schema.OutputOf[output]() }, ""},
		{"output with $schema", func(t *domain.Tool) {
			t.Output = parseOutput(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`)
		}, "$schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool, r := good[none](), &tooltest.Recorder{TB: t}
			test.change(&tool)
			lint(r, tool)
			r.Wants(t, test.want)
		})
	}
	r := &tooltest.Recorder{TB: t}
	lint(r, good[none](), good[none]())
	r.Wants(t, "taken already")
}

func parseOutput(raw string) *schema.Output {
	s, err := schema.ParseOutput([]byte(raw))
	if err != nil {
		panic(err)
	}
	return s
}

func parsed(raw string) domain.Tool {
	tool := good[none]()
	s, err := schema.Parse([]byte(raw))
	if err != nil {
		panic(err)
	}
	tool.Input = s
	return tool
}

func TestLintInput(t *testing.T) {
	for _, test := range []struct {
		name string
		tool domain.Tool
		want string
	}{
		{"good", good[struct {
			Path  string   `json:"path" doc:"File to read, e.g. a.txt."`
			Limit int      `json:"limit" default:"5" min:"1" max:"9" doc:"How many."`
			List  []string `json:"list,omitempty" doc:"Words to look for."`
		}](), ""},
		{"no doc", good[struct {
			Path string `json:"path"`
		}](), "path: doc"},
		{"two sentences", good[struct {
			Path string `json:"path" doc:"File. It must exist."`
		}](), "not one sentence"},
		{"no bounds", good[struct {
			Limit int `json:"limit" min:"1" doc:"How many."`
		}](), "limit: a number without min and max"},
		{"float without bounds", good[struct {
			Share float64 `json:"share" doc:"How much."`
		}](), "share: a number without min and max"},
		{"nested", good[struct {
			Edits []struct {
				Old string `json:"old"`
			} `json:"edits" doc:"What to change."`
		}](), "edits[].old: doc"},
		{"default out of bounds", good[struct {
			Limit int `json:"limit" default:"10" min:"1" max:"9" doc:"How many."`
		}](), "default of limit breaks"},
		{"open", parsed(`{"type":"object"}`), "additionalProperties"},
		{"anyOf", parsed(`{"type":"object","additionalProperties":false,"anyOf":[{}]}`), "anyOf"},
		{"$schema", parsed(`{"type":"object","additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`), "$schema"},
		{"untyped", parsed(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":["string","null"],"description":"It."}}}`), "a: has no type"},
		{"required with default", parsed(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","default":"x","description":"It."}}}`),
			"required although"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &tooltest.Recorder{TB: t}
			for _, p := range test.tool.Input.Params() {
				test.tool.Target = append(test.tool.Target, p.Name)
			}
			lint(r, test.tool)
			r.Wants(t, test.want)
		})
	}
}
