// Package cli is the command line of the program. Only main packages import it:
// that of the product, and those of test servers, which are the product with
// more tools.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"toolserver/cmd/toolserver/app"
	"toolserver/config"
	"toolserver/domain"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the tool reports an error, or a check fails
	exitUsage  = 2 // the command line or the arguments are wrong
)

// exitError is an error with the exit code it leads to.
type exitError struct {
	code int
	err  error // nil if everything is printed already
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// gcPercent trades a few megabytes of memory for faster calls. It is set first: what
// packages allocate in their initialization would otherwise start a collection
// in the middle of the start.
const gcPercent = 400

// memoryLimit makes the garbage collector work harder above it: a burst of long
// messages would otherwise leave five times the memory it needs.
const memoryLimit = 256 << 20

// Run runs the program and returns its exit code. Commands are started by this
// same program, run again: its main calls process.Supervise before anything
// else if it is one of those.
func Run(ctx context.Context, args []string, std app.Streams, p app.Program) int {
	debug.SetGCPercent(gcPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	cmd := newRoot(std, p)
	cmd.SetArgs(args)
	cmd.SetIn(std.In)
	cmd.SetOut(std.Out)
	cmd.SetErr(std.Err)
	err := cmd.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintln(std.Err, "toolserver:", err)
	}
	return codeOf(err)
}

// globals are the flags every command has.
type globals struct {
	std     app.Streams
	program app.Program
	config  string
	dirs    []string
}

// newRoot returns the command line. Subcommands for single tools are made only
// when one is called, so that serving starts without them.
func newRoot(std app.Streams, p app.Program) *cobra.Command {
	g := &globals{std: std, program: p}
	root := &cobra.Command{
		Use:   "toolserver",
		Short: "Tools for MCP clients and people, under one policy",
		Long: "Toolserver gives MCP clients files, commands and more under one readable policy,\n" +
			"over stdio and Streamable HTTP. Every tool is also a command.",
		Version:       p.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return g.serverCommand(cmd, args)
		},
	}
	root.Flags().SetInterspersed(false) // what follows the name of a server are flags of its tool
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.PersistentFlags().StringVarP(&g.config, "config", "c", "", "configuration `file`; default: $TOOLSERVER_CONFIG, ./toolserver.yaml if it is trusted, or the user's config.yaml")
	root.PersistentFlags().StringArrayVarP(&g.dirs, "dir", "C", nil, "working `directory`; repeat it for further roots")
	root.AddCommand(serveCommand(g), callCommand(g), toolsCommand(g), checkCommand(g), explainCommand(g), configCommand(g), trustCommand(g), untrustCommand(), tokenCommand(), authCommand(g, (*app.App).Google), upstreamCommand(g), versionCommand(g))
	addCategories(root, g)
	return root
}

func usage(err error) error { return &exitError{exitUsage, err} }

func codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	switch domain.CodeOf(err) {
	case domain.CodeInvalidParams, domain.CodeToolNotFound, domain.CodeToolDisabled:
		return exitUsage
	}
	return exitFailed
}

// load reads the configuration that the flags select.
func (g *globals) load(dirs []string) (*config.Loaded, error) {
	return config.Load(config.Overrides{File: g.config, Directories: dirs})
}

// sayUnused tells the person at the terminal which files are not obeyed.
func (g *globals) sayUnused(cfg *config.Loaded) {
	for _, u := range cfg.Unused {
		fmt.Fprintln(g.std.Err, "toolserver:", u.Error())
	}
}

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), "toolserver", g.program.Version) },
	}
}
