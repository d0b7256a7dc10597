//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// watched is a server whose use of the machine is held against what it was.
type watched struct {
	*process
	link   link
	before usage // when it was new
	warm   usage // after the warm-up; without it, it is one to compare with
}

// What a server may take more than before.
const (
	moreDescriptors = 4
	moreThreads     = 32 // Go keeps those that were ever blocked at once
	moreRSS         = 8 << 20
	restTime        = 15 * time.Second
	settleTime      = 150 * time.Second // idle supervisors and sessions live for a minute
)

// watch notes how the servers are before anything has happened.
func (s *soak) watch() ([]*watched, error) {
	list := []*watched{
		{process: s.http.process, link: httpLink{s.http, "", true}},
		{process: s.stdio.process, link: stdioLink{s.stdio, false}},
	}
	for _, w := range list {
		var err error
		if w.before, err = usageOf(w.pid()); err != nil {
			return nil, err
		}
		s.tally.note("new", w.name, w.before)
	}
	return list, nil
}

// settled lets a server do next to nothing for some time, or until enough says
// that what it takes is no more than it may. What its heap was before is so
// collected and given back.
func (s *soak) settled(w *watched, limit time.Duration, enough func(usage) bool) (least usage, err error) {
	little := callOf("echo", map[string]any{"message": strings.Repeat("x", 64<<10)})
	for deadline := time.Now().Add(limit); ; {
		for range 20 {
			if _, err := w.link.ask(s.ctx, little); err != nil {
				return least, err
			}
		}
		if l, ok := w.link.(httpLink); ok {
			l.server.client.CloseIdleConnections()
		}
		pause(s.ctx, 500*time.Millisecond)
		if s.ctx.Err() != nil {
			return least, context.Cause(s.ctx)
		}
		u, err := usageOf(w.pid())
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

// rest notes how the servers are after the warm-up. What is idle may still be
// there.
func (s *soak) rest(list []*watched) (err error) {
	for _, w := range list {
		if w.warm, err = s.settled(w, restTime, func(usage) bool { return false }); err != nil {
			return err
		}
		s.tally.note("warmed up", w.name, w.warm)
	}
	return nil
}

// settle checks that the servers are as they were, once what is idle has ended.
func (s *soak) settle(list []*watched) error {
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	pause(s.ctx, sessionTTL+time.Second)
	for _, id := range s.abandoned {
		if err := s.noSession(id); err != nil {
			return err
		}
	}
	for _, w := range list {
		end, err := s.settled(w, settleTime, func(u usage) bool { return w.compare(u) == nil })
		if err != nil {
			return err
		}
		s.tally.note("at the end", w.name, end)
		if err := w.compare(end); err != nil {
			return fmt.Errorf("%s has not come to rest: %w", w.name, err)
		}
	}
	pids, err := survivors(mark)
	if err != nil {
		return err
	}
	if len(pids) > 0 {
		return fmt.Errorf("commands outlived their calls: processes %v", pids)
	}
	for i, w := range list {
		if err := w.checkLog(); err != nil {
			return err
		}
		if err := s.compareGoroutines(w, fresh[i]); err != nil {
			return err
		}
	}
	return nil
}

// compare holds what a server takes against what it took.
func (w *watched) compare(u usage) error {
	switch {
	case u.children > w.before.children:
		return fmt.Errorf("%d children instead of %d", u.children, w.before.children)
	case u.descriptors > w.before.descriptors+moreDescriptors:
		return fmt.Errorf("%d descriptors instead of %d: %s", u.descriptors, w.before.descriptors, openFiles(w.pid()))
	case u.threads > 2*w.warm.threads+moreThreads:
		return fmt.Errorf("%d threads, after %d", u.threads, w.warm.threads)
	case u.rss > w.warm.rss+w.warm.rss/5+moreRSS:
		return fmt.Errorf("%d bytes of memory, after %d", u.rss, w.warm.rss)
	}
	return nil
}

// fresh starts servers that have each done a little of everything.
func (s *soak) fresh() ([]*watched, error) {
	h, err := s.startHTTP("new-http")
	if err != nil {
		return nil, err
	}
	conn, err := s.startStdio("new-stdio", s.file)
	if err != nil {
		return nil, err
	}
	if err := conn.initialize(s.ctx); err != nil {
		return nil, err
	}
	list := []*watched{{process: h.process, link: httpLink{h, "", true}}, {process: conn.process, link: stdioLink{conn, false}}}
	for _, w := range list {
		if a, err := w.link.ask(s.ctx, callOf("bash", map[string]any{"command": "true"})); err != nil || a.Error != nil {
			return nil, fmt.Errorf("a command: %v %v", a, err)
		}
		if a, err := w.link.ask(s.ctx, callOf("none", nil)); err != nil || a.Error == nil { // which is logged
			return nil, fmt.Errorf("an unknown tool: %v %v", a, err)
		}
	}
	return list, nil
}

// compareGoroutines ends a server and a fresh one, to see what runs in them.
func (s *soak) compareGoroutines(w, fresh *watched) error {
	for _, p := range []*watched{fresh, w} {
		if _, err := s.settled(p, settleTime, func(u usage) bool { return u.children == 0 }); err != nil {
			return err
		}
	}
	new, err := fresh.dump()
	if err != nil {
		return err
	}
	now, err := w.dump()
	if err != nil {
		return err
	}
	s.tally.quiet = append(s.tally.quiet, fmt.Sprintf("at the end   %-6s %d goroutines, %d in a new server", w.name, now.total(), new.total()))
	if err := now.more(new); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}
