package main

import (
	"context"
	"time"
)

// measureStartup compares how long it takes from starting a process to having
// its answer to initialize, and what memory it has then.
func measureStartup(ctx context.Context, l *lab) error {
	dir, err := l.dir("startup")
	if err != nil {
		return err
	}
	var targets []target
	for _, x := range l.withBefore([]contender{
		l.ours("toolserver", dir, initialize),
		{name: "mcp-go", argv: []string{l.program("mcpgo")}},
		{name: "ceiling", argv: []string{l.program("ceiling")}},
	}) {
		targets = append(targets, target{x.name, func() (sample, error) { return l.startOnce(ctx, dir, x.name, x.argv) }})
	}
	c, err := compare(l.starts, targets)
	if err != nil {
		return err
	}
	least := c.least("toolserver", p50) / c.least("mcp-go", p50)
	l.table.add("start to initialize answered", c,
		atMost("time to mcp-go", c.ratio("toolserver", "mcp-go", p50), 1.1, times),
		atMost("least time to mcp-go's", least, 1.1, times),
		atMost("RSS", c.median("toolserver", rss), 25<<20, mebi))
	l.table.note("start: %d starts each; least time %s for toolserver, %s for mcp-go. RSS is that of the process and its children.",
		l.starts, nanos(c.least("toolserver", p50)), nanos(c.least("mcp-go", p50)))
	return nil
}

// startOnce starts a server for one sample.
func (l *lab) startOnce(ctx context.Context, dir, name string, argv []string) (sample, error) {
	begin := time.Now()
	p, err := l.start(ctx, dir, name, argv...)
	if err != nil {
		return sample{}, err
	}
	defer p.stop()
	if _, err := p.once(initialize); err != nil {
		return sample{}, err
	}
	s := sample{p50: time.Since(begin)}
	if s.cpu, err = treeCPU(p.pid()); err != nil {
		return sample{}, err
	}
	s.rss, err = treeRSS(p.pid())
	return s, err
}
