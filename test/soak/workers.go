//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// load lets all clients work for d, and returns when they have finished what
// they were about.
func (s *soak) load(name string, d time.Duration) error {
	begun := s.tally.calls()
	phase, end := context.WithTimeout(s.ctx, d)
	defer end()
	var wg sync.WaitGroup
	for i, w := range s.workers() {
		rng := rand.New(rand.NewPCG(s.seed, uint64(i)+uint64(len(name))<<32))
		wg.Go(func() {
			if err := w.run(phase, fmt.Sprintf("%s-%s%d", name, w.name, i), rng); err != nil && s.ctx.Err() == nil {
				s.fail(fmt.Errorf("%s%d: %w", w.name, i, err))
			}
		})
	}
	wg.Wait()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	fmt.Fprintf(os.Stderr, "soak: %s: %d calls in %s\n", name, s.tally.calls()-begun, d)
	return nil
}

// worker is somebody who uses the servers until phase ends.
type worker struct {
	name string
	run  func(phase context.Context, name string, rng *rand.Rand) error
}

// workers are as many as keep two processors busy.
func (s *soak) workers() []worker {
	return []worker{
		{"http-legacy", s.legacyHTTPClient}, {"http-legacy", s.legacyHTTPClient}, {"http-legacy", s.legacyHTTPClient},
		{"http-modern", s.modernHTTPClient}, {"http-modern", s.modernHTTPClient}, {"http-modern", s.modernHTTPClient},
		{"stdio-legacy", s.legacyStdioClient}, {"stdio-legacy", s.legacyStdioClient},
		{"stdio-modern", s.modernStdioClient}, {"stdio-modern", s.modernStdioClient},
		{"visitor", s.visitors}, {"visitor", s.visitors},
		{"sessions", s.sessions},
		{"stream", s.sessionStreams}, {"listen", s.httpListeners}, {"stdio-listen", s.stdioListeners},
		{"reload", s.reloads},
	}
}

// newClient returns a client with a folder of its own.
func (s *soak) newClient(name string, rng *rand.Rand, l link) (*client, error) {
	c := &client{soak: s, name: name, rng: rng, link: l, ctx: s.ctx}
	return c, c.make(s.dir, name)
}

// work acts until phase ends.
func (c *client) work(phase context.Context) error {
	for phase.Err() == nil {
		if err := c.act(); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) legacyStdioClient(phase context.Context, name string, rng *rand.Rand) error {
	return s.stayingClient(phase, name, rng, stdioLink{s.stdio, false})
}

func (s *soak) modernStdioClient(phase context.Context, name string, rng *rand.Rand) error {
	return s.stayingClient(phase, name, rng, stdioLink{s.stdio, true})
}

func (s *soak) modernHTTPClient(phase context.Context, name string, rng *rand.Rand) error {
	return s.stayingClient(phase, name, rng, httpLink{s.http, "", true})
}

func (s *soak) stayingClient(phase context.Context, name string, rng *rand.Rand, l link) error {
	c, err := s.newClient(name, rng, l)
	if err != nil {
		return err
	}
	return c.work(phase)
}

// legacyHTTPClient goes from session to session.
func (s *soak) legacyHTTPClient(phase context.Context, name string, rng *rand.Rand) error {
	c, err := s.newClient(name, rng, nil)
	if err != nil {
		return err
	}
	for phase.Err() == nil {
		l, err := s.http.initialize(s.ctx)
		if err != nil {
			return err
		}
		s.tally.add("sessions", "begun")
		c.link = l
		if err := c.session(phase); err != nil {
			return err
		}
	}
	return nil
}

// session acts in one session and leaves it. Where the machine is so busy that
// it has expired in between, that is the end of it, too.
func (c *client) session(phase context.Context) error {
	for range 20 + c.rng.IntN(200) {
		if phase.Err() != nil {
			break
		}
		err := c.act()
		if errors.Is(err, errNoSession) && time.Since(c.lastSent) >= sessionTTL {
			c.soak.tally.add("sessions", "expired in use")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return c.soak.leave(c.link.(httpLink), c.rng)
}
