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
	byID map[string]*session
}

var errTooManySessions = errors.New("too many sessions; try again later")

func newSessions(ttl time.Duration, limit int, ended func(owner, id string)) *sessions {
	return &sessions{ttl: ttl, places: share.NewPool(int64(limit), 0), now: time.Now, ended: ended, byID: map[string]*session{}}
}

// create begins a session of owner, in use until release.
func (s *sessions) create(owner string) (*session, error) {
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
	ses := newSession(hex.EncodeToString(random[:]), owner)
	ses.used, ses.busy = s.now(), 1
	s.byID[ses.id] = ses
	return ses, nil
}

// acquire returns the session id of owner, in use until release. A session of
// somebody else is as unknown as one that never was.
func (s *sessions) acquire(id, owner string) (*session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses, ok := s.byID[id]
	if !ok || ses.owner != owner || s.hasExpired(ses) {
		return nil, false
	}
	ses.busy++
	ses.used = s.now()
	return ses, true
}

func (s *sessions) release(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses.busy--
	ses.used = s.now()
}

// drop ends a session at once.
func (s *sessions) drop(ses *session) {
	s.mu.Lock()
	_, there := s.byID[ses.id]
	delete(s.byID, ses.id)
	s.mu.Unlock()
	if there {
		s.end(ses)
	}
}

func (s *sessions) end(ses *session) {
	s.places.Release(ses.owner, 1)
	ses.close()
	ses.cancelAll()
	if s.ended != nil {
		s.ended(ses.owner, ses.id)
	}
}

// expire ends the sessions that have been idle for too long.
func (s *sessions) expire() {
	var expired []*session
	s.mu.Lock()
	for id, ses := range s.byID {
		if s.hasExpired(ses) {
			delete(s.byID, id)
			expired = append(expired, ses)
		}
	}
	s.mu.Unlock()
	for _, ses := range expired {
		s.end(ses)
	}
}

func (s *sessions) hasExpired(ses *session) bool {
	return ses.busy == 0 && s.now().Sub(ses.used) > s.ttl
}

// closeAll ends the streams of all sessions.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.byID {
		ses.close()
	}
}
