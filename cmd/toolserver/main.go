// Toolserver gives MCP clients a governed set of tools, over stdio and HTTP,
// and people the same tools on the command line.
package main

import (
	"context"
	"os"

	"toolserver/cmd/toolserver/cli"
	"toolserver/sandbox/appender"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/runner"
)

// version is set by the linker.
var version = "dev"

func main() {
	if appender.IsChild() {
		os.Exit(appender.RunChild())
	}
	if runner.IsSupervisor() {
		os.Exit(runner.Supervise(confine.Start))
	}
	std := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Run(context.Background(), os.Args[1:], std, cli.Program{Version: version}))
}
