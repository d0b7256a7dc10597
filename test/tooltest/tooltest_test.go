package tooltest

import (
	"context"
	"errors"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
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

func TestVerify(t *testing.T) {
	text, structured := good[none](), good[none]()
	structured.Output = schema.OutputOf[output]()
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
		{"error result", text, domain.ToolResult{Content: domain.Text("x").Content, IsError: true}, ""},
		{"failure in other words", text, failure(func(r *domain.ToolResult) { r.Content[0].Text = "No." }), "but its text"},
		{"failure not marked", structured, failure(func(r *domain.ToolResult) { r.IsError = false }), "not marked"},
		{"no hint", text, domain.Failure("not_found", "There is none.", ""), "without message or hint"},
		{"type in capitals", text, domain.Failure("NotFound", "There is none.", "Look."), "not snake_case"},
		{"meta", text, domain.ToolResult{Content: domain.Text("").Content, Meta: []int{1}}, "_meta is not an object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Recorder{TB: t}
			Verify(r, test.tool, test.res)
			r.Wants(t, test.want)
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
		{"failure", Case{Fail: true, Want: "no such"}, bad, nil, ""},
		{"typed", Case{ErrorType: "not_found"}, bad, nil, ""},
		{"other type", Case{ErrorType: "denied"}, bad, nil, "error type"},
		{"unexpected failure", Case{}, bad, nil, "is error true"},
		{"missing failure", Case{Fail: true}, ok, nil, "is error false"},
		{"code", Case{Code: domain.CodeTimeout, ErrorType: "timeout", Want: "time"}, domain.ToolResult{}, broken, ""},
		{"other code", Case{Code: domain.CodeInternal}, domain.ToolResult{}, broken, "code -32006"},
		{"unexpected error", Case{}, domain.ToolResult{}, broken, "code -32006"},
		{"missing error", Case{Code: domain.CodeTimeout}, ok, nil, "code 0"},
		{"no hint", Case{Code: domain.CodeTimeout}, domain.ToolResult{}, &domain.Error{Code: domain.CodeTimeout}, "no hint"},
		{"untyped error", Case{Code: domain.CodeInternal, Want: "odd"}, domain.ToolResult{}, errors.New("odd"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Recorder{TB: t}
			test.c.compare(r, good[none](), test.res, test.err)
			r.Wants(t, test.want)
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
