//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
)

// visitors start servers of their own, use them for a while and end them in each
// way there is.
func (s *soak) visitors(phase context.Context, name string, rng *rand.Rand) error {
	for i := 0; phase.Err() == nil; i++ {
		if err := s.visit(phase, fmt.Sprintf("%s.%d", name, i), rng); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) visit(phase context.Context, name string, rng *rand.Rand) error {
	conn, err := s.startStdio(name, s.still) // which must be able to start at any time
	if err != nil {
		return err
	}
	modern := rng.IntN(2) == 0
	if !modern {
		if err := conn.initialize(s.ctx); err != nil {
			return err
		}
	}
	c, err := s.newClient(name, rng, stdioLink{conn, modern})
	if err != nil {
		return err
	}
	for i := range 1 + rng.IntN(40) {
		if i > 0 && phase.Err() != nil { // a first answer says that it is ready for signals
			break
		}
		if err := c.act(); err != nil {
			return err
		}
	}
	conn.dying.Store(true)
	ways := []struct {
		name string
		end  func(*client, *stdioConn) error
	}{{"end of input", endOfInput}, {"SIGTERM", terminated}, {"SIGKILL", killed}}
	way := ways[rng.IntN(len(ways))]
	if err := way.end(c, conn); err != nil {
		return fmt.Errorf("%s: %w", way.name, err)
	}
	s.tally.add("visits", "ended by "+way.name)
	return conn.checkLog()
}

// endOfInput ends a server while a call is under way, which is answered first.
func endOfInput(c *client, conn *stdioConn) error {
	text := fmt.Sprintf("last words %d", c.soak.number())
	id := c.soak.id()
	w, err := conn.begin(id, callOf("bash", map[string]any{"command": "sleep 0.2; echo " + text}), c.link.modern(), nil)
	if err != nil {
		return err
	}
	if err := conn.in.Close(); err != nil {
		return err
	}
	a, err := conn.result(c.ctx, w)
	if err != nil {
		return err
	}
	if err := a.check(id, c.link.modern()); err != nil {
		return err
	}
	return conn.ended()
}

// terminated ends a server that has nothing to do.
func terminated(_ *client, conn *stdioConn) error {
	conn.signal(syscall.SIGTERM)
	return conn.ended()
}

// killed kills a server while a command runs, which must not outlive it: that
// is looked at when all is quiet.
func killed(c *client, conn *stdioConn) error {
	r, started := c.soak.sleeping(c.ctx)
	if _, err := conn.begin(c.soak.id(), r, c.link.modern(), nil); err != nil {
		return err
	}
	if err := started(); err != nil {
		return err
	}
	conn.signal(syscall.SIGKILL)
	conn.ended()
	return nil
}
