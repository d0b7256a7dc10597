package tooltest

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"toolserver/domain"
)

// Bounds of a tool's description, in characters.
const (
	minDescription = 20
	maxDescription = 1024
)

// Lint checks what every built-in tool must have, however little it does: names
// and texts a model can work with, a schema every model provider accepts, and
// annotations that do not contradict each other.
func Lint(t testing.TB, tools ...domain.Tool) {
	t.Helper()
	if _, err := domain.NewRegistry(tools...); err != nil {
		t.Error(err)
	}
	for _, tool := range tools {
		lintTexts(t, tool)
		if tool.Input != nil {
			lintInput(t, tool)
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

func lintOutput(t testing.TB, tool domain.Tool) {
	t.Helper()
	schemaRoot(t, tool, "output", tool.Output)
	bad := domain.Failure("not_found", "There is none.", "Look elsewhere.")
	if err := tool.Output.Check(bad.Structured()); err != nil {
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
func lintParams(t testing.TB, path string, params []domain.Param) {
	t.Helper()
	for _, p := range params {
		at := path + p.Name
		if !capitalized(p.Doc) || !strings.HasSuffix(p.Doc, ".") || sentences.MatchString(p.Doc) {
			t.Errorf("%s: doc %q is not one sentence", at, p.Doc)
		}
		lintValue(t, at, p)
	}
}

func lintValue(t testing.TB, at string, p domain.Param) {
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
	bad, ok := errors.AsType[*domain.InvalidArguments](err)
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
