package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// faultsEach is how many of the upstreams have each fault.
const faultsEach = 5

// faulty returns upstreams: some that hang at their start, some that crash, some whose tool
// die ends them, and good ones. Healthy has all of them start.
func (l *lab) faulty(healthy bool) map[string]source {
	all := map[string]source{}
	for _, kind := range []string{"hang", "crash", "die", "good"} {
		for i := range faultsEach {
			s := source{Argv: []string{l.program(upstreamProgram), "-tools", strconv.Itoa(toolsEach), "-subject", subjects[i]}}
			if kind == "die" {
				s.Argv = s.Argv[:1] // with the tool die instead
			}
			if !healthy {
				s.Env = map[string]string{"UPSTREAM": kind}
			}
			all[fmt.Sprintf("%s%d", kind, i)] = s
		}
	}
	return all
}

// measureIsolation measures what the server does while most of its upstreams fail.
func measureIsolation(ctx context.Context, l *lab) error {
	dir, err := l.dir("isolation")
	if err != nil {
		return err
	}
	if err := l.keepCatalogs(ctx, dir); err != nil {
		return err
	}
	for _, version := range []string{legacy, modern} {
		if err := l.startFaulty(ctx, dir, version); err != nil {
			return err
		}
	}
	return l.goodBesideFaulty(ctx, dir)
}

// keepCatalogs has the server see all upstreams in order.
func (l *lab) keepCatalogs(ctx context.Context, dir string) error {
	upstreams := l.faulty(true)
	g, err := l.toolserver("healthy", dir, wires[0], upstreams, onePage)
	if err != nil {
		return err
	}
	e, err := l.reach(ctx, dir, g.name, g.wire, g.path, g.argv...)
	if err != nil {
		return err
	}
	defer e.stop()
	for name := range upstreams {
		if err := e.await(echoing(legacy, name+"__echo", `"hello"`)); err != nil {
			return err
		}
	}
	return nil
}

// startFaulty measures the first answers of a server whose upstreams fail: from its start,
// and then of the list of tools.
func (l *lab) startFaulty(ctx context.Context, dir, version string) error {
	g, err := l.toolserver("toolserver", dir, wires[0], l.faulty(false), onePage)
	if err != nil {
		return err
	}
	method, hello := "initialize", initialize
	if version == modern {
		method, hello = "server/discover", asking(version, "server/discover", "", "", "").req
	}
	started, firstList := "from the start to "+method, "first tools/list"
	c := contest{names: []string{started, firstList}, samples: map[string][]sample{}}
	tools := 0
	for range l.rounds {
		begin := time.Now()
		p, err := l.start(ctx, dir, g.name, g.argv...)
		if err != nil {
			return err
		}
		answered, list, n, err := p.firstAnswers(hello, listing(version, "").req, begin)
		p.stop()
		if err != nil {
			return err
		}
		tools = n
		c.samples[started] = append(c.samples[started], sample{p50: answered})
		c.samples[firstList] = append(c.samples[firstList], sample{p50: list})
	}
	if want := 3*faultsEach*toolsEach + 3*faultsEach; tools < want {
		return fmt.Errorf("%d tools are listed, not %d of upstreams", tools, want)
	}
	l.table.add(fmt.Sprintf("%d upstreams, of which %d hang, %d crash and %d die, %s", 4*faultsEach, faultsEach, faultsEach, faultsEach, version), c,
		atMost(method, c.median(started, p50), float64(200*time.Millisecond), nanos),
		atMost(fmt.Sprintf("list of %d tools", tools), c.median(firstList, p50), float64(5*time.Millisecond), nanos))
	return nil
}

// firstAnswers returns how long the first answer took, and the list of tools after that.
func (p *process) firstAnswers(hello, list request, begin time.Time) (answered, listedIn time.Duration, tools int, err error) {
	if _, err = p.once(hello); err != nil {
		return
	}
	answered = time.Since(begin)
	begin = time.Now()
	answer, err := p.once(list)
	return answered, time.Since(begin), listed(answer), err
}

// goodBesideFaulty compares calls of a good upstream that is alone with those beside
// upstreams that fail, of which some are called and end in the call.
func (l *lab) goodBesideFaulty(ctx context.Context, dir string) error {
	const alone, with = "alone", "beside them"
	x := echoing(legacy, "good0__echo", `"hello"`)
	var dying []beside
	for i := range faultsEach {
		dying = append(dying, beside{req: call(fmt.Sprintf("die%d__die", i), "{}"), pause: 100 * time.Millisecond})
	}
	all := l.faulty(false)
	var targets []target
	for _, t := range []struct {
		name      string
		upstreams map[string]source
		others    []beside
	}{{alone, map[string]source{"good0": all["good0"]}, nil}, {with, all, dying}} {
		own, err := l.dir("isolation-" + strings.ReplaceAll(t.name, " ", "-"))
		if err != nil {
			return err
		}
		g, err := l.toolserver(t.name, own, wires[0], t.upstreams, onePage)
		if err != nil {
			return err
		}
		e, err := l.reach(ctx, own, g.name, g.wire, g.path, g.argv...)
		if err != nil {
			return err
		}
		defer e.stop()
		if err := e.await(x); err != nil {
			return err
		}
		targets = append(targets, target{t.name, func() (sample, error) { return e.loadBeside(x.req, t.others, 2*l.time) }})
	}
	c, err := compare(l.rounds, targets)
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("a good upstream, %d that fail", 3*faultsEach), c, atMost("p50 to alone", c.ratio(with, alone, p50), 1.2, times))
	return nil
}
