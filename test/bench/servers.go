package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// subjects are what the tools of many upstreams are about: those of one upstream each.
var subjects = strings.Fields("invoice customer order contact ticket document calendar event project milestone branch release issue repository team role report sensor recipe flight")

// toolsEach is how many tools each of them has.
const toolsEach = 25

// many returns the upstreams of all subjects over stdio.
func (l *lab) many() map[string]source {
	all := map[string]source{}
	for _, subject := range subjects {
		all[subject] = source{Argv: []string{l.program(upstreamProgram), "-tools", strconv.Itoa(toolsEach), "-subject", subject}}
	}
	return all
}

const onePage = "limits: {page_size: 0}"

// listing returns a request for the list of tools, whose answers have this in them.
func listing(version, answer string) era { return asking(version, "tools/list", "", "", answer) }

// measureServers measures a server with many upstreams: its memory, its list of tools and
// the search for them.
func measureServers(ctx context.Context, l *lab) error {
	dir, err := l.dir("servers")
	if err != nil {
		return err
	}
	memory := contest{samples: map[string][]sample{}}
	for range min(l.rounds, 3) {
		if err := l.serversOnce(ctx, dir, &memory); err != nil {
			return err
		}
	}
	l.table.add(fmt.Sprintf("%d upstreams over stdio with %d tools, after 1000 calls", len(subjects), len(subjects)*toolsEach), memory,
		atMost("RSS", memory.median("toolserver", rss), 40<<20, mebi),
		atMost("with its supervisors, shared pages once", memory.median("with supervisors, shared pages once", rss), 40<<20, mebi))
	e, err := l.startMany(ctx, dir, legacy)
	if err != nil {
		return err
	}
	defer e.stop()
	if err := l.searchMany(e); err != nil {
		return err
	}
	for _, version := range []string{legacy, modern} {
		if err := l.listOfMany(ctx, dir, version); err != nil {
			return err
		}
	}
	return nil
}

// startMany starts the server under test with all upstreams, and waits until they are
// ready and each has answered.
func (l *lab) startMany(ctx context.Context, dir, version string) (*endpoint, error) {
	w := wire{false, version}
	g, err := l.toolserver("toolserver", dir, w, l.many(), onePage)
	if err != nil {
		return nil, err
	}
	e, err := l.reach(ctx, dir, g.name, w, g.path, g.argv...)
	if err != nil {
		return nil, err
	}
	for _, subject := range subjects {
		if err := e.await(echoing(version, subject+"__echo", `"hello"`)); err != nil {
			e.stop()
			return nil, err
		}
	}
	return e, nil
}

// serversOnce starts the server and adds what memory it has after 1000 calls.
func (l *lab) serversOnce(ctx context.Context, dir string, c *contest) error {
	e, err := l.startMany(ctx, dir, legacy)
	if err != nil {
		return err
	}
	defer e.stop()
	for i := range 1000 {
		if err := e.once(echoing(legacy, subjects[i%len(subjects)]+"__echo", `"hello"`)); err != nil {
			return err
		}
	}
	all, err := tree(e.pid())
	if err != nil {
		return err
	}
	var own, every memory
	for _, s := range all {
		m, err := memoryOf(s.pid)
		if err != nil {
			return err
		}
		if s.pid == e.pid() {
			own = m
		}
		every.rss, every.anonymous, every.shared = every.rss+m.rss, every.anonymous+m.anonymous, every.shared+m.shared
	}
	for _, x := range []struct {
		name  string
		bytes int64
	}{
		{"toolserver", own.rss}, {"its anonymous part", own.anonymous},
		{"with supervisors, shared pages once", every.shared}, {"their anonymous part", every.anonymous}, {"with supervisors, shared pages each", every.rss},
	} {
		if len(c.samples[x.name]) == 0 {
			c.names = append(c.names, x.name)
		}
		c.samples[x.name] = append(c.samples[x.name], sample{rss: x.bytes})
	}
	return nil
}

// memory is what a process has of it, in bytes.
type memory struct {
	rss       int64
	anonymous int64
	shared    int64 // its part if pages are divided among the processes that share them
}

// memoryOf reads /proc/PID/smaps_rollup.
func memoryOf(pid int) (m memory, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return m, err
		}
		switch fields[0] {
		case "Rss:":
			m.rss = n << 10
		case "Anonymous:":
			m.anonymous = n << 10
		case "Pss:":
			m.shared = n << 10
		}
	}
	return m, nil
}

// listOfMany measures tools/list with all upstreams.
func (l *lab) listOfMany(ctx context.Context, dir, version string) error {
	e, err := l.startMany(ctx, dir, version)
	if err != nil {
		return err
	}
	defer e.stop()
	x := listing(version, `"flight__echo"`)
	answer, err := e.process.once(x.req)
	if err != nil {
		return err
	}
	tools, size := listed(answer), len(answer)
	if tools < len(subjects)*toolsEach || !bytes.Contains(answer, x.answer) {
		return fmt.Errorf("%d tools are listed: %.300s", tools, answer)
	}
	// What it takes to write as much.
	_, rest, _ := bytes.Cut(answer, []byte(`"result":`))
	result, err := l.config("list-"+version+".json", `,"result":`+string(rest))
	if err != nil {
		return err
	}
	floor, err := l.reach(ctx, dir, "ceiling", wire{false, modern}, "", l.program("ceiling"), "-result", result)
	if err != nil {
		return err
	}
	defer floor.stop()
	var targets []target
	for _, e := range []*endpoint{e, floor} {
		targets = append(targets, target{e.name, func() (sample, error) {
			s, err := e.load(x, 1, l.time)
			s.rss = 0 // has been measured
			return s, err
		}})
	}
	c, err := compare(l.rounds, targets)
	if err != nil {
		return err
	}
	const limit = 300 * time.Microsecond
	l.table.add(fmt.Sprintf("tools/list, %d tools of %d upstreams, stdio %s, 1 in flight", tools, len(subjects), version), c,
		atMost("CPU", c.median("toolserver", cpu), float64(limit), nanos), atMost("p50", c.median("toolserver", p50), float64(limit), nanos))
	l.table.note("tools/list, %d tools of %d upstreams, %s: %d bytes.", tools, len(subjects), version, size)
	return nil
}

// queries are what is searched for, with a subject.
var queries = [...]string{
	"create a new %s", "find the %s that was archived", "who approved this %s", "send a %s to somebody", "delete the %s", "merge two of them, %s",
	"schedule a %s for tomorrow", "rename %s", "export every %s as a spreadsheet", "put the %s back",
}

// searchMany measures searches over all tools.
func (l *lab) searchMany(e *endpoint) error {
	var all []request
	for _, subject := range subjects {
		for _, q := range queries {
			all = append(all, call("mcp_search", fmt.Sprintf(`{"query":%q}`, fmt.Sprintf(q, subject))))
		}
	}
	begin := time.Now()
	if _, err := e.process.once(all[0]); err != nil {
		return err
	}
	first := time.Since(begin)
	c, err := compare(l.rounds, []target{{"toolserver", func() (s sample, err error) {
		before, err := treeCPU(e.pid())
		if err != nil {
			return s, err
		}
		var took []time.Duration
		start := time.Now()
		for _, r := range all {
			begin := time.Now()
			if _, err := e.process.once(r); err != nil {
				return s, err
			}
			took = append(took, time.Since(begin))
		}
		s = newSample(time.Since(start), took)
		after, err := treeCPU(e.pid())
		s.cpu = (after - before) / time.Duration(len(took))
		return s, err
	}}})
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("mcp_search over %d tools of %d upstreams", len(subjects)*toolsEach, len(subjects)), c,
		atMost("p50", c.median("toolserver", p50), float64(2*time.Millisecond), nanos))
	l.table.note("mcp_search: %d queries, one at a time. The first one, which makes the index, took %s.", len(all), nanos(float64(first)))
	return nil
}
