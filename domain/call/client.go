package call

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/store"
)

// Client is the client of a call: it can be informed, and asked, while the call
// runs.
type Client interface {
	WantsProgress() bool
	Progress(Progress)
	Log(LogMessage)
	// Supports reports whether the client can be asked by method, or by [AskURL].
	Supports(method string) bool
	// Ask returns the answers to requests, each under its request's name. If the
	// client has to call again with them, it returns an [*InputRequired].
	Ask(ctx context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error)
	// Round reports whether the client has to call again with each answer and, if it
	// does so now, the [InputRequired.Resume] that it was asked with.
	Round() (resume string, again bool)
	// Ended is closed when the client is gone, or the server stops serving it; nil
	// if that is not known.
	Ended() <-chan struct{}
	// Complete says that the user has done what an address was for, also after
	// the call.
	Complete(elicitation string)
	// Detach answers the request that made the call with a task, if the client takes one,
	// and reports whether the call is one now. See [Detach].
	Detach(message string) bool
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

// Round returns false.
func (ProgressFunc) Round() (string, bool) { return "", false }

// Ended returns nil.
func (ProgressFunc) Ended() <-chan struct{} { return nil }

// Complete does nothing.
func (ProgressFunc) Complete(string) {}

// Detach returns false.
func (ProgressFunc) Detach(string) bool { return false }

// Progress is how far a call has got.
type Progress struct {
	Done    float64
	Total   float64 // 0 if it is not known
	Bytes   bool    // both are bytes
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

// AskURL stands for [AskElicitation] with an address for the user to open, which
// takes a capability of its own.
const AskURL = "elicitation/create, mode url"

// InputRequest asks the client for an elicitation, a sampling, or its roots.
type InputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
	// Sealed rejects an answer without the state that this server gave with its
	// question: it might answer another one.
	Sealed bool `json:"-"`
	// URL says that the client must support [AskURL].
	URL bool `json:"-"`
}

// Needs returns what the client must support.
func (r InputRequest) Needs() string {
	if r.URL {
		return AskURL
	}
	return r.Method
}

// InputRequired says that the client must call again with answers. A handler
// returns it as it is, and runs again from its start when they have come.
type InputRequired struct {
	Requests map[string]InputRequest
	Resume   string // what [Resumed] returns when the handler runs again; may be empty
	Upload   any    // where the client must send a file instead, as its protocol says it; see [Upload]
	// Keep has what Resume stands for be kept for so long from now, instead of as long as the
	// handler keeps it. It is nil if there is nothing.
	Keep func(time.Duration)
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
	return &Call{catalog: &domain.Catalog{}, client: ProgressFunc(nil)}
}

// WithoutSecrets returns JSON without the secrets that results of the call that ctx belongs to
// must not have, for what changes it beyond recognition.
func WithoutSecrets(ctx context.Context, raw json.RawMessage) json.RawMessage {
	return callOf(ctx).catalog.Redactor.JSON(raw)
}

// SessionOf returns the session of the call that ctx belongs to.
func SessionOf(ctx context.Context) domain.Session { return callOf(ctx).Session }

// StoreOf returns what the replicas of the server share that the call belongs to; outside any call, nothing.
func StoreOf(ctx context.Context) *store.Store {
	if c := callOf(ctx); c.exec != nil {
		return c.exec.Store
	}
	return store.New()
}

// Previewed returns the [Tool.Preview] that a person has agreed to in the call that ctx belongs to; "" if none was asked. A
// handler does nothing else than that says.
func Previewed(ctx context.Context) string { return callOf(ctx).previewed }

// ReportProgress tells the caller how far the call that ctx belongs to has got.
// It does nothing if the caller did not ask for progress.
func ReportProgress(ctx context.Context, p Progress) {
	if c := callOf(ctx); c.client.WantsProgress() && ctx.Err() == nil {
		p.Message = c.catalog.Redactor.Text(p.Message)
		c.client.Progress(p)
	}
}

// WantsProgress reports whether [ReportProgress] has any effect.
func WantsProgress(ctx context.Context) bool { return callOf(ctx).client.WantsProgress() }

// Log sends the client a log message about the call that ctx belongs to, if it
// asked for messages of that level.
func Log(ctx context.Context, m LogMessage) {
	if c := callOf(ctx); ctx.Err() == nil {
		m.Logger, m.Data = c.catalog.Redactor.Text(m.Logger), c.catalog.Redactor.Value(m.Data)
		c.client.Log(m)
	}
}

// CanAsk reports whether the client of the call that ctx belongs to can be asked
// by method.
func CanAsk(ctx context.Context, method string) bool {
	c := callOf(ctx)
	return !c.unasked && c.client.Supports(method)
}

// Detach makes a task of the call that ctx belongs to, for a client that takes one: its request
// is answered now, with a handle and a message of what it waits for, which people and models
// may read, and the call goes on. It reports whether the call is a task, now or before. A call that is
// none is answered when it ends. What the client is asked from then on has the handler run again
// from its start, as [Ask] says.
func Detach(ctx context.Context, message string) bool {
	c := callOf(ctx)
	return ctx.Err() == nil && c.client.Detach(c.catalog.Redactor.Text(message))
}

// askTime is how long a client may take to answer.
const askTime = 5 * time.Minute

// AsksInRounds reports whether the client of the call that ctx belongs to has to call
// again with each answer, so that [Ask] returns an [*InputRequired] first.
func AsksInRounds(ctx context.Context) bool {
	_, again := callOf(ctx).client.Round()
	return again
}

// Resumed returns the [InputRequired.Resume] that the handler left for this run; "" for
// none. No client can make one up, or use that of another call or principal, but it may
// come more than once.
func Resumed(ctx context.Context) string {
	resume, _ := callOf(ctx).client.Round()
	return resume
}

// Ask asks the client and returns its answers, each under its request's name. The
// call's time limit is suspended meanwhile, and its slots are free for others. An error is to be returned as it is: it
// may mean that the handler runs again with the answers, so what precedes Ask must
// be repeatable.
func Ask(ctx context.Context, requests map[string]InputRequest) (map[string]json.RawMessage, error) {
	c := callOf(ctx)
	clean := make(map[string]InputRequest, len(requests))
	for name, req := range requests {
		if !c.client.Supports(req.Needs()) {
			return nil, cannotAsk(req.Needs(), "the client does not support "+req.Needs()+", which the call requires")
		}
		if raw, ok := req.Params.(json.RawMessage); ok && (len(raw) == 0 || string(raw) == "null") {
			req.Params = nil // or it would be written as null, which is not valid
		}
		req.Params = c.catalog.Redactor.Value(req.Params)
		clean[name] = req
	}
	var answers map[string]json.RawMessage
	err := c.suspended(ctx, askTime, func(asking context.Context) (err error) {
		answers, err = c.client.Ask(asking, clean)
		if err != nil && errors.Is(context.Cause(asking), errNoAnswer) {
			err = domain.Errorf(domain.CodeTimeout, "%s: the client did not answer a question within %v", c.Name, askTime)
		}
		return err
	})
	return answers, err
}

// suspended has a call wait for a person, for a time at most: without time limit,
// and without its slots. When the call has to end, it does not take them again.
func (c *Call) suspended(ctx context.Context, atMost time.Duration, wait func(context.Context) error) error {
	for at := c; at != nil; at = at.outer {
		at.clock.pause()
		defer at.clock.resume()
	}
	c.root().held.give(c.owner())
	waiting, cancel := context.WithTimeoutCause(ctx, atMost, errNoAnswer)
	defer cancel()
	err := wait(waiting)
	if isInputRequired(err) || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	return cmp.Or(err, c.root().retakeSlots(ctx))
}

// Suspended has the call that ctx belongs to wait, for a time at most, without time limit and without its slots.
func Suspended(ctx context.Context, atMost time.Duration, wait func(context.Context) error) error {
	return callOf(ctx).suspended(ctx, atMost, wait)
}

// awaitTime is how long a call waits for what is done elsewhere whose caller does not wait.
const awaitTime = 15 * time.Minute

// Await waits until a person has done something elsewhere, for a time at most,
// and reports whether they have. It suspends the call as [Ask] does. A call that can be a task is
// one then, and waits longer.
func Await(ctx context.Context, done <-chan struct{}, atMost time.Duration) (ok bool, err error) {
	c := callOf(ctx)
	if Detach(ctx, "waits for a person") {
		atMost = max(atMost, awaitTime)
	}
	err = c.suspended(ctx, atMost, func(ctx context.Context) error {
		select {
		case <-done:
			ok = true
		case <-c.client.Ended():
		case <-ctx.Done():
		}
		return nil
	})
	return ok, err
}

// errNoAnswer is the cause of a context whose question was not answered in time.
var errNoAnswer = errors.New("no answer")

// cannotAsk returns the error of a call that needs a client that can be asked.
func cannotAsk(method, problem string) *domain.Error {
	e := &domain.Error{Code: domain.CodeMissingCapability, Message: problem, Hint: "Use a client that supports it, or another tool."}
	if capability := CapabilityOf(method); capability != "" {
		modes := map[string]any{}
		if method == AskURL {
			modes["url"] = map[string]any{}
		}
		e.Data = map[string]any{"requiredCapabilities": map[string]any{capability: modes}}
	}
	return e
}

// CapabilityOf names the client capability that being asked by method takes:
// elicitation, sampling or roots.
func CapabilityOf(method string) string {
	switch method {
	case AskElicitation, AskURL, AskSampling, AskRoots:
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
	return elicit(ctx, name, InputRequest{Method: AskElicitation, Params: elicitParams{"form", q.Message, q.Schema}, Sealed: true})
}

// URLElicitation asks the user of the client to open an address, for what must
// not pass through the client: a sign-in.
type URLElicitation struct {
	ID      string `json:"elicitationId"` // tells it from others of all calls; no secret
	Message string `json:"message"`
	URL     string `json:"url"`
}

// ElicitURL asks the user to open an address. The action of the answer says
// whether they agreed to; what they do there, [Await] can wait for. What [Ask]
// says of errors goes here too.
func ElicitURL(ctx context.Context, q URLElicitation) (action string, err error) {
	a, err := elicit(ctx, q.ID, InputRequest{Method: AskElicitation, Params: struct {
		Mode string `json:"mode"`
		URLElicitation
	}{"url", q}, Sealed: true, URL: true})
	return a.Action, err
}

// Completion returns what tells the client of the call that the user has done what
// an address was for: during the call or after it.
func Completion(ctx context.Context) func(elicitation string) { return callOf(ctx).client.Complete }

func elicit(ctx context.Context, name string, req InputRequest) (a ElicitationAnswer, err error) {
	answers, err := Ask(ctx, map[string]InputRequest{name: req})
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(answers[name], &a); err != nil {
		return a, domain.Errorf(domain.CodeExecutionFailed, "the client's answer to %q: %w", name, err)
	}
	return a, nil
}
