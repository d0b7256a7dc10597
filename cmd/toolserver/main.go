// Toolserver gives MCP clients a governed set of tools, over stdio and HTTP,
// and people the same tools on the command line.
package main

import (
	"context"
	"os"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/cli"
)

// version is the next one. The linker sets that of a release, with its commit and date, for
// which Go's own record of the build stands in.
var version = "0.1.0-dev"

var commit, date string

func main() {
	if code, isChild := app.RunChild(); isChild {
		os.Exit(code)
	}
	std := app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], std, app.Program{Version: version, Commit: commit, Date: date}))
}
