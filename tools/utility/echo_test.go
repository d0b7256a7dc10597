package utility_test

import (
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/utility"
)

func TestEcho(t *testing.T) {
	box := tooltest.Sandbox(t, sandbox.Policy{}, utility.Family().Declared())
	tools := tooltest.Tools(t, utility.Family(), declare.From[struct{}]{Sandbox: box})
	tooltest.Run(t, tools[0], []tooltest.Case{
		{Name: "message", Args: `{"message":"hello"}`, Exact: "Echo: hello"},
		{Name: "unicode", Args: `{"message":"日本語 \u0000 \ud83d\ude00"}`, Exact: "Echo: 日本語 \x00 😀"},
		{Name: "markup", Args: `{"message":"<b>&amp;"}`, Exact: "Echo: <b>&amp;"},
		{Name: "lines", Args: `{"message":" a\n\tb "}`, Exact: "Echo:  a\n\tb "},
		{Name: "empty", Args: `{"message":""}`, Exact: "Echo: "},
		{Name: "absent", Args: `{}`, Exact: "Echo: "},
		{Name: "no arguments", Args: ``, Exact: "Echo: "},
		{Name: "null", Args: `{"message":null}`, Exact: "Echo: "},
		{Name: "number", Args: `{"message":42}`, Want: "message must be a string, not 42", Code: domain.CodeInvalidParams},
		{Name: "misspelt", Args: `{"mesage":"x"}`, Want: "did you mean message?", Code: domain.CodeInvalidParams},
		{Name: "not an object", Args: `["x"]`, Want: "must be an object, not an array", Code: domain.CodeInvalidParams},
		{Name: "broken", Args: `{"message":`, Code: domain.CodeInvalidParams},
	})
}
