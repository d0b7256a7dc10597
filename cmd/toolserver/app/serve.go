package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"
	"golang.org/x/net/netutil"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/server/wellknown"
)

// manyDescriptors is more than clients can use up before the server has found out what
// the kernel offers.
const manyDescriptors = 16 << 10

// instructions tell models what to expect of the server, in few words: clients
// cut them at 2,000 characters.
const instructions = "Tools for files, commands and system information, under the operator's policy. " +
	"A denial names the rule and what is allowed. " +
	"A truncated result ends with the call that returns the rest."

// Streams are what the program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// ServeOptions say how an [App] serves clients.
type ServeOptions struct {
	Streams
	HTTP     string   // address to listen on; "" serves one client over standard input and output
	Insecure bool     // without any token over HTTP
	Dirs     []string // of the command line, which a reload applies again
	Errors   string   // instead of what the configuration says; may be empty
}

// gatewayGCPercent is what the garbage collector goes by with other servers: the schemas of
// hundreds of tools stay in memory, of which garbage may be no large multiple.
const gatewayGCPercent = 100

// layersPause is how long after its start a server finds out what the kernel
// offers, unless a command has asked before.
const layersPause = 100 * time.Millisecond

// parentCheck is how often the parent process is looked for.
const parentCheck = time.Second

// serving is a program that serves clients.
type serving struct {
	*App
	ServeOptions
	server *server.Server
	auth   *authenticator       // nil unless HTTP is served
	public *signin.Pages        // nil unless HTTP is served at a public address
	tell   func(message string) // to systemd
}

// Serve serves clients until ctx ends, a signal arrives or, over stdio, the
// client is gone.
func (a *App) Serve(ctx context.Context, o ServeOptions) error {
	tell := notifier() // before anything is started
	a.journal.origin(a.journal.plain, "configuration")
	servers := a.Servers.All()
	if len(servers) > 0 {
		debug.SetGCPercent(gatewayGCPercent)
	}
	a.Servers.Attach(servers, true)
	a.exec.Ready = func(p domain.Principal, t *domain.Tool) error {
		return a.journal.ready(p, t, a.exec.CatalogOf(p).Settings.Limits.UnitsPerDay)
	}
	stop, err := a.startAudit()
	if err != nil {
		return err
	}
	defer stop()
	if a.telemetry, err = startTelemetry(a, o.HTTP != ""); err != nil {
		return err
	}
	defer a.telemetry.Close()
	s := a.serves(o)
	s.tell = tell
	ctx, ended := context.WithCancel(ctx)
	// The first calls could leave none for finding out what the kernel offers: commands
	// would then run without it.
	few := osfile.Descriptors() < manyDescriptors
	if few {
		a.journal.layers()
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		select { // so that it does not compete with the first answers
		case <-time.After(layersPause):
		case <-ctx.Done():
		}
		if !few {
			a.journal.layers()
		}
		a.journal.missing()
	}()
	defer func() { ended(); <-logged }()
	defer a.exec.Registry.OnChange(func(domain.Change) { a.journal.missing() })()
	if o.HTTP == "" {
		return s.overStdio(ctx)
	}
	return s.overHTTP(ctx)
}

// serves returns the program with what it takes to serve clients.
func (a *App) serves(o ServeOptions) *serving {
	cfg := a.Config()
	s := &serving{App: a, ServeOptions: o}
	s.server = server.New(a.exec, server.Options{
		Info: s.info(), Instructions: instructions, Places: a.places, Log: a.journal.log,
		MaxMessageBytes: int(cfg.Server.MaxMessage), MaxInFlight: cfg.Server.MaxInFlight, Grace: cfg.Server.Grace,
		Connected: func(s domain.Session, protocol string) {
			a.Note("connect", s.Principal.ID, zap.String("client", s.Client), zap.String("protocol", protocol), zap.String("session", s.ID))
		},
		Tasks: sandbox.NewState(cfg.Policy().StateDirectory, "tasks").Directory, SessionEnded: a.sessionEnded, BeforeAnswers: func() { _ = a.journal.log.Sync() },
		Spool: sandbox.NewState(cfg.Policy().StateDirectory, "uploads").Unnamed, Telemetry: a.telemetry,
	})
	s.server.ErrorsAsResults.Store(cmp.Or(o.Errors, cfg.Errors) == "result")
	s.server.Offer(a.protocol(cfg))
	if o.HTTP != "" {
		s.auth = newAuthenticator(a, o.Insecure)
		if cfg.Server.PublicURL != "" {
			s.auth.public, s.public = true, signin.NewPages(cfg.Server.PublicURL)
		}
	}
	a.serving.Store(s)
	return s
}

//go:embed icon.png
var icon []byte

// info presents the server to clients.
func (s *serving) info() mcp.Implementation {
	c := s.Config().Server
	return mcp.Implementation{
		Name: c.Name, Title: c.Title, Version: s.program.Version, Description: c.Description, WebsiteURL: c.WebsiteURL,
		Icons: []mcp.Icon{{Src: "data:image/png;base64," + base64.StdEncoding.EncodeToString(icon), MIMEType: "image/png", Sizes: []string{"128x128"}}},
	}
}

// watches reports whether a principal, by its ID, has subscribed to documents.
func (s *serving) watches(principal string) bool {
	return s.server != nil && s.server.Watches(principal)
}

// sessionEnded terminates the background jobs of a session, and forgets what a person
// has allowed for it.
func (a *App) sessionEnded(principal, session string) {
	a.runner.EndSession(domain.SessionKey(principal, session))
	a.exec.EndSession(domain.SessionKey(principal, session))
	if session != "" {
		a.Note("leave", principal, zap.String("session", session))
	}
}

// CatchBrokenPipes makes writes to a standard stream without a reader fail; they
// would otherwise terminate the process. It does not ignore the signal: commands
// would inherit that.
func CatchBrokenPipes() (stop func()) {
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}

func (s *serving) overStdio(ctx context.Context) error {
	out, err := protectStdout(s.Out)
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := watchConfig(ctx, s.App, s.Dirs)
	defer r.wait()
	// The input of a killed client need not end: other children may hold its pipe.
	runs, forget := parent()
	watched := make(chan struct{})
	defer func() { stop(nil); <-watched; forget() }()
	go func() {
		defer close(watched)
		filewatch.Poll(ctx, parentCheck, true, runs, func(a, b bool) bool { return a == b }, func() {
			stop(errors.New("the parent process terminated"))
		})
	}()
	defer onSignals(ctx, func(got os.Signal) {
		// A hangup asks for a reload if there is something to reload; otherwise it
		// means that the process that started us is gone.
		if got == syscall.SIGHUP && r.recentlyChanged() {
			r.hangup(ctx)
			return
		}
		stop(fmt.Errorf("signal %v", got))
	}, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)()
	if IsTerminal(s.In) {
		fmt.Fprintln(s.Err, "toolserver: serving MCP on standard input; clients start this command themselves (see the README), and --http ADDRESS serves over HTTP")
	}
	defer context.AfterFunc(ctx, s.closeSignIns)()
	defer s.show("stdio", "")()
	err = s.server.ServeStdio(ctx, s.User, s.In, out)
	s.Note("leave", s.User().ID, zap.String("session", server.StdioSession))
	stop(nil)
	return err
}

func (s *serving) overHTTP(ctx context.Context) error {
	cfg := s.Config()
	cert, err := cfg.Certificate()
	if err != nil {
		return err
	}
	clients, err := cfg.ClientCAs()
	if err != nil {
		return err
	}
	served := certificate{app: s.App, required: cfg.Server.TLS.ClientAuth == "require"}
	served.use(cert, clients)
	l, err := net.Listen("tcp", s.HTTP)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: stop the program that serves there, or choose another address, such as 127.0.0.1:0 for any free port", err)
		}
		if s.HTTP == cfg.Server.HTTP {
			err = cfg.Mistake("server.http", "%v", err)
		}
		return err
	}
	defer l.Close()
	unshare, err := s.startStore(l.Addr().(*net.TCPAddr).Port)
	if err != nil {
		return err
	}
	defer unshare()
	defer s.countUsage()()
	l = netutil.LimitListener(l, osfile.Descriptors()/2) // or connections could take the descriptors that calls need
	scheme := "http"
	if cert != nil {
		l = tls.NewListener(l, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return served.now.Load(), nil }})
		scheme = "https"
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, and with it all it has started
	r := watchConfig(ctx, s.App, s.Dirs)
	var renewing sync.WaitGroup
	if cert != nil {
		renewing.Go(func() { served.watch(ctx) })
	}
	defer renewing.Wait()
	defer r.wait()
	defer stop()
	defer onSignals(context.WithoutCancel(ctx), func(os.Signal) {
		if ctx.Err() == nil {
			s.tell("RELOADING=1")
			defer s.tell("READY=1")
			r.hangup(ctx)
			if cert != nil {
				served.renew()
			}
		}
	}, syscall.SIGHUP)()
	url := fmt.Sprintf("%s://%s%s", scheme, l.Addr(), cfg.Server.Path)
	fmt.Fprintf(s.Err, "toolserver: serving MCP at %s, files in %s\n", url, cfg.WorkingDirectory)
	diagnosed, err := s.diagnose(ctx)
	if err != nil {
		return err
	}
	defer diagnosed()
	defer s.auth.refusals.close()
	s.auth.announce(s.Err, url)
	var pages func(http.ResponseWriter, *http.Request) bool
	if s.public != nil {
		pages = s.public.Serve
	}
	s.journal.log.Info("listening", zap.Stringer("address", l.Addr()), zap.Int("tokens", len(cfg.Server.Tokens)), zap.Int("issuers", len(cfg.Auth.Issuers)))
	defer context.AfterFunc(ctx, func() { s.closeSignIns(); s.tell("STOPPING=1") })()
	living, ended := context.WithCancel(context.WithoutCancel(ctx))
	defer ended()
	go s.lives(living)
	defer s.show("http", l.Addr().String())()
	return s.server.ServeHTTP(ctx, l, server.HTTPOptions{
		Path: cfg.Server.Path, PublicURL: cfg.Server.PublicURL, AllowedOrigins: cfg.Server.AllowedOrigins, AllowedHosts: cfg.Server.AllowedHosts,
		AnyHost:    s.auth.required() || !server.IsLoopback(s.HTTP),
		SessionTTL: cfg.Server.SessionTTL, MaxSessions: cfg.Server.MaxSessions, DrainDelay: cfg.Server.DrainDelay,
		Authenticator: s.auth, Proxies: cfg.Proxies(), Refused: s.auth.refusals.note, Pages: pages,
		Protected: func() *wellknown.Protected { return s.Config().Protected() },
		Ready:     s.ready,
	})
}

// onSignals calls do for each of the signals until ctx ends: then they end the
// process, and with it all it has started. stop stops earlier.
func onSignals(ctx context.Context, do func(os.Signal), signals ...os.Signal) (stop func()) {
	arrived, stopped := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(arrived, signals...)
	go func() {
		for {
			select {
			case s := <-arrived:
				do(s)
			case <-ctx.Done():
				signal.Stop(arrived)
				return
			case <-stopped:
				return
			}
		}
	}()
	return func() { signal.Stop(arrived); close(stopped) }
}

// IsTerminal reports whether stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const certificatePause = 2 * time.Second // between two looks at the files

// certificate is the one for HTTPS, and who vouches for those of clients, as their files are now.
type certificate struct {
	app      *App
	required bool // clients need one
	now      atomic.Pointer[tls.Config]
}

// watch loads the certificate again whenever one of its files has changed, until ctx ends.
func (c *certificate) watch(ctx context.Context) {
	look := func() (seen [3]os.FileInfo) {
		pair := c.app.Config().Server.TLS
		for i, file := range []string{pair.Cert, pair.Key, pair.ClientCA} {
			seen[i], _ = os.Stat(file)
		}
		return seen
	}
	same := func(a, b [3]os.FileInfo) bool {
		return filewatch.Same(a[0], b[0]) && filewatch.Same(a[1], b[1]) && filewatch.Same(a[2], b[2])
	}
	filewatch.Poll(ctx, certificatePause, look(), look, same, c.renew)
}

// renew loads the certificate again. One that cannot be used, perhaps because its key is
// yet to be written, changes nothing.
func (c *certificate) renew() {
	cert, err := c.app.Config().Certificate()
	clients, err2 := c.app.Config().ClientCAs()
	if err = cmp.Or(err, err2); err != nil || cert == nil {
		c.app.journal.log.Warn("the certificate cannot be used as it is now; the old one stays in use", zap.Error(err))
		return
	}
	c.use(cert, clients)
	c.app.journal.log.Info("certificate loaded", zap.Time("expires", cert.Leaf.NotAfter))
}

// use has connections begin with a certificate. Clients with certificates show them at each: no session of TLS is resumed in which
// another was looked at.
func (c *certificate) use(cert *tls.Certificate, clients *x509.CertPool) {
	if cert == nil {
		return
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{*cert}, ClientCAs: clients,
		SessionTicketsDisabled: clients != nil}
	switch {
	case c.required:
		config.ClientAuth = tls.RequireAndVerifyClientCert
	case clients != nil:
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	c.now.Store(config)
}
