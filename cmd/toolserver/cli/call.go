package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/nearest"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/upstream"
)

// menu is the tools that a command takes the name of one of.
type menu struct {
	category string // of the tools; empty for all
	server   bool   // the category is a server of the configuration
	runs     bool   // the command runs the tool, and does not explain it
}

// names returns what tools a word can name.
func (m menu) names(word string) []string {
	name := strings.ReplaceAll(word, "-", "_")
	switch {
	case m.server:
		names := []string{upstream.OfferedName(m.category, word)}
		if upstream.MayOffer(m.category, word) { // it is given as clients see it
			names = append(names, word)
		}
		return names
	case m.category != "":
		return []string{name, m.category + "_" + name} // toolserver gmail search
	}
	return slices.Compact([]string{word, name})
}

// word returns what names a tool among those of the menu.
func (m menu) word(t *domain.Tool) string {
	if m.server {
		return t.Origin.Tool
	}
	return strings.TrimPrefix(t.Name, m.category+"_")
}

// tools returns the tools of the menu.
func (m menu) tools(r *domain.Registry) []*domain.Tool {
	return slices.DeleteFunc(slices.Clone(r.List(m.category)), func(t *domain.Tool) bool {
		return m.server && t.Origin.Server != m.category
	})
}

// toolCommand is a command that takes the name of a tool of a menu, and the tool's arguments.
type toolCommand struct {
	*cobra.Command
	menu
	g      *globals
	as     string   // whom it is explained for; empty for the user of the command line
	groups []string // that they are in, besides those of the configuration
}

// toolCommand returns a command for the tools of a menu. Without a tool it shows its help, or what is in the category.
func (g *globals) toolCommand(name string, m menu) *toolCommand {
	c := &toolCommand{menu: m, g: g}
	c.Command = &cobra.Command{
		Use: name + " TOOL [ARGUMENTS]", ValidArgsFunction: c.complete,
		RunE: g.interruptible(func(ctx context.Context, args []string) error {
			switch {
			case len(args) > 0:
				return c.run(ctx, args)
			case m.category != "":
				return c.list(ctx)
			}
			return c.Help()
		}),
	}
	c.Flags().SetInterspersed(false) // what follows TOOL are its own flags
	g.menus[c.Command] = c
	return c
}

// addCategories adds a command for each category of tools, with the tools as
// its subcommands.
func addCategories(root *cobra.Command, g *globals) {
	for _, category := range tools.Categories() {
		c := g.toolCommand(category, menu{category: category, runs: true})
		c.Short = "Run one of the " + category + " tools"
		c.SetHelpFunc(func(cmd *cobra.Command, args []string) {
			if cmd != c.Command { // a tool
				root.HelpFunc()(cmd, args)
			} else if err := c.list(c.Context()); err != nil {
				c.PrintErrln("toolserver:", err)
			}
		})
		root.AddCommand(c.Command)
	}
}

// ofServer returns the command for the tools of a server of the configuration: its name is a command as the
// categories of built-in tools are.
func (g *globals) ofServer(root *cobra.Command, name string) *toolCommand {
	c := g.toolCommand(name, menu{category: name, server: true, runs: true})
	c.Use = name
	root.AddCommand(c.Command)
	c.SetContext(root.Context())
	return c
}

// runServer runs what begins with a word that is no command.
func (g *globals) runServer(root *cobra.Command, args []string) error {
	before := g.selection
	g.selection = before.after(args[1:])
	if !g.hasServer(args[0]) { // nor with flags that are the tool's
		if g.selection = before; !g.hasServer(args[0]) {
			return g.unknownWord(root, args[0])
		}
	}
	g.selection = before
	c := g.ofServer(root, args[0])
	help := c.Flags().BoolP("help", "h", false, "")
	if err := c.ParseFlags(args[1:]); err != nil {
		return flagError(c.Command, err)
	}
	words := c.Flags().Args()
	if *help {
		words = nil
	}
	return c.RunE(c.Command, words)
}

// hasServer reports whether the configuration has a server of that name.
func (g *globals) hasServer(name string) bool {
	cfg, err := g.load()
	if err != nil {
		return false
	}
	_, ok := cfg.Servers[name]
	return ok
}

// unknownWord returns the error of a word that is neither a command nor a server.
func (g *globals) unknownWord(root *cobra.Command, word string) error {
	others := map[string]string{}
	_ = g.with(func(a *app.App) error { // without a configuration there are only commands
		a.Servers.Kept()
		for _, t := range a.Callable(a.User()) {
			others[t.Name] = "toolserver call " + t.Name
		}
		for name := range a.Config().Servers {
			others[name] = "toolserver " + name
		}
		return nil
	})
	return unknownCommand(root, word, others)
}

// list lists the tools of a category or of a server, as they are known.
func (c *toolCommand) list(ctx context.Context) error {
	return c.g.with(func(a *app.App) error {
		var unavailable []string
		registry := a.Executor().Registry
		if c.server {
			chosen, err := servers(a, []string{c.category})
			if err != nil {
				return err
			}
			a.Servers.Know(ctx, chosen, false)
			if r := chosen[0].Report(); r.Reason != "" {
				unavailable = append(unavailable, r.Reason)
			}
		} else {
			if c.category == discovery.Category {
				a.Servers.Kept()
			}
			missing := slices.DeleteFunc(slices.Clone(registry.Catalog().Missing()), func(m domain.Missing) bool { return m.Category != c.category })
			for _, m := range domain.Joined(missing) {
				unavailable = append(unavailable, m.Name+": "+m.Reason)
			}
		}
		out := c.OutOrStdout()
		if c.g.json {
			return printTools(out, c.tools(registry))
		}
		fmt.Fprintf(out, "usage: %s TOOL [ARGUMENTS]\n\n", c.CommandPath())
		for _, t := range c.tools(registry) {
			fmt.Fprintf(out, "  %-18s %s\n", call.Visible(c.word(t)), call.Visible(discovery.Summary(t.Description)))
		}
		for _, why := range unavailable {
			fmt.Fprintf(out, "unavailable: %s\n", call.Visible(why))
		}
		return nil
	})
}

// run runs or explains a tool with the arguments of a command line, the first of which is its name.
func (c *toolCommand) run(ctx context.Context, args []string) error {
	o, err := c.find(ctx, args)
	if err != nil {
		return err
	}
	defer o.close()
	c.g.sayUnused(o.app.Config())
	switch {
	case o.line != nil && o.line.help:
		return o.line.Help()
	case c.runs:
		return o.call(ctx)
	}
	return o.explain(ctx)
}

// opened is the tool of a command line, in the program put together from the configuration that it selects.
type opened struct {
	g       *globals
	app     *app.App
	tool    *domain.Tool
	catalog *domain.Catalog
	line    *toolLine // nil if the user may not run the tool
	log     *logging.Logger
}

// close releases what was opened.
func (o *opened) close() {
	if o.app != nil {
		o.app.Close()
	}
	o.log.Close()
}

// call calls the tool, and prints what that has led to.
func (o *opened) call(ctx context.Context) error {
	person := o.g.person
	session := domain.Session{ID: "cli", Principal: o.app.User(), Once: true, Client: "command line"}
	call := call.ExecuteToolCommand{Session: session, Tool: o.tool.Name}
	if o.line != nil {
		var err error
		if call.Arguments, err = o.line.arguments(ctx, person); err != nil {
			return err
		}
		attachFor(ctx, o.app, o.tool, call.Arguments)
	}
	if call.Client = person; !o.g.json {
		person.begin(o.tool.Name)
	}
	uncatch := app.CatchBrokenPipes()
	res, err := o.app.Executor().Call(ctx, call)
	person.bar.Stop()
	uncatch() // a closed pipe terminates the program, as it does others
	return o.answer(res, err)
}

// attachFor attaches the servers that a built-in tool works with: one that lists their tools
// takes what is kept, one that calls them the server that its arguments name.
func attachFor(ctx context.Context, a *app.App, tool *domain.Tool, arguments json.RawMessage) {
	if tool.Origin.Server != "" || tool.Category != discovery.Category && tool.Name != meta.RefreshName {
		return
	}
	chosen := a.Servers.All()
	var given struct{ Server string }
	if json.Unmarshal(arguments, &given) == nil && given.Server != "" {
		chosen = slices.DeleteFunc(chosen, func(s *upstream.Server) bool { return s.Server() != given.Server })
	}
	ctx, cancel := context.WithTimeout(ctx, overall)
	defer cancel()
	a.Servers.Know(ctx, chosen, tool.Name == discovery.ExecName)
}

// after returns what the flags of the program select that follow the name of a tool, as far as that
// can be known without the tool, which may have flags of these names.
func (s selection) after(args []string) selection {
	found := s
	found.dirs = nil
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	found.flags(flags)
	flags.BoolP("help", "h", false, "")
	_ = flags.Parse(args) // mistakes are reported when the tool is known
	found.dirs = slices.Concat(s.dirs, found.dirs)
	return found
}

// same reports whether both select the same configuration.
func (s selection) same(other selection) bool {
	return s.config == other.config && slices.Equal(s.dirs, other.dirs)
}

// lineError says what is wrong with the command line of a tool.
type lineError struct{ error }

func (e *lineError) Unwrap() error { return e.error }

// find returns the tool that arguments name. The flags of the program are accepted anywhere, so it
// reads the configuration that they seem to select, and another if they turn out to be the tool's.
func (c *toolCommand) find(ctx context.Context, args []string) (*opened, error) {
	before := c.g.selection
	guess := before.after(args[1:])
	o, err := c.open(ctx, args, before, guess)
	switch {
	case err == nil && !c.g.same(guess):
		o.close()
		return c.open(ctx, args, before, c.g.selection)
	case err == nil || guess.same(before):
		return o, err
	}
	plain, failed := c.open(ctx, args, before, before)
	if wrongLine, ok := errors.AsType[*lineError](failed); ok { // as -recursive, which seems to have -c
		return nil, wrongLine
	}
	if failed == nil && c.g.same(before) {
		return plain, nil
	}
	if failed == nil {
		plain.close()
	}
	return nil, err
}

// open finds the tool that arguments name with one configuration, and parses the command line after flags
// that have selected what was before.
func (c *toolCommand) open(ctx context.Context, args []string, before, with selection) (_ *opened, err error) {
	g := c.g
	g.selection = with
	cfg, err := g.load()
	if err != nil {
		return nil, usage(err)
	}
	if c.as == "" && c.groups != nil {
		return nil, usage(errors.New("--groups says which groups --as is in, and takes that"))
	}
	if c.as != "" {
		if cfg, err = config.As(cfg, c.as, c.groups); err != nil {
			return nil, usage(err)
		}
	}
	o := &opened{g: g, log: &logging.Logger{Logger: zap.NewNop()}}
	if c.runs {
		settings := cfg.Logging
		if settings.File == "" && settings.Level == config.Default().Logging.Level {
			settings.Level = "error" // the outcome is printed anyway
		}
		if o.log, err = logging.New(settings, g.std.Err); err != nil {
			return nil, usage(cfg.Mistake("logging.file", "%v", err))
		}
	}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	if o.app, err = app.New(g.program, cfg, o.log.Logger); err != nil {
		return nil, usage(err)
	}
	if o.tool, o.catalog, err = o.app.Servers.Find(ctx, c.runs, c.names(args[0])...); err != nil {
		return nil, usage(c.suggest(o.app, args[0], err))
	}
	if c.runs && !o.catalog.Settings.Access.Allowed(o.app.User(), o.tool) {
		return o, nil // it learns nothing of the tool
	}
	if c.runs && c.category != "" && o.tool.Category != c.category {
		return nil, usage(fmt.Errorf("%s is a tool of the category %s: toolserver %[2]s %[1]s", o.tool.Name, o.tool.Category))
	}
	o.line = newToolLine(c.Command, args[0], o.tool, c.runs)
	g.selection = before
	if err := o.line.parse(args[1:]); err != nil {
		return nil, &lineError{err}
	}
	return o, nil
}

// suggest returns the error of a tool that is not there, with the one that was probably meant.
func (c *toolCommand) suggest(a *app.App, word string, err error) error {
	if strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), "no tool") {
		return err
	}
	words := map[string]string{}
	var names []string
	for _, t := range a.Callable(a.User()) {
		if c.category == "" || t.Category == c.category || c.server && t.Origin.Server == c.category {
			words[t.Name], words[c.word(t)] = c.word(t), c.word(t)
			names = append(names, t.Name, c.word(t))
		}
	}
	if near, ok := nearest.Word(word, names); ok {
		return fmt.Errorf("%w; did you mean %s %s?", err, c.CommandPath(), words[near])
	}
	return fmt.Errorf("%w; toolserver tools lists them", err)
}
