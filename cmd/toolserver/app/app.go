// Package app is the program put together from a configuration: the tools, the
// executor and the server, with reloading, logging of calls and authentication.
package app

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/osfile"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/text/jq"
	"github.com/toolserver/toolserver/tools"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/google"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/tools/resources"
	"github.com/toolserver/toolserver/tools/shell"
	"github.com/toolserver/toolserver/tools/skills"
	"github.com/toolserver/toolserver/tools/web"
	"github.com/toolserver/toolserver/upstream"
)

// Program says which program runs: the product, or a test server that offers
// more.
type Program struct {
	Version   string
	Commit    string               // of the source
	Date      string               // of the commit
	Tools     []domain.Tool        // besides the built-in ones
	Sources   []domain.Source      // likewise, of items that may change while it runs
	Resources []domain.Resource    // likewise
	Prompts   []domain.Prompt      // likewise
	Ready     func(*call.Executor) // called once everything is put together; may be nil
	HTTP      bool                 // it serves over HTTP
}

// RunChild does the work of a child process of the server and returns its exit
// code, if this process was started as one: the program starts itself again to
// supervise commands and to run jq. Its main calls it first.
func RunChild() (code int, isChild bool) {
	if process.IsSupervisor() {
		return process.Supervise(confine.Confiner()), true
	}
	return jq.RunChild()
}

// App is the program put together from a configuration.
type App struct {
	*inForce
	Servers *Servers // other MCP servers

	program  Program
	started  time.Time
	journal  *journal
	exec     *call.Executor
	results  *call.ResultStore
	launcher *process.Launcher
	runner   *runner.Runner
	kernel   *sandbox.Kernel
	selector *jq.Selector

	workspaces *workspaces
	telemetry  *telemetry.Telemetry // nil if nobody wants to know

	mu       sync.Mutex // held while a configuration is applied
	families tools.Families
	secrets  []string // besides those of the configuration

	closed  atomic.Bool             // the configuration has had tokens or issuers: nobody gets in without one any more
	serving atomic.Pointer[serving] // without a server until Serve
}

// inForce has the configuration that is in force.
type inForce struct{ now atomic.Pointer[state] }

// state is what is in force of a configuration, except what the registry has.
type state struct {
	config    *config.Loaded
	tokens    *server.Tokens
	issued    *identity.Verifier // of tokens that others issue
	settings  domain.Settings    // of the executor
	families  *tools.Update      // of built-in tools
	user      domain.Principal   // the caller on stdio and the command line
	anyone    domain.Principal   // the caller over HTTP without authentication
	box       *tools.Sandbox
	approvals *call.Approvals
	pods      pods // when served over HTTP

	warnings []string // about the configuration
}

// Config returns the configuration in force.
func (f *inForce) Config() *config.Loaded { return f.now.Load().config }

// User returns the caller on stdio and the command line.
func (f *inForce) User() domain.Principal { return f.now.Load().user }

// SignIn returns how somebody at a browser shows who they are; nil if no issuer in force can say it.
func (f *inForce) SignIn() *identity.Identify { return f.now.Load().issued.Anybody() }

// Layers returns the sandbox layers that enforce the policy in force.
func (f *inForce) Layers() domain.SandboxLayers { return f.now.Load().box.Layers() }

// New puts the program together. The caller closes it.
func New(program Program, cfg *config.Loaded, log *zap.Logger) (*App, error) {
	self, err := process.Self()
	if err != nil {
		log.Warn("commands run without a supervisor", zap.Error(err))
	}
	registry, err := domain.NewRegistry()
	if err != nil {
		return nil, err
	}
	a := &App{
		inForce: &inForce{}, program: program, selector: jq.New(self), started: time.Now(),
		results:  call.NewResultStore(domain.PageBytes(cfg.Limits.MaxResultChars)),
		launcher: process.NewLauncher(process.Options{Supervisor: self, Wrap: confine.Wrap}),
	}
	a.serving.Store(&serving{})
	a.workspaces = &workspaces{app: a, idle: idleTime, byID: map[string]*workspace{}, retired: map[*workspace]*time.Timer{}}
	a.results.Unnamed = func() (*os.File, error) { return osfile.Unnamed("") }
	a.runner = runner.New(a.launcher, runner.Options{})
	a.kernel = sandbox.NewKernel(a.runner)
	a.kernel.Left = func(path string, err error) {
		log.Warn("a temporary file could not be removed", zap.String("path", path), zap.Error(err))
	}
	a.journal = &journal{inForce: a.inForce, log: log, plain: log, registry: registry}
	a.Servers = &Servers{inForce: a.inForce, registry: registry, others: program.Sources}
	a.exec = call.NewExecutor(registry, a.results, cfg.Executor(cfg.Secrets), a.journal.call)
	a.exec.Approvals = func() *call.Approvals {
		if now := a.now.Load(); now.config.Approvals.Enabled {
			return now.approvals
		}
		return nil
	}
	if program.HTTP {
		a.exec.Workspace = a.workspaces.registryOf
		registry.OnChange(func(domain.Change) { a.workspaces.refresh() })
	}
	if cfg.Logging.Record {
		a.exec.Begun = a.journal.keep(cfg, program.Version, a.started)
	}
	if err := a.apply(cfg); err != nil {
		a.Close()
		return nil, err
	}
	registry.Register(a.programSource())
	if program.Ready != nil {
		program.Ready(a.exec)
	}
	return a, nil
}

// programSource offers what the program has besides the built-in families.
func (a *App) programSource() domain.Source {
	p := &a.program
	return domain.FixedSource("program", domain.Offer{Tools: p.Tools, Resources: p.Resources, Prompts: p.Prompts, Open: p.Sources != nil}, nil)
}

// Close terminates the commands that still run and releases what is kept.
func (a *App) Close() {
	a.runner.Close()
	a.workspaces.close()
	a.exec.Registry.Close()
	if now := a.now.Load(); now != nil {
		now.issued.Close()
		for _, w := range now.pods {
			w.Close()
		}
	}
	a.closeSignIns()
	a.launcher.Close()
	if err := a.kernel.Close(); err != nil {
		a.journal.log.Warn("temporary files of commands could not be removed", zap.Error(err))
	}
	a.results.Close()
	if a.journal.record != nil {
		a.journal.record.Close()
	}
}

// apply puts a configuration into force as a whole. After an error nothing has
// changed. Calls in flight continue under the old one.
func (a *App) apply(cfg *config.Loaded) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens, err := cfg.Tokens()
	if err != nil {
		return err
	}
	keys, err := config.Keys(cfg)
	if err = cmp.Or(err, config.CheckApprovals(cfg)); err != nil {
		return err
	}
	box, err := a.sandbox(cfg)
	if err != nil {
		return err
	}
	update, err := a.families.Prepare(a.deps(cfg, box, a.exec.Registry))
	if err != nil {
		return err
	}
	a.Servers.mu.Lock()
	defer a.Servers.mu.Unlock()
	servers := a.Servers.manager.Prepare(cfg.Servers, upstream.Deps{
		Sandbox: box.Sandbox, Policy: box.Policy, Version: a.program.Version, Log: a.journal.log, Lines: a.journal.plain, Host: a.host(cfg),
		Changed: tellReplicas(a.exec.Store),
	})
	warnings, err := a.checkNames(cfg, append(update.Offers(), servers.Offers()...))
	if err != nil {
		return err
	}
	before := a.now.Load()
	claimed, err := podsOf(a, cfg, before)
	if err != nil {
		return err
	}
	warnings = append(warnings, cfg.Warnings()...)
	for _, w := range warnings {
		a.journal.log.Warn(w)
	}
	if err := cfg.Prepare(); err != nil {
		a.journal.log.Error("commands may write where the user's configuration and trust are kept, and what is there now could not be noted", zap.Error(err))
	}
	issued, other := a.verifier(cfg)
	settings := a.settings(cfg)
	a.now.Store(&state{cfg, tokens, issued, settings, update, cfg.Principal(cfg.Server.User), cfg.Principal("anonymous"), box,
		newApprovals(a, cfg, box), claimed, warnings})
	useKeys(a.exec.Store, keys)
	box.TakeEffect()
	if issued.Start(); before != nil && other {
		before.issued.Close()
	}
	revision := domain.Revision{Settings: &settings, Add: update.Changed}
	if a.Servers.attached {
		revision.Add, revision.Remove = append(revision.Add, servers.Changed...), servers.Removed
	}
	a.exec.Registry.Apply(revision)
	update.Commit()
	servers.Commit()
	a.workspaces.refresh() // with the servers that there are now
	if s := a.serving.Load(); s.server != nil {
		s.server.ErrorsAsResults.Store(cmp.Or(s.Errors, cfg.Errors) == "result")
		s.server.Offer(a.protocol(cfg))
	}
	a.journal.auditPolicy()
	if cfg.Shared() {
		a.closed.Store(true)
	} else if before != nil && before.config.Shared() {
		a.journal.log.Warn("the configuration no longer has tokens or issuers: HTTP requests are rejected until it has; " +
			"a restarted server creates a token for its run")
	}
	return nil
}

// sandbox returns the sandbox of a configuration's policy: the one in force if
// the policy is the same.
func (a *App) sandbox(cfg *config.Loaded) (*tools.Sandbox, error) {
	policy := cfg.Policy()
	if now := a.now.Load(); now != nil && reflect.DeepEqual(now.box.Policy, policy) {
		return now.box, nil
	}
	box, err := sandbox.New(policy, a.kernel)
	return &tools.Sandbox{Policy: policy, Sandbox: box}, err
}

// verifier returns what verifies tokens that others issue to HTTP clients, and reports whether it is another one than before.
func (a *App) verifier(cfg *config.Loaded) (v *identity.Verifier, other bool) {
	settings, now := cfg.Auth, a.now.Load()
	if !a.program.HTTP {
		settings.Issuers = nil
	}
	var before *identity.Verifier
	if now != nil {
		before = now.issued
		if before.Same(settings, cfg.Resource()) {
			return before, false
		}
	}
	client := func(u *url.URL) *http.Client { return a.now.Load().box.For(upstream.Owner).ServerClient(u) }
	v = identity.New(settings, cfg.Resource(), client, before)
	v.Keys = func(issuer string, err error) {
		if err != nil {
			a.journal.log.Warn("the keys of an issuer cannot be had", zap.String("issuer", issuer), zap.Error(err))
		} else {
			a.journal.log.Info("the keys of an issuer can be had again", zap.String("issuer", issuer))
		}
	}
	return v, true
}

// protocol returns what of the protocol clients are offered: files by address only where there are addresses.
func (a *App) protocol(cfg *config.Loaded) server.Protocol {
	p := cfg.Protocol
	p.Extensions.Files = p.Extensions.Files && p.Experimental && a.program.HTTP
	return p
}

// deps returns what the built-in families are made from.
func (a *App) deps(cfg *config.Loaded, box *tools.Sandbox, registry *domain.Registry) tools.Deps {
	_, noShell := process.Shell()
	return tools.Deps{
		Server: tools.Server{
			Results: a.results, Selector: a.selector, Catalog: registry.Catalog, Callable: a.told, Host: a.host(cfg), OpenBrowser: a.openBrowser,
			Status: resources.Server{
				Config:        func() (string, error) { return string(a.now.Load().config.Show()), nil },
				ConfigChanged: a.watchConfiguration,
				Health:        a.health,
				Upstreams:     a.Servers.seen, UpstreamsChanged: a.Servers.watch,
			},
		},
		Sandbox: box, Settings: cfg.ToolSettings(),
		Files: files.Options{MaxChars: cfg.Limits.MaxResultChars, NoTransfers: !a.protocol(cfg).Extensions.Files && (cfg.Server.PublicURL == "" || !a.program.HTTP)},
		Shell: shell.Options{
			BashTimeout: cfg.Tools["bash"].Timeout, ExecuteTimeout: cfg.Tools["execute_command"].Timeout,
			MaxChars: cfg.Limits.MaxResultChars, NoShell: noShell != nil,
		},
		Web:    web.Options{Timeout: cfg.Tools["web_fetch"].Timeout, UserAgent: cfg.Web.UserAgent, MaxChars: cfg.Limits.MaxResultChars},
		Search: cfg.Web.Search, LinkedIn: cfg.LinkedIn, Anthropic: cfg.Anthropic,
		Google:    google.Config{Options: cfg.Google, Keeping: cfg.SignIns, Disabled: google.DisabledOf(cfg.Tools)},
		Meta:      meta.Options{File: cfg.CapabilitiesFile, Model: cfg.Anthropic},
		Discovery: discovery.Options{Servers: len(cfg.Servers) > 0, Everything: cfg.Discovery.Mode == domain.DiscoverSearch},
		Resources: resources.Options{Servers: len(cfg.Servers) > 0, Views: cfg.Protocol.Extensions.UI},
		Skills:    skills.Options{Off: !cfg.Protocol.Extensions.Skills, Directories: cfg.Skills.Directories},
	}
}

// settings returns the settings of everything that is offered.
func (a *App) settings(cfg *config.Loaded) domain.Settings {
	s := cfg.Executor(slices.Concat(cfg.Secrets, a.secrets))
	if shown := s.Resources[resources.ConfigName]; len(shown.Groups) == 0 && cfg.Shared() {
		shown.Enabled = new(false) // where several people share a server, its policy is the operator's to show
		s.Resources[resources.ConfigName] = shown
	}
	return s
}

// addSecret has a text redacted from everything that leaves the server.
func (a *App) addSecret(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets = append(a.secrets, text)
	now := *a.now.Load()
	now.settings = a.settings(now.config)
	a.now.Store(&now)
	a.exec.Registry.Configure(now.settings)
}

// checkNames reports settings of items that no source offers; a warning if one
// may offer them later.
func (a *App) checkNames(cfg *config.Loaded, offers []domain.Offer) (warnings []string, err error) {
	var names config.Names
	for _, source := range append([]domain.Source{a.programSource()}, a.program.Sources...) {
		offers = append(offers, source.Offer())
	}
	for _, o := range offers {
		names.Open = names.Open || o.Open
		for _, t := range o.Tools {
			names.Tools = append(names.Tools, t.Name)
		}
		for _, m := range o.Missing {
			names.Tools = append(names.Tools, m.Name) // its settings are no mistake
		}
		for _, r := range o.Resources {
			names.Resources = append(names.Resources, r.Name)
		}
		for _, p := range o.Prompts {
			names.Prompts = append(names.Prompts, p.Name)
		}
	}
	return cfg.CheckNames(names)
}

// Executor returns what runs calls, with the registry of everything offered.
func (a *App) Executor() *call.Executor { return a.exec }

// ProcessTree returns how commands and everything they start are kept together,
// and why not better.
func (a *App) ProcessTree() (process.Method, error) { return a.launcher.Method() }

// told returns the tools that a principal may write into a file: where several people share a
// server, those that are for everybody.
func (a *App) told(p domain.Principal) []*domain.Tool {
	return slices.DeleteFunc(a.Callable(p), func(t *domain.Tool) bool {
		return a.Config().Shared() && (len(t.Groups) > 0 || t.ComplianceLevel != "")
	})
}

// Callable returns the tools that a principal can call.
func (a *App) Callable(p domain.Principal) []*domain.Tool {
	catalog := a.exec.CatalogOf(p)
	return slices.DeleteFunc(slices.Clone(catalog.Tools()), func(t *domain.Tool) bool { return catalog.Why(p, t.Name) != "" })
}

// Warnings returns the warnings about the configuration in force, without those about tools
// that have become available since.
func (a *App) Warnings() []string {
	catalog := a.exec.Registry.Catalog()
	return slices.DeleteFunc(slices.Clone(a.now.Load().warnings), func(warning string) bool {
		return slices.ContainsFunc(catalog.Tools(), func(t *domain.Tool) bool {
			return strings.Contains(warning, fmt.Sprintf("there is no tool %q;", cmp.Or(t.Offered, t.Name)))
		})
	})
}

// Note records what a principal, by its ID, has done besides calls.
func (a *App) Note(what, principal string, fields ...zap.Field) {
	a.journal.auditEvent(what, principal, fields)
	a.journal.log.Debug(what, append(fields, zap.String("principal", principal))...)
}
