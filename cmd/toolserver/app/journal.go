package app

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/usage"
)

// RecordDirectory returns what opens the directory of the record that a configuration has.
func RecordDirectory(cfg *config.Loaded) func() (*os.Root, error) {
	return sandbox.NewState(cfg.Policy().StateDirectory, "record").Directory
}

// journal is the log, and the record of what was done.
type journal struct {
	*inForce
	registry *domain.Registry
	log      *zap.Logger                   // and the record
	plain    *zap.Logger                   // what the server is like, which is no event
	record   *logging.Record               // nil if none is kept
	usage    atomic.Pointer[usage.Counter] // nil unless others are served
	audit    atomic.Pointer[audit.Log]     // nil if there is none

	mu       sync.Mutex
	unlisted map[domain.Missing]bool // the items that were last logged as not offered
}

// keep has all that is logged recorded, too, by a program that has begun with a configuration. It returns what is to be
// called when a call begins that may have an effect.
func (j *journal) keep(cfg *config.Loaded, version string, started time.Time) (begun func(*call.Record) error) {
	run := zap.String("run", runOf(started))
	head := func() []zap.Field { // what holds for the entries of this process
		if now := j.now.Load(); now != nil {
			cfg = now.config
		}
		return []zap.Field{
			zap.Int("pid", os.Getpid()), zap.String("version", version), zap.String("working_directory", cfg.WorkingDirectory),
			zap.String("config", cfg.File), zap.String("sha256", cfg.SHA256),
		}
	}
	j.record = logging.NewRecord(RecordDirectory(cfg), started, run, head, func(err error) {
		j.plain.Warn("the record of what is done cannot be written, and what happens until it can is not in it", zap.Error(err))
	})
	j.log = j.plain.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return zapcore.NewTee(core, j.record) }))
	return func(r *call.Record) error {
		j.write(zapcore.Entry{Level: zap.DebugLevel, Time: time.Now(), Message: record.Begin}, r)
		j.record.Flush()
		return nil
	}
}

// maxRefusals is how many of one call are recorded.
const maxRefusals = 20

// complete adds to refusals the settings that decide, and where they stand.
func (j *journal) complete(r *call.Record) {
	cfg, tool := j.Config(), r.Tool
	if len(cfg.Profiles) > 0 {
		if own, err := config.As(cfg, r.Principal, r.Groups); err == nil {
			cfg = own
		}
	}
	if t, ok := j.registry.Get(tool); ok {
		tool = cmp.Or(t.Offered, tool)
	}
	policy := cfg.Policy()
	r.Refused = r.Refused[:min(len(r.Refused), maxRefusals)]
	for i := range r.Refused {
		refused := &r.Refused[i]
		s := policy.Setting(tool, refused.Rule, refused.Reason)
		refused.Rule, refused.Entry, refused.Line = cmp.Or(s.Key, refused.Rule), s.Entry, cfg.Line(s)
		r.Operation.Refused(refused.Rule)
	}
}

// call logs and records a finished call, but never its arguments or its result, except what says what it touched.
func (j *journal) call(r *call.Record) {
	level := zap.InfoLevel
	if r.Outcome == "error" {
		level = zap.WarnLevel
	}
	if r.Refused != nil {
		j.complete(r)
	}
	j.count(r)
	j.auditCall(r)
	j.write(zapcore.Entry{Level: level, Time: r.Start.Add(r.Duration), Message: record.Call}, r) // whose time is known
	if stack := r.Stack(); stack != "" {
		j.log.Error("a tool panicked", zap.String("id", r.ID), zap.String("tool", r.Tool), zap.String("stack", stack))
	}
}

// write writes an entry to the log and the record. Others may read the log: of mail and calendars it does not say what they
// were asked for and who was written to.
func (j *journal) write(e zapcore.Entry, r *call.Record) {
	fields := []zap.Field{zap.Inline((*callFields)(r))}
	if j.record != nil {
		if entry := j.record.Check(e, nil); entry != nil {
			entry.Write(fields...)
		}
	}
	if entry := j.plain.Core().Check(e, nil); entry != nil {
		if t, ok := j.registry.Get(r.Tool); ok && (t.Category == "gmail" || t.Category == "calendar") {
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
type callFields call.Record

// MarshalLogObject writes the fields.
func (r *callFields) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	enc.AddString("id", r.ID)
	enc.AddString("tool", r.Tool)
	enc.AddString("principal", r.Principal)
	enc.AddString("session", r.Session)
	traceID, spanID := r.Operation.IDs()
	for _, f := range [...]struct{ key, value string }{
		{"client", r.Client}, {"server", r.Server.Server}, {"server_tool", r.Server.Tool}, {"trace_id", traceID}, {"span_id", spanID},
	} {
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

// origin logs which configuration is in force, and which are not.
func (j *journal) origin(log *zap.Logger, message string) {
	cfg := j.Config()
	fields := []zap.Field{zap.String("source", cfg.Source)}
	for _, f := range []struct{ key, value string }{{"by", cfg.By}, {"file", cfg.File}, {"sha256", cfg.SHA256}, {"working_directory", cfg.WorkingDirectory}} {
		if f.value != "" {
			fields = append(fields, zap.String(f.key, f.value))
		}
	}
	log.Info(message, fields...)
	for _, p := range cfg.Placeholders() {
		j.plain.Warn(p)
	}
	for _, u := range cfg.Unused {
		j.plain.Warn("configuration: " + u.Error())
	}
}

// layers logs which sandbox layers enforce the policy, and which do not.
func (j *journal) layers() {
	l := j.Layers()
	j.plain.Info("sandbox", zap.String("enforcement", l.Enforcement), zap.Strings("layers", l.InForce))
	for _, missing := range l.Missing {
		j.plain.Warn("sandbox: not enforced", zap.String("what", missing))
	}
	cfg := j.Config()
	if cfg.Exposed() {
		j.plain.Warn("sandbox: commands may write to the directory of the configuration file; the file is protected, "+
			"but safer outside the write paths", zap.String("file", cfg.File))
	}
	for _, effect := range l.SideEffects {
		j.plain.Warn("sandbox: side effect", zap.String("what", effect))
	}
	for _, m := range cfg.Web.Search.Lacking() {
		j.plain.Warn(m.Key, zap.String("what", m.Problem))
	}
}

// maxMissingLogged bounds the entries about one catalog.
const maxMissingLogged = 20

// missing logs what the catalog lacks and the one before did not: mistakes of
// sources as warnings, missing credentials and the like in one line for information.
func (j *journal) missing() {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, mistakes, without := map[domain.Missing]bool{}, 0, map[string]bool{}
	for _, m := range domain.Joined(j.registry.Catalog().Missing()) {
		if now[m] = true; j.unlisted[m] {
			continue
		}
		log := j.plain.Debug
		if m.Mistake {
			log = j.plain.Warn
			mistakes++
		} else {
			without[m.Source] = true
		}
		if mistakes <= maxMissingLogged {
			log("unavailable", zap.String("kind", string(m.Kind)), zap.String("name", m.Name), zap.String("source", m.Source), zap.String("reason", m.Reason))
		}
	}
	if len(without) > 0 {
		j.plain.Info("not configured: " + strings.Join(slices.Sorted(maps.Keys(without)), ", ") + " (toolserver tools --all says what each needs)")
	}
	if more := mistakes - maxMissingLogged; more > 0 {
		j.plain.Warn("more items are unavailable; toolserver check lists them", zap.Int("items", more))
	}
	j.unlisted = now
}

// touched is what a call has touched. Reflection would cost more than the rest of the entry.
type touched map[string][]string

// MarshalLogObject writes it as an object of lists.
func (t touched) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for name, values := range t {
		zap.Strings(name, values).AddTo(enc)
	}
	return nil
}
