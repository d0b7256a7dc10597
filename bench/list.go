package main

import (
	"context"
	"time"
)

// measureList measures tools/list: of all tools here, of one in mcp-go, and of
// a Go file server's.
func measureList(ctx context.Context, l *lab) error {
	dir, err := l.dir("list")
	if err != nil {
		return err
	}
	results, err := l.contest(ctx, dir, []int{8}, []contender{
		l.ours("toolserver", dir, listTools),
		{name: "mark3labs filesystem", argv: []string{l.program("markfiles"), dir}, req: listTools},
		{name: "mcp-go, 1 tool", argv: []string{l.program("mcpgo")}, req: listTools},
	}, nil)
	for _, c := range results {
		l.table.add("tools/list, 8 in flight", c, atMost("CPU", c.median("toolserver", cpu), float64(15*time.Microsecond), nanos))
	}
	return err
}
