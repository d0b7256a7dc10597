package cli

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"toolserver/config"
	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/confine"
	"toolserver/sandbox/runner"
	"toolserver/server"
	"toolserver/tools"
	"toolserver/tools/files"
	"toolserver/tools/resources"
	"toolserver/tools/shell"
	"toolserver/tools/web"
)

// app is the program put together from a configuration.
type app struct {
	program Program
	self    string // path of this program, "" if that is unknown
	started time.Time
	log     *zap.Logger
	exec    *domain.Executor
	results *domain.ResultStore
	runner  *runner.Runner
	kernel  *sandbox.Kernel
	server  *server.Server // nil until serve makes it

	reloads reloads

	mu       sync.Mutex // held while a configuration is applied
	families tools.Families
	secrets  []string // besides those of the configuration
	now      atomic.Pointer[state]
	unlisted missingLog

	hadTokens atomic.Bool // the configuration has had tokens
}

// state is what is in force of a configuration, apart from what the executor's
// registry has.
type state struct {
	config *config.Loaded
	tokens *server.Tokens
	user   domain.Principal // who calls over stdio and on the command line
	anyone domain.Principal // who calls over HTTP where no authentication is asked for
	box    *tools.Sandbox

	warnings []string // about the configuration
}

// build puts the program together. What it returns is closed by its caller.
func (g *globals) build(cfg *config.Loaded, log *zap.Logger) (*app, error) {
	self, err := runner.Self()
	if err != nil {
		log.Warn("commands run without a supervisor, appends without a child process", zap.Error(err))
	}
	a := &app{
		program: g.program, self: self, started: time.Now(), log: log, results: domain.NewResultStore(domain.PageBytes(cfg.Limits.MaxResultChars)),
		runner: runner.New(runner.Options{Supervisor: self, Wrap: confine.Wrap}),
	}
	a.kernel = sandbox.NewKernel(a.runner)
	registry, err := domain.NewRegistry()
	if err != nil {
		return nil, err
	}
	a.exec = domain.NewExecutor(registry, a.results, cfg.Executor(cfg.Secrets), a.record)
	if err := a.apply(cfg); err != nil {
		a.close()
		return nil, err
	}
	registry.Register(a.programSource())
	if g.program.Ready != nil {
		g.program.Ready(a.exec)
	}
	return a, nil
}

// programSource offers what the program has besides the built-in families.
func (a *app) programSource() domain.Source {
	p := &a.program
	return domain.FixedSource("program", domain.Offer{Tools: p.Tools, Resources: p.Resources, Prompts: p.Prompts, Open: p.Sources != nil}, nil)
}

// attach adds the sources whose offers may change. It is apart from build, since
// they may be slow or start processes: what is done with the built-in tools, and
// the completion of a command line, go without them.
func (a *app) attach() {
	a.exec.Registry.Apply(domain.Revision{Add: a.program.Sources})
}

// find returns a tool by its name, with the catalog that has it.
func (a *app) find(name string) (*domain.Tool, *domain.Catalog, error) {
	if _, ok := a.exec.Registry.Get(name); !ok {
		a.attach()
	}
	catalog := a.exec.Registry.Catalog()
	tool, ok := catalog.Tool(name)
	if !ok {
		return nil, nil, usage(errors.New(catalog.Why(a.user(), name)))
	}
	return tool, catalog, nil
}

// close ends every command that still runs, and drops what is kept.
func (a *app) close() {
	a.runner.Close()
	a.exec.Registry.Close()
	if err := a.kernel.Close(); err != nil {
		a.log.Warn("temporary files of commands are left", zap.Error(err))
	}
	a.results.Close()
}

// apply makes a configuration the one in force, as a whole. If it cannot be,
// nothing changes. Calls in flight go on under the old one.
func (a *app) apply(cfg *config.Loaded) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens, err := cfg.Tokens()
	if err != nil {
		return err
	}
	box, err := a.sandbox(cfg)
	if err != nil {
		return err
	}
	update, err := a.families.Prepare(a.deps(cfg, box))
	if err != nil {
		return err
	}
	warnings, err := a.checkNames(cfg, update.Offers())
	if err != nil {
		update.Discard()
		return err
	}
	for _, w := range warnings {
		a.log.Warn(w)
	}
	before := a.now.Swap(&state{cfg, tokens, cfg.Principal(cfg.Server.User), cfg.Principal("anonymous"), box, warnings})
	box.TakeEffect()
	settings := a.settings(cfg)
	a.exec.Registry.Apply(domain.Revision{Settings: &settings, Add: update.Changed})
	update.Commit()
	a.reloads.tell()
	if a.server != nil {
		a.server.Configure(serverSettings(cfg))
	}
	if !tokens.Empty() {
		a.hadTokens.Store(true)
	} else if before != nil && !before.tokens.Empty() {
		a.log.Warn("the configuration has no tokens any more: nobody can call over HTTP until it has some; restart the server to have it make a token")
	}
	return nil
}

// sandbox returns what the policy of a configuration lets tools use: what is in
// force already if the policy is the same.
func (a *app) sandbox(cfg *config.Loaded) (*tools.Sandbox, error) {
	policy := cfg.Policy()
	if now := a.now.Load(); now != nil && reflect.DeepEqual(now.box.Policy, policy) {
		return now.box, nil
	}
	box, err := sandbox.New(policy, a.kernel)
	return &tools.Sandbox{Policy: policy, Sandbox: box}, err
}

// deps returns what the built-in families are made from.
func (a *app) deps(cfg *config.Loaded, box *tools.Sandbox) tools.Deps {
	return tools.Deps{
		Sandbox: box, Settings: cfg.ToolSettings(), Results: a.results,
		Resources: resources.Deps{
			WorkingDirectory: cfg.WorkingDirectory,
			Config:           func() (string, error) { return string(a.now.Load().config.Show()), nil },
			ConfigChanged:    a.reloads.watch,
			Health:           a.health,
		},
		FileOptions: files.Options{Program: a.self, MaxChars: cfg.Limits.MaxResultChars},
		ShellOptions: shell.Options{
			BashTimeout: cfg.Tools["bash"].Timeout, ExecuteTimeout: cfg.Tools["execute_command"].Timeout,
			MaxChars: cfg.Limits.MaxResultChars, Results: a.results,
		},
		Web:    web.Options{Timeout: cfg.Tools["web_fetch"].Timeout, UserAgent: cfg.Web.UserAgent, MaxChars: cfg.Limits.MaxResultChars},
		Search: cfg.Web.Search, LinkedIn: cfg.LinkedIn, Anthropic: cfg.Anthropic,
		Catalog: a.callable, CapabilitiesFile: cfg.CapabilitiesFile,
	}
}

// settings returns the settings that everything is offered under.
func (a *app) settings(cfg *config.Loaded) domain.Settings {
	s := cfg.Executor(slices.Concat(cfg.Secrets, a.secrets))
	if shown := s.Resources[resources.ConfigName]; len(shown.Groups) == 0 && len(cfg.Server.Tokens) > 0 {
		shown.Disabled = true // where several people share a server, its policy is the operator's to show
		s.Resources[resources.ConfigName] = shown
	}
	return s
}

// addSecret has a text redacted from everything that leaves the server.
func (a *app) addSecret(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets = append(a.secrets, text)
	a.exec.Registry.Configure(a.settings(a.current()))
}

// checkNames reports settings of items that nobody offers; those that somebody
// may offer later are warnings.
func (a *app) checkNames(cfg *config.Loaded, offers []domain.Offer) (warnings []string, err error) {
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

func serverSettings(cfg *config.Loaded) server.Settings {
	return server.Settings{ErrorsAsResults: cfg.Errors == "result"}
}

// current returns the configuration in force.
func (a *app) current() *config.Loaded { return a.now.Load().config }

// user returns who calls over stdio and on the command line.
func (a *app) user() domain.Principal { return a.now.Load().user }

// layers returns what holds commands to the policy in force.
func (a *app) layers() sandbox.Layers { return a.now.Load().box.Layers() }

// logLayers says what holds commands to policy, and what does not.
func (a *app) logLayers() {
	l := a.layers()
	a.log.Info("sandbox", zap.String("enforcement", l.Enforcement), zap.Strings("layers", l.InForce))
	for _, missing := range l.Missing {
		a.log.Warn("sandbox: not enforced", zap.String("what", missing))
	}
	cfg := a.current()
	if cfg.Exposed() {
		a.log.Warn("sandbox: the configuration file is where commands may write; it is protected, but safer elsewhere", zap.String("file", cfg.File))
	}
	for _, effect := range l.SideEffects {
		a.log.Warn("sandbox: side effect", zap.String("what", effect))
	}
	for _, m := range cfg.Web.Search.Lacking() {
		a.log.Warn(m.Key, zap.String("what", m.Problem))
	}
}

// callable returns the tools that a principal can call.
func (a *app) callable(p domain.Principal) []*domain.Tool {
	catalog := a.exec.Registry.Catalog()
	return slices.DeleteFunc(slices.Clone(catalog.Tools()), func(t *domain.Tool) bool { return catalog.Why(p, t.Name) != "" })
}
