// Package anthropic is a fake of the API of Anthropic for tests: the Messages
// API, streamed or not, the list of models, and the three reports of the Admin
// API. It holds requests to the rules that are published for them and refuses
// what breaks one as the API does, so that a test that passes means something.
//
// It is a plain [http.Handler], of nobody's code but its own: serve it with
// httptest or as a program.
package anthropic

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Keys a [Server] accepts, each for its part of the API.
const (
	APIKey   = "sk-ant-api03-fake-0123456789abcdef"
	AdminKey = "sk-ant-admin01-fake-0123456789abcdef"
)

// Paths of the API.
const (
	MessagesPath   = "/v1/messages"
	ModelsPath     = "/v1/models"
	UsagePath      = "/v1/organizations/usage_report/messages"
	CostPath       = "/v1/organizations/cost_report"
	ClaudeCodePath = "/v1/organizations/usage_report/claude_code"
)

// Server is the fake. Its zero value answers; set fields before it serves.
type Server struct {
	Models []string // there are; nil for DefaultModels
	// Rows returns the rows of a report, each a JSON object, that belong to the
	// bucket or, of Claude Code, the day that starts at start; nil for one row.
	Rows func(path string, start time.Time, query url.Values) []string

	mu       sync.Mutex
	requests []Request
	scripts  map[string][]Reply
	turns    []Turn
	gone     chan struct{}
}

// DefaultModels are the models of a [Server] that is not told others.
var DefaultModels = []string{"claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-haiku-4-5"}

// Request is a request that came in, whether it was good or not.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
}

// Requests returns the requests that have come in, the first one first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// A Reply is an answer given instead of what the fake would say.
type Reply struct {
	Status int // 0 for 200
	Header map[string]string
	Body   string
	Chunk  int  // bytes sent at a time, each in a frame of its own; 0 for all at once
	Drop   bool // break the connection off after Body
	Hang   bool // after Body say nothing until the client is gone; see Gone
}

// Script has the next requests of a path answered with replies, one each, before
// anything about them is checked.
func (s *Server) Script(path string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scripts == nil {
		s.scripts = map[string][]Reply{}
	}
	s.scripts[path] = append(s.scripts[path], replies...)
}

// Say has the next messages answered with turns, one each.
func (s *Server) Say(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Gone returns a channel that gets a value each time the client of a [Reply] that
// hangs has aborted its request.
func (s *Server) Gone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.goneChannel()
}

func (s *Server) goneChannel() chan struct{} {
	if s.gone == nil {
		s.gone = make(chan struct{}, 16)
	}
	return s.gone
}

// maxBody is the API's bound of a request (32 MB).
const maxBody = 32 << 20

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client is gone
	}
	req := Request{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), body}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	var scripted *Reply
	if queue := s.scripts[req.Path]; len(queue) > 0 {
		scripted, s.scripts[req.Path] = &queue[0], queue[1:]
	}
	gone := s.goneChannel()
	s.mu.Unlock()
	reply := scripted
	if reply == nil {
		answer := s.answer(req)
		reply = &answer
	}
	reply.send(w, r, gone)
}

// answer returns what the API would say.
func (s *Server) answer(req Request) Reply {
	if len(req.Body) > maxBody {
		return Error(http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size")
	}
	if refused := checkHeader(req); refused != nil {
		return *refused
	}
	switch req.Path {
	case MessagesPath:
		return s.message(req)
	case ModelsPath:
		return s.models()
	case UsagePath, CostPath, ClaudeCodePath:
		return s.report(req)
	}
	return Error(http.StatusNotFound, "not_found_error", "Not found")
}

// send writes the reply.
func (p *Reply) send(w http.ResponseWriter, r *http.Request, gone chan<- struct{}) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", RequestID)
	for name, value := range p.Header {
		w.Header().Set(name, value)
	}
	if p.Status != 0 {
		w.WriteHeader(p.Status)
	}
	flush := http.NewResponseController(w).Flush
	chunk := p.Chunk
	if chunk == 0 {
		chunk = max(len(p.Body), 1)
	}
	for piece := range slices.Chunk([]byte(p.Body), chunk) {
		if _, err := io.Copy(w, bytes.NewReader(piece)); err != nil || flush() != nil {
			break
		}
	}
	if p.Hang {
		if flush() == nil {
			<-r.Context().Done()
		}
		gone <- struct{}{}
	}
	if p.Drop {
		panic(http.ErrAbortHandler) // which is how a handler breaks off
	}
}
