package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/upstream"
)

// serverCommand runs a tool of a server of the configuration: its name is a command as the
// categories of built-in tools are.
func (g *globals) serverCommand(root *cobra.Command, args []string) error {
	before := g.selection
	g.selection = before.after(args[1:])
	if !g.hasServer(args[0]) { // nor with flags that are the tool's
		if g.selection = before; !g.hasServer(args[0]) {
			return g.unknownWord(root, args[0])
		}
	}
	g.selection = before
	cmd := &cobra.Command{Use: args[0]}
	root.AddCommand(cmd)
	cmd.SetContext(root.Context())
	cmd.Flags().SetInterspersed(false) // what follows the name of a tool are its own flags
	help := cmd.Flags().BoolP("help", "h", false, "")
	if err := cmd.ParseFlags(args[1:]); err != nil {
		return flagError(cmd, err)
	}
	if words := cmd.Flags().Args(); len(words) > 0 && !*help {
		return g.run(cmd, menu{category: args[0], server: true, runs: true}, words)
	}
	return g.listServer(root, args[0])
}

// hasServer reports whether the configuration has a server of that name.
func (g *globals) hasServer(name string) bool {
	cfg, err := g.load(g.dirs)
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
		a.KeptServers()
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

// listServer lists the tools of a server, as they are known.
func (g *globals) listServer(cmd *cobra.Command, name string) error {
	return g.with(func(a *app.App) error {
		chosen, err := servers(a, []string{name})
		if err != nil {
			return err
		}
		ctx, stop := g.interruptible(cmd.Context())
		defer stop()
		a.KnowServers(ctx, chosen)
		out, m := cmd.OutOrStdout(), menu{category: name, server: true}
		list := m.tools(a.Executor().Registry)
		if g.json {
			return printTools(out, list)
		}
		fmt.Fprintf(out, "usage: toolserver %s TOOL [ARGUMENTS]\n\n", name)
		for _, t := range list {
			fmt.Fprintf(out, "  %-18s %s\n", domain.Visible(m.word(t)), domain.Visible(discovery.Summary(t.Description)))
		}
		if r := chosen[0].Report(); r.Reason != "" {
			fmt.Fprintf(out, "unavailable: %s\n", domain.Visible(r.Reason))
		}
		return nil
	})
}

// attachFor attaches the servers that a built-in tool works with: one that lists their tools
// takes what is kept, one that calls them the server that its arguments name.
func attachFor(ctx context.Context, a *app.App, tool *domain.Tool, arguments json.RawMessage) {
	if tool.Origin.Server != "" || tool.Category != discovery.Category && tool.Name != meta.RefreshName {
		return
	}
	chosen := a.Servers()
	var given struct{ Server string }
	if json.Unmarshal(arguments, &given) == nil && given.Server != "" {
		chosen = slices.DeleteFunc(chosen, func(s *upstream.Server) bool { return s.Server() != given.Server })
	}
	ctx, cancel := context.WithTimeout(ctx, overall)
	defer cancel()
	if tool.Name == discovery.ExecName {
		a.CallServers(ctx, chosen)
		return
	}
	a.KnowServers(ctx, chosen)
}
