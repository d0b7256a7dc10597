package server

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/telemetry"
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
