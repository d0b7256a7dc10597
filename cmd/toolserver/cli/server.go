package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"toolserver/cmd/toolserver/app"
	"toolserver/domain"
	"toolserver/tools/meta"
	"toolserver/tools/upstream"
)

// serverCommand runs a tool of a server of the configuration: its name is a command as the
// categories of built-in tools are.
func (g *globals) serverCommand(cmd *cobra.Command, args []string) error {
	unknown := usage(fmt.Errorf("unknown command %q; toolserver help lists the commands", args[0]))
	cfg, err := g.load(g.dirs)
	if err != nil {
		return unknown
	}
	if _, ok := cfg.Servers[args[0]]; !ok {
		return unknown
	}
	if len(args) == 1 || args[1] == "--help" || args[1] == "-h" {
		return g.listServer(cmd, args[0])
	}
	names := []string{upstream.OfferedName(args[0], args[1])}
	if upstream.MayOffer(args[0], args[1]) { // it is given as clients see it
		names = append(names, args[1])
	}
	return runTool(cmd.Context(), g, args[0], args[2:], names...)
}

// listServer lists the tools of a server, as they are known.
func (g *globals) listServer(cmd *cobra.Command, name string) error {
	return g.with(func(a *app.App) error {
		chosen, err := servers(a, []string{name})
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		a.KnowServers(ctx, chosen)
		out := cmd.OutOrStdout()
		fmt.Fprintf(out, "usage: toolserver %s TOOL [ARGUMENTS]\n\n", name)
		for _, t := range a.Executor().Registry.List(name) {
			if t.Origin.Server == name {
				fmt.Fprintf(out, "  %-18s %s\n", domain.Visible(t.Origin.Tool), domain.Visible(upstream.Summary(t.Description)))
			}
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
	if tool.Origin.Server != "" || tool.Category != upstream.Category && tool.Name != meta.RefreshName {
		return
	}
	chosen := a.Servers()
	var given struct{ Server string }
	if json.Unmarshal(arguments, &given) == nil && given.Server != "" {
		chosen = slices.DeleteFunc(chosen, func(s *upstream.Server) bool { return s.Server() != given.Server })
	}
	ctx, cancel := context.WithTimeout(ctx, overall)
	defer cancel()
	if tool.Name == upstream.ExecName {
		a.CallServers(ctx, chosen)
		return
	}
	a.KnowServers(ctx, chosen)
}
