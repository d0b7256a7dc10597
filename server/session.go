package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"toolserver/domain"
	"toolserver/rawjson"
)

// session is one client's connection: the whole of a stdio server, what an
// initialize over HTTP began, or a single request of a modern HTTP client.
type session struct {
	id       string
	owner    string                          // ID of the principal that began it; nobody else may use it
	version  atomic.Pointer[string]          // negotiated by initialize
	declared atomic.Pointer[json.RawMessage] // capabilities, by initialize
	logLevel atomic.Int32                    // least level the client hears of
	asking   asking
	watches  watches

	closing   chan struct{} // closed when no more is to come
	closeOnce sync.Once

	mu       sync.Mutex
	inFlight map[string]*inFlight // by id, as the client wrote it
	streams  []*listener          // that tell the client of changes
}

// inFlight is a request that has not been answered.
type inFlight struct {
	cancel   context.CancelCauseFunc
	canceled bool
}

func newSession(id, owner string) *session {
	s := &session{id: id, owner: owner, closing: make(chan struct{})}
	s.logLevel.Store(int32(domain.LogInfo))
	return s
}

// close ends streams that would go on until the client does.
func (s *session) close() {
	s.closeOnce.Do(func() { close(s.closing) })
	s.watches.close()
}

// add notes a request, unless there are too many or one with the same id.
func (s *session) add(id json.RawMessage, cancel context.CancelCauseFunc, limit int) (*inFlight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := idKey(id)
	if _, taken := s.inFlight[string(key)]; taken {
		return nil, fmt.Errorf("a request with id %s is in flight already", domain.ClipName(string(id)))
	}
	if limit > 0 && len(s.inFlight) >= limit {
		return nil, fmt.Errorf("%d requests are in flight already; wait for answers before sending more", limit)
	}
	if s.inFlight == nil {
		s.inFlight = map[string]*inFlight{}
	}
	r := &inFlight{cancel: cancel}
	s.inFlight[string(key)] = r
	return r, nil
}

// remove forgets a request that is about to be answered, and reports whether it
// may be: not if the client has taken it back. From then on its id is free.
func (s *session) remove(id json.RawMessage, r *inFlight) (answer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := idKey(id); s.inFlight[string(key)] == r {
		delete(s.inFlight, string(key))
	}
	return !r.canceled
}

// canceled reports whether the client has taken the request back.
func (s *session) canceled(r *inFlight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.canceled
}

// cancelRequest serves notifications/cancelled. A request that is unknown, or
// answered by now, is no error.
func (s *session) cancelRequest(params json.RawMessage) {
	var id []byte
	if rawjson.Object(params, func(name, value []byte) error {
		if string(name) == "requestId" {
			id = value
		}
		return nil
	}) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.inFlight[string(idKey(id))]; r != nil {
		r.canceled = true
		r.cancel(errCanceled)
	}
}

// cancelAll ends all requests, whose answers nobody will read.
func (s *session) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.inFlight {
		r.cancel(errors.New("the session has ended"))
	}
}

// pending returns how many requests are not answered yet.
func (s *session) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.inFlight)
}

// protocolVersion returns what initialize negotiated, or "".
func (s *session) protocolVersion() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// shakeHands notes what initialize has settled.
func (s *session) shakeHands(version string, capabilities json.RawMessage) {
	if len(capabilities) <= maxCapabilities {
		s.declared.Store(&capabilities)
	}
	s.version.Store(&version)
}

func (s *session) capabilities() json.RawMessage {
	if c := s.declared.Load(); c != nil {
		return *c
	}
	return json.RawMessage("{}")
}

// maxCapabilities bounds what of a client's declaration is kept; one that is
// longer declares nothing.
const maxCapabilities = 64 << 10
