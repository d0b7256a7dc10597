//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What a server may use more than before.
const (
	moreDescriptors = 4
	moreThreads     = 32 // Go keeps those that were ever blocked at once
	moreRSS         = 8 << 20
	restTime        = 15 * time.Second
	settleTime      = 150 * time.Second // idle supervisors and sessions live for a minute
)

// measureNew notes what the servers use before anything has happened.
func (s *soak) measureNew() (err error) {
	for _, v := range s.servers {
		if v.before, err = usageOf(v.pid()); err != nil {
			return err
		}
		s.tally.note("new", v.name, v.before)
	}
	return nil
}

// settled lets a server do next to nothing for some time, or until enough says
// that what it uses is no more than it may. What its heap was before is so
// collected and given back.
func (s *soak) settled(v *server, limit time.Duration, enough func(usage) bool) (least usage, err error) {
	little := arguments{"message": strings.Repeat("x", 64<<10)}
	for deadline := time.Now().Add(limit); ; {
		for range 20 {
			if _, err := v.link.CallTool(s.ctx, "echo", little, nil); err != nil {
				return least, err
			}
		}
		if v.transport != nil {
			v.transport.CloseIdleConnections()
		}
		pause(s.ctx, 500*time.Millisecond)
		if s.ctx.Err() != nil {
			return least, context.Cause(s.ctx)
		}
		u, err := usageOf(v.pid())
		if err != nil {
			return least, err
		}
		if least.rss != 0 {
			u.rss = min(u.rss, least.rss)
		}
		if least = u; enough(least) || time.Now().After(deadline) {
			return least, nil
		}
	}
}

// measureWarm notes what the servers use after the warm-up. What is idle may still
// be there.
func (s *soak) measureWarm() (err error) {
	for _, v := range s.servers {
		if v.warm, err = s.settled(v, restTime, func(usage) bool { return false }); err != nil {
			return err
		}
		s.tally.note("warmed up", v.name, v.warm)
	}
	return nil
}

// measureEnd checks that the servers are as they were, once what is idle has ended.
func (s *soak) measureEnd() error {
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	pause(s.ctx, streamGone+sessionTTL+time.Second)
	for _, id := range s.abandoned {
		if err := s.noSession(id); err != nil {
			return err
		}
	}
	for _, v := range s.servers {
		end, err := s.settled(v, settleTime, func(u usage) bool { return v.compare(u) == nil })
		if err != nil {
			return err
		}
		s.tally.note("at the end", v.name, end)
		if err := v.compare(end); err != nil {
			return fmt.Errorf("%s has not come to rest: %w", v.name, err)
		}
	}
	pids, err := survivors(mark)
	if err = errors.Join(err, expect(len(pids) == 0, "commands outlived their calls: processes %v", pids)); err != nil {
		return err
	}
	for i, v := range s.servers {
		if err := errors.Join(v.checkLog(), s.compareGoroutines(v, fresh[i])); err != nil {
			return err
		}
	}
	return nil
}

// compare compares what a server uses with what it used.
func (v *server) compare(u usage) error {
	switch {
	case u.children > v.before.children:
		return fmt.Errorf("%d children instead of %d", u.children, v.before.children)
	case u.descriptors > v.before.descriptors+moreDescriptors:
		return fmt.Errorf("%d descriptors instead of %d: %s", u.descriptors, v.before.descriptors, openFiles(v.pid()))
	case u.threads > 2*v.warm.threads+moreThreads:
		return fmt.Errorf("%d threads, after %d", u.threads, v.warm.threads)
	case u.rss > v.warm.rss+v.warm.rss/5+moreRSS:
		return fmt.Errorf("%d bytes of memory, after %d", u.rss, v.warm.rss)
	}
	return nil
}

// fresh starts servers that have each done a little of everything.
func (s *soak) fresh() ([]*server, error) {
	list, err := s.startServers("new-")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if _, err := v.link.CallTool(s.ctx, "bash", arguments{"command": "true"}, nil); err != nil {
			return nil, err
		}
		if _, err := v.link.CallTool(s.ctx, "none", nil, nil); err == nil { // which is logged
			return nil, errors.New("there is a tool none")
		}
	}
	return list, nil
}

// compareGoroutines ends a server and a fresh one, to see what runs in them.
func (s *soak) compareGoroutines(v, fresh *server) error {
	for _, p := range []*server{fresh, v} {
		if _, err := s.settled(p, settleTime, func(u usage) bool { return u.children == 0 }); err != nil {
			return err
		}
	}
	new, err := fresh.dump()
	if err != nil {
		return err
	}
	now, err := v.dump()
	if err != nil {
		return err
	}
	s.tally.quiet = append(s.tally.quiet, fmt.Sprintf("at the end   %-6s %d goroutines, %d in a new server", v.name, now.total(), new.total()))
	if err := now.more(new); err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	return nil
}
