package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/kubernetes"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/upstream"
)

// checkCommand checks the configuration and the machine.
func checkCommand(g *globals) *cobra.Command {
	return command("check", nil, g.interruptible(func(ctx context.Context, _ []string) error {
		var report checkReport
		if err := g.with(func(a *app.App) error {
			defer g.sayWaiting(a)()
			return report.all(ctx, a)
		}); err != nil {
			report.line(false, "configuration", err.Error())
		}
		return report.print(g.std.Out, g.json)
	}))
}

// checkReport is the result of all checks.
type checkReport struct {
	Policy   *config.Origin `json:"policy,omitempty"` // where it comes from
	Findings []finding      `json:"findings"`
	Failed   int            `json:"failed"` // number of failed checks
}

type finding struct {
	OK    bool   `json:"ok"`
	Level string `json:"level"` // ok, off, warn or fail
	What  string `json:"what"`
	Found string `json:"found"`
}

// all checks everything. Without a configuration there is nothing to check.
func (r *checkReport) all(ctx context.Context, a *app.App) error {
	starting, cancel := context.WithTimeout(ctx, overall)
	defer cancel()
	a.Servers.Start(starting, a.Servers.All())
	r.configuration(a.Config())
	r.commands(a)
	r.pods(ctx, a.Config())
	r.servers(a)
	r.tools(ctx, a)
	return nil
}

func (r *checkReport) line(ok bool, what, found string) {
	level := "ok"
	if !ok {
		level = "fail"
	}
	r.note(level, what, found)
}

func (r *checkReport) note(level, what, found string) {
	failed := level == "fail"
	if failed {
		r.Failed++
	}
	r.Findings = append(r.Findings, finding{!failed, level, what, found})
}

// print shows the report. The error is for the exit code.
func (r *checkReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return cmp.Or(printJSON(w, r), exitIf(r.Failed > 0))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%-4s %-14s %s\n", f.Level, f.What, f.Found)
	}
	return exitIf(r.Failed > 0)
}

func (r *checkReport) configuration(cfg *config.Loaded) {
	r.Policy = &cfg.Origin
	r.line(true, "configuration", cfg.Described())
	for _, p := range cfg.Placeholders() {
		r.note("warn", "warning", p)
	}
	for _, u := range cfg.Unused {
		r.line(false, "not used", u.Error())
	}
	r.line(true, "directory", cfg.WorkingDirectory)
	for _, root := range cfg.Roots {
		r.line(true, "root", root)
	}
	r.serving(cfg)
	if cfg.Server.HTTP != "" {
		loopback := server.IsLoopback(cfg.Server.HTTP)
		found := cfg.Server.HTTP
		switch {
		case cfg.Shared():
		case loopback:
			found += "; no token is configured, so each start creates one"
		default:
			found += " is not a loopback address and neither tokens nor issuers are configured"
		}
		foreign := config.ForeignAddress(cfg.Server.HTTP)
		if foreign {
			found = cfg.Server.HTTP + ": no interface of this machine has this address"
		}
		r.line(!foreign && (loopback || cfg.Shared()), "http", found)
		if l, err := net.Listen("tcp", cfg.Server.HTTP); err == nil {
			l.Close()
		} else if !foreign {
			r.note("warn", "http", "serve could not start now, unless this server is what serves there: "+err.Error())
		}
	}
}

// serving checks the files that only serve opens.
func (r *checkReport) serving(cfg *config.Loaded) {
	cert, err := cfg.Certificate()
	if err == nil {
		_, err = cfg.ClientCAs()
	}
	switch {
	case err != nil:
		r.line(false, "tls", err.Error())
	case cert != nil:
		r.line(true, "tls", fmt.Sprintf("%s, valid until %s", cfg.Server.TLS.Cert, cert.Leaf.NotAfter.Format(time.DateOnly)))
	}
	if _, err := cfg.Telemetry.OTLP.Headers(); err != nil {
		r.line(false, "telemetry", cfg.Mistake("telemetry", "%v", err).Error())
	}
	if cfg.Store.URL != "" {
		found := "the replicas' store answers"
		err := cfg.Store.Reach(context.Background())
		if err != nil {
			found = cfg.Mistake("store.url", "%v", err).Error()
		}
		r.line(err == nil, "store", found)
	}
	if file := cfg.Audit.File; file != "" {
		_, err := os.Stat(filepath.Dir(file))
		if err != nil {
			err = cfg.Mistake("audit.file", "%v", err)
		} else {
			_, err = publicKeyOf(cfg)
		}
		if err != nil {
			file = err.Error()
		}
		r.line(err == nil, "audit", file)
	}
	if file := cfg.Logging.File; file != "" {
		if err := logging.Check(file); err != nil {
			r.line(false, "log", cfg.Mistake("logging.file", "%v", err).Error())
		} else {
			r.line(true, "log", file)
		}
	}
	if cfg.Logging.Record {
		if err := record.Check(app.RecordDirectory(cfg)); err != nil {
			r.line(false, "record", err.Error())
		} else {
			r.line(true, "record", filepath.Join(cfg.Policy().StateDirectory, "record"))
		}
	}
}

func (r *checkReport) commands(a *app.App) {
	switch path, err := process.Shell(); {
	case err != nil: // then what runs in it is among the tools that are unavailable
	case strings.TrimSuffix(filepath.Base(path), ".exe") == "bash", runtime.GOOS == "windows": // whose shell is cmd.exe
		r.line(true, "shell", path)
	default:
		r.line(false, "shell", "bash is not installed; commands run with "+path)
	}
	method, err := a.ProcessTree()
	found := string(method)
	if err != nil {
		found = fmt.Sprintf("%s; better methods are unavailable: %v", method, err)
	}
	r.line(method != process.MethodGroup && method != "", "process tree", found)
	layers := a.Layers()
	r.line(true, "enforcement", layers.Enforcement)
	for _, layer := range layers.InForce {
		r.line(true, "in force", layer)
	}
	if layers.Caches != "" {
		r.line(true, "presets", cmp.Or(strings.Join(layers.Presets, ", "), "none"))
		r.line(true, "caches", layers.Caches)
	}
	for _, missing := range layers.Missing {
		r.line(false, "not enforced", missing)
	}
	for _, effect := range layers.SideEffects {
		r.line(false, "side effect", effect)
	}
}

// pods says whether workspaces that are pods can be claimed.
func (r *checkReport) pods(ctx context.Context, cfg *config.Loaded) {
	for name, settings := range config.InPods(cfg) {
		found, err := kubernetes.Check(ctx, settings)
		if err != nil {
			found = strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		r.line(err == nil, "pods", "profile "+name+": "+call.Visible(found))
	}
}

// servers says how each MCP server of the configuration is.
func (r *checkReport) servers(a *app.App) {
	layers := a.Layers()
	for _, l := range reports(a, time.Hour) {
		counts := counted(l.Tools, "tool") + ", " + counted(l.Resources, "resource") + ", " + counted(l.Prompts, "prompt")
		switch s := a.Config().Servers[l.Name]; {
		case l.Status == upstream.StatusDisabled:
			r.note("off", "server", l.Name+" is disabled in the configuration")
			continue
		case l.Status != upstream.StatusReady:
			r.line(false, "server", l.Name+": "+call.Visible(l.Reason))
		default:
			r.line(true, "server", fmt.Sprintf("%s: ready, protocol %s, %s", l.Name, l.Protocol, counts))
			if s.Sandbox && len(layers.Missing) > 0 {
				r.line(false, "server", l.Name+": sandbox: true does not confine it wholly on this machine, see not enforced")
			}
		}
		for _, name := range a.Config().Servers[l.Name].Inherit {
			if _, set := os.LookupEnv(name); !set && !strings.HasSuffix(name, "*") {
				r.note("warn", "warning", fmt.Sprintf("mcp_servers.%s.inherit_env: %s is not set in this environment", l.Name, name))
			}
		}
		if l.Changed > 0 {
			changed := counted(l.Changed, "tool")
			r.note("warn", "warning", fmt.Sprintf("%s of server %s changed since pinned: toolserver upstream approve %[2]s shows how", changed, l.Name))
		}
		for _, repaired := range l.Repaired {
			r.note("warn", "warning", l.Name+": repaired "+call.Visible(repaired))
		}
		for _, p := range l.Problems {
			r.line(false, "server", l.Name+": "+call.Visible(p))
		}
	}
}

func (r *checkReport) tools(ctx context.Context, a *app.App) {
	all := a.Executor().Registry.List("")
	enabled := slices.DeleteFunc(slices.Clone(all), func(t *domain.Tool) bool { return t.Disabled })
	r.line(true, "tools", fmt.Sprintf("%d of %d enabled", len(enabled), len(all)))
	for _, t := range all {
		if t.Disabled {
			r.note("off", "tool", t.Name+" is disabled in the configuration")
		}
	}
	for _, w := range slices.Concat(a.Warnings(), a.Config().Unmatched()) {
		r.note("warn", "warning", w)
	}
	for _, m := range a.Config().Web.Search.Lacking() {
		r.line(false, m.Key, m.Problem)
	}
	catalog := a.Executor().Registry.Look(ctx, domain.LookTime)
	for _, name := range slices.Sorted(maps.Keys(a.Config().Skills.Settings)) {
		offered := slices.ContainsFunc(catalog.Skills(), func(s *domain.Skill) bool { return s.Path == name })
		left := slices.ContainsFunc(catalog.Missing(), func(m domain.Missing) bool { return m.Kind == domain.KindSkill && m.Name == name })
		if !offered && !left {
			r.note("warn", "warning", a.Config().Mistake("skills.settings."+name, "there is no skill %q now; the settings apply when there is", name).Error())
		}
	}
	for _, dir := range a.Config().Skills.Directories {
		if slices.ContainsFunc(a.Config().Policy().Writable(), func(w string) bool { return pathguard.Within(pathguard.Real(w), pathguard.Real(dir)) }) {
			r.note("warn", "warning", "skills.directories: tools may write to "+dir+", and so change what models are told")
		}
	}
	for _, m := range domain.Joined(catalog.Missing()) {
		level := "off"
		if m.Mistake {
			level = "fail"
		}
		r.note(level, string(m.Kind), fmt.Sprintf("unavailable: %s (source %s): %s", m.Name, m.Source, m.Reason))
	}
}
