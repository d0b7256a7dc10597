package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// measureList measures tools/list: of the product as it is, beside a Go file
// server's, and of as many tools as a big installation has.
func measureList(ctx context.Context, l *lab) error {
	dir, err := l.dir("list")
	if err != nil {
		return err
	}
	built := 0
	results, err := l.contest(ctx, dir, []int{8}, []contender{
		l.ours("toolserver", dir, listTools),
		{name: "mark3labs filesystem", argv: []string{l.program("markfiles"), dir}, req: listTools},
		{name: "mcp-go, 1 tool", argv: []string{l.program("mcpgo")}, req: listTools},
	}, func(name string, answer []byte) error {
		if name == "toolserver" {
			built = listed(answer)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.table.add(fmt.Sprintf("tools/list, %d tools built in, 8 in flight", built), results[0],
		atMost("CPU", results[0].median("toolserver", cpu), float64(15*time.Microsecond), nanos))
	for _, x := range []struct {
		tools int
		limit time.Duration
	}{{24, 15 * time.Microsecond}, {500, 300 * time.Microsecond}} {
		if err := l.listMany(ctx, dir, built, x.tools, x.limit); err != nil {
			return err
		}
	}
	return nil
}

// listMany measures tools/list of so many tools, of which some are built in.
func (l *lab) listMany(ctx context.Context, dir string, built, tools int, limit time.Duration) error {
	config, err := l.config("onepage.yaml", "limits:\n  page_size: 0\n")
	if err != nil {
		return err
	}
	fillers := fmt.Sprintf("MANYTOOLS=%d", max(tools-built-1, 0)) // one more sleeps
	size := map[string]int{}
	results, err := l.contest(ctx, dir, []int{8}, []contender{
		{
			name: "toolserver", argv: []string{l.program("manytools"), "serve", "--config", config, "--stdio", dir},
			env: []string{fillers}, req: listTools,
		},
		{name: "mcp-go", argv: []string{l.program("mcpgo"), fmt.Sprintf("-tools=%d", tools)}, req: listTools},
	}, func(name string, answer []byte) error {
		size[name] = len(answer)
		if n := listed(answer); n != tools {
			return fmt.Errorf("%s lists %d tools instead of %d", name, n, tools)
		}
		return nil
	})
	if err != nil {
		return err
	}
	c := results[0]
	l.table.add(fmt.Sprintf("tools/list, %d tools, page_size: 0, 8 in flight", tools), c, atMost("CPU", c.median("toolserver", cpu), float64(limit), nanos))
	l.table.note("tools/list, %d tools: %d bytes of toolserver, of whose tools %d are built in, and %d of mcp-go.",
		tools, size["toolserver"], built, size["mcp-go"])
	return nil
}

// listed returns how many tools an answer to tools/list has.
func listed(answer []byte) int { return bytes.Count(answer, []byte(`"inputSchema":`)) }
