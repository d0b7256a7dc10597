package app

import (
	"cmp"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/cmd/toolserver/logging"
	"github.com/toolserver/toolserver/cmd/toolserver/record"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// RecordDirectory returns what opens the directory of the record that a configuration has.
func RecordDirectory(cfg *config.Loaded) func() (*os.Root, error) {
	return sandbox.NewState(cfg.Policy().StateDirectory, "record").Directory
}

// keepRecord has all that is logged recorded, too.
func (a *App) keepRecord(cfg *config.Loaded) {
	if !cfg.Logging.Record {
		return
	}
	run := zap.String("run", strconv.FormatInt(a.started.UnixNano(), 36)+"-"+strconv.Itoa(os.Getpid()))
	a.record = logging.NewRecord(RecordDirectory(cfg), a.started, run, func() []zap.Field { return a.head(cfg) }, func(err error) {
		a.plain.Warn("the record of what is done cannot be written, and what happens until it can is not in it", zap.Error(err))
	})
	a.log = a.plain.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return zapcore.NewTee(core, a.record) }))
	a.exec.Begun = func(r *domain.CallRecord) {
		a.logCall(zapcore.Entry{Level: zap.DebugLevel, Time: time.Now(), Message: record.Begin}, r)
		a.record.Flush()
	}
}

// head says what holds for the entries of this process, which has begun with a configuration.
func (a *App) head(cfg *config.Loaded) []zap.Field {
	if now := a.now.Load(); now != nil {
		cfg = now.config
	}
	return []zap.Field{
		zap.Int("pid", os.Getpid()), zap.String("version", a.program.Version), zap.String("working_directory", cfg.WorkingDirectory),
		zap.String("config", cfg.File), zap.String("sha256", cfg.SHA256),
	}
}

// maxRefusals is how many of one call are recorded.
const maxRefusals = 20

// complete adds to refusals the settings that decide, and where they stand.
func (a *App) complete(r *domain.CallRecord) {
	cfg, tool := a.Config(), r.Tool
	if t, ok := a.exec.Registry.Get(tool); ok {
		tool = cmp.Or(t.Offered, tool)
	}
	policy := cfg.Policy()
	r.Refused = r.Refused[:min(len(r.Refused), maxRefusals)]
	for i := range r.Refused {
		refused := &r.Refused[i]
		s := policy.Setting(tool, refused.Rule, refused.Reason)
		refused.Rule, refused.Entry, refused.Line = cmp.Or(s.Key, refused.Rule), s.Entry, cfg.Line(s)
	}
}

// Note records what a principal, by its ID, has done besides calls.
func (a *App) Note(what, principal string, fields ...zap.Field) {
	a.log.Debug(what, append(fields, zap.String("principal", principal))...)
}

// touched is what a call has touched.
type touched map[string][]string

// MarshalLogObject writes it as an object of lists.
func (t touched) MarshalLogObject(enc zapcore.ObjectEncoder) error {
	for name, values := range t {
		zap.Strings(name, values).AddTo(enc)
	}
	return nil
}
