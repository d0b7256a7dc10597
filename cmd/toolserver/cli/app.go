package cli

import (
	"fmt"
	"slices"
	"sync"
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
	"toolserver/tools/shell"
	"toolserver/tools/system"
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
	lasting tools.Lasting
	runner  *runner.Runner
	kernel  *sandbox.Kernel
	server  *server.Server // nil until serve makes it

	reloads reloads

	mu       sync.Mutex // held while a configuration is applied
	config   *config.Loaded
	tokens   *server.Tokens
	commands *sandbox.Commands
	network  *sandbox.Network // one and the same from the first configuration on
	missing  []tools.Missing
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
	if g.program.Ready != nil {
		g.program.Ready(a.exec)
	}
	return a, nil
}

// close ends every command that still runs, and drops what is kept.
func (a *app) close() {
	a.runner.Close()
	if err := a.kernel.Close(); err != nil {
		a.log.Warn("temporary files of commands are left", zap.Error(err))
	}
	if a.network != nil {
		a.network.Close()
	}
	a.results.Close()
}

// apply makes a configuration the one in force. If it cannot be, nothing
// changes. Calls under way go on under the old one.
func (a *app) apply(cfg *config.Loaded) error {
	catalog, err := a.catalog(cfg)
	if err != nil {
		return err
	}
	tokens, err := cfg.Tokens()
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.exec.Registry.Replace(catalog.tools...); err != nil {
		return err
	}
	if err := a.exec.Library.Replace(catalog.resources, catalog.prompts); err != nil {
		return err
	}
	a.results.SetPageBytes(domain.PageBytes(cfg.Limits.MaxResultChars))
	a.exec.Configure(cfg.Executor(cfg.Secrets))
	a.config, a.tokens, a.commands, a.missing = cfg, tokens, catalog.commands, catalog.missing
	if a.network == nil {
		a.network = catalog.network
	} else {
		a.network.Adopt(catalog.network)
	}
	a.reloads.tell()
	if a.server != nil {
		a.server.Configure(serverSettings(cfg))
	}
	return nil
}

func serverSettings(cfg *config.Loaded) server.Settings {
	return server.Settings{ErrorsAsResults: cfg.Errors == "result", PrivateLists: cfg.PrivateLists()}
}

// current returns the configuration and tokens in force.
func (a *app) current() (*config.Loaded, *server.Tokens) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config, a.tokens
}

// layers returns what holds commands to the policy in force.
func (a *app) layers() sandbox.Layers {
	a.mu.Lock()
	commands := a.commands
	a.mu.Unlock()
	return commands.Layers("bash")
}

// logLayers says what holds commands to policy, and what does not.
func (a *app) logLayers() {
	l := a.layers()
	a.log.Info("sandbox", zap.String("enforcement", l.Enforcement), zap.Strings("layers", l.InForce))
	for _, missing := range l.Missing {
		a.log.Warn("sandbox: not enforced", zap.String("what", missing))
	}
	cfg, _ := a.current()
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

// catalog is what clients can have.
type catalog struct {
	commands  *sandbox.Commands
	network   *sandbox.Network
	tools     []domain.Tool
	missing   []tools.Missing
	resources []domain.Resource
	prompts   []domain.Prompt
}

// catalog returns what a configuration offers.
func (a *app) catalog(cfg *config.Loaded) (c catalog, err error) {
	policy := cfg.Policy()
	fileSystem, err := sandbox.NewFiles(policy)
	if err != nil {
		return c, err
	}
	commands, err := sandbox.NewCommands(policy, fileSystem, a.kernel)
	if err != nil {
		return c, err
	}
	c.commands = commands
	if c.network, err = sandbox.NewNetwork(policy); err != nil {
		return c, err
	}
	network := a.network // which adopts the new one when that is in force
	if network == nil {
		network = c.network
	}
	c.tools, err = tools.All(tools.Deps{
		Files: fileSystem, Commands: commands, Network: network, Results: a.results,
		FileOptions: files.Options{
			CreateDirs:    !isFalse(cfg.Tools["write_file"].CreateDirs),
			SearchParents: cfg.Tools["read_file"].SearchParents,
			Program:       a.self,
			MaxChars:      cfg.Limits.MaxResultChars,
		},
		ShellOptions: shell.Options{
			BashTimeout: cfg.Tools["bash"].Timeout, ExecuteTimeout: cfg.Tools["execute_command"].Timeout,
			MaxChars: cfg.Limits.MaxResultChars, Results: a.results,
		},
		System: system.Options{WorkingDirectory: cfg.WorkingDirectory, Mask: cfg.Masks()},
		Web:    web.Options{Timeout: cfg.Tools["web_fetch"].Timeout, UserAgent: cfg.Web.UserAgent, MaxChars: cfg.Limits.MaxResultChars},
		Search: cfg.Web.Search, LinkedIn: cfg.LinkedIn, Anthropic: cfg.Anthropic,
		Lasting: &a.lasting, Catalog: a.callable, CapabilitiesFile: cfg.CapabilitiesFile,
	})
	if err != nil {
		return c, err
	}
	c.missing = tools.MissingFrom(c.tools)
	c.tools = append(c.tools, a.program.Tools...)
	var names []string
	for _, m := range c.missing {
		names = append(names, m.Tool) // their settings are no mistake
	}
	for i := range c.tools {
		names = append(names, c.tools[i].Name)
		override(&c.tools[i], cfg.Tools[c.tools[i].Name])
	}
	resourceNames, promptNames := a.addOffers(&c, cfg, fileSystem)
	return c, cfg.CheckNames(names, resourceNames, promptNames)
}

// callable returns the tools that a principal can call.
func (a *app) callable(p domain.Principal) []*domain.Tool {
	return slices.DeleteFunc(a.exec.Registry.ListEnabled(), func(t *domain.Tool) bool { return !a.exec.Visible(p, t) })
}

// lacks says what a tool needs that is not there for want of credentials.
func (a *app) lacks(name string) error {
	for _, m := range a.missing {
		if m.Tool == name {
			return fmt.Errorf("%s is not there; it needs %s", name, m.Needs)
		}
	}
	return nil
}

// override applies what configuration says of any tool.
func override(t *domain.Tool, c config.Tool) {
	t.Disabled = isFalse(c.Enabled)
	t.Groups, t.ComplianceLevel = c.Groups, c.ComplianceLevel
	if c.Timeout > 0 && !t.KeepsTime {
		t.Timeout = c.Timeout
	}
	if c.Confirm {
		*t = domain.RequireConfirmation(*t)
	}
}

func isFalse(b *bool) bool { return b != nil && !*b }
