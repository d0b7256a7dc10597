// Package cli is the command line of the program. Only main packages import it:
// that of the product, and those of test servers, which are the product with
// more tools.
package cli

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
)

// gcPercent trades a few megabytes of memory for faster calls. It is set first: what packages allocate in their initialization would otherwise
// start a collection in the middle of the start.
const gcPercent = 400

// memoryLimit makes the garbage collector work harder above it: a burst of long messages would otherwise leave five times the memory it needs.
const memoryLimit = 256 << 20

// limitMemory limits memory to half as much again as what is live, and sets that again after each collection: of a server that
// needs more, as for the workspaces of thousands of people, the collector would otherwise never rest.
func limitMemory(live uint64) {
	debug.SetMemoryLimit(int64(max(memoryLimit, live/2*3)))
	runtime.AddCleanup(new(struct{ _ *byte }), func(struct{}) { // unreachable: cleaned up by the next collection
		now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(now)
		limitMemory(now[0].Value.Uint64())
	}, struct{}{})
}

// Run runs the program and returns its exit code. Commands are started by this
// same program, run again: its main calls process.Supervise before anything
// else if it is one of those.
func Run(ctx context.Context, args []string, std app.Streams, p app.Program) int {
	debug.SetGCPercent(gcPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		limitMemory(0)
	}
	p.Version = cmp.Or(p.Version, "dev")
	g := newGlobals(std, p)
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
	person  *terminal
	program app.Program
	menus   map[*cobra.Command]*toolCommand // the commands that take the name of a tool
	started bool                            // a command runs: errors before are those of the command line
	signal  atomic.Int32                    // number of the signal that interrupted it, 0 for none
}

func newGlobals(std app.Streams, p app.Program) *globals {
	return &globals{std: std, person: newTerminal(std), program: p, menus: map[*cobra.Command]*toolCommand{}}
}

// selection is what the flags of the program select.
type selection struct {
	config string
	dirs   []string
	json   bool
}

// flags adds the flags of the program.
func (s *selection) flags(to *pflag.FlagSet) {
	const file = "configuration file; default: $TOOLSERVER_CONFIG, ./toolserver.yaml if it is trusted, or the user's config.yaml"
	to.StringVarP(&s.config, "config", "c", s.config, file)
	to.StringArrayVarP(&s.dirs, "dir", "C", nil, "working directory; repeat it for further roots")
	to.BoolVar(&s.json, "json", s.json, "print the result as JSON")
	named(to, "config", "FILE")
	named(to, "dir", "DIRECTORY")
}

func (s *selection) overrides() config.Overrides {
	return config.Overrides{File: s.config, Directories: s.dirs}
}

// load reads the configuration that the flags select.
func (s *selection) load() (*config.Loaded, error) { return config.Load(s.overrides()) }

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
				return g.runServer(cmd, args)
			case piped && !app.IsTerminal(g.std.In): // by a client, which must not read help as messages
				return usage(fmt.Errorf("a command is required; to connect an MCP client, start %s serve --stdio DIRECTORY; "+
					"%[1]s help lists the commands", cmd.CommandPath()))
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
	call, explain := g.toolCommand("call", menu{runs: true}), explainCommand(g)
	root.AddCommand(serveCommand(g), call.Command, toolsCommand(g), checkCommand(g), explain.Command, approveCommand(g), logCommand(g), topCommand(g),
		consoleCommand(g),
		configCommand(g),
		trustCommand(g), untrustCommand(g), tokenCommand(g), auditCommand(g), usageCommand(g), authCommand(g, (*app.App).Google), upstreamCommand(g),
		installCommand(g), uninstallCommand(g), clientsCommand(g), versionCommand(g), completionCommand())
	root.SetHelpCommand(helpCommand(g))
	describe(root)
	addCategories(root, g)
	withExitCodes(root)
	return root
}

// interruptible returns what runs a command in a context that SIGINT and SIGTERM end. A second signal terminates the program.
func (g *globals) interruptible(run func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithCancel(cmd.Context())
		defer cancel()
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		go func() {
			select {
			case s := <-signals:
				signal.Stop(signals)
				if number, ok := s.(syscall.Signal); ok {
					g.signal.Store(int32(number))
				}
				cancel()
			case <-ctx.Done():
			}
		}()
		return run(ctx, args)
	}
}

// with puts the program together for one command, without a log.
func (g *globals) with(do func(*app.App) error) error { return g.withLog(zap.NewNop(), do) }

func (g *globals) withLog(log *zap.Logger, do func(*app.App) error) error {
	cfg, err := g.load()
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

// answers reports whether there is somebody to ask.
func (g *globals) answers() bool { return g.person.answers && !g.json }

// sayUnused tells the person at the terminal which files and values are not used.
func (g *globals) sayUnused(cfg *config.Loaded) {
	for _, p := range cfg.Placeholders() {
		fmt.Fprintln(g.std.Err, "toolserver:", p)
	}
	for _, u := range cfg.Unused {
		fmt.Fprintln(g.std.Err, "toolserver:", u.Error())
	}
}

// Exit codes. A program that a signal ends exits with 128 plus the signal's number.
const (
	exitOK      = 0
	exitFailed  = 1   // the tool failed, a check failed, or the policy denies the call
	exitUsage   = 2   // the command line, the arguments or the configuration are wrong
	exitTimeout = 124 // with --exit-code: the command timed out
	exitSignal  = 128
)

// exitCodes is what help says about them.
//
//go:embed exitcodes.txt
var exitCodes string

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

// exitIf returns the error of a command that has printed that something failed, if it has.
func exitIf(failed bool) error {
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

func usage(err error) error { return &exitError{exitUsage, err} }

// codeOf returns the exit code of an error.
func (g *globals) codeOf(err error) int {
	if err == nil {
		return exitOK
	}
	if signal := g.signal.Load(); signal != 0 {
		return exitSignal + int(signal)
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
