package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// Where several replicas share a store, requests of one session reach any of them. What of a session is not in its passport is where it began: a call that
// waits for an answer, the stream that carries changes. So what concerns these is passed on to the replicas that know the session.

// Kinds of messages between replicas.
const (
	sessionMessage = "session"
	askMessage     = "ask session"
	taskMessage    = "task"
)

// elsewhere is what a replica passes on about a session.
type elsewhere struct {
	Token   string          `json:"token"`
	Ended   bool            `json:"ended,omitempty"`   // its client has ended it
	Message json.RawMessage `json:"message,omitempty"` // of its client: a response, a cancellation, a subscription or a level
	Done    string          `json:"done,omitempty"`    // an elicitation that is complete, for its stream
}

// known is what a replica knows of a session besides its passport.
type known struct {
	Level   int32    `json:"level"`
	Watched []string `json:"watched,omitempty"` // documents that it has subscribed to
}

// knownTime is how long a replica waits for what others know of a session. Those that are gone are not waited for.
const knownTime = time.Second

// replicas are the other ones, as the server sees them.
type replicas struct{ server *Server }

// serve takes in what they pass on.
func (rs *replicas) serve() {
	s := rs.server
	st := s.exec.Store
	st.On(sessionMessage, func(_ context.Context, body []byte) []byte {
		var e elsewhere
		if json.Unmarshal(body, &e) != nil {
			return nil
		}
		if ses := rs.sessionOf(e.Token); ses != nil {
			rs.passedOn(ses, &e)
		}
		return nil
	})
	st.On(askMessage, func(_ context.Context, body []byte) []byte {
		k := known{Level: int32(call.LogInfo)}
		if ses := rs.sessionOf(string(body)); ses != nil {
			k.Level = ses.logLevel.Load()
			ses.changes.watching.Lock()
			defer ses.changes.watching.Unlock()
			k.Watched = slices.Collect(maps.Keys(ses.changes.watched))
		}
		return jsonrpc.AppendValue(nil, k)
	})
	st.On(taskMessage, s.tasks.fromElsewhere)
	st.OnBeat(s.tasks.shareAll)
}

// sessionOf returns the session of a token that this replica knows, or nil.
func (rs *replicas) sessionOf(token string) *session {
	all := rs.server.sessions.Load()
	if all == nil {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byID[token]
}

// passOn has the other replicas that know a session take in a message of its client.
func (rs *replicas) passOn(ses *session, message []byte) {
	if ses.token != "" {
		rs.tell(elsewhere{Token: ses.token, Message: message})
	}
}

func (rs *replicas) tell(e elsewhere) {
	if rs.server.exec.Store.Shared() {
		rs.server.exec.Store.Tell("", sessionMessage, jsonrpc.AppendValue(nil, e))
	}
}

// passOnAnswer does so with a response, for the call that waits for it.
func (rs *replicas) passOnAnswer(ses *session, m *jsonrpc.Message) {
	member, value := `,"result":`, m.Result
	if m.Failure != nil {
		member, value = `,"error":`, m.Failure
	}
	rs.passOn(ses, append(append(append(append([]byte(`{"jsonrpc":"2.0","id":`), m.ID...), member...), value...), '}'))
}

// passedOn takes in what another replica passes on about a session.
func (rs *replicas) passedOn(ses *session, e *elsewhere) {
	switch {
	case e.Ended:
		rs.server.sessions.Load().drop(ses, false)
		return
	case e.Done != "":
		ses.changes.add(completed(e.Done))
		return
	}
	msg, err := parse(e.Message)
	who := ses.who.Load()
	switch {
	case err != nil:
	case msg.Response:
		ses.answered(&msg.Message)
	case msg.method == mcp.MethodNotificationCancelled:
		ses.cancelRequest(msg.Params)
	case msg.method == mcp.MethodSetLogLevel:
		in := incoming{message: msg, server: rs.server, session: ses}
		_, _ = in.setLogLevel()
	case who != nil && (msg.method == mcp.MethodResourcesSubscribe || msg.method == mcp.MethodResourcesUnsubscribe):
		x := &exchange{incoming: incoming{message: msg, server: rs.server, session: ses, who: *who, ctx: ses.ctx}}
		_ = x.subscribed() // who asked has got the error
	}
}

// learn asks the other replicas what they know of a session that is not in its passport.
func (rs *replicas) learn(ctx context.Context, ses *session, who caller) {
	if !rs.server.exec.Store.Shared() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, knownTime)
	defer cancel()
	for _, answer := range rs.server.exec.Store.Ask(ctx, "", askMessage, []byte(ses.token)) {
		var k known
		if json.Unmarshal(answer, &k) != nil {
			continue
		}
		if k.Level != int32(call.LogInfo) {
			ses.logLevel.Store(k.Level)
		}
		for _, uri := range k.Watched {
			_ = ses.changes.subscribe(who, uri) // as it was allowed there
		}
	}
}

// numberApart has a session number its requests and streams so that no two replicas use the same numbers.
func (s *session) numberApart() {
	base := rand.Int64N(1<<30) << 20
	s.asked = int(base)
	s.responses.Store(base)
}

// transferKey is where the store has the name of the replica that has the file of a token.
func transferKey(token string) string { return "transfer:" + token }

// madeHere notes that this replica has the file of a token.
func (rs *replicas) madeHere(owner, token string) {
	st := rs.server.exec.Store
	_ = st.Put(context.Background(), owner, transferKey(token), []byte(st.Name()), transferTime) // whoever asks another replica is told that it is not known
}

// madeBy returns the replica that has the file of a token; empty if that is not known.
func (rs *replicas) madeBy(ctx context.Context, owner, token string) string {
	replica, _ := rs.server.exec.Store.Get(ctx, owner, transferKey(token))
	return string(replica)
}

// fileOf returns the replica that has the file which a client has sent for a request; empty for none.
func (rs *replicas) fileOf(ctx context.Context, owner string, msg *message) string {
	if msg.requestState == nil || !rs.server.exec.Store.Shared() {
		return ""
	}
	sealed, err := rawjson.String(msg.requestState)
	if err != nil {
		return ""
	}
	state, err := rs.server.openState(sealed)
	if _, here := rs.server.files.Get(owner, uploadHeader+state.Upload); err != nil || state.Upload == "" || here {
		return ""
	}
	return rs.madeBy(ctx, owner, state.Upload)
}

const forwardedHeader = "X-Toolserver-Forwarded"

// forward has another replica serve a request, whose body may have been read. It reports whether one does: who makes the request shows it the same
// credentials.
func (rs *replicas) forward(w http.ResponseWriter, r *http.Request, replica string, body []byte) bool {
	st := rs.server.exec.Store
	if replica == "" || replica == st.Name() || r.Header.Get(forwardedHeader) != "" {
		return false
	}
	address, err := st.Address(r.Context(), replica)
	if address == "" || err != nil {
		return false
	}
	to := url.URL{Scheme: "http", Host: address}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&to)
			p.Out.Host = p.In.Host
			p.Out.Header.Set(forwardedHeader, st.Name())
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
		},
		Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: transferTime,
			TLSClientConfig: &tls.Config{ServerName: hostname(r.Host)}}, // the certificate is that of the name that clients know
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			rs.server.opts.Log.Warn("a file did not go by another replica", zap.String("replica", replica), zap.Error(err))
			http.Error(w, "the replica of this server that has the file does not answer; make the call again", http.StatusBadGateway)
		},
	}
	if r.TLS != nil {
		to.Scheme = "https"
	}
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the other replica holds clients to their time
	_ = control.SetWriteDeadline(time.Time{})
	proxy.ServeHTTP(w, r)
	return true
}
