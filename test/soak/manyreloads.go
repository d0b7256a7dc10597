//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// secret is the token that clients present where tokens are configured.
const secret = "soak-0123456789abcdef"

func tokenEntry(name, secret string) string {
	return fmt.Sprintf(`{name: %s, hash: "sha256:%x"}`, name, sha256.Sum256([]byte(secret)))
}

// families are settings of one family each, which reloads change in turn. The
// number makes them others each time. Lists come under tools, before the rest.
var families = []func(n int) (tools, rest string){
	func(n int) (string, string) { return "", fmt.Sprintf("users: {soak: {groups: [staff, g%d]}}\n", n) },
	func(n int) (string, string) {
		return fmt.Sprintf("  linkedin_jobs: {groups: [staff, g%d]}\n", n), "users: {soak: {groups: [staff]}, local: {groups: [staff]}}\n"
	},
	func(n int) (string, string) {
		return fmt.Sprintf("  read_file: {denied_paths: [/nonexistent/%d]}\n", n), ""
	},
	func(n int) (string, string) {
		return fmt.Sprintf("  bash: {denied_commands: [none-%d], inline_code: allow, opaque_scripts: allow}\n", n), ""
	},
	func(n int) (string, string) { return "", fmt.Sprintf("web: {user_agent: soak/%d}\n", n) },
	func(n int) (string, string) { return "", fmt.Sprintf("anthropic: {model: model-%d}\n", n) },
	func(n int) (string, string) { return "  " + switched + ": {enabled: false}\n", "" },
	func(n int) (string, string) {
		return fmt.Sprintf("  system_info: {mask: [%s]}\n", [...]string{"hostname", "user"}[n%2]), ""
	},
	func(n int) (string, string) { return "", "" }, // the extra token and the limits alone
}

// version is what lists show when the reload with a number is in force.
func version(n int) string { return fmt.Sprintf("Reload %d.", n) }

// writeVersion puts another configuration in place. One that is old by its own
// account is applied by a hangup at once; the other is found by the servers.
func (f configFile) writeVersion(n int, old bool) error {
	tools, rest := families[n%len(families)](n)
	text := fmt.Sprintf(`server: {session_ttl: %s, max_message: %d, tokens: [%s, %s]}
limits: {max_result_chars: 1000000, per_tool: %d}
logging: {level: warn, format: json}
tools:
  echo: {description: %s}
%s%s`, sessionTTL, maxMessage, tokenEntry("soak", secret), tokenEntry("other", fmt.Sprint(n)), 1000+n, version(n), tools, rest)
	if err := os.WriteFile(f.path+".new", []byte(text), 0o644); err != nil {
		return err
	}
	if old {
		past := time.Now().Add(-time.Minute)
		if err := os.Chtimes(f.path+".new", past, past); err != nil {
			return err
		}
	}
	return os.Rename(f.path+".new", f.path)
}

// reload has both servers apply one more configuration, and waits until they do.
func (s *soak) reload(n int) error {
	hangup := n%4 != 0
	if err := s.file.writeVersion(n, hangup); err != nil {
		return err
	}
	if hangup {
		s.http.signal(syscall.SIGHUP)
		s.stdio.signal(syscall.SIGHUP)
		s.tally.add("reloads", "by a hangup")
	} else {
		s.tally.add("reloads", "by a rename")
	}
	for _, l := range []link{stdioLink{s.stdio, false}, httpLink{s.http, "", true}} {
		for deadline := time.Now().Add(patience); ; pause(s.ctx, 5*time.Millisecond) {
			a, err := l.ask(s.ctx, &request{method: "tools/list"})
			if err != nil {
				return err
			}
			if strings.Contains(string(a.Result), version(n)) {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s: reload %d was not applied within %s", l, n, patience)
			}
			if s.ctx.Err() != nil {
				return errors.New("interrupted")
			}
		}
	}
	return nil
}

// reloadMany reloads from one number to another while clients call over both
// transports.
func (s *soak) reloadMany(watched []*watched, from, to int) error {
	phase, end := context.WithCancel(s.ctx)
	defer end()
	var clients sync.WaitGroup
	for i, w := range []worker{
		{"http-legacy", s.legacyHTTPClient}, {"http-modern", s.modernHTTPClient}, {"stdio-legacy", s.legacyStdioClient},
		{"stdio-modern", s.modernStdioClient}, {"stream", s.sessionStreams}, {"listen", s.httpListeners}, {"stdio-listen", s.stdioListeners},
	} {
		rng := rand.New(rand.NewPCG(s.seed, uint64(i)+uint64(from)<<32))
		clients.Go(func() {
			if err := w.run(phase, fmt.Sprintf("%s-%d", w.name, from), rng); err != nil && s.ctx.Err() == nil {
				s.fail(fmt.Errorf("%s: %w", w.name, err))
			}
		})
	}
	err := func() error {
		for n := from; n < to; n++ {
			if err := s.reload(n); err != nil {
				return err
			}
			if step := max(1, (s.options.reloads+3)/4); n%step != 0 {
				continue
			}
			for _, w := range watched {
				u, err := usageOf(w.pid())
				if err != nil {
					return err
				}
				s.tally.note(fmt.Sprintf("reload %d", n), w.name, u)
			}
		}
		return nil
	}()
	end()
	clients.Wait()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// runReloads is the soak of reloads: a fifth of them warms the servers up.
func (s *soak) runReloads() error {
	start := time.Now()
	defer func() { s.tally.took = time.Since(start) }()
	if err := s.open(); err != nil {
		return err
	}
	watched, err := s.watch()
	if err != nil {
		return err
	}
	warm := max(1, s.options.reloads/5)
	if err := s.reloadMany(watched, 1, warm+1); err != nil {
		return err
	}
	if err := s.rest(watched); err != nil {
		return err
	}
	calls, loaded := s.tally.calls(), time.Now()
	if err := s.reloadMany(watched, warm+1, s.options.reloads+1); err != nil {
		return err
	}
	s.tally.rate = float64(s.tally.calls()-calls) / time.Since(loaded).Seconds()
	return s.settle(watched)
}
