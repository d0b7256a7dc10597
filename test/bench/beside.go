package main

import (
	"context"
	"fmt"
	"time"
)

// beside is a call that is made over and over beside those that are measured, whatever
// the answer.
type beside struct {
	req   request
	pause time.Duration // between two of them
	id    int           // of the one in flight, or 0
	sent  time.Time
}

// loadBeside makes calls for d, one at a time, with others in flight beside them.
func (p *process) loadBeside(r request, others []beside, d time.Duration) (sample, error) {
	watch := time.AfterFunc(d+hang, func() { p.cmd.Process.Kill() })
	defer watch.Stop()
	send := func(r request) error {
		p.id++
		_, err := p.in.Write(append(r.append(nil, p.id), '\n'))
		return err
	}
	var took []time.Duration
	start := time.Now()
	for now := start; now.Sub(start) < d; now = time.Now() {
		for i := range others {
			if o := &others[i]; o.id == 0 && now.Sub(o.sent) >= o.pause {
				if err := send(o.req); err != nil {
					return sample{}, err
				}
				o.id, o.sent = p.id, now
			}
		}
		begin := time.Now()
		if err := send(r); err != nil {
			return sample{}, err
		}
		if err := p.until(p.id, others); err != nil {
			return sample{}, err
		}
		took = append(took, time.Since(begin))
	}
	for _, o := range others {
		if o.id != 0 {
			if err := p.until(o.id, others); err != nil {
				return sample{}, err
			}
		}
	}
	return newSample(time.Since(start), took), nil
}

// until reads up to the answer to a request, and notes which others are answered.
func (p *process) until(id int, others []beside) error {
	for {
		_, got, err := p.next()
		if err != nil {
			return err
		}
		for i := range others {
			if others[i].id == got {
				others[i].id = 0
			}
		}
		if got == id {
			return nil
		}
	}
}

// slowCalls is how many calls of an upstream are in flight that take their time.
const slowCalls = 50

// measureHopSlow measures whether calls that wait for an upstream delay those of a tool
// that is built in.
func measureHopSlow(ctx context.Context, l *lab) error {
	for _, w := range wires {
		if w.http && w.version == modern {
			continue // as the other version
		}
		dir, err := l.dir(fmt.Sprintf("hopslow-%t-%s", w.http, w.version))
		if err != nil {
			return err
		}
		if err := l.hopSlow(ctx, dir, w); err != nil {
			return fmt.Errorf("%v: %w", w, err)
		}
	}
	return nil
}

func (l *lab) hopSlow(ctx context.Context, dir string, w wire) error {
	s, stop, err := l.source(ctx, dir, w, l.upstream(w.version, "-nap", "1s"))
	if err != nil {
		return err
	}
	defer stop()
	g, err := l.toolserver("toolserver", dir, w, map[string]source{"up": s}, "")
	if err != nil {
		return err
	}
	e, err := l.reach(ctx, dir, g.name, w, g.path, g.argv...)
	if err != nil {
		return err
	}
	defer e.stop()
	slow, quick := calling(w.version, "up__nap", "{}", `"rested"`), echoing(w.version, "echo", `"hello"`)
	for _, x := range []era{slow, quick} {
		if err := e.await(x); err != nil {
			return err
		}
	}
	const alone, with = "echo alone", "echo beside them"
	c, err := compare(l.rounds, []target{
		{alone, func() (s sample, err error) {
			s, err = e.load(quick, 1, 2*l.time)
			s.cpu, s.rss = 0, 0 // beside them it is not that of echo
			return s, err
		}},
		{with, func() (sample, error) { return e.loadBesideSlow(quick, slow, 2*l.time) }},
	})
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("%d calls of an upstream that take 1 s, %v", slowCalls, w), c, atMost("p50 to alone", c.ratio(with, alone, p50), 1.2, times))
	return nil
}

// loadBesideSlow makes calls while others are in flight that take their time.
func (e *endpoint) loadBesideSlow(quick, slow era, d time.Duration) (s sample, err error) {
	if e.http == nil {
		others := make([]beside, slowCalls)
		for i := range others {
			others[i].req = slow.req
		}
		return e.loadBeside(quick.req, others, d)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := e.load(slow, slowCalls, d+d/2)
		ended <- err
	}()
	time.Sleep(d / 4) // until they are in flight
	s, err = e.load(quick, 1, d)
	s.cpu, s.rss = 0, 0
	if failed := <-ended; err == nil {
		err = failed
	}
	return s, err
}
