package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/server"
)

// errorModes are the values of errors in the configuration.
var errorModes = []string{"jsonrpc", "result"}

func serveCommand(g *globals) *cobra.Command {
	var stdio bool
	o := app.ServeOptions{Streams: g.std}
	cmd := &cobra.Command{
		Use:         "serve [--stdio | --http ADDRESS] [DIRECTORY...]",
		Annotations: map[string]string{noJSON: ""},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if stdio && o.HTTP != "" {
				return usage(errors.New("--stdio and --http cannot be combined"))
			}
			if o.Errors != "" && !slices.Contains(errorModes, o.Errors) {
				return usage(fmt.Errorf("--errors %q is neither %s", o.Errors, strings.Join(errorModes, " nor ")))
			}
			g.dirs = append(g.dirs, dirs...)
			o.Dirs = g.dirs
			return serve(cmd.Context(), g, o, stdio)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve over standard input and output (default)")
	cmd.Flags().StringVar(&o.HTTP, "http", "", "serve over HTTP on this address, such as 127.0.0.1:8080")
	named(cmd.Flags(), "http", "ADDRESS")
	cmd.Flags().StringVar(&o.Errors, "errors", "", "jsonrpc or result: what a tool that could not run returns, whatever the configuration says")
	named(cmd.Flags(), "errors", "MODE")
	completes(cmd, "errors", errorModes...)
	cmd.Flags().BoolVar(&o.Insecure, "insecure-no-auth", false, "serve every client that can connect, without a token")
	return cmd
}

func serve(ctx context.Context, g *globals, o app.ServeOptions, stdio bool) error {
	cfg, err := g.load()
	if err != nil {
		return usage(err)
	}
	if o.HTTP == "" && !stdio {
		o.HTTP = cfg.Server.HTTP
	}
	if err := config.CheckAddress(o.HTTP); err != nil {
		return usage(err)
	}
	if o.HTTP != "" && !o.Insecure && !cfg.Shared() && !server.IsLoopback(o.HTTP) {
		return usage(fmt.Errorf("%s is not a loopback address and neither tokens nor issuers are configured: "+
			"add server.tokens (toolserver token new NAME) or auth.issuers, or use --insecure-no-auth", o.HTTP))
	}
	if err := config.Unsafe(cfg, o.HTTP); err != nil {
		return usage(err)
	}
	defer app.CatchBrokenPipes()()
	log, err := logging.New(cfg.Logging, g.std.Err)
	if err != nil {
		return usage(cfg.Mistake("logging.file", "%v", err))
	}
	defer log.Close()
	if cfg.Logging.File != "" || cfg.Logging.Level == "error" {
		g.sayUnused(cfg) // since the log does not, or elsewhere
	}
	g.program.HTTP = o.HTTP != ""
	a, err := app.New(g.program, cfg, log.Logger)
	if err != nil {
		return usage(err)
	}
	defer a.Close()
	return a.Serve(ctx, o)
}
