package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// relay passes on what a server has to say or to ask during one call to whoever made the
// call.
type relay struct {
	owner   domain.Session
	number  int64    // in the order in which calls begin
	pending *pending // of a caller who answers in rounds; nil for others
	done    float64  // the progress that the caller has been told of

	mu     sync.Mutex
	caller context.Context // of the call; of its last round
	next   chan struct{}   // closed by the next round; nil while there is one
	ended  bool            // nothing may be passed on any more
	asking sync.WaitGroup  // questions under way
	stops  []context.CancelCauseFunc
	logs   chan call.LogMessage
	logged chan struct{} // closed when all that is in logs was passed on
}

// errAnswered is the cause of questions that were open when their call ended.
var errAnswered = errors.New("the call has ended")

type relayKey struct{}

// maxLogs bounds the log messages of a call that its caller has not read yet; more are
// dropped.
const maxLogs = 256

// relays counts the calls of a link in flight.
type relays struct {
	inFlight atomic.Int64
	begun    atomic.Int64 // ever
	ended    atomic.Int64 // when the last of them has, in nanoseconds
}

// begin adds a call. The context of its request leads what the server says during it to
// the relay.
func (rs *relays) begin(caller context.Context) *relay {
	rs.inFlight.Add(1)
	return &relay{owner: call.SessionOf(caller), caller: caller, number: rs.begun.Add(1)}
}

// end removes a call, after all that it was told has been passed on.
func (rs *relays) end(r *relay) {
	r.mu.Lock()
	r.ended = true
	if r.logs != nil {
		close(r.logs)
	}
	for _, stop := range r.stops {
		stop(errAnswered)
	}
	r.mu.Unlock()
	if r.logs != nil {
		<-r.logged
	}
	r.asking.Wait()
	rs.ended.Store(time.Now().UnixNano())
	rs.inFlight.Add(-1)
}

// relayOf returns the call that a message of the server belongs to, which came with the
// context. If the transport does not say, it is the newest call that the server may serve,
// provided that all are of one session: nobody is told or asked what may be meant for
// somebody else.
func relayOf(ctx context.Context) (newest *relay) {
	var seen *relay // also one that was canceled: the server may still serve it
	for _, caller := range mcpclient.Callers(ctx) {
		r, ok := caller.Value(relayKey{}).(*relay)
		if !ok || seen != nil && (r.owner.Key() != seen.owner.Key() || !r.owner.Lasts()) {
			return nil
		}
		if seen = r; !r.over() && (newest == nil || r.number > newest.number) {
			newest = r
		}
	}
	return newest
}

// over reports whether the call has ended.
func (r *relay) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// unused returns how long ago the last call ended; 0 if there was none.
func (rs *relays) unused() time.Duration {
	rs.ended.CompareAndSwap(0, time.Now().UnixNano())
	return time.Since(time.Unix(0, rs.ended.Load()))
}

// current returns the context of the caller.
func (r *relay) current() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.caller
}

// listening returns the context of the caller who listens: between two rounds, it waits for the next.
func (r *relay) listening() context.Context {
	for {
		r.mu.Lock()
		caller, next := r.caller, r.next
		r.mu.Unlock()
		if next == nil {
			return caller
		}
		select {
		case <-next:
		case <-r.pending.calling.Done():
			return caller
		}
	}
}

// detach has what the server says wait for the next round.
func (r *relay) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = make(chan struct{})
}

// attach has what the server says reach the caller of another round.
func (r *relay) attach(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caller = ctx
	close(r.next)
	r.next = nil
}

// log passes a log message on, without waiting for the caller.
func (r *relay) log(m call.LogMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if r.logs == nil {
		r.logs, r.logged = make(chan call.LogMessage, maxLogs), make(chan struct{})
		go func(logs <-chan call.LogMessage) {
			defer close(r.logged)
			for m := range logs {
				call.Log(r.listening(), m)
			}
		}(r.logs)
	}
	select {
	case r.logs <- m:
	default:
	}
}

// ask has the caller answer a question of the server. ctx ends when the server does not
// want to know any more.
func (r *relay) ask(ctx context.Context, req call.InputRequest) (json.RawMessage, error) {
	r.mu.Lock()
	if r.ended {
		r.mu.Unlock()
		return nil, errAnswered
	}
	from := r.caller
	if r.pending != nil { // the caller of a round is gone before the answer comes
		from = ctx
	}
	asking, stop := context.WithCancelCause(from)
	defer stop(nil)
	r.stops = append(r.stops, stop)
	r.asking.Add(1)
	r.mu.Unlock()
	defer r.asking.Done()
	if r.pending != nil {
		return r.pending.ask(asking, req)
	}
	defer context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })()
	answers, err := call.Ask(asking, map[string]call.InputRequest{question: req})
	return answers[question], err
}

// question is the name of the one question of a request.
const question = "upstream"

// handlers answer what the server asks, by having the callers answer.
func (l *link) handlers() map[string]mcpclient.Handler {
	all := map[string]mcpclient.Handler{}
	for _, method := range []string{call.AskElicitation, call.AskSampling, call.AskRoots} {
		all[method] = func(ctx context.Context, params json.RawMessage) (any, error) {
			for {
				r := relayOf(ctx)
				if r == nil {
					return nil, jsonrpc.Errorf(jsonrpc.CodeInternalError, "%s does not belong to a call, or to one of several callers: nobody can be asked", method)
				}
				answer, err := l.ask(ctx, r, method, params)
				switch {
				case err == nil:
					return answer, nil
				case !r.over() || ctx.Err() != nil: // or it was about another call of the session
					return nil, jsonrpc.Errorf(jsonrpc.CodeInternalError, "%v", err)
				}
			}
		}
	}
	return all
}

// ask has the caller of a relay answer what the server asks.
func (l *link) ask(ctx context.Context, r *relay, method string, params json.RawMessage) (json.RawMessage, error) {
	params = redact.JSON(params, l.server.secrets())
	req := call.InputRequest{Method: method, Params: params}
	if method == call.AskElicitation {
		mode, _ := rawjson.String(rawjson.Member(params, "mode"))
		if req.URL = mode == "url"; req.URL {
			l.server.calls.expectCompletion(r, params)
		}
	}
	return r.ask(ctx, req)
}

// expectCompletion notes whom to tell when a person has done what an address is for.
func (c *calls) expectCompletion(r *relay, params json.RawMessage) {
	if id, err := rawjson.String(rawjson.Member(params, "elicitationId")); err == nil {
		c.completions.Put("", id, call.Completion(r.current()), 1)
	}
}

// notified passes on a notification of the server.
func (l *link) notified(ctx context.Context, method string, params json.RawMessage) {
	switch method {
	case "notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed":
		l.refresh()
	case "notifications/resources/updated":
		if uri, err := rawjson.String(rawjson.Member(params, "uri")); err == nil {
			l.server.calls.watches.updated(uri)
		}
	case "notifications/elicitation/complete":
		id, _ := rawjson.String(rawjson.Member(params, "elicitationId"))
		if complete, ok := l.server.calls.completions.Get("", id); ok {
			complete(id)
		}
	case "notifications/message":
		params = redact.JSON(params, l.server.secrets())
		name, _ := rawjson.String(rawjson.Member(params, "level"))
		level, ok := call.ParseLogLevel(strings.ToLower(name))
		if !ok { // which is no reason to lose it
			level = call.LogInfo
		}
		logger, _ := rawjson.String(rawjson.Member(params, "logger"))
		if r := relayOf(ctx); r != nil {
			r.log(call.LogMessage{Level: level, Logger: logger, Data: json.RawMessage(rawjson.Member(params, "data"))})
		}
	}
}
