package main

import (
	"context"
	"time"
)

// contender is a server in a comparison over stdio.
type contender struct {
	name   string
	argv   []string
	warmUp time.Duration // until its figures are steady; 0 for a fifth of a second
	req    request
}

// nodeWarmUp is how long a JavaScript engine compiles before it is fast.
const nodeWarmUp = 2 * time.Second

// contest starts the contenders in dir, sees to it that they answer, and
// compares how they serve inFlight requests at a time. check is given each
// one's first answer and may be nil.
func (l *lab) contest(ctx context.Context, dir string, inFlight []int, all []contender, check func(string, []byte) error) ([]contest, error) {
	var servers []*process
	defer func() { stopAll(servers) }()
	for _, x := range all {
		p, err := l.start(ctx, dir, x.name, x.argv...)
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
		if _, err := p.load(x.req, 8, max(x.warmUp, 200*time.Millisecond)); err != nil {
			return nil, err
		}
	}
	var results []contest
	for _, n := range inFlight {
		var targets []target
		for i, x := range all {
			targets = append(targets, target{x.name, func() (sample, error) { return servers[i].load(x.req, n, l.time) }})
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
