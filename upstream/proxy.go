package upstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// proxy calls one tool of a server.
type proxy struct {
	server     *Server
	name       string            // as clients have it
	quotedName []byte            // as the server has it, as JSON
	schema     json.RawMessage   // of its arguments
	arguments  map[string]string // those that clients know by another name than the server
	headers    bool              // the schema has arguments that are sent as headers
}

// run calls the tool.
func (p *proxy) run(ctx context.Context, args json.RawMessage) (domain.ToolResult, error) {
	s := p.server
	for offered, own := range p.arguments {
		if value := rawjson.Member(args, offered); value != nil {
			args = rawjson.With(rawjson.Without(args, offered), own, value)
		}
	}
	args, err := s.withIdentity(domain.SessionOf(ctx).Principal, p.schema, args)
	if err != nil {
		return domain.ToolResult{}, err
	}
	params := make([]byte, 0, len(args)+len(p.quotedName)+32)
	params = append(append(params, `{"name":`...), p.quotedName...)
	if len(args) > 0 {
		params = append(append(params, `,"arguments":`...), args...)
	}
	req := mcpclient.Request{Method: string(mcp.MethodToolsCall), Params: withMeta(ctx, append(params, '}'))}
	if p.headers {
		req.InputSchema = p.schema
	}
	result, err := s.do(ctx, req)
	if err != nil {
		return domain.ToolResult{}, s.failure(ctx, p.name, err)
	}
	r, err := toolResult(result)
	if err != nil {
		return domain.ToolResult{}, domain.Errorf(domain.CodeExecutionFailed, "%s: server %s returned no valid result: %w", p.name, s.name, err)
	}
	s.noteLinks(ctx, r.Content)
	return r, nil
}

// do sends a request for the caller whose context is given, who signs in if the server
// requires that.
func (s *Server) do(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	var result json.RawMessage
	err := s.signingIn(ctx, func() (err error) {
		result, err = s.relayed(ctx, req)
		return err
	})
	return result, err
}

// signInError is the error of a call as long as nobody has signed in.
type signInError struct{ signin.Refusal }

func (e *signInError) Error() string { return e.Message }

// relayed sends a request, and passes on what the server says and asks meanwhile.
func (s *Server) relayed(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	if resume := domain.Resumed(ctx); resume != "" {
		p, ok := s.parked.Take(domain.SessionOf(ctx).Principal.ID, resume)
		if !ok || !p.alarm.Stop() {
			return nil, errGone
		}
		select {
		case <-p.done: // without the answer
			return p.result, p.err
		default:
		}
		p.relay.attach(ctx)
		return p.round(ctx, s.park)
	}
	l := s.linkOf(domain.SessionOf(ctx).Principal.ID)
	r := l.relays.begin(ctx)
	if domain.WantsProgress(ctx) {
		req.Progress = func(p mcpclient.Progress) {
			message := redact.Text(p.Message, s.secrets())
			domain.ReportProgress(r.current(), domain.Progress{Done: p.Done, Total: p.Total, Message: message})
		}
	}
	if domain.AsksInRounds(ctx) {
		return s.inRounds(ctx, l, r, req)
	}
	result, err := l.send(context.WithValue(ctx, relayKey{}, r), req)
	l.relays.end(r)
	return result, err
}

// errGone is the error of a round whose call has been given up.
var errGone = errors.New("the call that asked no longer waits for an answer; make the call again, without the state of the last one")

// maxRounds bounds a call with all its rounds.
const maxRounds = time.Hour

// inRounds begins a call whose caller answers in rounds.
func (s *Server) inRounds(ctx context.Context, l *link, r *relay, req mcpclient.Request) (json.RawMessage, error) {
	p := &pending{relay: r, asks: make(chan *ask), done: make(chan struct{})}
	r.pending = p
	limited, stop := context.WithTimeout(s.ctx, maxRounds)
	calling, cancel := context.WithCancelCause(context.WithValue(limited, relayKey{}, r))
	p.cancel = cancel
	s.running.Go(func() {
		defer stop()
		defer close(p.done)
		p.result, p.err = l.send(calling, req)
		l.relays.end(r)
		cancel(nil)
	})
	return p.round(ctx, s.park)
}

// attach has what the server says reach the caller of another round.
func (r *relay) attach(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caller = ctx
}

// park keeps a call until its next round, and returns what finds it again.
func (s *Server) park(p *pending) string {
	token := rand.Text()
	p.alarm = time.AfterFunc(parkTime, func() { p.cancel(errGone) })
	s.parked.Put(p.relay.owner.Principal.ID, token, p, 1)
	return token
}

// send sends a request over the connection, which it waits for. A session that the server
// has ended is begun anew: it has not looked at the request.
func (l *link) send(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	for again := false; ; again = true {
		c, err := l.ready(ctx)
		if err != nil {
			return nil, err
		}
		result, err := c.client.Do(ctx, req)
		result, err = l.server.withoutTokens(result, err)
		if _, answered := errors.AsType[*jsonrpc.Error](err); err != nil && !answered && ctx.Err() == nil {
			signal(l.doubt)
		}
		if again || !errors.Is(err, mcpclient.ErrSessionEnded) {
			return result, err
		}
		l.lost(c)
	}
}

// withoutTokens removes from what the server has answered the tokens that it got.
func (s *Server) withoutTokens(result json.RawMessage, err error) (json.RawMessage, error) {
	secrets := s.secrets()
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		data, _ := e.Data.(json.RawMessage)
		e.Message, e.Data = redact.Text(e.Message, secrets), redact.JSON(data, secrets)
	}
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok { // before it is cut
		e.Body = []byte(redact.Text(string(e.Body), append(s.settings.Secrets(), secrets...)))
	}
	return redact.JSON(result, secrets), err
}

// secrets returns the tokens that the server gets, which settings do not have.
func (s *Server) secrets() []string {
	if s.oauth == nil {
		return nil
	}
	return s.oauth.Secrets()
}

// unavailableError says why a server cannot be used.
type unavailableError struct {
	server string
	reason error  // a clause
	next   string // what happens next, as a sentence
}

func (e *unavailableError) Error() string {
	return "server " + e.server + " is unavailable: " + e.reason.Error() + ". " + e.next
}

// Unwrap returns the reason.
func (e *unavailableError) Unwrap() error { return e.reason }

// The kinds of failures, by what can be done about them.
const (
	retryable = "retryable" // later, or again
	permanent = "permanent" // not with this call
	noAuth    = "auth"      // after somebody has signed in
)

// failure returns the error of a call as callers get it.
func (s *Server) failure(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if _, ok := err.(*domain.InputRequired); ok {
		return err
	}
	if e, ok := errors.AsType[*domain.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		data, _ := e.Data.(json.RawMessage)
		return &domain.Error{Code: domain.Code(e.Code), Message: e.Message, Verbatim: true, RawData: data, Err: err}
	}
	if e, ok := errors.AsType[*signInError](err); ok {
		return &domain.Error{
			Code: domain.CodeExecutionFailed, Message: what + ": " + e.Message + ". " + e.Remedy, Hint: e.Remedy,
			Data: map[string]any{"server": s.name, "failure": noAuth}, Err: err,
		}
	}
	e := &domain.Error{Code: domain.CodeExecutionFailed, Err: err, Data: map[string]any{"server": s.name, "failure": retryable}}
	status, isHTTP := errors.AsType[*mcpclient.HTTPError](err)
	unavailable, isUnavailable := errors.AsType[*unavailableError](err)
	switch {
	case isUnavailable:
		e.Message, e.Hint = what+": "+unavailable.Error(), "Call it again later, or use another tool."
	case isHTTP && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden):
		e.Message = what + ": server " + s.name + " does not accept the credentials: " + err.Error()
		e.Hint, e.Data["failure"] = "Ask the operator to check the credentials of mcp_servers."+s.name+".", noAuth
	case isHTTP && status.Status < 500 && status.Status != http.StatusTooManyRequests && status.Status != http.StatusRequestTimeout:
		e.Message = what + ": server " + s.name + " rejected the request: " + err.Error()
		e.Hint, e.Data["failure"] = "Do not repeat the call; ask the operator to check mcp_servers."+s.name+".", permanent
	case notReached(err):
		e.Message, e.Hint = what+": server "+s.name+" cannot be reached: "+err.Error(), "Call it again later, or use another tool."
	case errors.Is(err, errGone):
		e.Message, e.Hint = what+": "+err.Error(), "Make the call again."
	case errors.Is(err, mcpclient.ErrTooLong):
		e.Message = what + ": server " + s.name + " sent a message that is too long"
		e.Hint, e.Data["failure"] = "Ask for less in one call.", permanent
	default:
		e.Message = what + ": server " + s.name + " failed during the call: " + s.linkOf(domain.SessionOf(ctx).Principal.ID).cause(err) +
			". Whether the call had an effect is unknown; the server is started again when it is needed."
		e.Hint = "Find out whether the call had its effect before you repeat it."
	}
	return e
}

// notReached reports whether a request has not left this machine.
func notReached(err error) bool {
	dialing, ok := errors.AsType[*net.OpError](err)
	return ok && dialing.Op == "dial"
}

// withIdentity writes who calls into the arguments that configuration names, whatever the
// model has put there.
func (s *Server) withIdentity(p domain.Principal, schema, args json.RawMessage) (json.RawMessage, error) {
	if len(s.settings.Identity) == 0 {
		return args, nil
	}
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	properties := rawjson.Member(schema, "properties")
	for argument, field := range s.settings.Identity {
		forged := rawjson.Member(args, argument) != nil
		for _, name := range folded(args, argument) { // which servers that ignore case take for it
			if forged = true; rawjson.Member(properties, name) == nil {
				args = rawjson.Without(args, name)
			}
		}
		if rawjson.Member(properties, argument) == nil && !forged {
			continue
		}
		var value any
		switch field {
		case "name":
			value = p.Name
		case "id":
			value = p.ID
		case "compliance_level":
			value = p.ComplianceLevel
		default:
			value = p.Groups
			if p.Groups == nil {
				value = []string{}
			}
			if t := rawjson.Member(rawjson.Member(properties, argument), "type"); string(t) == `"string"` {
				value = strings.Join(p.Groups, ",")
			}
		}
		b, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		args = rawjson.With(rawjson.Without(args, argument), argument, b) // last, where it counts
	}
	return args, nil
}

// folded returns the names of members of an object that differ from name in case only.
func folded(object json.RawMessage, name string) (names []string) {
	_ = rawjson.Object(object, func(member, _ []byte) error {
		if string(member) != name && strings.EqualFold(string(member), name) {
			names = append(names, string(member))
		}
		return nil
	})
	return names
}

// withoutIdentity returns a schema as models see it: what the server writes is not asked
// for.
func (s *Server) withoutIdentity(schema json.RawMessage) json.RawMessage {
	for argument := range s.settings.Identity {
		if properties := rawjson.Member(schema, "properties"); rawjson.Member(properties, argument) != nil {
			schema = rawjson.With(schema, "properties", rawjson.With(properties, argument, []byte(identitySchema)))
		}
		required := json.RawMessage("[")
		_ = rawjson.Array(rawjson.Member(schema, "required"), func(name []byte) error {
			if text, _ := rawjson.String(name); text != argument {
				if len(required) > 1 {
					required = append(required, ',')
				}
				required = append(required, name...)
			}
			return nil
		})
		if len(required) > 1 {
			schema = rawjson.With(schema, "required", append(required, ']'))
		} else {
			schema = rawjson.Without(schema, "required")
		}
	}
	return schema
}

// identitySchema takes anything, and says that it makes no difference.
const identitySchema = `{"description":"Filled in by the server with who calls. Leave it out."}`
