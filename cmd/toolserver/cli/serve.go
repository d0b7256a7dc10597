package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/console"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/server"
)

// errorModes are the values of errors in the configuration.
var errorModes = []string{"jsonrpc", "result"}

func serveCommand(g *globals) *cobra.Command {
	var stdio bool
	var console string
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
			return serve(cmd.Context(), g, o, stdio, console)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "serve over standard input and output (default)")
	cmd.Flags().StringVar(&o.HTTP, "http", "", "serve over HTTP on this address, such as 127.0.0.1:8080")
	named(cmd.Flags(), "http", "ADDRESS")
	cmd.Flags().StringVar(&o.Errors, "errors", "", "jsonrpc or result: what a tool that could not run returns, whatever the configuration says")
	named(cmd.Flags(), "errors", "MODE")
	completes(cmd, "errors", errorModes...)
	cmd.Flags().BoolVar(&o.Insecure, "insecure-no-auth", false, "serve every client that can connect, without a token")
	cmd.Flags().StringVar(&console, "console", "", "with --http: show the console on this address of loopback, such as 127.0.0.1:8081")
	named(cmd.Flags(), "console", "ADDRESS")
	return cmd
}

func serve(ctx context.Context, g *globals, o app.ServeOptions, stdio bool, console string) error {
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
	if console != "" && o.HTTP == "" {
		return usage(errors.New("--console needs --http; toolserver console shows servers that clients start over stdio"))
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
	if console = cmp.Or(console, cfg.Console.HTTP); console != "" && o.HTTP != "" {
		closed, err := openConsole(ctx, g, cfg, console, a)
		if err != nil {
			return err
		}
		defer closed()
	}
	return a.Serve(ctx, o)
}

// consoleCommand shows the console until it is interrupted.
func consoleCommand(g *globals) *cobra.Command {
	var address string
	cmd := command("console", nil, g.interruptible(func(ctx context.Context, _ []string) error {
		cfg, err := g.load()
		if err != nil {
			return usage(err)
		}
		closed, err := openConsole(ctx, g, cfg, address, nil)
		if err != nil {
			return err
		}
		<-ctx.Done()
		closed()
		return nil
	}))
	cmd.Annotations = map[string]string{noJSON: ""}
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:0", "address of loopback that it listens on")
	named(cmd.Flags(), "listen", "ADDRESS")
	return cmd
}

// openConsole serves the console on an address and prints a one-time address for it, and another one for each line of the
// terminal. With a program that serves, people sign in as they do there, if they can. It is closed when ctx ends, or by closed, which waits.
func openConsole(ctx context.Context, g *globals, cfg *config.Loaded, address string, a *app.App) (closed func(), err error) {
	if err := config.CheckAddress(address); err != nil {
		return nil, usage(err)
	}
	public := a != nil && cfg.Console.PublicURL != ""
	if !server.IsLoopback(address) && !public {
		return nil, usage(fmt.Errorf("the console is served on loopback only, and %s is not; reach it from elsewhere through ssh -L", address))
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	desk, leave, err := app.OpenDesk(cfg, a)
	if err != nil {
		l.Close()
		return nil, err
	}
	o := console.Options{
		Run:    func(ctx context.Context, args ...string) ([]byte, error) { return printed(ctx, g, args...) },
		Login:  func(name string) (string, error) { return login(ctx, g, name) },
		Record: app.RecordDirectory(cfg), Sockets: app.LiveDirectory(cfg), Desk: desk,
		State: sandbox.NewState(cfg.Policy().StateDirectory, "console"), User: cfg.Principal(cfg.Server.User).ID,
	}
	if a != nil {
		o.Note = func(who, what string) { a.Note("console", who, zap.String("reason", what)) }
	}
	if public {
		o.Public, _ = url.Parse(cfg.Console.PublicURL) // the configuration was checked
		o.SignIn, o.Groups = a.SignIn, func() []string { return a.Config().Console.Groups }
	}
	c, err := console.New(o, l)
	if err != nil {
		l.Close()
		leave()
		return nil, err
	}
	announce := func() { fmt.Fprintf(g.std.Err, "toolserver: console, once and within 10 minutes: %s\n", c.Address()) }
	if !public { // where people sign in, nobody else gets in who can read a log
		announce()
	}
	ctx, cancel := context.WithCancel(ctx)
	var served sync.WaitGroup
	served.Go(func() { _ = c.Serve(ctx, l) })
	if g.answers() && !public {
		go func() { // ends with the program, as reading a terminal does
			for in := bufio.NewScanner(g.std.In); in.Scan(); {
				announce()
			}
		}()
	}
	return func() { cancel(); served.Wait(); leave() }, nil
}

// maxPrinted bounds what a command prints for the console.
const maxPrinted = 32 << 20

// printed runs a command of the program with --json, and returns what it prints. The error is what it says.
func printed(ctx context.Context, g *globals, args ...string) ([]byte, error) {
	var said bounded
	out, err := run(ctx, g, &said, args...)
	if err != nil {
		err = errors.New(cmp.Or(strings.TrimPrefix(strings.TrimSpace(said.String()), "toolserver: "), err.Error()))
	}
	return out, err
}

// run runs a command of the program with --json, which says things to people.
func run(ctx context.Context, g *globals, people io.Writer, args ...string) ([]byte, error) {
	var out bounded
	sub := newGlobals(app.Streams{In: strings.NewReader("-"), Out: &out, Err: people}, g.program) // so that an argument that is - stays one
	sub.config, sub.json = g.config, true
	for _, dir := range slices.Backward(g.dirs) {
		args = append([]string{"--dir", dir}, args...)
	}
	if code := sub.execute(ctx, newRoot(sub), args); code != exitOK {
		return out.Bytes(), fmt.Errorf("exit code %d", code)
	}
	return out.Bytes(), nil
}

// Times that a sign-in which the console began may take: until there is an address, and in all.
const (
	addressTime = 30 * time.Second
	loginTime   = 10 * time.Minute
)

// login begins a sign-in to another server, which goes on until ctx ends, and returns its address.
func login(ctx context.Context, g *globals, name string) (string, error) {
	said, people := io.Pipe()
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	go func() {
		defer cancel()
		_, err := run(ctx, g, people, "upstream", "login", "--no-browser", "--", name)
		people.CloseWithError(cmp.Or(err, io.EOF))
	}()
	late := time.AfterFunc(addressTime, func() { said.CloseWithError(errors.New("there is no address to sign in at")) })
	var all []string
	for in := bufio.NewScanner(said); in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if u, err := url.Parse(line); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			late.Stop()
			go io.Copy(io.Discard, said) // until the sign-in ends
			return line, nil
		}
		all = append(all, line)
	}
	late.Stop()
	cancel()
	return "", errors.New(cmp.Or(strings.TrimPrefix(strings.Join(all, "\n"), "toolserver: "), "there is no address to sign in at"))
}

// bounded is a buffer that takes no more than maxPrinted bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxPrinted {
		return 0, fmt.Errorf("there are more than %d MiB of it: ask for less, such as a shorter time", maxPrinted>>20)
	}
	return b.Buffer.Write(p)
}
