package server

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/keyring"
	"github.com/toolserver/toolserver/store"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// peer is the [domain.Client] of the call that a request makes: notifications of the
// call are sent before its answer, or not at all.
type peer struct {
	*incoming
	background *background // nil if the client takes no tasks

	mu       sync.Mutex // guards what follows
	finished bool       // no notifications any more
	reported bool
	progress float64 // the last that was reported
	state    requestState
	agreed   bool // answers to sealed requests are used
}

// finish ends notifications, and reports whether they had not ended before.
func (p *peer) finish() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first = !p.finished
	p.finished = true
	return first
}

// WantsProgress reports whether the request has a progress token, or can become a task, whose
// message says how far it has got.
func (p *peer) WantsProgress() bool { return p.meta.progressToken != nil || p.background != nil }

// Progress sends a progress notification, before it returns.
func (p *peer) Progress(now call.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.background != nil && p.background.task != nil:
		p.background.task.say(now.Message)
		return
	case p.meta.progressToken == nil, p.reported && now.Done <= p.progress: // it must increase with each notification
		return
	}
	p.reported, p.progress = true, now.Done
	p.send(jsonrpc.Request(nil, "notifications/progress", struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{p.meta.progressToken, now.Done, now.Total, now.Message}))
}

// Log sends a log message, if the client asked for its level.
func (p *peer) Log(m call.LogMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logs(m.Level) {
		p.send(jsonrpc.Request(nil, "notifications/message", struct {
			Level  string `json:"level"`
			Logger string `json:"logger,omitempty"`
			Data   any    `json:"data"`
		}{m.Level.String(), m.Logger, m.Data}))
	}
}

// send sends a notification, unless the request is answered or canceled. The
// caller holds mu.
func (p *peer) send(notification []byte) {
	if !p.finished && !p.canceled() {
		p.out.notify(notification)
	}
}

// logs reports whether the client asked for messages of a level. A modern client
// does so with each request, or gets none.
func (p *peer) logs(level call.LogLevel) bool {
	if p.meta.modern {
		least, ok := call.ParseLogLevel(p.meta.logLevel)
		return ok && level >= least
	}
	return level >= call.LogLevel(p.session.logLevel.Load())
}

// Supports reports whether the client has declared that it supports a request
// by method.
func (p *peer) Supports(method string) bool {
	if p.meta.modern {
		return canAsk(p.meta.capabilities, method)
	}
	settled := p.session.handshake()
	if elicits := method == call.AskElicitation || method == call.AskURL; elicits && settled.version < mcp.ProtocolVersion20250618 {
		return false // whatever it declares, there is no such request
	}
	return settled.asks.has(method)
}

// asks are what a client with a session can be asked, bits in the order of askable, and asksViews.
type asks byte

// askable are methods. Their order is part of passports: it stays.
var askable = [...]string{call.AskElicitation, call.AskURL, call.AskSampling, call.AskRoots}

// asksViews is the bit of a client that shows views; those below it are for further methods.
const asksViews asks = 1 << 7

// has reports whether a method is among them.
func (a asks) has(method string) bool {
	i := slices.Index(askable[:], method)
	return i >= 0 && a&(1<<i) != 0
}

// readAsks returns what the capabilities of a client say that it can be asked and shows.
func readAsks(capabilities json.RawMessage) (all asks) {
	for i, method := range askable {
		if canAsk(capabilities, method) {
			all |= 1 << i
		}
	}
	if showsViews(capabilities) {
		all |= asksViews
	}
	return all
}

// canAsk reports whether capabilities say that a client can be asked by method.
func canAsk(capabilities json.RawMessage, method string) bool {
	declared := rawjson.Member(capabilities, call.CapabilityOf(method))
	switch {
	case len(declared) == 0 || declared[0] != '{':
		return false
	case method == call.AskElicitation: // in forms, which a client that lists modes must list
		return rawjson.Member(declared, "form") != nil || rawjson.Member(declared, "url") == nil
	case method == call.AskURL:
		return rawjson.Member(declared, "url") != nil
	}
	return true
}

// Round returns what a modern client resumes.
func (p *peer) Round() (resume string, again bool) { return p.state.Resume, p.meta.modern }

// Detach makes a task of the request, if the client takes one.
func (p *peer) Detach(message string) bool {
	return p.background != nil && p.background.detach(message)
}

// resume has the call run again with the answers that its client has given so far, each to the
// question of that name.
func (p *peer) resume(answers map[string]json.RawMessage, resume string) {
	p.state = requestState{Asked: slices.Collect(maps.Keys(answers)), Answers: maps.Clone(answers), Resume: resume}
	p.agreed = true
}

// Ended is closed with the session.
func (p *peer) Ended() <-chan struct{} { return p.session.ctx.Done() }

// Complete notifies the client, on the stream of its session once the request is
// answered. The notification is one of protocol version 2025-11-25.
func (p *peer) Complete(elicitation string) {
	if p.meta.modern {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished {
		p.session.changes.add(completed(elicitation))
		p.server.replicas.tell(elsewhere{Token: p.session.token, Done: elicitation}) // whose replica may have the stream
		return
	}
	p.send(completed(elicitation).notification(nil))
}

// Ask sends requests to a client with a session, one after the other as people
// read them, and waits for the answers. A modern client must call again with them.
func (p *peer) Ask(ctx context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	if p.meta.modern {
		return p.answersSoFar(requests)
	}
	answers := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		result, err := p.session.ask(ctx, p.out, requests[name])
		if err != nil {
			return nil, err
		}
		answers[name] = result
	}
	return answers, nil
}

// clientAnswer is the response of a client: a result or an error.
type clientAnswer struct{ result, failure json.RawMessage }

// ask sends one request and waits for its answer.
func (s *session) ask(ctx context.Context, out sink, req call.InputRequest) (json.RawMessage, error) {
	answer := make(chan clientAnswer, 1)
	s.mu.Lock()
	s.asked++
	id := strconv.Quote("server-" + strconv.Itoa(s.asked))
	s.asking[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asking, id)
	}()
	if !out.notify(jsonrpc.Request(json.RawMessage(id), req.Method, req.Params)) {
		return nil, domain.Errorf(domain.CodeMissingCapability, "the client cannot be asked by %s: its Accept header excludes event streams", req.Method)
	}
	select {
	case a := <-answer:
		switch {
		case len(a.failure) > 0:
			reason := cmp.Or(jsonrpc.ParseError(a.failure).Message, "it gave no reason")
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client could not answer %s: %s", req.Method, reason)
		case !validAnswer(req.Method, a.result):
			return nil, domain.Errorf(domain.CodeExecutionFailed, "the client's response to %s is invalid", req.Method)
		}
		return a.result, nil
	case <-ctx.Done():
		out.notify(jsonrpc.Request(nil, string(mcp.MethodNotificationCancelled), map[string]any{
			"requestId": json.RawMessage(id), "reason": fmt.Sprint(context.Cause(ctx))}))
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, errSessionEnded
	}
}

// answered takes in a response, and reports whether somebody waits for it.
func (s *session) answered(msg *jsonrpc.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := string(jsonrpc.IDKey(msg.ID))
	answer, ok := s.asking[key]
	if ok {
		delete(s.asking, key)
		answer <- clientAnswer{slices.Clone(msg.Result), slices.Clone(msg.Failure)}
	}
	return ok
}

// requestState is what a modern client carries from one round of a call to the
// next, since the server remembers nothing. The client cannot read or change
// it, nor use it for another call, as somebody else, or late.
type requestState struct {
	Principal string                     `json:"principal"` // ID
	Call      []byte                     `json:"call"`      // a hash of method, target and arguments
	Expires   time.Time                  `json:"expires"`
	Asked     []string                   `json:"asked"`   // names of requests not answered yet
	Answers   map[string]json.RawMessage `json:"answers"` // of earlier rounds
	Resume    string                     `json:"resume,omitempty"`
	Once      string                     `json:"once,omitempty"`   // see mayUse; empty if nothing asked was sealed
	Upload    string                     `json:"upload,omitempty"` // token of a file that the client sends
}

// stateTime is how long a client may take for one round.
const stateTime = 15 * time.Minute

// maxState bounds a state, as the client sends it.
const maxState = 256 << 10

var errBadState = errors.New("the request state is invalid for this call, or it has expired; make the call again without it")

// sealedState is what states are sealed for.
const sealedState = "request state"

func (s *Server) sealState(state requestState) (string, error) {
	plain, err := json.Marshal(state)
	if err != nil {
		return "", err
	}
	sealed := s.exec.Store.Keys().Seal(sealedState, plain)
	if len(sealed) > maxState {
		return "", domain.Errorf(domain.CodeExecutionFailed, "the client's responses so far are too long to continue")
	}
	return sealed, nil
}

func (s *Server) openState(sealed string) (state requestState, err error) {
	if len(sealed) > maxState {
		return state, errBadState
	}
	plain, err := s.exec.Store.Keys().Open(sealedState, sealed)
	if err != nil || json.Unmarshal(plain, &state) != nil {
		s.unsealed(err)
		return requestState{}, errBadState
	}
	return state, nil
}

// unsealed says in the log that something was sealed with a key that this server does not have, as when the keys of replicas differ.
func (s *Server) unsealed(err error) {
	if errors.Is(err, keyring.ErrUnknownKey) {
		s.keyless.Do(func() {
			s.opts.Log.Warn("a client has something that another replica has sealed: give all replicas the same server.keys", zap.Error(err))
		})
	}
}

// readState reads the state that a modern request brings.
func (p *peer) readState() *jsonrpc.Error {
	if !p.meta.modern {
		return nil
	}
	if p.requestState != nil {
		sealed, err := rawjson.String(p.requestState)
		if err != nil {
			return invalidParams(`"requestState" of ` + p.Method + " must be a string")
		}
		state, err := p.server.openState(sealed)
		if err != nil || state.Principal != p.who.principal.ID || string(state.Call) != string(p.callHash()) || !time.Now().Before(state.Expires) {
			return invalidParams(errBadState.Error())
		}
		p.state = state
	}
	if p.inputResponses != nil && p.inputResponses[0] != '{' {
		return invalidParams(`"inputResponses" must be an object`)
	}
	return nil
}

// callHash identifies what a request asks for, rounds aside.
func (p *peer) callHash() []byte {
	call := [][]byte{rawjson.AppendString(nil, p.Method), canonical(p.name), canonical(p.uri), canonical(p.arguments)}
	sum := sha256.Sum256(bytes.Join(call, []byte{'\n'})) // which JSON on one line does not have
	return sum[:]
}

// canonical returns equal JSON in one form: clients may write it anew for each round, and
// leave out what is empty.
func canonical(raw json.RawMessage) []byte {
	v, err := rawjson.Decode(raw)
	if object, ok := v.(map[string]any); err != nil || ok && len(object) == 0 {
		return nil
	}
	return jsonrpc.AppendValue(nil, v)
}

// mayUse reports whether the request may use its state, which nobody else may from now on, at any replica. A server that is alone cannot know that of states
// from before it started.
func (p *peer) mayUse() (bool, error) {
	if once := p.state.Once; once != "" {
		s := p.server
		if s.exec.Store.Shared() || !p.state.Expires.Add(-stateTime).Before(s.started) {
			first, err := s.exec.Store.Once(p.ctx, p.who.principal.ID, "once:"+once, stateTime)
			if err != nil {
				return false, &domain.Error{Code: domain.CodeBusy, Message: store.ErrUnavailable.Error(), Err: err}
			}
			p.agreed = first
		}
		p.state.Once = ""
	}
	return p.agreed, nil
}

// answersSoFar returns the answers to requests if this round or an earlier one
// has brought them all, and else the error that asks for the rest. Answers to no
// request and invalid ones are ignored. One to a sealed request counts only if the
// state proves that it was asked, and once.
func (p *peer) answersSoFar(requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var given map[string]json.RawMessage
	if p.inputResponses != nil {
		_ = json.Unmarshal(p.inputResponses, &given) // it is an object
	}
	if p.state.Answers == nil {
		p.state.Answers = map[string]json.RawMessage{}
	}
	answers := map[string]json.RawMessage{}
	missing := map[string]call.InputRequest{}
	for name, req := range requests {
		answer, ok := p.state.Answers[name]
		if !ok {
			answer, ok = given[name]
			ok = ok && (!req.Sealed || slices.Contains(p.state.Asked, name)) && validAnswer(req.Method, answer)
		}
		if ok && req.Sealed {
			var err error
			if ok, err = p.mayUse(); err != nil {
				return nil, err
			} else if !ok {
				delete(p.state.Answers, name)
			}
		}
		if !ok {
			missing[name] = req
			continue
		}
		answers[name], p.state.Answers[name] = answer, answer
	}
	if len(missing) > 0 {
		return nil, &call.InputRequired{Requests: missing}
	}
	return answers, nil
}

// validAnswer reports whether an answer has the form its method demands.
func validAnswer(method string, answer json.RawMessage) bool {
	switch method {
	case call.AskElicitation:
		var a struct {
			Action  string          `json:"action"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(answer, &a) != nil || len(a.Content) > 0 && a.Content[0] != '{' && string(a.Content) != "null" {
			return false
		}
		return a.Action == call.Accepted || a.Action == call.Declined || a.Action == call.Canceled
	case call.AskRoots:
		var a struct {
			Roots []struct{} `json:"roots"`
		}
		return json.Unmarshal(answer, &a) == nil && a.Roots != nil
	}
	return len(answer) > 0 && answer[0] == '{'
}

// inputRequired returns the result that has a modern client call again.
func (p *peer) inputRequired(required *call.InputRequired) (reply, error) {
	state := requestState{
		Principal: p.who.principal.ID, Call: p.callHash(), Expires: time.Now().Add(stateTime),
		Asked: slices.Collect(maps.Keys(required.Requests)), Answers: p.state.Answers, Resume: required.Resume, Upload: p.state.Upload,
	}
	if p.agreed || slices.ContainsFunc(slices.Collect(maps.Values(required.Requests)), func(r call.InputRequest) bool { return r.Sealed }) {
		state.Once = rand.Text() // it is good for one call, since a person has agreed to one
	}
	sealed, err := p.server.sealState(state)
	return func(b []byte) []byte {
		kind, member, asked := "input_required", `{"inputRequests":`, any(required.Requests)
		if required.Upload != nil {
			kind, member, asked = "upload_required", `{"uploads":`, []any{required.Upload}
		}
		b = jsonrpc.AppendValue(append(b, member...), asked)
		b = appendMember(b, "requestState", sealed)
		b = appendMember(b, "resultType", kind)
		return p.encoder().meta(b, nil)
	}, err
}
