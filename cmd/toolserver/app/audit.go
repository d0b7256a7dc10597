package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/audit"
	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/server"
	"github.com/toolserver/toolserver/usage"
)

// countUsage begins to count what principals use. Stop ends it.
func (a *App) countUsage() (stop func()) {
	counter := usage.Start(UsageDirectory(a.Config()), func(err error) {
		a.journal.plain.Warn("what is used cannot be counted over restarts", zap.Error(err))
	})
	if st := a.exec.Store; st.Shared() {
		counter.Share = func(principal, day string, units int64) (int64, bool) {
			return st.Add(context.Background(), principal, "units:"+day, units, 48*time.Hour)
		}
	}
	a.journal.usage.Store(counter)
	return counter.Close
}

// ready returns why a principal cannot make a call now: it could not be recorded, or they have used most units, which are those of a day.
// The tool is nil if the call is of none.
func (j *journal) ready(p domain.Principal, t *domain.Tool, most int64) error {
	if l := j.audit.Load(); l != nil {
		if err := l.Ready(); err != nil {
			return &domain.Error{Code: domain.CodeExecutionFailed, Message: err.Error()}
		}
	}
	counter := j.usage.Load()
	if counter == nil || most == 0 || t == nil || counter.Units(p.ID)+t.Units() <= most {
		return nil
	}
	now := time.Now().UTC()
	wait := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
	return &domain.Error{
		Code: domain.CodeRateLimited, Hint: "Do without it until then, or ask the operator for more.",
		Message: fmt.Sprintf("%s takes %d of the %d units a day that you may use, and %d are used; there are new ones at midnight UTC",
			t.Name, t.Units(), most, counter.Units(p.ID)),
		Data: map[string]any{"reason": "quota", "retryAfterMs": wait.Milliseconds(), "limit": most},
	}
}

// UsageDirectory returns what opens the directory with the counts of a configuration.
func UsageDirectory(cfg *config.Loaded) func() (*os.Root, error) {
	return sandbox.NewState(cfg.Policy().StateDirectory, "usage").Directory
}

// count counts a call that has ended.
func (j *journal) count(r *call.Record) {
	if c := j.usage.Load(); c != nil {
		n := usage.Count{Calls: 1, Units: r.Units, Millis: r.Duration.Milliseconds(), In: int64(r.ArgsBytes), Out: int64(r.ResultBytes)}
		if r.Outcome != "ok" && r.Outcome != "input_required" {
			n.Failed = 1
		}
		c.Add(usage.Key{Principal: r.Principal, Tool: r.Tool}, n)
	}
}

// startAudit begins the audit that the configuration has, if it has one: from then on no call is made that cannot be recorded, unless the
// configuration says otherwise. Stop ends it.
func (a *App) startAudit() (stop func(), err error) {
	cfg := a.Config()
	if cfg.Audit.File == "" {
		return func() {}, nil
	}
	log := a.journal.plain
	l, err := audit.Start(cfg.Audit, func(err error) {
		if err != nil {
			log.Error("the audit cannot be written", zap.String("on_failure", cfg.Audit.OnFailure), zap.Error(err))
		} else {
			log.Warn("the audit can be written again")
		}
	})
	if err != nil {
		return nil, cfg.Mistake("audit.file", "%v", err)
	}
	a.journal.audit.Store(l)
	begun := a.exec.Begun
	a.exec.Begun = func(r *call.Record) error {
		if err := l.Write(a.journal.audited(audit.Begin, r)); err != nil {
			return err
		}
		if begun != nil {
			return begun(r)
		}
		return nil
	}
	a.journal.auditPolicy()
	return l.Close, nil
}

// auditPolicy records which configuration is in force.
func (j *journal) auditPolicy() {
	if l := j.audit.Load(); l != nil {
		cfg := j.Config()
		l.Add(audit.Entry{Type: audit.Config, Policy: cfg.SHA256, Detail: cfg.File})
	}
}

// auditCall records a call that has ended.
func (j *journal) auditCall(r *call.Record) {
	l := j.audit.Load()
	if l == nil {
		return
	}
	for _, a := range r.Asked {
		if a.Approval != "" {
			l.Add(audit.Entry{Type: audit.Approval, ID: r.ID, Principal: r.Principal, Name: r.Tool, Outcome: a.Answer,
				Detail: strings.TrimSuffix(a.Approval+" by "+a.By, " by ")})
		}
	}
	l.Add(j.audited(audit.End, r))
}

// audited returns the entry of a call.
func (j *journal) audited(kind string, r *call.Record) audit.Entry {
	l := j.audit.Load()
	e := audit.Entry{
		Type: kind, ID: r.ID, Principal: r.Principal, Groups: r.Groups, Client: r.Client, Session: r.Session, Address: r.Address, Name: r.Tool,
		Server: r.Server.Server, Digest: l.Digest(r.Arguments), In: r.ArgsBytes, Policy: j.Config().SHA256,
	}
	e.Trace, e.Span = r.Operation.IDs()
	if l.Targets() {
		e.Target = r.Target
	}
	if kind == audit.Begin {
		return e
	}
	e.Outcome, e.Micros, e.Out = r.Outcome, r.Duration.Microseconds(), r.ResultBytes
	if r.Outcome != "ok" {
		e.Error = r.ErrorType
	}
	for _, refused := range r.Refused {
		e.Rules = append(e.Rules, refused.Rule)
	}
	return e
}

// auditEvent records what a principal, by its ID, has done besides calls.
func (j *journal) auditEvent(kind, principal string, fields []zap.Field) {
	l := j.audit.Load()
	if l == nil || !slices.Contains([]string{audit.Connect, audit.Leave, audit.Revoked, audit.Console}, kind) {
		return
	}
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	text := func(key string) string { s, _ := enc.Fields[key].(string); return s }
	l.Add(audit.Entry{Type: kind, Principal: principal, Client: text("client"), Session: text("session"), Detail: cmp.Or(text("protocol"), text("reason"))})
}

// auditRefusal records attempts to authenticate that failed: the first of an address, or how many there were of all within a minute.
func (j *journal) auditRefusal(address string, attempts int, c *server.Challenge) {
	l := j.audit.Load()
	if l == nil {
		return
	}
	e := audit.Entry{Type: audit.SignIn, Address: address, Count: attempts}
	if c != nil {
		e.Error, e.Detail = c.Error, fmt.Sprint(c.Description)
	}
	l.Add(e)
}
