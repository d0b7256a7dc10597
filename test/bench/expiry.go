package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	sessionTTL = 2 * time.Second
	// freed is how long a server may take to give back what expired sessions
	// had: it looks for them every now and then, and a runtime that collects
	// garbage returns memory slowly.
	freed = 3 * time.Minute
)

// measureExpiry sees whether sessions that nobody closes are gone after their
// time, for clients and from memory.
func (l *lab) measureExpiry(ctx context.Context, dir string) error {
	config, err := l.config("expiry.yaml", fmt.Sprintf("server:\n  max_sessions: %d\n  session_ttl: %v\n", 2*manySessions, sessionTTL))
	if err != nil {
		return err
	}
	s, err := l.startHTTP(ctx, dir, "toolserver", l.server, "serve", "--config", config, dir, "--insecure-no-auth", "--http")
	if err != nil {
		return err
	}
	defer s.stop()
	before, err := s.settle(l.time)
	if err != nil {
		return err
	}
	all, err := s.openMany(manySessions)
	if err != nil {
		return err
	}
	gone, err := s.untilUnknown(all)
	if err != nil {
		return err
	}
	full, err := s.settle(l.time)
	if err != nil {
		return err
	}
	begin := time.Now()
	after, err := s.untilFreed(ctx, (before+full)/2)
	if err != nil {
		return err
	}
	returned := time.Since(begin)
	c := contest{names: []string{"with all", "after their time"}, samples: map[string][]sample{
		"with all": {{rss: full}}, "after their time": {{rss: after}},
	}}
	l.table.add(fmt.Sprintf("%d sessions, none closed, session_ttl: %v", manySessions, sessionTTL), c,
		atMost("404 after", float64(gone), float64(sessionTTL+time.Second), nanos),
		atMost("RSS", float64(after), float64(before+full)/2, mebi))
	l.table.note("sessions: RSS was %s before them, and as low as in the table %.0f s after they had expired.",
		mebi(float64(before)), returned.Seconds())
	return nil
}

const ping request = `,"method":"ping"}`

// untilUnknown tries sessions, each one once, as that lets it live on, until
// one is unknown to the server. It returns for how long that was not used.
func (s *httpServer) untilUnknown(all []opened) (time.Duration, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := len(all) - 1; i >= 0; i-- {
		res, answer, err := s.send(ping.append(nil, int(s.id.Add(1))), all[i].header)
		if err != nil {
			return 0, err
		}
		idle := time.Since(all[i].used)
		switch {
		case res.StatusCode == http.StatusOK:
		case res.StatusCode != http.StatusNotFound:
			return 0, fmt.Errorf("%s answered %s: %.300s", s.name, res.Status, answer)
		case idle+all[i].took < sessionTTL: // from before it was used
			return 0, fmt.Errorf("%s forgot a session after %v, before its time", s.name, idle)
		default:
			return idle, nil
		}
		<-tick.C
	}
	return 0, fmt.Errorf("%s still knows all sessions after their time", s.name)
}

// untilFreed waits until the server's memory is down to wanted, or as long as
// that may take, and returns what it is then. Meanwhile there is a little to do,
// as a server that nobody calls has no garbage to collect.
func (s *httpServer) untilFreed(ctx context.Context, wanted int64) (int64, error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(freed)
	for {
		now, err := s.load(withoutSessions(`"hello"`), 1, 20*time.Millisecond)
		if err != nil || now.rss <= wanted || time.Now().After(deadline) {
			return now.rss, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return now.rss, ctx.Err()
		}
	}
}
