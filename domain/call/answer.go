package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/telemetry"
)

// finish answers with the outcome of the call, unless it was abandoned.
func (c *Call) finish(out outcome, err error) {
	if c.answered.CompareAndSwap(false, true) {
		c.answer(out, err)
	} else {
		c.exec.abandoned.Add(-1)
	}
}

// abandon answers for a handler that has not returned although its context has
// ended.
func (c *Call) abandon(err error) {
	if !c.answered.CompareAndSwap(false, true) {
		return
	}
	c.exec.abandoned.Add(1)
	c.Record.Abandoned = true
	defer func() { // nothing else recovers on a timer's goroutine
		if p := recover(); p != nil {
			c.done(outcome{}, c.clean(&panicError{p, debug.Stack()}))
		}
	}()
	c.answer(outcome{}, err)
}

// answer does everything that follows the work of a call. The outcome is redacted
// before it is bounded, so that no secret is kept in the store.
func (c *Call) answer(out outcome, err error) {
	if err == nil {
		out = out.withoutSecrets(&c.catalog.Redactor)
		out, err = c.bound(out)
	}
	var failed *domain.Error
	if err != nil {
		out, c.Record.ResultBytes = outcome{}, 0
		if !isInputRequired(err) { // what it asks was redacted when it was asked
			failed = c.clean(err)
			err = failed
		}
	}
	c.record(&out.Tool, failed, err)
	c.done(out, err)
}

// withoutSecrets returns the outcome as clients see it.
func (o outcome) withoutSecrets(r *redact.Redactor) outcome {
	if r.Empty() {
		return o
	}
	content := func(c domain.Content) domain.Content { return c.WithoutSecrets(r) }
	o.Tool.Content = redact.Each(o.Tool.Content, content)
	o.Tool.Results, o.Tool.Meta = r.Value(o.Tool.Results), r.Value(o.Tool.Meta)
	o.Tool.Extra = r.JSON(o.Tool.Extra)
	o.Tool.MetaData = r.Members(o.Tool.MetaData)
	o.Prompt.Meta, o.Prompt.Extra, o.Completions.Extra = r.JSON(o.Prompt.Meta), r.JSON(o.Prompt.Extra), r.JSON(o.Completions.Extra)
	o.Prompt.Description = r.Text(o.Prompt.Description)
	o.Prompt.Messages = redact.Each(o.Prompt.Messages, func(m domain.PromptMessage) domain.PromptMessage {
		return domain.PromptMessage{Role: m.Role, Content: content(m.Content)}
	})
	o.Completions.Values = redact.Each(o.Completions.Values, r.Text)
	return o
}

// clean returns err as the caller sees it, without secrets.
func (c *Call) clean(err error) *domain.Error {
	e := domain.PublicError(c.Name, err)
	e.Redact(&c.catalog.Redactor)
	return e
}

// Record describes one call, for the log and the record. It holds neither
// arguments nor results, except those that say what was touched, without secrets.
type Record struct {
	ID          string
	Tool        string        // or "prompt x", "resource x"
	Server      domain.Origin // of a tool of another server
	Principal   string        // its ID
	Session     string
	Groups      []string            // of the principal
	Address     string              // see [Session]
	Arguments   json.RawMessage     // of a tool, as they came; they can be read until the record is handed over
	Client      string              // see [Session]
	Target      map[string][]string // what the call is about, see [Tool.Target]
	Made        map[string][]string // see [ToolResult]
	Start       time.Time
	Duration    time.Duration
	Waited      time.Duration // of it, for slots
	Outcome     string        // ok, tool_error, error or input_required
	ErrorType   string        // of an outcome that is not ok
	Code        domain.Code   // of an outcome that is error
	Err         error         // the same, with its causes; secrets are redacted from its message only
	ArgsBytes   int
	ResultBytes int
	Units       int64            // what the call has taken of what the principal may use in a day
	Refused     []domain.Refusal // what policy did not allow
	Asked       []Asked          // what a person was asked
	Abandoned   bool             // the handler had not returned when its caller was answered
	Operation   *telemetry.Operation

	redactor *redact.Redactor
}

// Stack returns where the handler panicked, or "" if it did not.
func (r *Record) Stack() string {
	if p, ok := errors.AsType[*panicError](r.Err); ok {
		return string(p.stack)
	}
	return ""
}

// record completes the record of the call and hands it over.
func (c *Call) record(result *domain.ToolResult, failed *domain.Error, err error) {
	rec := &c.Record
	rec.Duration = time.Since(rec.Start)
	switch {
	case failed != nil:
		rec.Outcome, rec.Code, rec.ErrorType, rec.Err = "error", failed.Code, failed.Type(), failed
	case err != nil:
		rec.Outcome = "input_required"
	case result.IsError:
		rec.Outcome, rec.ErrorType = "tool_error", result.ErrorType()
	default:
		rec.Outcome = "ok"
	}
	for name, all := range result.Made {
		for _, v := range all {
			rec.touches(&rec.Made, name, v)
		}
	}
	if c.Tool != nil && rec.Code != domain.CodeRateLimited {
		rec.Units = c.Tool.Units()
	}
	c.noteRefusals(result, failed)
	if rec.Operation != nil {
		rec.observe(c.Tool, failed)
	}
	c.exec.keep(rec)
}

// observe notes in what observes the request what became of its call.
func (r *Record) observe(t *domain.Tool, failed *domain.Error) {
	tool, prompt, uri := "", "", strings.Join(r.Target["uri"], "")
	if t != nil {
		tool, uri = t.Name, ""
	} else if name, ok := strings.CutPrefix(r.Tool, "prompt "); ok {
		prompt = name
	}
	r.Operation.Called(tool, prompt, uri, r.Waited)
	switch {
	case failed == nil:
	case failed.Code == domain.CodeBusy:
		r.Operation.Limited("concurrency")
	case failed.Code == domain.CodeRateLimited:
		r.Operation.Limited(fmt.Sprint(failed.Data["reason"]))
	}
}
