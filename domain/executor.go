package domain

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Executor is the one way to do anything for a caller: to run a tool, read a
// resource, get a prompt or complete an argument, for a model over MCP, a person
// on the command line, another tool, or a test. Every such call goes through the
// same [pipeline].
//
// The sandbox is not a step of it. Tools are built holding sandboxed files and
// commands, and have no other way out.
type Executor struct {
	Registry *Registry
	Results  *ResultStore

	keep      func(*CallRecord)
	observers []Observer
	slots     *slots
	rates     rates
	abandoned atomic.Int64
	lastID    atomic.Uint64
	idPrefix  string
}

// ExecuteToolCommand asks for one call of a tool.
type ExecuteToolCommand struct {
	Session   Session
	Tool      string
	Arguments json.RawMessage // a JSON object, or empty for none
	Client    Client          // nil if nobody listens and nobody can be asked
}

// NewExecutor returns an executor over what registry offers, under settings.
// Record is called for each call just before it is answered, with a record that
// is valid until it returns; nil keeps no record.
func NewExecutor(registry *Registry, results *ResultStore, settings Settings, record func(*CallRecord), observers ...Observer) *Executor {
	if record == nil {
		record = func(*CallRecord) {}
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	e := &Executor{Registry: registry, Results: results, keep: record, observers: observers, slots: newSlots(), idPrefix: hex.EncodeToString(random[:])}
	registry.OnChange(func(Change) { e.configured(registry.Catalog()) })
	registry.Configure(settings)
	return e
}

// configured takes over the settings of a catalog that is in force now.
func (e *Executor) configured(c *Catalog) {
	e.slots.configure(&c.Settings.Limits)
	e.Results.configure(PageBytes(c.Settings.Limits.MaxResultChars), &c.redactor)
}

// Abandoned returns how many handlers are still running although their caller
// has been answered.
func (e *Executor) Abandoned() int64 { return e.abandoned.Load() }

// Call runs a tool and waits for it, but not much longer than until ctx or the
// tool's time ends. An error it returns is an [*Error] or an [*InputRequired].
func (e *Executor) Call(ctx context.Context, cmd ExecuteToolCommand) (res ToolResult, err error) {
	answered := make(chan struct{})
	var once sync.Once // a call may panic after it was answered
	answer := func(r ToolResult, e error) {
		once.Do(func() {
			res, err = r, e
			close(answered)
		})
	}
	c := e.toolCall(cmd, answer)
	go func() {
		defer func() { // as a server does at its edge: no call ends the process
			if p := recover(); p != nil {
				answer(ToolResult{}, c.clean(&panicError{p, debug.Stack()}))
			}
		}()
		c.start(ctx)
	}()
	select {
	case <-answered:
		return res, err
	case <-ctx.Done():
	}
	grace := time.AfterFunc(c.catalog.Settings.Limits.MaxAbandonGrace, func() { c.abandon(c.canceled(ctx)) })
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
	e.toolCall(cmd, done).start(ctx)
}

// ReadResource reads a document and reports to done, as [Executor.Start] does.
func (e *Executor) ReadResource(ctx context.Context, s Session, client Client, uri string, done func([]Content, error)) {
	c := e.newCall("resources/read", "resources/read", s, client, func(o Outcome, err error) { done(o.Contents, err) })
	c.Record.ArgsBytes = len(uri)
	c.find = func(c *Call) error {
		r, at, err := c.catalog.FindResource(s.Principal, uri)
		if err != nil {
			return err
		}
		c.name("resource " + r.Name)
		c.work = func(ctx context.Context) (Outcome, error) {
			contents, err := r.Read(ctx, at)
			return Outcome{Contents: contents}, err
		}
		return nil
	}
	c.start(ctx)
}

// GetPrompt fills in a prompt and reports to done, as [Executor.Start] does.
func (e *Executor) GetPrompt(ctx context.Context, s Session, client Client, name string, args map[string]string, done func(PromptResult, error)) {
	c := e.newCall("prompts/get", "prompts/get", s, client, func(o Outcome, err error) { done(o.Prompt, err) })
	c.find = func(c *Call) error {
		p, err := c.catalog.findPrompt(s.Principal, name)
		if err != nil {
			return err
		}
		c.name("prompt " + p.Name)
		args := p.filledIn(args)
		c.validate = func(c *Call) error {
			if bad := p.checkArguments(args); bad != nil {
				return invalidArguments(c.Name, bad)
			}
			return nil
		}
		c.work = func(ctx context.Context) (Outcome, error) {
			filled, err := p.Get(ctx, args)
			return Outcome{Prompt: filled}, err
		}
		return nil
	}
	c.start(ctx)
}

// CompleteQuery asks how what a person types of an argument could go on.
type CompleteQuery struct {
	Session  Session
	Prompt   string // the prompt whose argument it is,
	Template string // or the resource template whose variable it is
	Argument string
	Typed    string
	Given    map[string]string // other arguments, as far as they are known
}

// Complete looks for completions and reports them to done, as [Executor.Start]
// does. An argument that cannot be completed has none.
func (e *Executor) Complete(ctx context.Context, q CompleteQuery, done func([]string, error)) {
	c := e.newCall("completion/complete", "completion/complete", q.Session, nil, func(o Outcome, err error) { done(o.Values, err) })
	c.Record.ArgsBytes = len(q.Typed)
	c.find = func(c *Call) error {
		complete, err := c.catalog.completer(q)
		c.work = func(ctx context.Context) (Outcome, error) {
			values, err := complete(ctx, q.Argument, q.Typed, q.Given)
			return Outcome{Values: values}, err
		}
		return err
	}
	c.start(ctx)
}

// completer finds out who knows how the argument could go on.
func (c *Catalog) completer(q CompleteQuery) (Completer, error) {
	var complete Completer
	var fixed []string
	if q.Prompt != "" {
		p, err := c.findPrompt(q.Session.Principal, q.Prompt)
		if err != nil {
			return nil, err
		}
		complete = p.Complete
		for _, a := range p.Arguments {
			if a.Name == q.Argument {
				fixed = a.Values
			}
		}
	} else {
		i := slices.IndexFunc(c.resources, func(r *Resource) bool {
			return r.Template == q.Template && c.allows(q.Session.Principal, r.Audience)
		})
		if q.Template == "" || i < 0 {
			return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no resource template %q", ClipName(q.Template)), Hint: "Call resources/templates/list for those there are."}
		}
		complete = c.resources[i].Complete
	}
	if complete == nil || fixed != nil {
		complete = func(context.Context, string, string, map[string]string) ([]string, error) {
			return filter(fixed, func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(q.Typed)) }), nil
		}
	}
	return complete, nil
}

// CountList counts a request that is answered without a call, such as one for a
// list or a subscription, against a rate of its own. The error is an [*Error].
func (e *Executor) CountList(s Session, method string) error {
	perMinute := e.Registry.Catalog().Settings.Limits.RatePerMinute
	if perMinute <= 0 {
		return nil
	}
	return e.rates.check("list\x00"+s.Principal.ID, method, max(perMinute, minListRate), time.Now())
}

// minListRate is how many lists a minute a principal may ask for at least: a
// client asks for half a dozen when it starts.
const minListRate = 60

func (e *Executor) toolCall(cmd ExecuteToolCommand, done func(ToolResult, error)) *Call {
	c := e.newCall("tools/call", ClipName(cmd.Tool), cmd.Session, cmd.Client, nil)
	c.Raw, c.Record.ArgsBytes = cmd.Arguments, len(cmd.Arguments)
	c.doneTool = done
	return c
}

func (e *Executor) newCall(method, name string, s Session, client Client, done func(Outcome, error)) *Call {
	catalog := e.Registry.acquire()
	return &Call{
		Method: method, Name: name, Session: s, exec: e, catalog: catalog, client: client, done: done,
		limit:  catalog.Settings.Limits.DefaultTimeout,
		Record: CallRecord{ID: e.newID(), Tool: name, Principal: s.Principal.ID, Session: s.ID, Start: time.Now()},
	}
}

// owner returns the ID of the principal, which the limits go by.
func (c *Call) owner() string { return c.Session.Principal.ID }

// name says what is called, once that is known to be there.
func (c *Call) name(name string) { c.Name, c.Record.Tool = name, name }

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

// findTool finds a tool and checks that the principal may call it.
func (c *Call) findTool(name string) error {
	tool, ok := c.catalog.byName[name]
	if !ok || !c.catalog.Settings.Access.Allowed(c.Session.Principal, tool) {
		return notFound(name)
	}
	if tool.Disabled {
		return &Error{
			Code: CodeToolDisabled, Message: fmt.Sprintf("tool %q is disabled in the server's configuration", tool.Name),
			Hint: "Use another tool, or ask the operator to enable this one.",
		}
	}
	c.Tool = tool
	if tool.Timeout > 0 {
		c.limit = tool.Timeout
	}
	return nil
}

// checkToolArguments holds the arguments to the tool's schema. Only a tool with
// typed arguments has them converted and filled in.
func (c *Call) checkToolArguments() error {
	var err error
	if c.Tool.RunRaw != nil {
		err = c.Tool.Input.Check(c.Raw)
	} else {
		c.args, err = c.Tool.Input.Arguments(c.Raw)
	}
	if err != nil {
		return invalidArguments(c.Tool.Name, err)
	}
	return nil
}

// runTool runs the handler, after the user has agreed if that is asked for.
func (c *Call) runTool(ctx context.Context) (ToolResult, error) {
	if c.Tool.Confirm {
		refusal, err := c.confirm(ctx)
		if err != nil {
			return ToolResult{}, err
		}
		if refusal != nil {
			return *refusal, nil
		}
	}
	if c.Tool.RunRaw != nil {
		return c.Tool.RunRaw(ctx, c.Raw)
	}
	return c.Tool.Run(ctx, c.args)
}

func notFound(name string) *Error {
	return &Error{Code: CodeToolNotFound, Message: fmt.Sprintf("no tool %q", ClipName(name)), Hint: "Call tools/list for the tools there are."}
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
