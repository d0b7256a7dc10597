package domain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

// Client is the client of a call: it can be informed, and asked, while the call
// runs.
type Client interface {
	WantsProgress() bool
	Progress(Progress)
	Log(LogMessage)
	// Supports reports whether the client can be asked by method.
	Supports(method string) bool
	// Ask returns the answers to requests, each under its request's name. If the
	// client has to call again with them, it returns an [*InputRequired].
	Ask(ctx context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error)
}

// ProgressFunc is a [Client] that receives progress only; nil receives nothing.
type ProgressFunc func(Progress)

// WantsProgress reports whether there is a function.
func (f ProgressFunc) WantsProgress() bool { return f != nil }

// Progress calls the function.
func (f ProgressFunc) Progress(p Progress) { f(p) }

// Log does nothing.
func (ProgressFunc) Log(LogMessage) {}

// Supports returns false.
func (ProgressFunc) Supports(string) bool { return false }

// Ask fails.
func (ProgressFunc) Ask(context.Context, map[string]InputRequest) (map[string]json.RawMessage, error) {
	return nil, cannotAsk("", "there is no client that can be asked, which the call requires")
}

// Progress is how far a call has got.
type Progress struct {
	Done    float64
	Total   float64 // 0 if it is not known
	Message string
}

// LogMessage tells the client's user about a call under way.
type LogMessage struct {
	Level  LogLevel
	Logger string // who says it; may be empty
	Data   any    // a text, or anything that marshals to JSON
}

// LogLevel is how important a [LogMessage] is. Its values are ordered.
type LogLevel int

// The levels of RFC 5424, as MCP has them.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

var logLevels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func (l LogLevel) String() string { return logLevels[l] }

// ParseLogLevel returns the level of that name.
func ParseLogLevel(name string) (LogLevel, bool) {
	i := slices.Index(logLevels[:], name)
	return LogLevel(max(i, 0)), i >= 0
}

// Methods by which a client can be asked.
const (
	AskElicitation = "elicitation/create"
	AskSampling    = "sampling/createMessage"
	AskRoots       = "roots/list"
)

// InputRequest asks the client for an elicitation, a sampling, or its roots.
type InputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params"`
	// Sealed rejects an answer without the state that this server gave with its
	// question: it might answer another one.
	Sealed bool `json:"-"`
}

// InputRequired says that the client must call again with answers. A handler
// returns it as it is, and runs again from its start when they have come.
type InputRequired struct {
	Requests map[string]InputRequest
}

func (e *InputRequired) Error() string { return "input is required from the client" }

func isInputRequired(err error) bool {
	_, ok := errors.AsType[*InputRequired](err)
	return ok
}

// callContext is the context of a call in flight. It leads what a handler asks
// of its context to the call.
type callContext struct {
	context.Context
	call *Call
}

type callKey struct{}

func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// callOf returns the call that ctx belongs to, or one without a session and with
// a client that supports nothing.
func callOf(ctx context.Context) *Call {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c
	}
	return &Call{catalog: &Catalog{}, client: ProgressFunc(nil)}
}

// SessionOf returns the session of the call that ctx belongs to.
func SessionOf(ctx context.Context) Session { return callOf(ctx).Session }

// ReportProgress tells the caller how far the call that ctx belongs to has got.
// It does nothing if the caller did not ask for progress.
func ReportProgress(ctx context.Context, p Progress) {
	if c := callOf(ctx); c.client.WantsProgress() && ctx.Err() == nil {
		p.Message = c.catalog.redactor.text(p.Message)
		c.client.Progress(p)
	}
}

// WantsProgress reports whether [ReportProgress] has any effect.
func WantsProgress(ctx context.Context) bool { return callOf(ctx).client.WantsProgress() }

// Log sends the client a log message about the call that ctx belongs to, if it
// asked for messages of that level.
func Log(ctx context.Context, m LogMessage) {
	if c := callOf(ctx); ctx.Err() == nil {
		m.Data = c.catalog.redactor.value(m.Data)
		c.client.Log(m)
	}
}

// CanAsk reports whether the client of the call that ctx belongs to can be asked
// by method.
func CanAsk(ctx context.Context, method string) bool {
	c := callOf(ctx)
	return !c.unasked && c.client.Supports(method)
}

// askTime is how long a client may take to answer.
const askTime = 5 * time.Minute

// Ask asks the client and returns its answers, each under its request's name. The
// call's time limit is suspended meanwhile, and its slots are free for others. An error is to be returned as it is: it
// may mean that the handler runs again with the answers, so what precedes Ask must
// be repeatable.
func Ask(ctx context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error) {
	c := callOf(ctx)
	clean := make(map[string]InputRequest, len(requests))
	for name, req := range requests {
		if !c.client.Supports(req.Method) {
			return nil, cannotAsk(req.Method, "the client does not support "+req.Method+", which the call requires")
		}
		req.Params = c.catalog.redactor.value(req.Params)
		clean[name] = req
	}
	for at := c; at != nil; at = at.outer {
		at.clock.pause()
		defer at.clock.resume()
	}
	c.root().giveSlots()
	asking, cancel := context.WithTimeoutCause(ctx, askTime, errNoAnswer)
	defer cancel()
	answers, err := c.client.Ask(asking, clean)
	if err != nil && errors.Is(context.Cause(asking), errNoAnswer) {
		err = Errorf(CodeTimeout, "%s: the client did not answer a question within %v", c.Name, askTime)
	}
	if isInputRequired(err) || ctx.Err() != nil {
		return nil, cmp.Or(err, ctx.Err()) // and the call ends
	}
	return answers, cmp.Or(err, c.root().retakeSlots(ctx))
}

// errNoAnswer is the cause of a context whose question was not answered in time.
var errNoAnswer = errors.New("no answer")

// cannotAsk returns the error of a call that needs a client that can be asked.
func cannotAsk(method, problem string) *Error {
	e := &Error{Code: CodeMissingCapability, Message: problem, Hint: "Use a client that supports it, or another tool."}
	if capability := CapabilityOf(method); capability != "" {
		e.Data = map[string]any{"requiredCapabilities": map[string]any{capability: map[string]any{}}}
	}
	return e
}

// CapabilityOf names the client capability that being asked by method takes:
// elicitation, sampling or roots.
func CapabilityOf(method string) string {
	switch method {
	case AskElicitation, AskSampling, AskRoots:
		capability, _, _ := strings.Cut(method, "/")
		return capability
	}
	return ""
}

// Elicitation is a question to the user of the client.
type Elicitation struct {
	Message string
	Schema  any // of the answer: a flat object of primitive properties; nil for none
}

// The actions of an [ElicitationAnswer].
const (
	Accepted = "accept"
	Declined = "decline"
	Canceled = "cancel" // dismissed without a choice
)

// ElicitationAnswer is what a person made of a question.
type ElicitationAnswer struct {
	Action  string          `json:"action"`  // Accepted, Declined or Canceled
	Content json.RawMessage `json:"content"` // as the schema asks, if accepted
}

type elicitParams struct {
	Mode    string `json:"mode"`
	Message string `json:"message"`
	Schema  any    `json:"requestedSchema"`
}

// noFields is the schema of a question that is answered by accepting it.
var noFields = json.RawMessage(`{"type":"object","properties":{}}`)

// Elicit asks the user of the client; name tells the question from
// others of the same call. What [Ask] says of errors goes here too. The answer
// is one to this question and no other.
func Elicit(ctx context.Context, name string, q Elicitation) (ElicitationAnswer, error) {
	if q.Schema == nil {
		q.Schema = noFields
	}
	answers, err := Ask(ctx, map[string]InputRequest{
		name: {Method: AskElicitation, Params: elicitParams{"form", q.Message, q.Schema}, Sealed: true},
	})
	if err != nil {
		return ElicitationAnswer{}, err
	}
	var a ElicitationAnswer
	if err := json.Unmarshal(answers[name], &a); err != nil {
		return a, Errorf(CodeExecutionFailed, "the client's answer to %q: %w", name, err)
	}
	return a, nil
}
