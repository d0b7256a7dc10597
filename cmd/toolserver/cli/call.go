package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/discovery"
)

// callCommand runs any tool by its name.
func callCommand(g *globals) *cobra.Command {
	return g.toolCommand("call", menu{runs: true}, (*cobra.Command).Help, g.run)
}

// toolCommand returns a command that takes the name of a tool of a menu, and the tool's arguments.
func (g *globals) toolCommand(name string, m menu, alone func(*cobra.Command) error, run func(*cobra.Command, menu, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " TOOL [ARGUMENTS]", ValidArgsFunction: g.completeTool(m),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return alone(cmd)
			}
			return run(cmd, m, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows TOOL are its own flags
	g.menus[cmd] = m
	return cmd
}

// addCategories adds a command for each category of tools, with the tools as
// its subcommands.
func addCategories(root *cobra.Command, g *globals) {
	for _, category := range tools.Categories() {
		list := func(cmd *cobra.Command) error { return g.listCategory(cmd, category) }
		cmd := g.toolCommand(category, menu{category: category, runs: true}, list, g.run)
		cmd.Short = "Run one of the " + category + " tools"
		cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
			if c != cmd { // a tool
				root.HelpFunc()(c, args)
			} else if err := list(cmd); err != nil {
				cmd.PrintErrln("toolserver:", err)
			}
		})
		root.AddCommand(cmd)
	}
}

// run runs a tool with the arguments of a command line, the first of which is its name.
func (g *globals) run(cmd *cobra.Command, m menu, args []string) error {
	ctx, stop := g.interruptible(cmd.Context())
	defer stop()
	return g.withTool(ctx, request{m, cmd, args}, func(o *opened) error {
		call := domain.ExecuteToolCommand{Session: domain.Session{ID: "cli", Principal: o.app.User(), Once: true, Client: "command line"}, Tool: o.tool.Name}
		if o.line != nil {
			if o.line.help {
				return o.line.Help()
			}
			var err error
			if call.Arguments, err = o.line.arguments(ctx, g.std.In); err != nil {
				return err
			}
			attachFor(ctx, o.app, o.tool, call.Arguments)
		}
		person := &terminal{std: g.std, watched: app.IsTerminal(g.std.Err), answers: app.IsTerminal(g.std.Err) && app.IsTerminal(g.std.In)}
		call.Client = person
		uncatch := app.CatchBrokenPipes()
		res, err := o.app.Executor().Call(ctx, call)
		person.clear()
		uncatch() // a closed pipe terminates the program, as it does others
		return g.answer(o, res, err)
	})
}

// listCategory lists the tools of a category.
func (g *globals) listCategory(cmd *cobra.Command, category string) error {
	return g.with(func(a *app.App) error {
		if category == discovery.Category {
			a.KeptServers()
		}
		m := menu{category: category}
		list := m.tools(a.Executor().Registry)
		if g.json {
			return printTools(g.std.Out, list)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "usage: %s TOOL [ARGUMENTS]\n\n", cmd.CommandPath())
		for _, t := range list {
			fmt.Fprintf(cmd.OutOrStdout(), "  %-18s %s\n", m.word(t), discovery.Summary(t.Description))
		}
		missing := slices.DeleteFunc(slices.Clone(a.Executor().Registry.Catalog().Missing()), func(m domain.Missing) bool { return m.Category != category })
		for _, m := range domain.Joined(missing) {
			fmt.Fprintf(cmd.OutOrStdout(), "unavailable: %s: %s\n", m.Name, m.Reason)
		}
		return nil
	})
}

// suggest returns the error of a tool that is not there, with the one that was probably meant.
func (r request) suggest(a *app.App, err error) error {
	if strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), "no tool") {
		return err
	}
	words := map[string]string{}
	var names []string
	for _, t := range a.Callable(a.User()) {
		if r.category == "" || t.Category == r.category || r.server && t.Origin.Server == r.category {
			words[t.Name], words[r.word(t)] = r.word(t), r.word(t)
			names = append(names, t.Name, r.word(t))
		}
	}
	if near, ok := nearest.Word(r.args[0], names); ok {
		return fmt.Errorf("%w; did you mean %s %s?", err, r.parent.CommandPath(), words[near])
	}
	return fmt.Errorf("%w; toolserver tools lists them", err)
}

func errOtherCategory(tool *domain.Tool) error {
	return fmt.Errorf("%s is a tool of the category %s: toolserver %[2]s %[1]s", tool.Name, tool.Category)
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
