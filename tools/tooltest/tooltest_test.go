package tooltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"toolserver/domain"
)

// recorder is a test that only notes what is reported to it.
type recorder struct {
	testing.TB
	reports []string
}

func (r *recorder) Helper()                           {}
func (r *recorder) Error(args ...any)                 { r.reports = append(r.reports, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// wants checks that the only report is one with want, or that there is none if
// want is empty.
func (r *recorder) wants(t *testing.T, want string) {
	t.Helper()
	switch {
	case want == "" && len(r.reports) != 0:
		t.Errorf("reported %q; want nothing", r.reports)
	case want != "" && (len(r.reports) != 1 || !strings.Contains(r.reports[0], want)):
		t.Errorf("reported %q; want one with %q", r.reports, want)
	}
}

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
		{"no input", func(t *domain.Tool) { t.Input = nil }, "no input schema"},
		{"strict output", func(t *domain.Tool) { t.Output = parseOutput(`{"type":"object","required":["count"]}`) }, "failure breaks"},
		{"derived output", func(t *domain.Tool) { t.Output = domain.OutputOf[output]() }, ""},
		{"output with $schema", func(t *domain.Tool) {
			t.Output = parseOutput(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`)
		}, "$schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool, r := good[none](), &recorder{TB: t}
			test.change(&tool)
			Lint(r, tool)
			r.wants(t, test.want)
		})
	}
	r := &recorder{TB: t}
	Lint(r, good[none](), good[none]())
	r.wants(t, "taken already")
}

func parseOutput(raw string) *domain.ToolOutputSchema {
	s, err := domain.ParseOutputSchema([]byte(raw))
	if err != nil {
		panic(err)
	}
	return s
}

func parsed(raw string) domain.Tool {
	tool := good[none]()
	s, err := domain.ParseSchema([]byte(raw))
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
			r := &recorder{TB: t}
			Lint(r, test.tool)
			r.wants(t, test.want)
		})
	}
}

func TestVerify(t *testing.T) {
	text, structured := good[none](), good[none]()
	structured.Output = domain.OutputOf[output]()
	data := func(v any) domain.ToolResult { r := domain.Text("x"); r.Results = v; return r }
	failure := func(change func(*domain.ToolResult)) domain.ToolResult {
		r := domain.Failure("not_found", "There is none.", "Look elsewhere.")
		change(&r)
		return r
	}
	for _, test := range []struct {
		name string
		tool domain.Tool
		res  domain.ToolResult
		want string
	}{
		{"text", text, domain.Text("x"), ""},
		{"empty", text, domain.Text(""), ""},
		{"no content", text, domain.ToolResult{}, "without content"},
		{"not UTF-8", text, domain.Text("\xff"), "UTF-8"},
		{"typeless", text, domain.ToolResult{Content: []domain.Content{{Text: "x"}}}, "no type"},
		{"structured without schema", text, data(output{1}), "no output schema"},
		{"structured", structured, data(output{1}), ""},
		{"breaks schema", structured, data(map[string]any{"count": "one"}), "breaks the output schema"},
		{"no structure", structured, domain.Text("x"), "no structured content"},
		{"failure", text, failure(func(*domain.ToolResult) {}), ""},
		{"structured failure", structured, failure(func(*domain.ToolResult) {}), ""},
		{"plain bad news", text, domain.ToolResult{Content: domain.Text("x").Content, IsError: true}, ""},
		{"failure in other words", text, failure(func(r *domain.ToolResult) { r.Content[0].Text = "No." }), "but its text"},
		{"failure not marked", structured, failure(func(r *domain.ToolResult) { r.IsError = false }), "not marked"},
		{"no hint", text, domain.Failure("not_found", "There is none.", ""), "without message or hint"},
		{"type in capitals", text, domain.Failure("NotFound", "There is none.", "Look."), "not snake_case"},
		{"meta", text, domain.ToolResult{Content: domain.Text("").Content, Meta: []int{1}}, "_meta is not an object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			Verify(r, test.tool, test.res)
			r.wants(t, test.want)
		})
	}
}

func TestCompare(t *testing.T) {
	ok, bad := domain.Text("all is well"), domain.Failure("not_found", "no such file", "Look elsewhere.")
	broken := &domain.Error{Code: domain.CodeTimeout, Message: "ran out of time", Hint: "Ask for less."}
	for _, test := range []struct {
		name string
		c    Case
		res  domain.ToolResult
		err  error
		want string
	}{
		{"ok", Case{Want: "well", Wants: []string{"all", "is"}, Exact: "all is well"}, ok, nil, ""},
		{"other text", Case{Want: "bad"}, ok, nil, "want something with"},
		{"second text", Case{Want: "well", Wants: []string{"bad"}}, ok, nil, "want something with"},
		{"not exact", Case{Exact: "all is"}, ok, nil, "all is well"},
		{"bad news", Case{Fail: true, Want: "no such"}, bad, nil, ""},
		{"typed", Case{ErrorType: "not_found"}, bad, nil, ""},
		{"other type", Case{ErrorType: "denied"}, bad, nil, "error type"},
		{"unexpected bad news", Case{}, bad, nil, "is error true"},
		{"missing bad news", Case{Fail: true}, ok, nil, "is error false"},
		{"code", Case{Code: domain.CodeTimeout, ErrorType: "timeout", Want: "time"}, domain.ToolResult{}, broken, ""},
		{"other code", Case{Code: domain.CodeInternal}, domain.ToolResult{}, broken, "code -32006"},
		{"unexpected error", Case{}, domain.ToolResult{}, broken, "code -32006"},
		{"missing error", Case{Code: domain.CodeTimeout}, ok, nil, "code 0"},
		{"no hint", Case{Code: domain.CodeTimeout}, domain.ToolResult{}, &domain.Error{Code: domain.CodeTimeout}, "no hint"},
		{"untyped error", Case{Code: domain.CodeInternal, Want: "odd"}, domain.ToolResult{}, errors.New("odd"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			test.c.compare(r, good[none](), test.res, test.err)
			r.wants(t, test.want)
		})
	}
}

func TestRun(t *testing.T) {
	checked := false
	Run(t, good[none](), []Case{
		{Name: "check", Check: func(*testing.T, domain.ToolResult) { checked = true }},
		{Name: "code", Args: `{"a":1}`, Code: domain.CodeInvalidParams, Want: "a is not a known argument"},
	})
	if !checked {
		t.Error("Check was not called")
	}
}
