// Manytools is the product with tools to measure it by: one that sleeps and as
// many more, which do nothing, as MANYTOOLS says. It is no part of the product.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/cli"
	"github.com/toolserver/toolserver/domain"
)

var harmless = domain.Annotations{ReadOnly: true, Idempotent: true}

type napInput struct {
	Milliseconds int `json:"milliseconds" min:"0" max:"60000" doc:"How long to sleep."`
}

func nap() domain.Tool {
	return domain.Define(domain.Tool{
		Name: "nap", Title: "Nap", Category: "bench", Description: "Sleeps.", Annotations: harmless,
	}, func(ctx context.Context, in napInput) (domain.ToolResult, error) {
		select {
		case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
			return domain.Text("rested"), nil
		case <-ctx.Done():
			return domain.ToolResult{}, ctx.Err()
		}
	})
}

// fillerInput is as long as the arguments of tools are.
type fillerInput struct {
	Path  string `json:"path" doc:"File or directory to look at."`
	Limit int    `json:"limit" default:"100" min:"1" max:"10000" doc:"Maximum number of lines to return."`
	All   bool   `json:"all" default:"false" doc:"Whether hidden files count as well."`
}

func filler(i int) domain.Tool {
	return domain.Define(domain.Tool{
		Name: fmt.Sprintf("filler_%d", i), Title: "Filler", Category: "bench",
		Description: "Does nothing. It makes the list of tools longer, by as much as a tool does.", Annotations: harmless,
	}, func(context.Context, fillerInput) (domain.ToolResult, error) { return domain.Text("done"), nil })
}

func main() {
	if code, isChild := app.RunChild(); isChild {
		os.Exit(code)
	}
	fillers, err := strconv.Atoi(os.Getenv("MANYTOOLS"))
	if err != nil && os.Getenv("MANYTOOLS") != "" {
		fmt.Fprintln(os.Stderr, "manytools: MANYTOOLS:", err)
		os.Exit(2)
	}
	tools := []domain.Tool{nap()}
	for i := range fillers {
		tools = append(tools, filler(i))
	}
	std := app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], std, app.Program{Version: "manytools", Tools: tools}))
}
