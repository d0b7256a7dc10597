//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	listChanged      = "notifications/tools/list_changed"
	resourcesChanged = "notifications/resources/list_changed" // where groups change
	promptsChanged   = "notifications/prompts/list_changed"   // likewise
)

// changePatience is how long until a stream must have heard of a reload: they
// follow each other by a few seconds.
const changePatience = 2 * patience

// sessionStreams opens the stream of a session, waits for news, and either hangs
// up or ends the session, which ends the stream.
func (s *soak) sessionStreams(phase context.Context, _ string, rng *rand.Rand) error {
	for phase.Err() == nil {
		l, err := s.http.initialize(s.ctx)
		if err != nil {
			return err
		}
		s.tally.add("sessions", "begun")
		s.tally.add("streams", "of sessions")
		err = s.follow(phase, func(ctx context.Context) (*http.Response, error) {
			return s.http.send(ctx, http.MethodGet, nil, l.headers(nil)...)
		}, func(in *events) error {
			if rng.IntN(2) == 0 {
				s.tally.add("disconnects", "of a stream")
				return nil
			}
			if status, body, err := s.http.status(s.ctx, http.MethodDelete, nil, l.headers(nil)...); err != nil || status != http.StatusNoContent {
				return fmt.Errorf("DELETE: status %d: %s: %v", status, body, err)
			}
			s.tally.add("sessions", "deleted")
			for {
				if m, err := in.next(); err == io.EOF {
					return nil
				} else if err != nil {
					return fmt.Errorf("after the end of its session: %w", err)
				} else if m.Method != listChanged && m.Method != resourcesChanged && m.Method != promptsChanged { // those may have crossed
					return fmt.Errorf("after the end of its session: %s %s", m.Method, m)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// httpListeners listens and hangs up, over and over.
func (s *soak) httpListeners(phase context.Context, _ string, _ *rand.Rand) error {
	l := httpLink{s.http, "", true}
	for phase.Err() == nil {
		r, id := listenRequest(), s.id()
		s.tally.add("streams", "subscriptions over HTTP")
		err := s.follow(phase, func(ctx context.Context) (*http.Response, error) {
			return s.http.send(ctx, http.MethodPost, r.encode(id, true), l.headers(r)...)
		}, func(*events) error {
			s.tally.add("disconnects", "of a stream")
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func listenRequest() *request {
	return &request{method: "subscriptions/listen", params: map[string]any{"notifications": map[string]any{"toolsListChanged": true}}}
}

// follow opens a stream and waits for news. Then it does what comes after, and
// hangs up.
func (s *soak) follow(phase context.Context, open func(context.Context) (*http.Response, error), after func(*events) error) error {
	ctx, cancel := context.WithTimeoutCause(phase, changePatience, fmt.Errorf("a stream did not hear of a reload within %s", changePatience))
	defer cancel()
	err := s.hear(ctx, open, after)
	if phase.Err() != nil {
		return nil
	}
	return errors.Join(context.Cause(ctx), err)
}

func (s *soak) hear(ctx context.Context, open func(context.Context) (*http.Response, error), after func(*events) error) error {
	resp, err := open(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("a stream was refused: %s", resp.Status)
	}
	in := newEvents(resp.Body)
	for {
		m, err := in.next()
		if err != nil {
			return fmt.Errorf("a stream ended: %w", err)
		}
		switch m.Method {
		case "notifications/subscriptions/acknowledged", resourcesChanged, promptsChanged:
		case listChanged:
			s.tally.add("notifications", "tools/list_changed of a stream")
			return after(in)
		default:
			return fmt.Errorf("a stream said %s %s", m.Method, m)
		}
	}
}

// stdioListeners subscribes and takes the subscription back.
func (s *soak) stdioListeners(phase context.Context, _ string, _ *rand.Rand) error {
	for phase.Err() == nil {
		id, events := s.id(), make(chan *message, 16)
		s.tally.add("streams", "subscriptions over stdio")
		if _, err := s.stdio.begin(id, listenRequest(), true, events); err != nil {
			return err
		}
		if err := s.heard(phase, events); err != nil {
			return err
		}
		s.tally.add("cancels", "of subscriptions")
		if err := s.stdio.cancel(id); err != nil {
			return err
		}
	}
	return nil
}

// heard waits until a subscription has been told of a change.
func (s *soak) heard(phase context.Context, events <-chan *message) error {
	late := time.After(changePatience)
	for {
		select {
		case m := <-events:
			if m.Method == listChanged {
				s.tally.add("notifications", "tools/list_changed of a stream")
				return nil
			}
		case <-late:
			return fmt.Errorf("a subscription over stdio did not hear of a reload within %s", changePatience)
		case <-phase.Done():
			return nil
		}
	}
}
