package app

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/tools/resources"
)

// health returns what status://health reports to a principal, who must not learn how much others
// may use.
func (a *App) health(p domain.Principal) resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: mcp.ValidProtocolVersions, CallsAbandoned: a.exec.Abandoned(),
	}
	cfg := a.Config()
	if h.Configuration = cfg.Described(); len(cfg.Server.Tokens) > 0 {
		h.Configuration = cfg.Source // where it lies is the operator's to know
	} else {
		for _, u := range cfg.Unused {
			h.Unused = append(h.Unused, u.Error())
		}
	}
	layers := a.Layers()
	h.Enforcement, h.SandboxLayers, h.SandboxMissing = layers.Enforcement, layers.InForce, layers.Missing
	catalog := a.exec.Registry.Catalog()
	for _, t := range catalog.Tools() {
		switch allowed := catalog.Settings.Access.Allowed(p, t); {
		case allowed && t.Disabled:
			h.ToolsDisabled++
		case allowed:
			h.ToolsEnabled++
		}
	}
	if len(cfg.Servers) > 0 {
		h.Upstreams = a.statuses(p)
	}
	if !catalog.Private() { // the names alone may be confidential
		h.Missing = catalog.Missing()
	}
	return h
}

// configPause is how often another configuration is looked for.
const configPause = 200 * time.Millisecond

// watchConfiguration calls changed after each reload, until ctx ends.
func (a *App) watchConfiguration(ctx context.Context, changed func()) {
	same := func(x, y *state) bool { return x == y }
	go filewatch.Poll(ctx, configPause, a.now.Load(), a.now.Load, same, changed)
}

// recordCall logs and records a finished call, but never its arguments or its result, except what says what it touched.
func (a *App) recordCall(r *domain.CallRecord) {
	level := zap.InfoLevel
	if r.Outcome == "error" {
		level = zap.WarnLevel
	}
	if r.Refused != nil {
		a.complete(r)
	}
	a.logCall(zapcore.Entry{Level: level, Time: r.Start.Add(r.Duration), Message: record.Call}, r) // whose time is known
	if stack := r.Stack(); stack != "" {
		a.log.Error("a tool panicked", zap.String("id", r.ID), zap.String("tool", r.Tool), zap.String("stack", stack))
	}
}

// logCall writes an entry to the log and the record. Others may read the log: of mail and calendars it does not say what they
// were asked for and who was written to.
func (a *App) logCall(e zapcore.Entry, r *domain.CallRecord) {
	fields := []zap.Field{zap.Inline((*callFields)(r))}
	if a.record != nil {
		if entry := a.record.Check(e, nil); entry != nil {
			entry.Write(fields...)
		}
	}
	if entry := a.plain.Core().Check(e, nil); entry != nil {
		if t, ok := a.exec.Registry.Get(r.Tool); ok && (t.Category == "gmail" || t.Category == "calendar") {
			c := callFields(*r)
			c.Target, c.Made, c.Refused = nil, nil, slices.Clone(c.Refused)
			for i := range c.Refused {
				c.Refused[i].Reason, c.Refused[i].Entry = "see the record", ""
			}
			fields[0] = zap.Inline(&c)
		}
		entry.Write(fields...)
	}
}

// callFields are the fields of a call's log entry. They are encoded in place: a
// list of fields would cost more than the rest of the entry.
type callFields domain.CallRecord

// MarshalLogObject writes the fields.
func (r *callFields) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("id", r.ID)
	enc.AddString("tool", r.Tool)
	enc.AddString("principal", r.Principal)
	enc.AddString("session", r.Session)
	for _, f := range [...]struct{ key, value string }{{"client", r.Client}, {"server", r.Server.Server}, {"server_tool", r.Server.Tool}} {
		if f.value != "" {
			enc.AddString(f.key, f.value)
		}
	}
	if r.Target != nil {
		_ = enc.AddObject("target", touched(r.Target))
	}
	enc.AddInt("args_bytes", r.ArgsBytes)
	if r.Outcome == "" { // it begins
		return nil
	}
	enc.AddDuration("took", r.Duration)
	enc.AddString("outcome", r.Outcome)
	enc.AddInt("result_bytes", r.ResultBytes)
	if r.Made != nil {
		_ = enc.AddObject("made", touched(r.Made))
	}
	if r.Refused != nil {
		_ = enc.AddReflected("refused", r.Refused)
	}
	if r.Asked != nil {
		_ = enc.AddReflected("asked", r.Asked)
	}
	if r.Outcome != "ok" {
		enc.AddString("error_type", r.ErrorType)
		enc.AddInt("code", int(r.Code))
		enc.AddBool("abandoned", r.Abandoned)
	}
	return nil
}

// logOrigin logs which configuration is in force, and which are not.
func (a *App) logOrigin(log *zap.Logger, message string) {
	cfg := a.Config()
	fields := []zap.Field{zap.String("source", cfg.Source)}
	for _, f := range []struct{ key, value string }{{"by", cfg.By}, {"file", cfg.File}, {"sha256", cfg.SHA256}, {"working_directory", cfg.WorkingDirectory}} {
		if f.value != "" {
			fields = append(fields, zap.String(f.key, f.value))
		}
	}
	log.Info(message, fields...)
	for _, p := range cfg.Placeholders() {
		a.plain.Warn(p)
	}
	for _, u := range cfg.Unused {
		a.plain.Warn("configuration: " + u.Error())
	}
}

// logLayers logs which sandbox layers enforce the policy, and which do not.
func (a *App) logLayers() {
	l := a.Layers()
	a.plain.Info("sandbox", zap.String("enforcement", l.Enforcement), zap.Strings("layers", l.InForce))
	for _, missing := range l.Missing {
		a.plain.Warn("sandbox: not enforced", zap.String("what", missing))
	}
	cfg := a.Config()
	if cfg.Exposed() {
		a.plain.Warn("sandbox: commands may write to the directory of the configuration file; the file is protected, but safer outside the write paths", zap.String("file", cfg.File))
	}
	for _, effect := range l.SideEffects {
		a.plain.Warn("sandbox: side effect", zap.String("what", effect))
	}
	for _, m := range cfg.Web.Search.Lacking() {
		a.plain.Warn(m.Key, zap.String("what", m.Problem))
	}
}

// missingLog has the items that were last logged as not offered.
type missingLog struct {
	mu     sync.Mutex
	logged map[domain.Missing]bool
}

// maxMissingLogged bounds the entries about one catalog.
const maxMissingLogged = 20

// logMissing logs what the catalog lacks and the one before did not: mistakes of
// sources as warnings, missing credentials and the like in one line for information.
func (a *App) logMissing() {
	l := &a.unlisted
	l.mu.Lock()
	defer l.mu.Unlock()
	now, mistakes, without := map[domain.Missing]bool{}, 0, map[string]bool{}
	for _, m := range domain.Joined(a.exec.Registry.Catalog().Missing()) {
		if now[m] = true; l.logged[m] {
			continue
		}
		log := a.plain.Debug
		if m.Mistake {
			log = a.plain.Warn
			mistakes++
		} else {
			without[m.Source] = true
		}
		if mistakes <= maxMissingLogged {
			log("unavailable", zap.String("kind", string(m.Kind)), zap.String("name", m.Name), zap.String("source", m.Source), zap.String("reason", m.Reason))
		}
	}
	if len(without) > 0 {
		a.plain.Info("not configured: " + strings.Join(slices.Sorted(maps.Keys(without)), ", ") + " (toolserver tools --all says what each needs)")
	}
	if more := mistakes - maxMissingLogged; more > 0 {
		a.plain.Warn("more items are unavailable; toolserver check lists them", zap.Int("items", more))
	}
	l.logged = now
}
