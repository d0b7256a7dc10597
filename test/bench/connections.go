package main

import (
	"context"
	"fmt"
)

// measureConnections compares how servers echo a short message over HTTP to few clients and to
// many, each on a connection of its own.
func measureConnections(ctx context.Context, l *lab) error {
	dir, err := l.dir("connections")
	if err != nil {
		return err
	}
	all := []contender{
		{name: "toolserver", argv: []string{l.server, "serve", dir, "--insecure-no-auth", "--http"}},
		{name: "mcp-go", argv: []string{l.program("mcpgo")}},
		{name: "net/http ceiling", argv: []string{l.program("ceiling")}},
	}
	const message = `"hello"`
	for _, e := range []era{withSessions(message), withoutSessions(message)} {
		for _, connections := range []int{1, 64, 256, 1000} {
			c, err := l.contestHTTP(ctx, dir, e, connections, all)
			if err != nil {
				return err
			}
			l.table.add(fmt.Sprintf("echo over HTTP, %s, %d connections", e.version, connections), c,
				atMost("CPU to ceiling", c.ratio("toolserver", "net/http ceiling", cpu), 1.4, times),
				atMost("CPU to mcp-go", c.ratio("toolserver", "mcp-go", cpu), 1, times))
		}
	}
	return nil
}
