package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"toolserver/config"
	"toolserver/domain"
	"toolserver/server"
	"toolserver/tools"
)

// callCommand runs any tool by its name.
func callCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "Run one tool",
		Long: "Run one tool as an MCP client would: the same checks, the same messages.\n" +
			"Required arguments may be given in order, all as flags; - reads a value from standard input.\n" +
			"toolserver call TOOL --help shows what a tool takes.",
		DisableFlagParsing: true, // the tool's own flags are not known yet
		ValidArgsFunction:  g.completeTool,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, rest, err := g.toolAndArguments(args)
			if name == "" || err != nil {
				return orHelp(cmd, err)
			}
			return runTool(cmd.Context(), g, "", name, rest)
		},
	}
}

// addCategories adds a command for each category of tools, with the tools as
// its subcommands.
func addCategories(root *cobra.Command, g *globals) {
	for _, category := range tools.Categories() {
		root.AddCommand(&cobra.Command{
			Use:                category + " TOOL [ARGUMENTS]",
			Short:              "Run one of the " + category + " tools",
			DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error {
				name, rest, err := g.toolAndArguments(args)
				switch {
				case err != nil:
					return err
				case name == "":
					return listCategory(cmd, g, category)
				}
				return runTool(cmd.Context(), g, category, strings.ReplaceAll(name, "-", "_"), rest)
			},
		})
	}
}

func listCategory(cmd *cobra.Command, g *globals, category string) error {
	a, done, err := g.start(zap.NewNop())
	if err != nil {
		return err
	}
	defer done()
	fmt.Fprintf(cmd.OutOrStdout(), "usage: %s TOOL [ARGUMENTS]\n\n", cmd.CommandPath())
	for _, t := range a.exec.Registry.List(category) {
		fmt.Fprintf(cmd.OutOrStdout(), "  %-18s %s\n", t.Name, t.Title)
	}
	return nil
}

// completeTool completes the name of a tool for the shell.
func (g *globals) completeTool(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	a, done, err := g.start(zap.NewNop())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer done()
	var names []string
	for _, t := range a.exec.Registry.ListEnabled() {
		names = append(names, t.Name+"\t"+t.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// toolAndArguments splits what follows a command that is about a tool: flags
// that every command has, the tool's name, and the tool's own arguments. The
// name is empty if there is none, or if help is asked for.
func (g *globals) toolAndArguments(args []string) (name string, rest []string, err error) {
	args, err = g.takeFlags(args)
	if err != nil {
		return "", nil, usage(err)
	}
	if len(args) == 0 || args[0] == "-h" || args[0] == "--help" {
		return "", nil, nil
	}
	return args[0], args[1:], nil
}

// orHelp returns err, or shows help if there is none.
func orHelp(cmd *cobra.Command, err error) error {
	if err != nil {
		return err
	}
	return cmd.Help()
}

// takeFlags takes the flags that every command has off the front of args.
func (g *globals) takeFlags(args []string) (rest []string, err error) {
	for len(args) > 0 {
		name, value, inline := strings.Cut(args[0], "=")
		var into func(string)
		switch name {
		case "-c", "--config":
			into = func(v string) { g.config = v }
		case "-C", "--dir":
			into = func(v string) { g.dirs = append(g.dirs, v) }
		default:
			return args, nil
		}
		args = args[1:]
		if !inline {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		into(value)
	}
	return nil, nil
}

// start builds the program for one command. Its caller ends it.
func (g *globals) start(log *zap.Logger) (*app, func(), error) {
	cfg, err := g.load()
	if err != nil {
		return nil, nil, usage(err)
	}
	a, err := g.build(cfg, log)
	if err != nil {
		return nil, nil, usage(err)
	}
	return a, a.close, nil
}

// runTool runs the named tool with the arguments of a command line.
func runTool(ctx context.Context, g *globals, category, name string, args []string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := g.load()
	if err != nil {
		return usage(err)
	}
	quiet := cfg.Logging
	if quiet.File == "" && quiet.Level == config.Default().Logging.Level {
		quiet.Level = "error" // the outcome is there to be seen
	}
	log, err := newLogger(quiet, g.std.Err)
	if err != nil {
		return usage(err)
	}
	defer log.close()
	a, err := g.build(cfg, log.Logger)
	if err != nil {
		return usage(err)
	}
	defer a.close()

	me := a.user()
	cmd := domain.ExecuteToolCommand{Session: domain.Session{ID: "cli", Principal: me}, Tool: name}
	asJSON := false
	tool, catalog, err := a.find(name)
	if err != nil {
		return err
	}
	if catalog.Settings.Access.Allowed(me, tool) {
		if category != "" && tool.Category != category {
			return usage(fmt.Errorf("%s is a tool of the category %s: toolserver %s %s", name, tool.Category, tool.Category, name))
		}
		line, err := parseArguments(tool, args, g.std)
		if err != nil || line.help {
			return err
		}
		cmd.Arguments, asJSON = line.arguments, line.json
	}
	person := &terminal{std: g.std, watched: isTerminal(g.std.Err), answers: isTerminal(g.std.Err) && isTerminal(g.std.In)}
	cmd.Client = person
	uncatch := catchBrokenPipes()
	res, err := a.exec.Call(ctx, cmd)
	person.clear()
	uncatch() // a result that nobody reads ends the program, as it does others
	if err != nil {
		return err
	}
	return printResult(g.std, res, asJSON)
}

// printResult shows a result: as MCP's JSON, or its text to people.
func printResult(std Streams, res domain.ToolResult, asJSON bool) error {
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
		if !strings.HasSuffix(c.Text, "\n") {
			io.WriteString(w, "\n")
		}
	case domain.LinkContent:
		fmt.Fprintln(w, c.URI)
	default:
		fmt.Fprintf(w, "[%s, %s, %d bytes]\n", c.Type, c.MIMEType, len(c.Data)+len(c.Text))
	}
}
