package server

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"toolserver/share"
)

// sessions are those that initialize over HTTP has begun. They are bounded in
// number, of which each principal has a share, and expire when they have been
// idle for long, so that abandoned ones are evicted.
type sessions struct {
	server *Server
	ttl    time.Duration
	places *share.Pool

	mu   sync.Mutex
	byID map[string]*session
}

var errTooManySessions = errors.New("too many sessions; try again later")

func newSessions(s *Server, ttl time.Duration, limit int) *sessions {
	return &sessions{server: s, ttl: ttl, places: share.NewPool(int64(limit), 0), byID: map[string]*session{}}
}

// create begins a session of owner, in use until release.
func (s *sessions) create(owner string) (*session, error) {
	if !s.places.TryAcquire(owner, 1) {
		return nil, errTooManySessions
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	ses := s.server.begin(hex.EncodeToString(random[:]), owner)
	ses.busy = 1
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.idle = time.AfterFunc(s.ttl, func() { s.drop(ses, true) })
	s.byID[ses.id] = ses
	return ses, nil
}

// acquire returns the session id of owner, in use until release. A session of
// somebody else is as unknown as one that never was.
func (s *sessions) acquire(id, owner string) (*session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.byID[id]
	if !ok || ses.owner != owner {
		return nil, false
	}
	ses.busy++
	ses.idle.Stop()
	return ses, true
}

func (s *sessions) release(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses.busy--; ses.busy == 0 {
		ses.idle.Reset(s.ttl)
	}
}

// drop ends a session at once or, if it has expired, unless it is in use again.
func (s *sessions) drop(ses *session, expired bool) {
	s.mu.Lock()
	if s.byID[ses.id] != ses || expired && ses.busy > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.byID, ses.id)
	ses.idle.Stop()
	s.mu.Unlock()
	s.places.Release(ses.owner, 1)
	ses.close()
	ses.cancelAll()
	if s.server.opts.SessionEnded != nil {
		s.server.opts.SessionEnded(ses.owner, ses.id)
	}
}

// closeAll ends the streams of all sessions.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.byID {
		ses.close()
	}
}
