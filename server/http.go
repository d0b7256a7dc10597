package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/server/wellknown"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/time/rate"
)

// HTTPOptions say how the server is reached over HTTP.
type HTTPOptions struct {
	Path           string        // of the MCP endpoint
	PublicURL      string        // address at which others reach this server, for its card; empty for none
	AllowedOrigins []string      // of web pages that may talk to the server
	AllowedHosts   []string      // names of the server besides localhost
	SessionTTL     time.Duration // how long an idle session lives
	MaxSessions    int
	DrainDelay     time.Duration // how long to go on when ctx has ended, while /readyz says so
	// AnyHost accepts every name of the server if AllowedHosts is empty. Without
	// credentials that a web page cannot have, the page of an attacker could reach
	// the server by a name of its own (DNS rebinding).
	AnyHost       bool
	Authenticator Authenticator
	// Protected returns what OAuth clients have to know, nil if no authorization server is configured; may be nil.
	Protected func() *wellknown.Protected
	Ready     func() error                       // says why /readyz is not; may be nil
	Proxies   []netip.Prefix                     // that say in X-Forwarded-For where requests come from
	Refused   func(address string, c *Challenge) // is called for each request that has to authenticate; may be nil
	// Pages serves other pages than the endpoint, and reports whether a request was for one; may be nil.
	Pages func(http.ResponseWriter, *http.Request) bool
}

// Waits of the HTTP transport.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second // of a request with its body
	idleTimeout       = 2 * time.Minute
	writeTimeout      = 30 * time.Second // of one message, not of a stream
	keepAliveInterval = 15 * time.Second
)

// Bounds of what a connection may make the server hold, also without a token.
const (
	maxHeaderBytes = 32 << 10
	http2Buffer    = 128 << 10 // of what has arrived and was not read
)

const sessionHeader = mcp.HeaderSessionID

// httpHandler serves the MCP endpoint.
type httpHandler struct {
	server   *Server
	opts     HTTPOptions
	routes   map[string]http.HandlerFunc // by path, exactly
	public   *url.URL                    // address of the endpoint; nil without one
	failures failures

	publicText string // that address, as a text
	sessions   *sessions
	streams    sync.WaitGroup  // those that are open
	stopping   context.Context // ends when streams have to
	ready      context.Context // ends when /readyz says so
	base       context.Context // of requests that go on without their connection
}

// ServeHTTP serves clients on l until ctx ends and then for the DrainDelay, in which
// balancers find out. Then requests under way get the grace to finish.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, opts HTTPOptions) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stopping, stopStreams := context.WithCancel(base)
	defer stopStreams()
	h := s.Handler(stopping, opts).(*httpHandler)
	h.ready, h.base = ctx, base
	fewAMinute := func(core zapcore.Core) zapcore.Core { return zapcore.NewSamplerWithOptions(core, time.Minute, 5, 1000) }
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		// A refusal may wait for the rest of a body. Streams and long calls set
		// their own time with each write.
		WriteTimeout: readTimeout + writeTimeout,
		BaseContext:  func(net.Listener) context.Context { return base },
		ErrorLog:     log.New(connectionErrors{s.opts.Log.WithOptions(zap.WrapCore(fewAMinute))}, "", 0),

		MaxHeaderBytes: maxHeaderBytes,
		HTTP2:          &http.HTTP2Config{MaxReceiveBufferPerConnection: http2Buffer, MaxReceiveBufferPerStream: http2Buffer},
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-served:
		return err
	case <-time.After(opts.DrainDelay):
	}
	stopStreams()
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
	defer stop()
	if err := server.Shutdown(drain); err != nil {
		cancel(errors.New("the server stops"))
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer stop()
		if server.Shutdown(last) != nil {
			server.Close()
		}
	}
	until, _ := drain.Deadline()
	s.tasks.finish(time.Until(until))
	h.waitForStreams()
	return nil
}

// connectionErrors logs what net/http has to say of connections, such as that one ended
// before TLS began: balancers do that to see whether the port is open, and everybody can.
type connectionErrors struct{ log *zap.Logger }

func (c connectionErrors) Write(line []byte) (int, error) {
	c.log.Warn("a connection failed", zap.ByteString("error", bytes.TrimSpace(line)))
	return len(line), nil
}

// waitForStreams waits until all streams have ended, which net/http does not know
// of. They were told to when the server began to stop.
func (h *httpHandler) waitForStreams() {
	ended := make(chan struct{})
	go func() {
		h.streams.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(stopTime):
	}
}

// Handler returns the endpoint and its neighbours as an HTTP handler, for those
// who have a server of their own.
func (s *Server) Handler(stopping context.Context, opts HTTPOptions) http.Handler {
	h := &httpHandler{
		server: s, opts: opts, sessions: newSessions(s, opts.SessionTTL, opts.MaxSessions),
		stopping: stopping, ready: stopping, base: context.WithoutCancel(stopping),
	}
	s.sessions.Store(h.sessions)
	context.AfterFunc(stopping, h.sessions.closeAll)
	path := strings.TrimSuffix(opts.Path, "/")
	h.routes = wellknown.Cards(s.opts.Info, opts.PublicURL, opts.Path)
	h.routes[wellknown.ProtectedPath], h.routes[wellknown.ProtectedPath+path] = h.metadata, h.metadata
	if h.public = wellknown.Endpoint(opts.PublicURL, opts.Path); h.public != nil {
		h.publicText = strings.TrimSuffix(h.public.String(), "/")
		h.routes[wellknown.ProtectedPath+strings.TrimSuffix(h.public.Path, "/")] = h.metadata
	}
	h.routes[path], h.routes[path+"/"] = h.endpoint, h.endpoint // people write either
	h.routes[path+uploadsPath] = h.byAddress("PUT", uploadHeader, h.receive)
	h.routes[path+downloadsPath] = h.byAddress("GET, HEAD", downloadHeader, h.send)
	h.routes["/livez"] = func(w http.ResponseWriter, r *http.Request) { probe(w, r, nil) }
	h.routes["/readyz"] = func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch {
		case h.ready.Err() != nil:
			err = errors.New("stopping")
		case opts.Ready != nil:
			err = opts.Ready()
		}
		probe(w, r, err)
	}
	return h
}

// ServeHTTP serves one request. Paths are compared as they are: one that another
// server would clean up leads nowhere.
func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 {
		// There may have been a Content-Length as well, which net/http drops: what
		// follows may be a request for us and part of this one for a proxy (RFC 9112,
		// section 6.1).
		w.Header().Set("Connection", "close")
	}
	if route, ok := h.routes[r.URL.Path]; ok {
		route(w, r)
	} else if h.public != nil && strings.HasPrefix(r.URL.Path, strings.TrimSuffix(h.opts.Path, "/")+linksPath) {
		h.serveLink(w, r)
	} else if h.opts.Pages == nil || !h.opts.Pages(w, r) {
		http.Error(w, "not found; the MCP endpoint is "+h.opts.Path, http.StatusNotFound)
	}
}

// protected returns what OAuth clients have to know, nil if they cannot sign in.
func (h *httpHandler) protected() *wellknown.Protected {
	if h.opts.Protected == nil || h.public == nil {
		return nil
	}
	p := h.opts.Protected()
	if p != nil {
		p.Name, p.Endpoint = h.server.opts.Info.Name, h.public
	}
	return p
}

// metadata serves what OAuth clients have to know.
func (h *httpHandler) metadata(w http.ResponseWriter, r *http.Request) {
	if p := h.protected(); p != nil {
		p.ServeHTTP(w, r)
	} else {
		http.Error(w, "no authorization server issues tokens for this server", http.StatusNotFound)
	}
}

// probe serves the liveness and readiness probes. The error says why the answer is no.
func probe(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		methodNotAllowed(w, "GET, HEAD")
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Write([]byte("ok\n"))
	}
}

// endpoint serves MCP.
func (h *httpHandler) endpoint(w http.ResponseWriter, r *http.Request) {
	who, ok := h.admits(w, r, "POST, GET, DELETE")
	if !ok {
		return
	}
	if err := checkSingle(r.Header); err != nil {
		h.reject(w, r, nil, err, http.StatusBadRequest)
		return
	}
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r, who)
	case r.Method != http.MethodGet && r.Method != http.MethodDelete:
		methodNotAllowed(w, "POST, GET, DELETE")
	case mcp.IsModernProtocol(version):
		methodNotAllowed(w, "POST") // this version has neither sessions nor their stream
	case !knownVersion(version):
		writeError(w, nil, unsupportedVersion(version), http.StatusBadRequest)
	case r.Method == http.MethodGet:
		h.stream(w, r, who)
	default:
		h.endSession(w, r, who)
	}
}

// admits establishes who makes a request, with one of some methods. It answers one that goes no further itself: of a page that
// may not talk to the server, of a browser that asks whether one may, and without good credentials.
func (h *httpHandler) admits(w http.ResponseWriter, r *http.Request, methods string) (who caller, ok bool) {
	if !h.checkOrigin(w, r) {
		return who, false
	}
	if r.Method == http.MethodOptions {
		preflight(w, r, methods)
		return who, false
	}
	if len(r.Header.Values("Authorization")) > 1 {
		writeError(w, nil, doubled("Authorization"), http.StatusBadRequest)
		return who, false
	}
	credentials := h.credentials(r)
	p, challenge := h.opts.Authenticator.Authenticate(credentials)
	if challenge != nil {
		if wait := h.failures.note(credentials.Address); wait > 0 && challenge.Error != "" { // who has a good token is let in all the same
			h.server.auths.Add(1, "refused", "too_many_requests")
			w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
			body := `{"error":"too_many_requests","error_description":"too many failed attempts to authenticate; try again later"}`
			writeJSON(w, []byte(body), http.StatusTooManyRequests)
			return who, false
		}
		h.refuse(w, r, challenge)
		return who, false
	}
	h.server.auths.Add(1, "ok")
	return caller{p, h.opts.Authenticator, credentials, r.Header.Get("Traceparent")}, true
}

// credentials returns what a request shows of who makes it.
func (h *httpHandler) credentials(r *http.Request) Credentials {
	c := Credentials{Authorization: r.Header.Get("Authorization"), Address: h.addressOf(r), Proofs: r.Header.Values("DPoP"), Method: r.Method}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.Certificate = r.TLS.PeerCertificates[0]
	}
	c.Public = h.publicText
	if h.public != nil && len(c.Proofs) > 0 {
		at := *h.public
		at.Path = strings.TrimSuffix(at.Path, h.opts.Path) + r.URL.Path // with what a proxy takes away
		c.URL = at.String()
	}
	return c
}

// addressOf returns where a request comes from. What a proxy says of that counts only if the proxy is known, and the last address that none of
// them has is the client's: what is before it may be made up.
func (h *httpHandler) addressOf(r *http.Request) string {
	address := hostname(r.RemoteAddr)
	known := func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && slices.ContainsFunc(h.opts.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
	}
	if len(h.opts.Proxies) == 0 || !known(address) {
		return address
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		ip, err := netip.ParseAddr(hostname(strings.TrimSpace(hop)))
		if err != nil {
			return address
		}
		if address = ip.Unmap().String(); !known(address) {
			return address
		}
	}
	return address
}

// failures hold addresses to a number of failed attempts to authenticate: 20 at once, and two a second.
type failures struct {
	mu       sync.Mutex
	limiters share.Store[string, *rate.Limiter]
}

// note counts a failed attempt, and returns how long the address has to wait if that is one too many.
func (f *failures) note(address string) (wait time.Duration) {
	if IsLoopback(address) { // it may be that of a proxy, and so of everybody
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l, ok := f.limiters.Get("", address)
	if !ok {
		f.limiters.MaxEntries, f.limiters.MaxAge, f.limiters.Renew = 10_000, time.Minute, true
		l = rate.NewLimiter(2, 20)
		f.limiters.Put("", address, l, 1)
	}
	if l.Allow() {
		return 0
	}
	return time.Duration((1 - l.Tokens()) / float64(l.Limit()) * float64(time.Second))
}

// refuse answers a request with a challenge.
func (h *httpHandler) refuse(w http.ResponseWriter, r *http.Request, challenge *Challenge) {
	if h.opts.Refused != nil {
		h.opts.Refused(h.addressOf(r), challenge)
	}
	h.server.auths.Add(1, "refused", cmp.Or(challenge.Error, map[bool]string{true: "unavailable", false: "missing"}[challenge.Unavailable]))
	challenge.write(w, h.server.opts.Info.Name, h.protected())
}

// knownVersion reports whether a version header names a protocol version, if there is one.
func knownVersion(version string) bool { return version == "" || mcp.IsValidProtocolVersion(version) }

// checkSingle rejects a second header where a proxy may go by another one than the
// server.
func checkSingle(header http.Header) *jsonrpc.Error {
	for name, values := range header {
		if len(values) > 1 && (strings.HasPrefix(name, "Mcp-") || name == mcp.HeaderLastEventID) {
			return doubled(name)
		}
	}
	return nil
}

func doubled(name string) *jsonrpc.Error {
	return headerMismatch("there is more than one " + brief.Name(name) + " header")
}

func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	http.Error(w, "method not allowed; allowed: "+allow, http.StatusMethodNotAllowed)
}

// session finds the session a request belongs to, in use until release. It
// answers a request without one itself.
func (h *httpHandler) session(w http.ResponseWriter, r *http.Request, who caller) (*session, bool) {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		http.Error(w, "the "+sessionHeader+" header is missing; initialize first", http.StatusBadRequest)
		return nil, false
	}
	ses, err := h.sessions.acquire(r.Context(), id, who)
	switch {
	case err == errNoSession:
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil: // there are too many, or nobody knows whether it has ended
		w.Header().Set("Retry-After", "5")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
	return ses, err == nil
}

func (h *httpHandler) endSession(w http.ResponseWriter, r *http.Request, who caller) {
	ses, ok := h.session(w, r, who)
	if !ok {
		return
	}
	h.sessions.mark(r.Context(), ses.owner, endedMark(ses.id))
	h.sessions.drop(ses, false)
	h.server.replicas.tell(elsewhere{Token: ses.token, Ended: true})
	w.WriteHeader(http.StatusNoContent)
}

// stream opens the stream of a session's changes, which goes on until either side
// ends it or another one takes its place.
func (h *httpHandler) stream(w http.ResponseWriter, r *http.Request, who caller) {
	if _, events := accepted(r); !events {
		http.Error(w, "Accept must include text/event-stream", http.StatusNotAcceptable)
		return
	}
	ses, ok := h.session(w, r, who)
	if !ok {
		return
	}
	if !h.server.streams.TryAcquire(ses.owner, 1) {
		h.sessions.release(ses)
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many streams; close some, or try again later", http.StatusServiceUnavailable)
		return
	}
	h.streams.Add(1)
	s := &stream{handler: h, session: ses, changes: ses.changes, who: who}
	if id := r.Header.Get(mcp.HeaderLastEventID); id != "" && h.resume(w, r, who, ses, id) {
		s.end()
		return
	}
	s.begin(w, r, h.stopping, nil)
}

// mcpHeaders are the headers MCP clients in browsers send and read.
const (
	requestHeaders = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, " +
		"DPoP, traceparent, tracestate, baggage, " + uploadHeader + ", " + downloadHeader + ", Range, If-Range"
	paramHeader     = "mcp-param-" // begins those that repeat arguments
	maxParamHeaders = 4 << 10      // bytes of their names that a preflight request may ask for
	responseHeaders = "Mcp-Session-Id, WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, ETag, Content-Range, Content-Disposition"
)

// checkOrigin keeps web pages from talking to a server on their visitor's
// machine, be it directly or by a name of theirs that resolves to it (DNS
// rebinding). It answers a refused request itself.
func (h *httpHandler) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	if !h.hostAllowed(r.Host) {
		http.Error(w, "host "+brief.Name(r.Host)+" is not allowed; configure server.allowed_hosts", http.StatusForbidden)
		return false
	}
	origin := r.Header.Get("Origin")
	if len(r.Header.Values("Origin")) > 1 {
		http.Error(w, "there is more than one Origin header", http.StatusForbidden)
		return false
	}
	if origin == "" {
		return true
	}
	listed := slices.Contains(h.opts.AllowedOrigins, origin)
	if !listed && !sameOrigin(origin, r.Host) {
		http.Error(w, "origin "+brief.Name(origin)+" is not allowed; configure server.allowed_origins", http.StatusForbidden)
		return false
	}
	if listed {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", responseHeaders)
		w.Header().Add("Vary", "Origin")
	}
	return true
}

// sameOrigin reports whether a page of origin was served by host, on this
// machine: of other hosts only configuration can say.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && IsLoopback(u.Host) && (u.Scheme == "http" || u.Scheme == "https") && IsLoopback(host)
}

// hostAllowed reports whether clients may know this server as host.
func (h *httpHandler) hostAllowed(host string) bool {
	name := hostname(host)
	if h.public != nil && strings.EqualFold(h.public.Host, host) {
		return true
	}
	if slices.ContainsFunc(h.opts.AllowedHosts, func(allowed string) bool { return strings.EqualFold(allowed, name) || strings.EqualFold(allowed, host) }) {
		return true
	}
	return IsLoopback(host) || h.opts.AnyHost && len(h.opts.AllowedHosts) == 0
}

// IsLoopback reports whether a host, maybe with a port, is one of this machine.
func IsLoopback(host string) bool {
	name := hostname(host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// hostname returns host without port and brackets.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// preflight answers the question browsers ask before they send a request to
// another origin.
func preflight(w http.ResponseWriter, r *http.Request, methods string) {
	allowed := requestHeaders
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		if strings.HasPrefix(name, paramHeader) && len(allowed)+len(name) < maxParamHeaders {
			allowed += ", " + name
		}
	}
	w.Header().Set("Access-Control-Allow-Methods", methods)
	w.Header().Set("Access-Control-Allow-Headers", allowed)
	w.Header().Add("Vary", "Access-Control-Request-Headers")
	w.Header().Set("Access-Control-Max-Age", "86400")
	w.WriteHeader(http.StatusNoContent)
}
