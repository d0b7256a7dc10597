package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// measureEcho compares how servers echo a short message over stdio.
func measureEcho(ctx context.Context, l *lab) error {
	dir, err := l.dir("echo")
	if err != nil {
		return err
	}
	echo := call("echo", `{"message":"hello"}`)
	all := []contender{
		l.ours("toolserver", dir, echo),
		{name: "mcp-go", argv: []string{l.program("mcpgo")}, req: echo},
		{name: "ceiling", argv: []string{l.program("ceiling")}, req: echo},
	}
	npm, missing := l.npmPeers(ctx)
	if missing == nil {
		all = append(all, contender{name: "TypeScript SDK", argv: []string{"node", filepath.Join(npm, "echo.mjs")}, warmUp: nodeWarmUp, req: echo})
	}
	inFlight := []int{1, 8, 64}
	results, err := l.contest(ctx, dir, inFlight, all, nil)
	for i, c := range results {
		var bars []bar
		switch inFlight[i] {
		case 1:
			bars = append(bars, atMost("p50 to ceiling", c.ratio("toolserver", "ceiling", p50), 1.5, times))
		case 64:
			bars = append(bars, atMost("CPU to ceiling", c.ratio("toolserver", "ceiling", cpu), 4, times))
			for _, peer := range []string{"mcp-go", "TypeScript SDK"} {
				if len(c.samples[peer]) > 0 {
					bars = append(bars, atMost("CPU to "+peer, c.ratio("toolserver", peer, cpu), 0.25, times))
				}
			}
		}
		l.table.add(fmt.Sprintf("echo over stdio, %d in flight", inFlight[i]), c, bars...)
	}
	if missing != nil {
		err = errors.Join(err, fmt.Errorf("the TypeScript SDK is missing: %w", missing))
	}
	return err
}
