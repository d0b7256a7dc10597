package tooltest

import (
	"encoding/json"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Verify reports where res, which came out of a call of tool, breaks what every
// result must keep to:
//
//   - it has a block of content, and all text is valid UTF-8;
//   - structured content is there if and only if the tool has an output schema,
//     or it is an error, and it satisfies the schema in either case;
//   - structured content and _meta are JSON objects;
//   - the text of a failure is its message, and its hint is not empty.
func Verify(t testing.TB, tool domain.Tool, res domain.ToolResult) {
	t.Helper()
	if len(res.Blocks()) == 0 {
		t.Errorf("%s: a result without content", tool.Name)
	}
	for i, c := range res.Blocks() {
		if c.Type == "" {
			t.Errorf("%s: content %d has no type", tool.Name, i)
		}
		if !utf8.ValidString(c.Text) {
			t.Errorf("%s: content %d is not valid UTF-8: %q", tool.Name, i, c.Text)
		}
	}
	verifyStructured(t, tool, res)
	if res.ErrorType() != "" {
		verifyFailure(t, tool, res)
	}
	if res.Meta != nil {
		verifyObject(t, tool, "_meta", res.Meta)
	}
}

func verifyStructured(t testing.TB, tool domain.Tool, res domain.ToolResult) {
	t.Helper()
	structured := res.Structured()
	if structured == nil {
		if tool.Output != nil && !res.IsError {
			t.Errorf("%s: has an output schema, but no structured content", tool.Name)
		}
		return
	}
	switch {
	case tool.Output == nil && !res.IsError:
		t.Errorf("%s: has structured content, but no output schema", tool.Name)
	case tool.Output != nil:
		if err := Conforms(tool.Output, structured); err != nil {
			t.Errorf("%s: structured content breaks the output schema: %.1000v", tool.Name, err)
		}
	}
	verifyObject(t, tool, "structured content", structured)
}

// Conforms reports how structured content breaks a schema.
func Conforms(schema *schema.Output, structured any) error {
	raw, _ := schema.MarshalJSON() // never fails
	b, err := json.Marshal(structured)
	if err != nil {
		return err
	}
	v, err := rawjson.Decode(b)
	if err != nil {
		return err
	}
	return jsonschema.MustCompileString("schema://output", string(raw)).Validate(v)
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// verifyFailure checks a tool execution error: that of [domain.Failure], or a
// result that has its fields besides others.
func verifyFailure(t testing.TB, tool domain.Tool, res domain.ToolResult) {
	t.Helper()
	if !res.IsError {
		t.Errorf("%s: a failure that is not marked as an error", tool.Name)
	}
	var envelope struct {
		Type    string `json:"error_type"`
		Message string `json:"message"`
		Hint    string `json:"next_action_hint"`
	}
	b, err := json.Marshal(res.Results)
	if err == nil {
		err = json.Unmarshal(b, &envelope)
	}
	if err != nil {
		t.Errorf("%s: failure: %v", tool.Name, err)
		return
	}
	if text := Text(res); envelope.Message != text && string(b) != text { // a result with fields of its own is its text, too
		t.Errorf("%s: the failure's message is %q, but its text is %q", tool.Name, envelope.Message, text)
	}
	if envelope.Message == "" || envelope.Hint == "" {
		t.Errorf("%s: a failure without message or hint: %+v", tool.Name, envelope)
	}
	if !snakeCase.MatchString(envelope.Type) {
		t.Errorf("%s: error type %q is not snake_case", tool.Name, envelope.Type)
	}
}

func verifyObject(t testing.TB, tool domain.Tool, what string, v any) {
	t.Helper()
	if b, err := json.Marshal(v); err != nil || b[0] != '{' {
		t.Errorf("%s: %s is not an object: %s, %v", tool.Name, what, b, err)
	}
}
