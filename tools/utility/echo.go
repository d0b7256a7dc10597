// Package utility holds tools that need nothing but their arguments.
package utility

import (
	"context"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

const category = "utility"

// all returns the tools of the category: what each declares, and what makes it.
func all() []declare.Entry[struct{}] {
	return []declare.Entry[struct{}]{
		{Owner: sandbox.Owner{Tool: "echo"}, Make: echoTool},
	}
}

// Declared returns what the tools of the category declare.
func Declared() declare.Group {
	return declare.Group{Category: category, Heading: "Utility", Tools: declare.Tools(all())}
}

// Tools returns the tools of the category utility: echo.
func Tools(s *sandbox.Sandbox) []domain.Tool { return declare.Make(s, struct{}{}, all()) }

func echoTool(_ struct{}, c sandbox.Capabilities) domain.Tool {
	return domain.Define(domain.Tool{
		Name:        c.Tool(),
		Title:       "Echo",
		Description: "Return the message, prefixed with \"Echo: \". Use it to test the connection.",
		Category:    category,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Ability:     "test the connection",
	}, echo)
}

type echoInput struct {
	Message string `json:"message" default:"" doc:"Text to return."`
}

func echo(_ context.Context, in echoInput) (domain.ToolResult, error) {
	return domain.Text("Echo: " + in.Message), nil
}
