package main

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// contender is a server in a comparison.
type contender struct {
	name   string
	argv   []string      // over HTTP without the address to listen on, which comes last
	env    []string      // besides the usual
	warmUp time.Duration // until its figures are steady; 0 for a fifth of a second
	time   time.Duration // of a round; 0 for what all take
	req    request       // over stdio
	answer []byte        // over HTTP, what each answer has in it; nil for what those of all have
}

const (
	leastWarmUp = 200 * time.Millisecond
	nodeWarmUp  = 2 * time.Second // a JavaScript engine compiles before it is fast
)

// contest starts the contenders in dir, sees to it that they answer, and
// compares how they serve inFlight requests at a time. check is given each
// one's first answer and may be nil.
func (l *lab) contest(ctx context.Context, dir string, inFlight []int, all []contender, check func(string, []byte) error) ([]contest, error) {
	all = l.withBefore(all)
	var servers []*process
	defer func() { stopAll(servers) }()
	for _, x := range all {
		p, err := l.startWith(ctx, dir, x.name, x.env, x.argv...)
		if err != nil {
			return nil, err
		}
		servers = append(servers, p)
		if err := p.handshake(); err != nil {
			return nil, err
		}
		first, err := p.once(x.req)
		if err == nil && check != nil {
			err = check(x.name, first)
		}
		if err != nil {
			return nil, err
		}
		// Long messages are for one at a time: with more, client and server may
		// both be writing, each waiting for the other to read.
		if _, err := p.load(x.req, min(8, slices.Max(inFlight)), max(x.warmUp, leastWarmUp)); err != nil {
			return nil, err
		}
	}
	var results []contest
	for _, n := range inFlight {
		var targets []target
		for i, x := range all {
			targets = append(targets, target{x.name, func() (sample, error) { return servers[i].load(x.req, n, cmp.Or(x.time, l.time)) }})
		}
		c, err := compare(l.rounds, targets)
		if err != nil {
			return nil, err
		}
		results = append(results, c)
	}
	return results, nil
}

// ours returns the server under test, with dir as its working directory.
func (l *lab) ours(name, dir string, req request) contender {
	return contender{name: name, argv: []string{l.server, "serve", "--stdio", dir}, req: req}
}

// earlier ends the name of a server as it was at the commit to compare with.
const earlier = " before"

// withBefore returns all and, after each server of ours, the same one as it was
// at the commit to compare with, if there is one.
func (l *lab) withBefore(all []contender) []contender {
	var both []contender
	for _, x := range all {
		both = append(both, x)
		if program, ok := l.programsBefore[x.argv[0]]; ok {
			x.name += earlier
			x.argv = append([]string{program}, x.argv[1:]...)
			both = append(both, x)
		}
	}
	return both
}
