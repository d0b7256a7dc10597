package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// manySessions is how many sessions are opened and left alone.
const manySessions = 10_000

// measureSessions measures what memory sessions over HTTP take that are open
// and idle, and whether it comes back from those that are never closed.
func measureSessions(ctx context.Context, l *lab) error {
	dir, err := l.dir("sessions")
	if err != nil {
		return err
	}
	config, err := l.config("sessions.yaml", fmt.Sprintf("server:\n  max_sessions: %d\n", 2*manySessions))
	if err != nil {
		return err
	}
	open := func(name string, argv ...string) target {
		return target{name, func() (sample, error) { return l.sessionsOnce(ctx, dir, name, argv) }}
	}
	c, err := compare(min(l.rounds, 3), []target{
		open("toolserver", l.server, "serve", "--config", config, dir, "--insecure-no-auth", "--http"),
		open("mcp-go", l.program("mcpgo")),
	})
	if err != nil {
		return err
	}
	limit := atMost("RSS each", c.median("toolserver", each), 12_000, kilo)
	for _, name := range c.names {
		c.rename(name, fmt.Sprintf("%s, %s each", name, kilo(c.median(name, each))))
	}
	l.table.add(fmt.Sprintf("opening %d sessions over HTTP, max_sessions: %d", manySessions, 2*manySessions), c, limit)
	return l.measureExpiry(ctx, dir)
}

// sessionsOnce starts a server and opens sessions.
func (l *lab) sessionsOnce(ctx context.Context, dir, name string, argv []string) (sample, error) {
	s, err := l.startHTTP(ctx, dir, name, argv...)
	if err != nil {
		return sample{}, err
	}
	defer s.stop()
	rssBefore, err := s.settle(l.time)
	if err != nil {
		return sample{}, err
	}
	cpuBefore, err := treeCPU(s.pid())
	if err != nil {
		return sample{}, err
	}
	begin := time.Now()
	opened, err := s.openMany(manySessions)
	if err != nil {
		return sample{}, err
	}
	var took []time.Duration
	for _, o := range opened {
		took = append(took, o.took)
	}
	result := newSample(time.Since(begin), took)
	cpuAfter, err := treeCPU(s.pid())
	if err != nil {
		return sample{}, err
	}
	result.cpu = (cpuAfter - cpuBefore) / manySessions
	result.rss, err = s.settle(l.time)
	result.each = float64(result.rss-rssBefore) / manySessions
	return result, err
}

// settle returns the server's memory at work. That of an idle server is a matter
// of when garbage was last collected, and how much it lets lie depends on how
// much is alive.
func (s *httpServer) settle(d time.Duration) (int64, error) {
	done, err := s.load(withoutSessions(`"hello"`), 8, 4*d)
	return done.rss, err
}

// opened is a session that is open.
type opened struct {
	header http.Header // of its requests
	took   time.Duration
	used   time.Time // last
}

// openMany opens n sessions, 8 at a time, and returns them in the order they
// were used last.
func (s *httpServer) openMany(n int) ([]opened, error) {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		all   []opened
		wrong error
	)
	const clients = 8
	for i := range clients {
		wg.Go(func() {
			for range (n + i) / clients {
				header, begin := httpHeader("2025-11-25"), time.Now()
				err := s.open(header)
				mu.Lock()
				if err != nil {
					wrong = err
				}
				now := time.Now()
				all = append(all, opened{header, now.Sub(begin), now})
				failed := wrong != nil
				mu.Unlock()
				if failed {
					return
				}
			}
		})
	}
	wg.Wait()
	slices.SortFunc(all, func(a, b opened) int { return a.used.Compare(b.used) })
	return all, wrong
}
