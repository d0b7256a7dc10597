package call

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/store"
)

// Executor is the one way to do anything for a caller: to run a tool, read a
// resource, get a prompt or complete an argument, for a model over MCP, a person
// on the command line, another tool, or a test. Every such request becomes a
// [Call] and goes through the same stages.
//
// The sandbox is not a stage. Tools are built holding sandboxed files and
// commands, and have no other way out.
type Executor struct {
	Registry *domain.Registry
	// Workspace returns the registry of a principal who has one of their own, and nil for who has not. The error says why it cannot be had. It
	// may be nil, and is set before the first call.
	Workspace func(domain.Principal) (*domain.Registry, error)
	Results   *ResultStore
	Store     *store.Store // what replicas share

	// Begun is called before the handler of a call runs that may have an effect, with the record as far as it
	// goes. It is nil, or set before the first call.
	// After an error the call is not made.
	Begun func(*Record) error
	// Ready says why a principal cannot make a call now, such as that it could not be recorded; may be nil. The tool is nil if it is none.
	Ready func(domain.Principal, *domain.Tool) error

	// Approvals returns who is asked to agree to calls whose client cannot ask; nil if nobody is. It may be nil, and is set before the first call.
	Approvals func() *Approvals

	keep      func(*Record)
	slots     slots
	grants    grants
	timers    timers
	abandoned atomic.Int64
	lastID    atomic.Uint64
	idPrefix  string
}

// NewExecutor returns an executor over what registry offers, under settings.
// Record is called for each call just before it is answered, with a record that
// is valid until it returns; nil keeps no record.
func NewExecutor(registry *domain.Registry, results *ResultStore, settings domain.Settings, record func(*Record)) *Executor {
	if record == nil {
		record = func(*Record) {}
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	e := &Executor{
		Registry: registry, Results: results, Store: store.New(), keep: record, idPrefix: hex.EncodeToString(random[:]) + "-",
		slots: slots{principals: map[int]*share.Pool{}, tools: map[toolLimit]*share.Pool{}},
	}
	results.shared = e.Store
	registry.OnChange(func(domain.Change) {
		c := registry.Catalog()
		e.slots.forget()
		e.Results.configure(domain.PageBytes(c.Settings.Limits.MaxResultChars), &c.Redactor)
	})
	registry.Configure(settings)
	return e
}

// Abandoned returns how many handlers are still running although their caller
// has been answered.
func (e *Executor) Abandoned() int64 { return e.abandoned.Load() }

// ExecuteToolCommand asks for one call of a tool.
type ExecuteToolCommand struct {
	Session   domain.Session
	Tool      string
	Arguments json.RawMessage // a JSON object, or empty for none
	Client    Client          // nil if there is no client to inform or ask

	// Cancel cancels the context that the command comes with, if that is of this call
	// alone; the executor then need not derive another. It may be nil.
	Cancel context.CancelCauseFunc
}

// Call runs a tool and waits for it, but not much longer than until ctx or the
// tool's time ends. An error it returns is an [*Error] or an [*InputRequired].
func (e *Executor) Call(ctx context.Context, cmd ExecuteToolCommand) (domain.ToolResult, error) {
	type answer struct {
		result domain.ToolResult
		err    error
	}
	answers := make(chan answer, 2) // a call may panic after it was answered
	c := e.toolCall(cmd, func(r domain.ToolResult, err error) { answers <- answer{r, err} })
	go func() {
		defer func() { // as a server does at its edge: no call ends the process
			if p := recover(); p != nil {
				answers <- answer{err: c.clean(&panicError{p, debug.Stack()})}
			}
		}()
		c.start(ctx)
	}()
	select {
	case a := <-answers:
		return a.result, a.err
	case <-ctx.Done():
	}
	grace := time.AfterFunc(c.catalog.Settings.Limits.MaxAbandonGrace, func() { c.abandon(domain.Canceled(c.Name, ctx)) })
	defer grace.Stop()
	a := <-answers
	return a.result, a.err
}

// Start runs a tool on the calling goroutine and reports to done, exactly once.
// If the tool's time ends and its handler does not return, done is called from
// another goroutine, while Start returns only with the handler. So only a
// caller that can do without its goroutine calls Start; others use
// [Executor.Call].
func (e *Executor) Start(ctx context.Context, cmd ExecuteToolCommand, done func(domain.ToolResult, error)) {
	e.toolCall(cmd, done).start(ctx)
}

func (e *Executor) toolCall(cmd ExecuteToolCommand, done func(domain.ToolResult, error)) *Call {
	c := e.newCall("tools/call", cmd.Session, cmd.Client, func(out outcome, err error) { done(out.Tool, err) })
	c.name(brief.Name(cmd.Tool))
	c.Raw, c.Record.Arguments, c.Record.ArgsBytes, c.cancel = cmd.Arguments, cmd.Arguments, len(cmd.Arguments), cmd.Cancel
	c.find = (*Call).findTool
	return c
}

// ReadResource reads a document and reports it, as content, to done, as [Executor.Start] does.
func (e *Executor) ReadResource(ctx context.Context, s domain.Session, client Client, uri string, done func(domain.ToolResult, error)) {
	c := e.newCall("resources/read", s, client, func(out outcome, err error) { done(out.Tool, err) })
	c.Record.ArgsBytes = len(uri)
	c.Record.touches(&c.Record.Target, "uri", uri)
	c.find = func(c *Call) error {
		r, at, err := c.catalog.FindResource(s.Principal, uri)
		if strings.HasPrefix(uri, domain.SkillScheme) && (err != nil || r.URI != uri) { // of a skill that nobody has asked for yet
			r, at, err = c.registry.Look(ctx, domain.LookTime).FindResource(s.Principal, uri)
		}
		if err != nil {
			return err
		}
		c.name("resource " + r.Name)
		c.work = func(_ *Call, ctx context.Context) (out outcome, err error) {
			if r.ReadRaw != nil {
				out.Tool, err = r.ReadRaw(ctx, at)
			} else {
				out.Tool.Content, err = r.Read(ctx, at)
			}
			return out, err
		}
		return nil
	}
	c.start(ctx)
}

// Ask does work about an address for a request of another method, and reports to done, as [Executor.Start] does.
func (e *Executor) Ask(ctx context.Context, method string, s domain.Session, client Client, uri string, work func(context.Context) error, done func(error)) {
	c := e.newCall(method, s, client, func(_ outcome, err error) { done(err) })
	c.Record.ArgsBytes = len(uri)
	c.Record.touches(&c.Record.Target, "uri", uri)
	c.find = func(c *Call) error {
		c.work = func(_ *Call, ctx context.Context) (outcome, error) { return outcome{}, work(ctx) }
		return nil
	}
	c.start(ctx)
}

// GetPrompt fills in a prompt and reports to done, as [Executor.Start] does.
func (e *Executor) GetPrompt(ctx context.Context, s domain.Session, client Client, name string, args map[string]string, done func(domain.PromptResult, error)) {
	c := e.newCall("prompts/get", s, client, func(out outcome, err error) { done(out.Prompt, err) })
	c.find = func(c *Call) error {
		p, err := c.catalog.FindPrompt(s.Principal, name)
		if err != nil {
			return err
		}
		c.name("prompt " + p.Name)
		if !p.Unchecked {
			args = p.FilledIn(args)
			c.check = func(c *Call) error { return p.CheckArguments(args) }
		}
		c.work = func(_ *Call, ctx context.Context) (out outcome, err error) {
			out.Prompt, err = p.Get(ctx, args)
			return out, err
		}
		return nil
	}
	c.start(ctx)
}

// Complete looks for completions and reports them to done, as [Executor.Start]
// does. An argument that cannot be completed has none.
func (e *Executor) Complete(ctx context.Context, q domain.CompleteQuery, done func(domain.Completions, error)) {
	c := e.newCall("completion/complete", q.Session, nil, func(out outcome, err error) { done(out.Completions, err) })
	c.Record.ArgsBytes = len(q.Typed)
	c.find = func(c *Call) error {
		complete, err := c.catalog.CompleterOf(q)
		c.work = func(_ *Call, ctx context.Context) (out outcome, err error) {
			out.Completions, err = complete(ctx, q.Argument, q.Typed, q.Given)
			return out, err
		}
		return err
	}
	c.start(ctx)
}

// minListRate is how many lists a minute a principal may ask for at least: a
// client asks for half a dozen when it starts.
const minListRate = 60

// CountList counts a request that is answered without a call, such as one for a
// list or a subscription, against a rate of its own. The error is an [*Error].
func (e *Executor) CountList(s domain.Session, method string) error {
	perMinute := e.CatalogOf(s.Principal).Settings.Limits.RatePerMinute
	if perMinute <= 0 {
		return nil
	}
	err := e.count(context.Background(), "list\x00"+s.Principal.ID, method, max(perMinute, minListRate), time.Now())
	if err != nil {
		s.Operation.Limited("lists")
	}
	return err
}

// RegistryOf returns what a principal is offered. After an error, that is nothing.
func (e *Executor) RegistryOf(p domain.Principal) (*domain.Registry, error) {
	if e.Workspace == nil {
		return e.Registry, nil
	}
	r, err := e.Workspace(p)
	switch {
	case err != nil:
		none, _ := domain.NewRegistry() // without tools, none is wrong
		none.Configure(domain.Settings{Limits: e.Registry.Catalog().Settings.Limits})
		return none, &domain.Error{Code: domain.CodeExecutionFailed, Message: err.Error(), Hint: "Ask the operator of this server."}
	case r == nil:
		r = e.Registry
	}
	return r, nil
}

// CatalogOf returns what a principal is offered now; nothing if that cannot be had.
func (e *Executor) CatalogOf(p domain.Principal) *domain.Catalog {
	r, _ := e.RegistryOf(p)
	return r.Catalog()
}

// newCall returns a call that is named after its method until its item is found.
func (e *Executor) newCall(method string, s domain.Session, client Client, done func(outcome, error)) *Call {
	if client == nil {
		client = ProgressFunc(nil)
	}
	registry, broken := e.RegistryOf(s.Principal)
	catalog := registry.Acquire()
	id := strconv.AppendUint(append(make([]byte, 0, 24), e.idPrefix...), e.lastID.Add(1), 32)
	c := &Call{
		Method: method, Name: method, Session: s, exec: e, registry: registry, catalog: catalog, client: client, done: done, broken: broken,
		limit: catalog.Settings.Limits.DefaultTimeout,
		Record: Record{ID: string(id), Tool: method, Principal: s.Principal.ID, Session: s.ID, Client: s.Client, Groups: s.Principal.Groups, Address: s.Address,
			Start: time.Now(), Operation: s.Operation, redactor: &catalog.Redactor},
	}
	if registry != e.Registry {
		c.base = e.Registry.Acquire()
	}
	return c
}
