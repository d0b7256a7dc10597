package domain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Executor is the one way to run a tool, whoever asks: a model over MCP, a
// person on the command line, another tool, or a test.
//
//	look up → authorize → enabled? → validate → limits → clock → run
//	→ check output → bound → redact → record
//
// The sandbox is not a step. Tools are built holding sandboxed files and
// commands, and have no other way out.
type Executor struct {
	Registry *Registry
	Library  *Library
	Results  *ResultStore

	record    func(*CallRecord)
	settings  atomic.Pointer[Settings]
	redact    atomic.Pointer[redactor]
	limiter   *limiter
	abandoned atomic.Int64
	lastID    atomic.Uint64
	idPrefix  string
}

// Settings are what configuration can change while the executor runs. Calls
// under way go on with those they began with.
type Settings struct {
	Limits  Limits
	Access  Access
	Secrets []string // texts that must not appear in a result, an error or a record
}

// ExecuteToolCommand asks for one call of a tool.
type ExecuteToolCommand struct {
	Session   Session
	Tool      string
	Arguments json.RawMessage // a JSON object, or empty for none
	Client    Client          // nil if nobody listens and nobody can be asked
}

// CallRecord describes one finished call, for the log. It holds neither
// arguments nor results.
type CallRecord struct {
	ID          string
	Tool        string
	Principal   string
	Session     string
	Start       time.Time
	Duration    time.Duration
	Outcome     string // ok, tool_error, error or input_required
	ErrorType   string // of an outcome that is not ok
	Code        Code   // of an outcome that is error
	Err         error  // the same, with its causes; secrets are redacted from its message only
	ArgsBytes   int
	ResultBytes int
	Abandoned   bool // the handler had not returned when its caller was answered
}

// NewExecutor returns an executor over registry's tools. Record is called for
// each call just before it is answered, with a record that is valid until it
// returns; nil keeps no record.
func NewExecutor(registry *Registry, results *ResultStore, settings Settings, record func(*CallRecord)) *Executor {
	if record == nil {
		record = func(*CallRecord) {}
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	e := &Executor{Registry: registry, Library: NewLibrary(), Results: results, record: record, limiter: newLimiter(), idPrefix: hex.EncodeToString(random[:])}
	e.Configure(settings)
	return e
}

// Configure replaces the settings for calls to come.
func (e *Executor) Configure(s Settings) {
	r := newRedactor(s.Secrets)
	e.redact.Store(&r)
	e.settings.Store(&s)
}

// Abandoned returns how many handlers are still running although their caller
// has been answered.
func (e *Executor) Abandoned() int64 { return e.abandoned.Load() }

// Call runs a tool and waits for it, but not much longer than until ctx or the
// tool's time ends. An error it returns is an [*Error].
func (e *Executor) Call(ctx context.Context, cmd ExecuteToolCommand) (res ToolResult, err error) {
	answered := make(chan struct{})
	r := e.newCall(cmd, func(r ToolResult, e error) {
		res, err = r, e
		close(answered)
	})
	go e.start(ctx, r, r.admit)
	select {
	case <-answered:
		return res, err
	case <-ctx.Done():
	}
	grace := time.AfterFunc(r.settings.Limits.MaxAbandonGrace, func() { r.abandon(r.canceled(ctx)) })
	defer grace.Stop()
	<-answered
	return res, err
}

// Start runs a tool on the calling goroutine and reports to done, exactly once.
// If the tool's time ends and its handler takes no notice, done is called from
// another goroutine, while Start returns only with the handler. So only a
// caller that can do without its goroutine calls Start; others use
// [Executor.Call].
func (e *Executor) Start(ctx context.Context, cmd ExecuteToolCommand, done func(ToolResult, error)) {
	r := e.newCall(cmd, done)
	e.start(ctx, r, r.admit)
}

func (e *Executor) newCall(cmd ExecuteToolCommand, done func(ToolResult, error)) *running {
	return &running{exec: e, cmd: cmd, settings: e.settings.Load(), done: done, record: CallRecord{
		ID: e.newID(), Tool: cmd.Tool, Principal: cmd.Session.Principal.Name, Session: cmd.Session.ID,
		Start: time.Now(), ArgsBytes: len(cmd.Arguments),
	}}
}

// start runs what admit lets in.
func (e *Executor) start(ctx context.Context, r *running, admit func() (*Tool, Arguments, error)) {
	tool, args, err := admit()
	if err != nil {
		r.finish(ToolResult{}, err)
		return
	}
	if err := e.takeTurn(ctx, r, tool); err != nil {
		r.finishBusy(ctx, err)
		return
	}
	defer e.endTurn(r)
	r.run(ctx, tool, args)
}

func (e *Executor) newID() string {
	const digits = "0123456789abcdefghijklmnopqrstuv"
	n := e.lastID.Add(1)
	b := make([]byte, 0, 24)
	b = append(append(b, e.idPrefix...), '-')
	for shift := 25; shift >= 0; shift -= 5 {
		b = append(b, digits[n>>shift&31])
	}
	return string(b)
}

// Visible reports whether p may know of t.
func (e *Executor) Visible(p Principal, t *Tool) bool { return e.settings.Load().Access.Allowed(p, t) }

// admit finds the tool and checks that it may be called so.
func (r *running) admit() (*Tool, Arguments, error) {
	tool, ok := r.exec.Registry.Get(r.cmd.Tool)
	if !ok || !r.settings.Access.Allowed(r.cmd.Session.Principal, tool) {
		return nil, nil, notFound(r.cmd.Tool)
	}
	if tool.Disabled {
		return nil, nil, &Error{
			Code: CodeToolDisabled, Message: fmt.Sprintf("tool %q is disabled in the server's configuration", tool.Name),
			Hint: "Use another tool, or ask the operator to enable this one.",
		}
	}
	args, err := tool.Input.Arguments(r.cmd.Arguments)
	if err != nil {
		return nil, nil, invalidArguments(tool.Name, err)
	}
	return tool, args, nil
}

func notFound(name string) *Error {
	if len(name) > 100 {
		name = name[:100] + "..."
	}
	return &Error{Code: CodeToolNotFound, Message: fmt.Sprintf("no tool %q", name), Hint: "Call tools/list for the tools there are."}
}

// InvalidArgument returns the error of a call whose arguments satisfy the schema
// and are wrong all the same, as only the tool can tell.
func InvalidArgument(tool, field, problem string) *Error {
	return invalidArguments(tool, invalid(field, problem))
}

func invalidArguments(tool string, err error) *Error {
	e := &Error{
		Code: CodeInvalidParams, Message: tool + ": " + err.Error(), Err: err,
		Hint: "Correct the arguments named in the message and call " + tool + " again.",
	}
	if bad, ok := errors.AsType[*InvalidArguments](err); ok {
		e.Data = map[string]any{"fields": bad.Fields}
	}
	return e
}

// takeTurn waits until the limits allow the call.
func (e *Executor) takeTurn(ctx context.Context, r *running, tool *Tool) error {
	limits, who := &r.settings.Limits, r.cmd.Session.Principal.Name
	if wait := e.limiter.admit(who, limits.RatePerMinute, r.record.Start); wait > 0 {
		return &rateError{limits.RatePerMinute, wait}
	}
	if err := e.limiter.acquire(ctx, slotKey{"tool", tool.Name}, limits.PerTool, limits.QueueWait); err != nil {
		return err
	}
	err := e.limiter.acquire(ctx, slotKey{"principal", who}, limits.PerPrincipal, limits.QueueWait)
	if err != nil {
		e.limiter.release(slotKey{"tool", tool.Name}, limits.PerTool)
	}
	return err
}

// endTurn gives back what takeTurn took.
func (e *Executor) endTurn(r *running) {
	limits := &r.settings.Limits
	e.limiter.release(slotKey{"principal", r.cmd.Session.Principal.Name}, limits.PerPrincipal)
	e.limiter.release(slotKey{"tool", r.cmd.Tool}, limits.PerTool)
}

type rateError struct {
	perMinute int
	wait      time.Duration
}

func (e *rateError) Error() string {
	return fmt.Sprintf("more than %d calls a minute; wait %d s", e.perMinute, int(e.wait/time.Second)+1)
}
