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
	ttl    time.Duration
	places *share.Pool
	now    func() time.Time
	ended  func(owner, id string) // called after a session has ended; may be nil

	mu   sync.Mutex
	byID map[string]*httpSession
}

type httpSession struct {
	*session
	used time.Time // guarded by sessions.mu
	busy int       // requests and streams under way; guarded by sessions.mu
}

var errTooManySessions = errors.New("too many sessions; try again later")

func newSessions(ttl time.Duration, limit int, ended func(owner, id string)) *sessions {
	return &sessions{ttl: ttl, places: share.NewPool(int64(limit), 0), now: time.Now, ended: ended, byID: map[string]*httpSession{}}
}

// create begins a session of owner, in use until release.
func (s *sessions) create(owner string) (*httpSession, error) {
	if !s.places.TryAcquire(owner, 1) {
		s.expire()
		if !s.places.TryAcquire(owner, 1) {
			return nil, errTooManySessions
		}
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := &httpSession{session: newSession(hex.EncodeToString(random[:]), owner), used: s.now(), busy: 1}
	s.byID[ses.id] = ses
	return ses, nil
}

// acquire returns the session id of owner, in use until release. A session of
// somebody else is as unknown as one that never was.
func (s *sessions) acquire(id, owner string) (*httpSession, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.byID[id]
	if !ok || ses.owner != owner || ses.busy == 0 && s.now().Sub(ses.used) > s.ttl {
		return nil, false
	}
	ses.busy++
	ses.used = s.now()
	return ses, true
}

func (s *sessions) release(ses *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.busy--
	ses.used = s.now()
}

// drop ends a session at once.
func (s *sessions) drop(ses *httpSession) {
	s.mu.Lock()
	_, there := s.byID[ses.id]
	delete(s.byID, ses.id)
	s.mu.Unlock()
	if there {
		s.end(ses)
	}
}

func (s *sessions) end(ses *httpSession) {
	s.places.Release(ses.owner, 1)
	ses.close()
	ses.cancelAll()
	if s.ended != nil {
		s.ended(ses.owner, ses.id)
	}
}

// expire ends the sessions that have been idle for too long.
func (s *sessions) expire() {
	for _, ses := range s.takeExpired() {
		s.end(ses)
	}
}

func (s *sessions) takeExpired() (expired []*httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ses := range s.byID {
		if ses.busy == 0 && s.now().Sub(ses.used) > s.ttl {
			delete(s.byID, id)
			expired = append(expired, ses)
		}
	}
	return expired
}

// closeAll ends the streams of all sessions.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.byID {
		ses.close()
	}
}
