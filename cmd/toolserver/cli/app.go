package cli

import (
	"sync"

	"go.uber.org/zap"

	"toolserver/config"
	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/runner"
	"toolserver/server"
	"toolserver/tools"
	"toolserver/tools/files"
	"toolserver/tools/shell"
	"toolserver/tools/system"
)

// app is the program put together from a configuration.
type app struct {
	extra   []domain.Tool // the program's own, besides the built-in ones
	log     *zap.Logger
	exec    *domain.Executor
	results *domain.ResultStore
	runner  *runner.Runner
	server  *server.Server // nil until serve makes it

	mu     sync.Mutex // held while a configuration is applied
	config *config.Loaded
	tokens *server.Tokens
}

// build puts the program together. What it returns is closed by its caller.
func (g *globals) build(cfg *config.Loaded, log *zap.Logger) (*app, error) {
	self, err := runner.Self()
	if err != nil {
		log.Warn("commands run without a supervisor", zap.Error(err))
	}
	a := &app{
		extra: g.program.Tools, log: log, results: domain.NewResultStore(domain.PageBytes(cfg.Limits.MaxResultChars)),
		runner: runner.New(runner.Options{Supervisor: self}),
	}
	registry, err := domain.NewRegistry()
	if err != nil {
		return nil, err
	}
	a.exec = domain.NewExecutor(registry, a.results, cfg.Executor(cfg.Secrets), a.record)
	if err := a.apply(cfg); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// close ends every command that still runs, and drops what is kept.
func (a *app) close() {
	a.runner.Close()
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
	if err := a.exec.Registry.Replace(catalog...); err != nil {
		return err
	}
	a.results.SetPageBytes(domain.PageBytes(cfg.Limits.MaxResultChars))
	a.exec.Configure(cfg.Executor(cfg.Secrets))
	a.config, a.tokens = cfg, tokens
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

// catalog returns the tools a configuration makes.
func (a *app) catalog(cfg *config.Loaded) ([]domain.Tool, error) {
	policy := cfg.Policy()
	fileSystem, err := sandbox.NewFiles(policy)
	if err != nil {
		return nil, err
	}
	commands, err := sandbox.NewCommands(policy, fileSystem, a.runner)
	if err != nil {
		return nil, err
	}
	list, err := tools.All(tools.Deps{
		Files: fileSystem, Commands: commands, Results: a.results,
		FileOptions: files.Options{
			CreateDirs:    !isFalse(cfg.Tools["write_file"].CreateDirs),
			SearchParents: cfg.Tools["read_file"].SearchParents,
			MaxChars:      cfg.Limits.MaxResultChars,
		},
		ShellOptions: shell.Options{
			BashTimeout: cfg.Tools["bash"].Timeout, ExecuteTimeout: cfg.Tools["execute_command"].Timeout,
			MaxChars: cfg.Limits.MaxResultChars, Results: a.results,
		},
		System: system.Options{WorkingDirectory: cfg.WorkingDirectory, Mask: cfg.Masks()},
	})
	if err != nil {
		return nil, err
	}
	list = append(list, a.extra...)
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
		override(&list[i], cfg.Tools[list[i].Name])
	}
	return list, cfg.CheckToolNames(names)
}

// override applies what configuration says of any tool.
func override(t *domain.Tool, c config.Tool) {
	t.Disabled = isFalse(c.Enabled)
	t.Groups, t.ComplianceLevel = c.Groups, c.ComplianceLevel
	if c.Timeout > 0 && t.Timeout == 0 { // a tool that keeps its own time has been told
		t.Timeout = c.Timeout
	}
}

func isFalse(b *bool) bool { return b != nil && !*b }

// record logs a finished call: never its arguments or its result.
func (a *app) record(r domain.CallRecord) {
	level := zap.InfoLevel
	if r.Outcome == "error" {
		level = zap.WarnLevel
	}
	entry := a.log.Check(level, "call")
	if entry == nil {
		return
	}
	fields := []zap.Field{
		zap.String("id", r.ID), zap.String("tool", r.Tool), zap.String("principal", r.Principal), zap.String("session", r.Session),
		zap.Duration("took", r.Duration), zap.String("outcome", r.Outcome), zap.Int("args_bytes", r.ArgsBytes), zap.Int("result_bytes", r.ResultBytes),
	}
	if r.Outcome != "ok" {
		fields = append(fields, zap.String("error_type", r.ErrorType), zap.Int("code", int(r.Code)), zap.Bool("abandoned", r.Abandoned))
	}
	entry.Write(fields...)
	if stack := r.Stack(); stack != "" {
		a.log.Error("a tool panicked", zap.String("id", r.ID), zap.String("tool", r.Tool), zap.String("stack", stack))
	}
}
