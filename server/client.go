package server

import (
	"context"
	"encoding/json"

	"toolserver/domain"
	"toolserver/rawjson"
)

// An exchange is the client of the call it makes: what the call says goes out
// before its answer, or not at all.
var _ domain.Client = (*exchange)(nil)

// WantsProgress reports whether the request has a progress token.
func (x *exchange) WantsProgress() bool { return x.params.meta.progressToken != nil }

type progressParams struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
	Message  string          `json:"message,omitempty"`
}

// Progress passes on how far the call has got. It is written before Progress
// returns, so none is lost or late.
func (x *exchange) Progress(p domain.Progress) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.silent() || x.reported && p.Done <= x.progress {
		return // progress must increase with each notification
	}
	x.reported, x.progress = true, p.Done
	x.out.notify(notification("notifications/progress", progressParams{x.params.meta.progressToken, p.Done, p.Total, p.Message}))
}

// silent reports whether nothing may be said. The caller holds mu.
func (x *exchange) silent() bool { return x.closed || x.session.canceled(x.entry) }

// close ends what can be said before the answer.
func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
}

type logParams struct {
	Level  string `json:"level"`
	Logger string `json:"logger,omitempty"`
	Data   any    `json:"data"`
}

// Log passes on a message, if the client wants to hear of its level.
func (x *exchange) Log(m domain.LogMessage) {
	if !x.logs(m.Level) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.silent() {
		x.out.notify(notification("notifications/message", logParams{m.Level.String(), m.Logger, m.Data}))
	}
}

// logs reports whether the client hears of messages of a level. A modern client
// says so with each request, or hears of none.
func (x *exchange) logs(level domain.LogLevel) bool {
	if x.params.meta.modern {
		least, ok := domain.ParseLogLevel(x.params.meta.logLevel)
		return ok && level >= least
	}
	return level >= domain.LogLevel(x.session.logLevel.Load())
}

// setLogLevel serves logging/setLevel.
func (x *exchange) setLogLevel() {
	var p struct {
		Level string `json:"level"`
	}
	_ = json.Unmarshal(x.msg.params, &p)
	level, ok := domain.ParseLogLevel(p.Level)
	if !ok {
		x.fail(invalidParams(`"level" must be one of debug, info, notice, warning, error, critical, alert, emergency`))
		return
	}
	x.session.logLevel.Store(int32(level))
	x.answer(func(b []byte) []byte { return append(b, "{}"...) })
}

// Supports reports whether the client has declared that it can be asked by
// method.
func (x *exchange) Supports(method string) bool {
	capabilities := x.params.meta.capabilities
	if !x.params.meta.modern {
		capabilities = x.session.capabilities()
	}
	wanted := domain.CapabilityOf(method)
	found := false
	_ = rawjson.Object(capabilities, func(name, value []byte) error {
		if string(name) == wanted && value[0] == '{' {
			found = method != domain.AskElicitation || takesForms(value)
		}
		return nil
	})
	return found
}

// takesForms reports whether a client that can be asked takes forms: one that
// names what it takes has to name them.
func takesForms(elicitation json.RawMessage) bool {
	modes, forms := 0, false
	_ = rawjson.Object(elicitation, func(name, _ []byte) error {
		modes++
		forms = forms || string(name) == "form"
		return nil
	})
	return modes == 0 || forms
}

// Ask asks the client. One of the era with sessions is sent the questions and
// answers them while the call waits; a modern one must call again.
func (x *exchange) Ask(ctx context.Context, requests map[string]domain.InputRequest) (map[string]json.RawMessage, error) {
	if x.params.meta.modern {
		return x.askedBefore(requests)
	}
	return x.session.ask(ctx, x.out, requests)
}
