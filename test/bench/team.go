package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// manyPrincipals is how many people have a token.
const manyPrincipals = 10_000

// token is what a person shows.
func token(i int) string { return fmt.Sprintf("token-of-principal-%d", i) }

// measurePrincipals measures what people take who come once, without and with a workspace of their own, and what calls take then.
func measurePrincipals(ctx context.Context, l *lab) error {
	var tokens strings.Builder
	for i := range manyPrincipals {
		fmt.Fprintf(&tokens, "    - {name: p%d, hash: 'sha256:%x'}\n", i, sha256.Sum256([]byte(token(i))))
	}
	for _, kind := range []struct {
		what, profiles string
		each           float64
	}{
		{"the first call of each of %d principals", "", 15_000},
		{"the first call of each of %d principals, with a workspace each", "profiles: [{name: all, working_directory: '%s/{principal}'}]\n", 200_000},
	} {
		var targets []target
		for _, n := range []int{1, manyPrincipals} {
			name := fmt.Sprintf("toolserver, %d came", n)
			targets = append(targets, target{name, func() (sample, error) {
				dir, err := l.dir(fmt.Sprintf("principals-%d-%d", len(kind.profiles), n))
				if err != nil {
					return sample{}, err
				}
				profiles := kind.profiles
				if profiles != "" {
					profiles = fmt.Sprintf(profiles, dir)
				}
				config, err := l.config("principals.yaml", "server:\n  tokens:\n"+tokens.String()+profiles)
				if err != nil {
					return sample{}, err
				}
				return l.principalsOnce(ctx, dir, name, n, config)
			}})
		}
		c, err := compare(min(l.rounds, 3), targets)
		if err != nil {
			return err
		}
		one, all := targets[0].name, targets[1].name
		bars := []bar{
			atMost("RSS each", c.median(all, each), kind.each, kilo),
			atMost("CPU of their calls to one's", c.ratio(all, one, cpu), 1.2, times),
		}
		c.rename(all, fmt.Sprintf("%s, %s each", all, kilo(c.median(all, each))))
		l.table.add(fmt.Sprintf(kind.what, manyPrincipals), c, bars...)
	}
	return nil
}

// principalsOnce starts a server, has n principals come, and measures how each calls again.
func (l *lab) principalsOnce(ctx context.Context, dir, name string, n int, config string) (sample, error) {
	s, err := l.startHTTP(ctx, filepath.Dir(config), name, l.server, "serve", "--config", config, dir, "--http")
	if err != nil {
		return sample{}, err
	}
	defer s.stop()
	e := withoutSessions(`"hello"`)
	as := func(i int) era {
		mine := e
		mine.header = e.header.Clone()
		mine.header.Set("Authorization", "Bearer "+token(i))
		return mine
	}
	if _, err := s.load(as(0), 8, l.time); err != nil {
		return sample{}, err
	}
	before, err := s.load(as(0), 8, l.time)
	if err != nil {
		return sample{}, err
	}
	for i := range n {
		if _, _, err := s.post(e.req.append(nil, i), as(i).header); err != nil {
			return sample{}, err
		}
	}
	var callers []era
	for i := range 8 {
		callers = append(callers, as(i*(n/8)))
	}
	if _, err := s.loads(callers, 4*l.time); err != nil { // what was made of garbage is collected
		return sample{}, err
	}
	after, err := s.loads(callers, 4*l.time)
	after.each = float64(after.rss-before.rss) / float64(n)
	return after, err
}

// measureReplicas compares one of two replicas that share a store, and limit rates there, with a server that is alone, and with one
// without a limit.
func measureReplicas(ctx context.Context, l *lab) error {
	dir, err := l.dir("replicas")
	if err != nil {
		return err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	store, err := l.start(ctx, dir, "redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	if err != nil {
		return err
	}
	defer store.cmd.Wait()
	defer store.cmd.Process.Kill()
	key := filepath.Join(dir, "k1")
	if err := os.WriteFile(key, []byte(strings.Repeat("a1", 32)), 0o600); err != nil {
		return err
	}
	const limited = "limits: {rate_per_minute: 100000000}\n"
	serve := func(name, text string) contender {
		config, err2 := l.config(strings.ReplaceAll(name, " ", "-")+".yaml", text)
		if err2 != nil {
			err = err2
		}
		return contender{name: name, argv: []string{l.server, "serve", "--config", config, dir, "--insecure-no-auth", "--http"}}
	}
	shared := limited + fmt.Sprintf("server: {keys: [{id: k1, file: %s}]}\nstore: {url: 'redis://127.0.0.1:%s'}\n", key, port)
	ours := []contender{serve("one of two replicas", shared), serve("the other replica", shared), serve("alone", limited), serve("alone, no limit", "{}\n")}
	if err != nil {
		return err
	}
	for _, e := range []era{withSessions(`"hello"`), withoutSessions(`"hello"`)} {
		for _, inFlight := range []int{1, 64} {
			c, err := l.contestHTTP(ctx, dir, e, inFlight, ours)
			if err != nil {
				return err
			}
			l.table.add(fmt.Sprintf("echo over HTTP, %s, %d connections, with Valkey", e.version, inFlight), c,
				atMost("CPU to alone", c.ratio(ours[0].name, "alone", cpu), 1/0.9, times),
				atMost("added to p99 without a limit", c.added(ours[0].name, "alone, no limit", p99), float64(time.Millisecond), nanos))
		}
	}
	return nil
}
