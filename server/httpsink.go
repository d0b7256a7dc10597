package server

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/sse"
)

// httpSink writes the messages of one HTTP response: one JSON document, or, as
// soon as there is something to say before the answer, a stream of events.
type httpSink struct {
	w         http.ResponseWriter
	control   http.ResponseController
	canStream bool // the client takes events
	canJSON   bool // the client takes a document
	modern    bool // errors have HTTP statuses of their own
	server    *Server
	resumable *session          // whose client may ask again for what the stream had; nil if it may not
	lost      bool              // the client does not read; guarded by mu
	begins    func() string     // begins the session of a result and returns its token; nil for none
	limited   *domain.Principal // whose limits the answer states; nil for nobody

	mu        sync.Mutex
	streaming bool
	done      bool
	kept      *replay // what the client may ask for; nil for nothing
	alive     *time.Timer
}

// newSink returns a sink for the response to r.
func (h *httpHandler) newSink(w http.ResponseWriter, r *http.Request) *httpSink {
	json, events := accepted(r)
	return &httpSink{w: w, control: *http.NewResponseController(w), canStream: events, canJSON: json, server: h.server}
}

// expect says whether there will be an answer, until which a stream is kept alive.
func (s *httpSink) expect(answers bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.canStream = s.canStream && answers; s.canStream {
		first := keepAliveInterval
		if s.resumable != nil {
			first = resumeAfter
		}
		s.alive = time.AfterFunc(first, s.keepAlive)
	}
}

// close ends the use of the sink. A request that was canceled has no answer: it
// ends as an empty stream or, like notifications, with the status 202.
func (s *httpSink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done && !s.streaming {
		if s.canStream {
			s.start()
		} else {
			s.w.WriteHeader(http.StatusAccepted)
		}
	}
	s.finish()
	if s.kept != nil {
		s.kept.end()
	}
}

// leave leaves the response to somebody else.
func (s *httpSink) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streaming = true
	s.finish()
}

func (s *httpSink) finish() {
	s.done = true
	if s.alive != nil {
		s.alive.Stop()
	}
}

// answer writes the answer. Code is that of an error, or 0.
func (s *httpSink) answer(msg []byte, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	s.finish()
	s.server.opts.BeforeAnswers()
	if s.begins != nil && code == 0 {
		s.w.Header().Set(sessionHeader, s.begins())
	}
	status := http.StatusOK
	if s.modern {
		status = statusOf(code)
	}
	if !s.canJSON && s.canStream && status == http.StatusOK {
		s.start()
	}
	if s.streaming {
		s.event(msg)
		return
	}
	if s.limited != nil {
		s.server.addLimits(s.w.Header(), *s.limited, code)
	}
	if code == int(domain.CodeTimeout) {
		// The handler may still be running although it has been answered for. Until
		// it returns, the connection would serve nothing else.
		s.w.Header().Set("Connection", "close")
	}
	writeJSON(s.w, msg, status)
	_ = s.control.Flush()
}

// notify writes a notification, if the client takes events.
func (s *httpSink) notify(msg []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done || !s.canStream {
		return false
	}
	s.start()
	s.event(msg)
	return !s.done
}

func (s *httpSink) start() {
	if s.streaming {
		return
	}
	s.streaming = true
	h := s.w.Header()
	if s.limited != nil {
		s.server.addLimits(h, *s.limited, 0)
	}
	eventHeaders(h)
	s.w.WriteHeader(http.StatusOK)
	s.write(nil)
}

// eventHeaders adds the headers of a stream of events.
func eventHeaders(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
}

func (s *httpSink) event(msg []byte) {
	s.write(s.keep(sse.Append(make([]byte, 0, len(msg)+32), msg)))
}

// keep keeps an event that the client may ask for again, and returns it with its ID.
func (s *httpSink) keep(event []byte) []byte {
	if s.resumable == nil {
		return event
	}
	if s.kept == nil {
		s.kept = &replay{server: s.server, session: s.resumable, stream: strconv.FormatInt(s.resumable.responses.Add(1), 10), grown: make(chan struct{})}
	}
	return s.kept.add(event)
}

const keepAliveComment = ": keep-alive\n\n"

// keepAlive sends a comment, so that nobody between the client and us takes the
// connection for dead.
func (s *httpSink) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return
	}
	event := []byte(keepAliveComment)
	if s.resumable != nil && !s.streaming {
		event = s.keep([]byte("data: \n\n")) // so that the client has an event to ask for what follows
	}
	s.start()
	s.write(event)
	s.alive.Reset(keepAliveInterval)
}

// write writes and flushes. A client that does not read for long is gone.
func (s *httpSink) write(b []byte) {
	if s.lost {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := s.w.Write(b)
	if err == nil {
		err = s.control.Flush()
	}
	if s.lost = err != nil; s.lost && s.resumable == nil {
		s.finish()
	}
}

// addLimits adds to the answer of a call how much its principal may call
// (draft-ietf-httpapi-ratelimit-headers-11), and when again if this one was too much.
func (s *Server) addLimits(header http.Header, principal domain.Principal, code int) {
	rate, limited := s.exec.Rate(principal)
	if !limited {
		return
	}
	header.Set("RateLimit-Policy", fmt.Sprintf(`"principal";q=%d;w=60`, rate.PerMinute))
	header.Set("RateLimit", fmt.Sprintf(`"principal";r=%d;t=%d`, rate.Remaining, rate.Whole))
	if code == int(domain.CodeRateLimited) {
		header.Set("Retry-After", strconv.Itoa(max(1, rate.Next)))
	}
}

// statusOf returns the HTTP status protocol version 2026-07-28 has for an error code.
func statusOf(code int) int {
	switch code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION,
		jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams, jsonrpc.CodeParseError:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func writeError(w http.ResponseWriter, id json.RawMessage, e *jsonrpc.Error, status int) {
	writeJSON(w, jsonrpc.ErrorResponse(id, e), status)
}

func writeJSON(w http.ResponseWriter, msg []byte, status int) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(msg)))
	w.WriteHeader(status)
	w.Write(msg)
}

// accepted reports which of the forms of an answer a client takes. One that does
// not say takes any.
func accepted(r *http.Request) (json, events bool) {
	ranges := r.Header["Accept"]
	if len(ranges) == 1 && ranges[0] == "application/json, text/event-stream" { // what most send
		return true, true
	}
	return accepts(ranges, "application/*", "application/json"), accepts(ranges, "text/*", "text/event-stream")
}

// accepts decides by the most specific of the ranges that a form is in. One with the quality 0
// is refused (RFC 9110, section 12.4.2).
func accepts(ranges []string, group, form string) (yes bool) {
	if len(ranges) == 0 {
		return true
	}
	decided := -1 // how specific what decided is
	for part := range strings.SplitSeq(strings.Join(ranges, ","), ",") {
		name, rest, more := strings.Cut(part, ";")
		if specific := slices.Index([]string{"*/*", group, form}, strings.ToLower(strings.TrimSpace(name))); specific > decided {
			if yes, decided = true, specific; more {
				_, params, _ := mime.ParseMediaType(form + ";" + rest)
				q, err := strconv.ParseFloat(params["q"], 64)
				yes = err != nil || q > 0
			}
		}
	}
	return yes
}

// Bounds of what is kept for clients that have lost the connection of a request.
const (
	resumeAfter = time.Second     // a response that takes longer is a stream that can be resumed
	replayTime  = 5 * time.Minute // since the last event
	maxReplays  = 32 << 20        // bytes of all streams
	maxReplay   = 1 << 20         // bytes of one before its last event
)

// replay is the stream of the response to a request, kept for a while: its client may have
// lost the connection, which cancels nothing in protocol version 2025-11-25, and asks for
// what follows the last event that it got.
type replay struct {
	server  *Server
	session *session
	stream  string // names it within the session

	mu     sync.Mutex
	first  int // number of events[0]
	events [][]byte
	size   int
	done   bool
	grown  chan struct{} // closed when something was added
}

func (r *replay) key(stream string) string { return r.session.id + "/" + stream }

// add keeps an event, and returns it with its ID.
func (r *replay) add(event []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size > maxReplay {
		r.first, r.events, r.size = r.first+len(r.events), nil, 0
	}
	event = append(fmt.Appendf(nil, "id: %s-%d\n", r.stream, r.first+len(r.events)), event...)
	r.events, r.size = append(r.events, event), r.size+len(event)
	r.server.replays.Put(r.session.owner, r.key(r.stream), r, int64(r.size))
	close(r.grown)
	r.grown = make(chan struct{})
	return event
}

// end notes that nothing will follow.
func (r *replay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	close(r.grown)
}

// after returns the events that follow one, whether they are the last, and else what is
// closed when there are more.
func (r *replay) after(event int) (events [][]byte, next int, done bool, grown <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events[min(max(event+1-r.first, 0), len(r.events)):], r.first + len(r.events) - 1, r.done, r.grown
}

// resume answers a request for what follows an event. It reports whether the ID is that
// of an event.
func (h *httpHandler) resume(w http.ResponseWriter, req *http.Request, who caller, ses *session, id string) bool {
	var stream, event int
	if n, err := fmt.Sscanf(id, "%d-%d", &stream, &event); n != 2 || err != nil {
		return false
	}
	kept, ok := h.server.replays.Get(ses.owner, (&replay{session: ses}).key(strconv.Itoa(stream)))
	if !ok {
		http.Error(w, "what follows this event is no longer kept; send the request again", http.StatusBadRequest)
		return true
	}
	eventHeaders(w.Header())
	control := http.NewResponseController(w)
	for _, current := who.again(); current; _, current = who.again() {
		events, last, done, grown := kept.after(event)
		if len(events) == 0 {
			events = [][]byte{[]byte(keepAliveComment)}
		}
		for _, e := range events {
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := w.Write(e); err != nil {
				return true
			}
		}
		if event = last; done || control.Flush() != nil {
			return true
		}
		select {
		case <-grown:
		case <-time.After(keepAliveInterval):
		case <-req.Context().Done():
			return true
		case <-h.stopping.Done():
			return true
		case <-ses.ctx.Done():
			return true
		}
	}
	return true
}
