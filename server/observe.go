package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/telemetry"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// This file is where requests are observed, each from observe to observed, and what operators see of that.

// Check is something that a server depends on. The error says why it is not ready because of that; nil if it is.
type Check struct {
	Name, Text string
	Err        error
}

// Diagnostics serves metrics and probes to those who operate the server, without authentication. /readyz?verbose says all checks.
func Diagnostics(opts HTTPOptions, metrics http.Handler, checks func() []Check) http.Handler {
	h := &httpHandler{opts: opts}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var failed error
		all := ""
		for _, c := range checks() {
			mark := "[+] "
			if c.Err != nil {
				mark, c.Text, failed = "[-] ", c.Err.Error(), cmp.Or(failed, c.Err)
			}
			all += mark + c.Name + ": " + c.Text + "\n"
		}
		verbose := r.URL.Query().Has("verbose")
		if verbose && failed != nil {
			failed = errors.New(all)
		}
		switch path := r.URL.Path; {
		case !h.checkOrigin(w, r):
		case path == "/metrics":
			metrics.ServeHTTP(w, r)
		case path == "/livez":
			probe(w, r, nil)
		case path == "/readyz" && verbose && failed == nil:
			io.WriteString(w, all)
		case path == "/readyz":
			probe(w, r, failed)
		default:
			http.Error(w, "not found; there are /metrics, /livez and /readyz", http.StatusNotFound)
		}
	})
}

// measure has what the server holds measured.
func (s *Server) measure() {
	t := s.opts.Telemetry
	s.auths = t.Counter("toolserver.auth", "HTTP requests by whether and why not they were let in.", "result", "reason")
	t.Gauge("toolserver.in_flight", "Requests of clients in flight.", "", func() float64 { return float64(s.requests.InUse()) })
	t.Gauge("toolserver.streams", "Streams of changes that are open.", "", func() float64 { return float64(s.streams.InUse()) })
	t.Gauge("toolserver.sessions", "Sessions over HTTP.", "", func() float64 {
		if all := s.sessions.Load(); all != nil {
			return float64(all.places.InUse())
		}
		return 0
	})
}

// methods are those that requests can have; each is a label.
func methods() []mcp.MCPMethod {
	return []mcp.MCPMethod{
		mcp.MethodToolsCall, mcp.MethodPing, mcp.MethodInitialize, mcp.MethodServerDiscover, mcp.MethodToolsList, mcp.MethodResourcesList,
		mcp.MethodResourcesTemplatesList, mcp.MethodPromptsList, mcp.MethodResourcesRead, mcp.MethodPromptsGet, mcp.MethodCompletionComplete,
		mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe, mcp.MethodSetLogLevel, mcp.MethodSubscriptionsListen,
		methodSkillsList, methodSkillsGet, methodDirectory, methodTasksGet, methodTasksUpdate, methodTasksCancel,
	}
}

// observe begins to observe the request, if somebody does.
func (x *exchange) observe() {
	if x.server.opts.Telemetry == nil {
		return
	}
	method := telemetry.Other
	if slices.Contains(methods(), x.method) {
		method = x.Method
	}
	x.op = x.server.opts.Telemetry.Begin(method, x.ID, x.meta.raw, x.session.id, x.who.credentials.Address, x.who.carrier)
}

// observed ends that with the error of the request, before it is answered.
func (x *exchange) observed(err error) {
	if x.op == nil {
		return
	}
	protocol, errorType := x.session.handshake().version, ""
	if x.meta.modern {
		protocol = telemetry.Other
		if mcp.IsValidProtocolVersion(x.meta.version) {
			protocol = x.meta.version
		}
	}
	_, asks := errors.AsType[*call.InputRequired](err)
	switch e, ok := errors.AsType[*domain.Error](err); {
	case ok && e.Verbatim: // with whatever code another server has made up
		errorType = telemetry.Other
	case err != nil && !asks:
		errorType = strconv.Itoa(x.wireError(err).Code)
	case x.bad && !asks:
		errorType = "tool_error"
	}
	x.op.End(protocol, errorType)
}

// Call is a request of a client that is in flight, or a call that goes on as a task after its answer.
type Call struct {
	ID        string    `json:"id"` // for [Activity.Cancel]; it stays when a request becomes a task
	Method    string    `json:"method"`
	Tool      string    `json:"tool,omitempty"` // or the name of a prompt, or a URI
	Principal string    `json:"principal"`      // its ID
	Session   string    `json:"session,omitempty"`
	Client    string    `json:"client,omitempty"` // name and version, as it says
	Started   time.Time `json:"started"`
	Task      bool      `json:"task,omitempty"`
}

// Client is one that is connected or, without a session, was heard of within the last hour.
type Client struct {
	Name       string    `json:"name"`
	Version    string    `json:"version,omitempty"`
	Protocol   string    `json:"protocol"`
	Principal  string    `json:"principal"`
	Session    string    `json:"session,omitempty"`
	Extensions []string  `json:"extensions,omitempty"` // that it declares
	Since      time.Time `json:"since"`
	Seen       time.Time `json:"seen"`
	InFlight   int       `json:"in_flight"`
}

// metClient is a client without a session.
type metClient struct {
	Client
	seen atomic.Int64 // nanoseconds
}

// maxDeclared bounds the extensions of a client that are kept.
const maxDeclared = 16

// readExtensions returns the extensions that capabilities declare.
func readExtensions(capabilities json.RawMessage) (all []string) {
	_ = rawjson.Object(rawjson.Member(capabilities, "extensions"), func(name, _ []byte) error {
		if len(all) < maxDeclared {
			all = append(all, brief.Name(string(name)))
		}
		return nil
	})
	return all
}

// clientOf returns what is shown of a client, which names itself with its version if it has one.
func clientOf(name, protocol string, extensions []string, ses *session, since time.Time) Client {
	c := Client{Name: name, Protocol: protocol, Principal: ses.owner, Session: ses.id, Extensions: extensions, Since: since}
	if i := strings.LastIndexByte(name, ' '); i > 0 && strings.ContainsAny(name[i:], "0123456789") {
		c.Name, c.Version = name[:i], name[i+1:]
	}
	return c
}

// Activity is what a server does now. Who looks walks what is there for other purposes: requests have no cost of it.
type Activity struct{ Server *Server }

// sessions returns those that there are, of single requests as well.
func (a Activity) sessions() (all []*session) {
	if one := a.Server.stdio.Load(); one != nil {
		all = append(all, one)
	}
	if http := a.Server.sessions.Load(); http != nil {
		http.mu.Lock()
		defer http.mu.Unlock()
		all = slices.AppendSeq(slices.AppendSeq(all, maps.Values(http.byID)), maps.Keys(http.single))
	}
	return all
}

// shown returns a request as it is shown. The caller sees to it that it is not answered yet, or is a task: what it was parsed from may be
// used for another one.
func (x *exchange) shown() Call {
	id := fmt.Sprintf("%x-%x", x.begun.UnixNano(), crc32.ChecksumIEEE(fmt.Appendf(nil, "%p", x)))
	return Call{ID: id, Method: brief.Name(x.Method), Principal: x.session.owner, Session: x.session.id,
		Client: cmp.Or(x.meta.client, x.session.handshake().client), Started: x.begun}
}

// each calls do with what is in flight and what cancels it.
func (a Activity) each(do func(c Call, cancel func(error))) {
	for _, ses := range a.sessions() {
		ses.mu.Lock()
		for _, x := range ses.inFlight {
			if x.method == mcp.MethodSubscriptionsListen {
				continue // it goes on as long as its client is there
			}
			c := x.shown()
			name, _ := rawjson.String(x.name)
			uri, _ := rawjson.String(x.uri)
			c.Tool = brief.Name(cmp.Or(name, uri))
			do(c, x.cancel)
		}
		ses.mu.Unlock()
	}
	ts := a.Server.tasks
	ts.mu.Lock()
	live := slices.Collect(maps.Values(ts.live))
	ts.mu.Unlock()
	for _, t := range live {
		c := t.x.shown()
		c.Tool, c.Task = brief.Name(t.state.Tool), true
		do(c, t.end)
	}
}

// Calls returns what is in flight, the oldest first.
func (a Activity) Calls() []Call {
	all := map[string]Call{} // a request that becomes a task at this moment may be seen twice
	a.each(func(c Call, _ func(error)) { all[c.ID] = c })
	return slices.SortedFunc(maps.Values(all), func(x, y Call) int { return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID)) })
}

// Cancel cancels what is in flight under an ID: its caller is told that the operator did so.
func (a Activity) Cancel(id string) error {
	err := errors.New("it is not in flight any more")
	a.each(func(c Call, cancel func(error)) {
		if c.ID == id {
			cancel(domain.ErrOperator)
			err = nil
		}
	})
	return err
}

// Clients returns the clients, the first to come first.
func (a Activity) Clients() (all []Client) {
	for _, ses := range a.sessions() {
		h := ses.handshake()
		if h.version == "" || ses.id == "" {
			continue // it has not begun, or has no session
		}
		c := clientOf(h.client, h.version, h.extensions, ses, ses.begun)
		ses.mu.Lock()
		c.Seen, c.InFlight = ses.seen, len(ses.inFlight)
		ses.mu.Unlock()
		all = append(all, c)
	}
	calls := a.Calls()
	for _, m := range a.Server.met.All() {
		c := m.Client
		c.Seen = time.Unix(0, m.seen.Load())
		for _, x := range calls {
			if x.Principal == c.Principal && x.Session == c.Session && x.Client == strings.TrimSpace(c.Name+" "+c.Version) {
				c.InFlight++
			}
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(x, y Client) int { return x.Since.Compare(y.Since) })
	return all
}
