// Package cli is the command line of the program. Only main packages import it:
// that of the product, and those of test servers, which are the product with
// more tools.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
)

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
	p.Version = cmp.Or(p.Version, "dev")
	g := &globals{std: std, program: p, menus: map[*cobra.Command]menu{}}
	return g.execute(ctx, newRoot(g), args)
}

// execute runs a command line and returns the exit code.
func (g *globals) execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetIn(g.std.In)
	root.SetOut(g.std.Out)
	root.SetErr(g.std.Err)
	err := root.ExecuteContext(ctx)
	if _, ok := errors.AsType[*exitError](err); err != nil && !ok && !g.started {
		err = usage(err)
	}
	if err != nil && err.Error() != "" {
		fmt.Fprintln(g.std.Err, "toolserver:", err)
	}
	return g.codeOf(err)
}

// globals are what every command has: the flags of the program, and its streams.
type globals struct {
	selection
	std     app.Streams
	program app.Program
	menus   map[*cobra.Command]menu // of the commands that take the name of a tool
	started bool                    // a command runs: errors before are those of the command line
	signal  atomic.Int32            // number of the signal that interrupted it, 0 for none
}

// selection is what the flags of the program select.
type selection struct {
	config string
	dirs   []string
	json   bool
}

// flags adds the flags of the program.
func (s *selection) flags(to *pflag.FlagSet) {
	to.StringVarP(&s.config, "config", "c", s.config, "configuration file; default: $TOOLSERVER_CONFIG, ./toolserver.yaml if it is trusted, or the user's config.yaml")
	to.StringArrayVarP(&s.dirs, "dir", "C", nil, "working directory; repeat it for further roots")
	to.BoolVar(&s.json, "json", s.json, "print the result as JSON")
	named(to, "config", "FILE")
	named(to, "dir", "DIRECTORY")
}

// bareRoot returns the program without commands.
func bareRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:           "toolserver",
		Version:       g.program.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, piped := g.std.In.(*os.File)
			switch {
			case len(args) > 0:
				return g.serverCommand(cmd, args)
			case piped && !app.IsTerminal(g.std.In): // by a client, which must not read help as messages
				return usage(fmt.Errorf("a command is required; to connect an MCP client, start %s serve --stdio DIRECTORY; %[1]s help lists the commands", cmd.CommandPath()))
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			g.started = true
			if _, has := cmd.Annotations[noJSON]; has && g.json {
				return usage(fmt.Errorf("%s prints nothing that --json applies to", cmd.CommandPath()))
			}
			return nil
		},
		ValidArgsFunction: g.completeServerTool,
	}
	root.CompletionOptions.DisableDefaultCmd = true // completionCommand
	root.Flags().SetInterspersed(false)             // what follows the name of a server are flags of its tool
	root.SetFlagErrorFunc(flagError)
	g.flags(root.PersistentFlags())
	return root
}

// newRoot returns the command line. Subcommands for single tools are made only
// when one is called, so that serving starts without them.
func newRoot(g *globals) *cobra.Command {
	root := bareRoot(g)
	root.AddCommand(serveCommand(g), callCommand(g), toolsCommand(g), checkCommand(g), explainCommand(g), logCommand(g), configCommand(g), trustCommand(g), untrustCommand(g), tokenCommand(g), authCommand(g, (*app.App).Google), upstreamCommand(g), installCommand(g), uninstallCommand(g), clientsCommand(g), versionCommand(g), completionCommand())
	root.SetHelpCommand(helpCommand(g))
	describe(root)
	addCategories(root, g)
	withExitCodes(root)
	return root
}

// load reads the configuration that the flags select.
func (g *globals) load(dirs []string) (*config.Loaded, error) {
	return config.Load(config.Overrides{File: g.config, Directories: dirs})
}

// sayUnused tells the person at the terminal which files and values are not used.
func (g *globals) sayUnused(cfg *config.Loaded) {
	for _, p := range cfg.Placeholders() {
		fmt.Fprintln(g.std.Err, "toolserver:", p)
	}
	for _, u := range cfg.Unused {
		fmt.Fprintln(g.std.Err, "toolserver:", u.Error())
	}
}
