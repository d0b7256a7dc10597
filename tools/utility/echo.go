// Package utility holds tools that need nothing but their arguments.
package utility

import (
	"context"

	"toolserver/domain"
)

// Tools returns the tools of the category utility: echo.
func Tools() []domain.Tool {
	return []domain.Tool{domain.Define(domain.Tool{
		Name:        "echo",
		Title:       "Echo",
		Description: "Returns the message it is given, after \"Echo: \". Use it to test the connection.",
		Category:    "utility",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, echo)}
}

type echoInput struct {
	Message string `json:"message" default:"" doc:"Text to send back."`
}

func echo(_ context.Context, in echoInput) (domain.ToolResult, error) {
	return domain.Text("Echo: " + in.Message), nil
}
