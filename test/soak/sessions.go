//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// sessions begins sessions only to leave them, some with a command in the
// background.
func (s *soak) sessions(phase context.Context, _ string, rng *rand.Rand) error {
	for i := 0; phase.Err() == nil; i++ {
		l, err := s.http.initialize(s.ctx)
		if err != nil {
			return err
		}
		s.tally.add("sessions", "begun")
		if i%50 == 0 {
			a, err := l.ask(s.ctx, callOf("bash", map[string]any{"command": "sleep " + mark, "background": true}))
			if err != nil || a.Error != nil {
				return fmt.Errorf("a background command: %v %v", a, err)
			}
			s.tally.add("sessions", "  with a background command")
		}
		if err := s.leave(l, rng); err != nil {
			return err
		}
		pause(phase, sessionPause)
	}
	return nil
}

// sessionPause keeps the sessions that are abandoned below the number a server
// allows: it looks for expired ones every minute.
const sessionPause = 20 * time.Millisecond

// maxAbandoned is how many sessions are kept to see whether they are gone later.
const maxAbandoned = 200

// leave ends a session, or does not care.
func (s *soak) leave(l httpLink, rng *rand.Rand) error {
	if rng.IntN(2) == 0 {
		s.tally.add("sessions", "abandoned")
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.abandoned = append(s.abandoned, l.session); len(s.abandoned) > maxAbandoned {
			s.abandoned = s.abandoned[1:]
		}
		return nil
	}
	s.tally.add("sessions", "deleted")
	status, body, err := s.http.status(s.ctx, http.MethodDelete, nil, l.headers(nil)...)
	if err == nil && status != http.StatusNoContent && status != http.StatusNotFound { // or expired
		err = fmt.Errorf("DELETE: status %d: %s", status, body)
	}
	if err != nil {
		return err
	}
	return s.noSession(l.session)
}

// noSession checks that a session is not there.
func (s *soak) noSession(id string) error {
	status, body, err := s.http.status(s.ctx, http.MethodPost, []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), "Mcp-Session-Id", id)
	if err == nil && status != http.StatusNotFound {
		err = fmt.Errorf("a session that has ended still answers: status %d: %s", status, body)
	}
	return err
}
