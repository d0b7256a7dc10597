// Package utility holds tools that need nothing but their arguments.
package utility

import (
	"context"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// Family returns the tools of the category.
func Family() declare.Family[struct{}, struct{}] {
	return declare.Family[struct{}, struct{}]{
		Name: "utility", Category: declare.Category{Name: "utility", Heading: "Utility"},
		Tools: []declare.Entry[struct{}]{
			{Owner: sandbox.Owner{Tool: "echo"}, Make: echoTool},
		},
	}
}

func echoTool(_ struct{}, c sandbox.Capabilities) domain.Tool {
	return domain.Define(domain.Tool{
		Name:        c.Tool(),
		Title:       "Echo",
		Description: "Return the message, prefixed with \"Echo: \". Use it to test the connection.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Ability:     "test the connection",
	}, func(_ context.Context, in echoInput) (domain.ToolResult, error) {
		return domain.Text("Echo: " + in.Message), nil
	})
}

type echoInput struct {
	Message string `json:"message" default:"" doc:"Text to return."`
}
