package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"toolserver/cmd/toolserver/app"
	"toolserver/cmd/toolserver/logging"
	"toolserver/config"
	"toolserver/domain"
	"toolserver/server"
	"toolserver/tools"
	"toolserver/tools/upstream"
)

// callCommand runs any tool by its name.
func callCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "Run one tool",
		Long: "Run one tool as an MCP client would: the same checks, the same messages.\n" +
			"Required arguments can be positional, and all can be flags; - reads a value from standard input.\n" +
			"toolserver call TOOL --help lists the arguments of a tool.",
		ValidArgsFunction: g.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return runTool(cmd.Context(), g, "", args[1:], args[0])
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows TOOL are its own flags
	return cmd
}

// addCategories adds a command for each category of tools, with the tools as
// its subcommands.
func addCategories(root *cobra.Command, g *globals) {
	for _, category := range tools.Categories() {
		cmd := &cobra.Command{
			Use:   category + " TOOL [ARGUMENTS]",
			Short: "Run one of the " + category + " tools",
			RunE: func(cmd *cobra.Command, args []string) error {
				if len(args) == 0 {
					return listCategory(cmd, g, category)
				}
				name := strings.ReplaceAll(args[0], "-", "_")
				return runTool(cmd.Context(), g, category, args[1:], name, category+"_"+name) // toolserver gmail search
			},
		}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
			if err := listCategory(cmd, g, category); err != nil {
				cmd.PrintErrln("toolserver:", err)
			}
		})
		cmd.Flags().SetInterspersed(false)
		root.AddCommand(cmd)
	}
}

func listCategory(cmd *cobra.Command, g *globals, category string) error {
	return g.with(func(a *app.App) error {
		if category == upstream.Category {
			a.KeptServers()
		}
		fmt.Fprintf(cmd.OutOrStdout(), "usage: %s TOOL [ARGUMENTS]\n\n", cmd.CommandPath())
		for _, t := range a.Executor().Registry.List(category) {
			fmt.Fprintf(cmd.OutOrStdout(), "  %-18s %s\n", strings.TrimPrefix(t.Name, category+"_"), t.Title)
		}
		missing := slices.DeleteFunc(slices.Clone(a.Executor().Registry.Catalog().Missing()), func(m domain.Missing) bool { return m.Category != category })
		for _, m := range domain.Joined(missing) {
			fmt.Fprintf(cmd.OutOrStdout(), "unavailable: %s: %s\n", m.Name, m.Reason)
		}
		return nil
	})
}

// completeTool completes the name of a tool for the shell.
func (g *globals) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	err := g.with(func(a *app.App) error {
		a.KeptServers()
		for _, t := range a.Executor().Registry.ListEnabled() {
			names = append(names, t.Name+"\t"+t.Title)
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// with puts the program together for one command, without a log.
func (g *globals) with(do func(*app.App) error) error { return g.withLog(zap.NewNop(), do) }

func (g *globals) withLog(log *zap.Logger, do func(*app.App) error) error {
	cfg, err := g.load(g.dirs)
	if err != nil {
		return usage(err)
	}
	a, err := app.New(g.program, cfg, log)
	if err != nil {
		return usage(err)
	}
	defer a.Close()
	return do(a)
}

// runTool runs the first tool that has one of the names with the arguments of a command
// line.
func runTool(ctx context.Context, g *globals, category string, args []string, names ...string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := g.load(g.dirs)
	if err != nil {
		return usage(err)
	}
	g.sayUnused(cfg)
	quiet := cfg.Logging
	if quiet.File == "" && quiet.Level == config.Default().Logging.Level {
		quiet.Level = "error" // the outcome is printed anyway
	}
	log, err := logging.New(quiet, g.std.Err)
	if err != nil {
		return usage(cfg.Mistake("logging.file", "%v", err))
	}
	defer log.Close()
	a, err := app.New(g.program, cfg, log.Logger)
	if err != nil {
		return usage(err)
	}
	defer a.Close()

	me := a.User()
	cmd := domain.ExecuteToolCommand{Session: domain.Session{ID: "cli", Principal: me}}
	asJSON := false
	tool, catalog, err := a.Find(ctx, true, names...)
	if err != nil {
		return usage(err)
	}
	cmd.Tool = tool.Name
	if catalog.Settings.Access.Allowed(me, tool) {
		if category != "" && tool.Category != category {
			return usage(fmt.Errorf("%s is a tool of the category %s: toolserver %[2]s %[1]s", tool.Name, tool.Category))
		}
		line, err := parseArguments(tool, args, g.std)
		if err != nil || line.help {
			return err
		}
		cmd.Arguments, asJSON = line.arguments, line.json
		attachFor(ctx, a, tool, line.arguments)
	}
	person := &terminal{std: g.std, watched: app.IsTerminal(g.std.Err), answers: app.IsTerminal(g.std.Err) && app.IsTerminal(g.std.In)}
	cmd.Client = person
	uncatch := app.CatchBrokenPipes()
	res, err := a.Executor().Call(ctx, cmd)
	person.clear()
	uncatch() // a closed pipe terminates the program, as it does others
	if err != nil {
		return err
	}
	return printResult(g.std, res, asJSON)
}

// printResult shows a result: as MCP's JSON, or its text to people.
func printResult(std app.Streams, res domain.ToolResult, asJSON bool) error {
	out := std.Out
	if asJSON {
		fmt.Fprintf(out, "%s\n", server.MarshalResult(res))
	} else {
		if res.IsError {
			out = std.Err
		}
		for _, c := range res.Blocks() {
			printBlock(out, c)
		}
	}
	if res.IsError {
		return &exitError{code: exitFailed}
	}
	return nil
}

func printBlock(w io.Writer, c domain.Content) {
	switch c.Type {
	case domain.TextContent:
		io.WriteString(w, c.Text)
		if c.Text != "" && !strings.HasSuffix(c.Text, "\n") {
			io.WriteString(w, "\n")
		}
	case domain.LinkContent:
		fmt.Fprintln(w, c.URI)
	default:
		fmt.Fprintf(w, "[%s, %s, %d bytes]\n", c.Type, c.MIMEType, len(c.Data)+len(c.Text))
	}
}
