package domain

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Reading resources, getting prompts and completing what a person types go the
// same way as calls of tools: limits, clock, panics, redaction and record are
// those of [Executor.Start].

// Generation identifies what there is to list: of two that are equal, nothing
// was written to the registry or the library between.
func (e *Executor) Generation() any {
	return [2]any{e.Registry.now.Load(), e.Library.now.Load()}
}

// Resources returns the page of the resources p may read that begins after
// cursor, with or without a template, and the cursor of the next page.
func (e *Executor) Resources(p Principal, templates bool, cursor string) (page []*Resource, next string, err error) {
	all := filter(e.Library.now.Load().resources, func(r *Resource) bool {
		return (r.Template != "") == templates && e.admits(p, r.Audience)
	})
	return pageOf(all, (*Resource).key, cursor, e.settings.Load().Limits.PageSize)
}

// Prompts returns the page of the prompts p may have that begins after cursor,
// and the cursor of the next page.
func (e *Executor) Prompts(p Principal, cursor string) (page []*Prompt, next string, err error) {
	all := filter(e.Library.now.Load().prompts, func(prompt *Prompt) bool { return e.admits(p, prompt.Audience) })
	return pageOf(all, func(p *Prompt) string { return p.Name }, cursor, e.settings.Load().Limits.PageSize)
}

// admits reports whether p may know of what is there for a.
func (e *Executor) admits(p Principal, a Audience) bool {
	access := e.settings.Load().Access
	if !access.admits(p, a.Groups, a.ComplianceLevel) {
		return false
	}
	if a.Tool == "" {
		return true
	}
	t, ok := e.Registry.Get(a.Tool)
	return ok && !t.Disabled && access.Allowed(p, t)
}

// FindResource returns the resource that has uri, and where in it that is.
func (e *Executor) FindResource(p Principal, uri string) (*Resource, Location, error) {
	for _, template := range []bool{false, true} { // a document of its own comes before a template
		for _, r := range e.Library.now.Load().resources {
			if (r.Template != "") != template || !e.admits(p, r.Audience) {
				continue
			}
			if at, ok := r.locate(uri); ok {
				return r, at, nil
			}
		}
	}
	return nil, Location{}, ResourceNotFound(uri, fmt.Sprintf("no resource %q", clip(uri, 200)))
}

// ReadResource reads a document and reports to done, as [Executor.Start] does.
func (e *Executor) ReadResource(ctx context.Context, s Session, c Client, uri string, done func([]Content, error)) {
	op := operation{name: "resources/read", session: s, client: c, size: len(uri)}
	r, at, err := e.FindResource(s.Principal, uri)
	if err != nil {
		op.err = err
	} else {
		op.name = "resource " + r.Name
		op.run = func(ctx context.Context) (ToolResult, error) {
			contents, err := r.Read(ctx, at)
			return ToolResult{Content: contents}, err
		}
	}
	e.perform(ctx, op, func(res ToolResult, err error) { done(res.Content, err) })
}

// GetPrompt fills in a prompt and reports to done, as [Executor.Start] does.
func (e *Executor) GetPrompt(ctx context.Context, s Session, c Client, name string, args map[string]string, done func(PromptResult, error)) {
	op := operation{name: "prompts/get", session: s, client: c}
	var got PromptResult
	p, err := e.findPrompt(s.Principal, name)
	if err == nil {
		op.name = "prompt " + p.Name
		args = p.filledIn(args)
		if bad := p.checkArguments(args); bad != nil {
			err = invalidArguments(op.name, bad)
		}
	}
	op.err = err
	op.run = func(ctx context.Context) (ToolResult, error) {
		filled, err := p.Get(ctx, args)
		if err != nil {
			return ToolResult{}, err
		}
		var res ToolResult
		for _, m := range filled.Messages {
			res.Content = append(res.Content, m.Content)
		}
		got = filled
		return res, nil
	}
	e.perform(ctx, op, func(res ToolResult, err error) {
		if err != nil {
			done(PromptResult{}, err) // got may still be written to
			return
		}
		filled := PromptResult{Description: got.Description}
		for i, c := range res.Content { // as redacted
			filled.Messages = append(filled.Messages, PromptMessage{got.Messages[i].Role, c})
		}
		done(filled, nil)
	})
}

func (e *Executor) findPrompt(p Principal, name string) (*Prompt, error) {
	for _, prompt := range e.Library.now.Load().prompts {
		if prompt.Name == name && e.admits(p, prompt.Audience) {
			return prompt, nil
		}
	}
	return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no prompt %q", clip(name, 100)), Hint: "Call prompts/list for the prompts there are."}
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
	op := operation{name: "completion/complete", session: q.Session, size: len(q.Typed)}
	var values []string
	complete, err := e.completer(q)
	op.err = err
	op.run = func(ctx context.Context) (ToolResult, error) {
		found, err := complete(ctx, q.Argument, q.Typed, q.Given)
		if err != nil {
			return ToolResult{}, err
		}
		values = found
		return ToolResult{}, nil
	}
	e.perform(ctx, op, func(_ ToolResult, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(values, nil)
	})
}

// completer finds out who knows how the argument could go on.
func (e *Executor) completer(q CompleteQuery) (Completer, error) {
	var complete Completer
	var fixed []string
	if q.Prompt != "" {
		p, err := e.findPrompt(q.Session.Principal, q.Prompt)
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
		resources := e.Library.now.Load().resources
		i := slices.IndexFunc(resources, func(r *Resource) bool {
			return r.Template == q.Template && e.admits(q.Session.Principal, r.Audience)
		})
		if q.Template == "" || i < 0 {
			return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("no resource template %q", clip(q.Template, 200)), Hint: "Call resources/templates/list for those there are."}
		}
		complete = resources[i].Complete
	}
	if complete == nil || fixed != nil {
		complete = func(context.Context, string, string, map[string]string) ([]string, error) {
			return filter(fixed, func(v string) bool { return strings.HasPrefix(strings.ToLower(v), strings.ToLower(q.Typed)) }), nil
		}
	}
	return complete, nil
}

// operation is what the pipeline runs if it is not a tool of the registry.
type operation struct {
	name    string
	session Session
	client  Client
	size    int   // of its input, for the record
	err     error // why it cannot be run
	run     func(context.Context) (ToolResult, error)
}

func (e *Executor) perform(ctx context.Context, op operation, done func(ToolResult, error)) {
	r := e.newCall(ExecuteToolCommand{Session: op.session, Tool: op.name, Client: op.client}, done)
	r.record.ArgsBytes = op.size
	r.whole = true
	e.start(ctx, r, func() (*Tool, Arguments, error) {
		return &Tool{Name: op.name, Run: func(ctx context.Context, _ Arguments) (ToolResult, error) { return op.run(ctx) }}, nil, op.err
	})
}
