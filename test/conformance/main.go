// Conformance is the product with the tools, resources and prompts that the
// protocol's conformance suites ask a server for. It is no part of the product,
// and ./... leaves it out; the script run beside it drives it.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/cli"
	"github.com/toolserver/toolserver/domain"
)

func main() {
	if code, isChild := app.RunChild(); isChild {
		os.Exit(code)
	}
	verbatim, err := verbatimTools()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	watched := &watchedResource{}
	lists := &lists{}
	std := app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], std, app.Program{
		Version: "conformance",
		Tools: slices.Concat(contentTools(), tellingTools(), askingTools(), inputRequiredTools(), taskTools(), verbatim,
			lists.tools(), []domain.Tool{watched.tool()}),
		Resources: append(resources(), watched.resource()),
		Prompts:   prompts(),
		Ready:     lists.ready,
	}))
}

// nothing is the input of a tool without arguments.
type nothing struct{}

// reads returns a tool that changes nothing, without arguments.
func reads(name, description string, run func(context.Context) (domain.ToolResult, error)) domain.Tool {
	return readsWith(name, description, func(ctx context.Context, _ nothing) (domain.ToolResult, error) { return run(ctx) })
}

// readsWith is [reads] for a tool with arguments.
func readsWith[In any](name, description string, run func(context.Context, In) (domain.ToolResult, error)) domain.Tool {
	return domain.Define(domain.Tool{
		Name: name, Title: name, Category: "conformance", Description: description,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
	}, run)
}

// changes returns a tool that changes what the server offers or shows.
func changes(name, description string, run func(context.Context) (domain.ToolResult, error)) domain.Tool {
	t := reads(name, description, run)
	t.Annotations = domain.Annotations{}
	return t
}
