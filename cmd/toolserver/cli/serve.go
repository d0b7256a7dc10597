package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"toolserver/config"
	"toolserver/domain"
	"toolserver/server"
)

// instructions tell models what to expect of the server, in few words: clients
// cut them at 2,000 characters.
const instructions = "Tools for files, commands and facts about this machine, governed by its operator's policy. " +
	"Relative paths start at the working directory. A refusal names the rule and what would be allowed. " +
	"A result that is cut ends with the call that reads on."

type serveFlags struct {
	stdio, insecure bool
	http            string
}

func serveCommand(g *globals) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [--stdio | --http ADDRESS] [DIRECTORY...]",
		Short: "Serve MCP clients",
		Long: "Serve one client over stdio, or any number over Streamable HTTP.\n" +
			"The first directory is the working directory, the others are further roots.",
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if f.stdio && f.http != "" {
				return usage(errors.New("--stdio and --http exclude each other"))
			}
			return serve(cmd.Context(), g, f, dirs)
		},
	}
	cmd.Flags().BoolVar(&f.stdio, "stdio", false, "serve over standard input and output, as is the default")
	cmd.Flags().StringVar(&f.http, "http", "", "serve over HTTP on `address`, such as 127.0.0.1:8080")
	cmd.Flags().BoolVar(&f.insecure, "insecure-no-auth", false, "serve everybody who can connect, without any token")
	return cmd
}

func serve(ctx context.Context, g *globals, f serveFlags, dirs []string) error {
	cfg, err := g.load(dirs...)
	if err != nil {
		return err
	}
	defer catchBrokenPipes()()
	log, err := newLogger(cfg.Logging, g.std.Err)
	if err != nil {
		return err
	}
	defer log.close()
	a, err := g.build(cfg, log.Logger)
	if err != nil {
		return err
	}
	defer a.close()
	a.attach()
	a.server = g.newServer(a, cfg, log)
	ctx, ended := context.WithCancel(ctx)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		select { // so that it does not compete with the first answers
		case <-time.After(layersPause):
		case <-ctx.Done():
		}
		a.logLayers()
		a.logMissing()
	}()
	defer func() { ended(); <-logged }()
	defer a.exec.Registry.OnChange(func(domain.Change) { a.logMissing() })()

	address := f.http
	if address == "" && !f.stdio {
		address = cfg.Server.HTTP
	}
	if address != "" {
		return serveHTTP(ctx, g, a, address, f.insecure, dirs)
	}
	return serveStdio(ctx, g, a, dirs)
}

// catchBrokenPipes makes writes to a standard stream whose reader is gone fail,
// which would otherwise end the process. It does not ignore the signal: commands
// would inherit that.
func catchBrokenPipes() (stop func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}

// layersPause is how long after its start a server finds out what the kernel offers,
// if no command has asked before.
const layersPause = 100 * time.Millisecond

func (g *globals) newServer(a *app, cfg *config.Loaded, log *logger) *server.Server {
	s := server.New(a.exec, server.Options{
		Name: cfg.Server.Name, Version: g.program.Version, Instructions: instructions, Log: log.Logger,
		MaxMessageBytes: int(cfg.Server.MaxMessage), MaxInFlight: cfg.Server.MaxInFlight, Grace: cfg.Server.Grace,
		SessionEnded: a.sessionEnded, BeforeAnswers: log.writer.flush,
	})
	s.Configure(serverSettings(cfg))
	return s
}

// sessionEnded stops the background jobs of a session.
func (a *app) sessionEnded(principal, session string) {
	a.runner.EndSession(domain.SessionKey(principal, session))
}

func serveStdio(ctx context.Context, g *globals, a *app, dirs []string) error {
	out, err := protectStdout(g.std.Out)
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	r := watchConfig(ctx, g, a, dirs)
	defer r.wait()
	orphaned := parentGone(ctx)
	go func() {
		for {
			select {
			case s := <-signals:
				// A hangup asks for a reload if there is something to reload,
				// and otherwise says that whoever started us is gone.
				if s == syscall.SIGHUP && r.recentlyChanged() {
					r.hangup(ctx)
					continue
				}
				stop(fmt.Errorf("signal %v", s))
			case <-orphaned:
				stop(errors.New("the parent process has ended"))
			case <-ctx.Done():
				return
			}
		}
	}()
	if isTerminal(g.std.In) {
		fmt.Fprintln(g.std.Err, "toolserver: serving MCP on standard input; clients start this command themselves (see the README), and --http ADDRESS serves over HTTP")
	}
	err = a.server.ServeStdio(ctx, a.user, g.std.In, out)
	stop(nil)
	return err
}

func serveHTTP(ctx context.Context, g *globals, a *app, address string, insecure bool, dirs []string) error {
	cfg := a.current()
	if !insecure && len(cfg.Server.Tokens) == 0 && !isLoopbackAddress(address) {
		return usage(fmt.Errorf("%s is not a loopback address and no token is configured: add server.tokens (toolserver token new NAME), or give --insecure-no-auth", address))
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer l.Close()
	scheme := "http"
	if cfg.Server.TLS.Cert != "" {
		cert, err := tls.LoadX509KeyPair(cfg.Server.TLS.Cert, cfg.Server.TLS.Key)
		if err != nil {
			return fmt.Errorf("server.tls: %w", err)
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
		scheme = "https"
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	r := watchConfig(ctx, g, a, dirs)
	defer r.wait()
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	go func() {
		for {
			select {
			case <-hangups:
				r.hangup(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	url := fmt.Sprintf("%s://%s%s", scheme, l.Addr(), cfg.Server.Path)
	fmt.Fprintf(g.std.Err, "toolserver: serving MCP at %s, files in %s\n", url, cfg.WorkingDirectory)
	auth := newAuthenticator(a, insecure)
	auth.announce(g.std.Err, url)
	a.log.Info("listening", zap.Stringer("address", l.Addr()), zap.Int("tokens", len(cfg.Server.Tokens)))
	return a.server.ServeHTTP(ctx, l, server.HTTPOptions{
		Path: cfg.Server.Path, AllowedOrigins: cfg.Server.AllowedOrigins, AllowedHosts: cfg.Server.AllowedHosts,
		AnyHost:    auth.required() || !isLoopbackAddress(address),
		SessionTTL: cfg.Server.SessionTTL, MaxSessions: cfg.Server.MaxSessions,
		Authenticator: auth,
	})
}

// isLoopbackAddress reports whether only this machine can connect to address.
func isLoopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parentCheck is how often the parent is looked for.
const parentCheck = time.Second
