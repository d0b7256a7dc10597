package main

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// nap is a call that takes 200 ms and nothing else.
var nap = call("nap", `{"milliseconds":200}`)

// measureParallel compares how many calls that wait servers have going at a
// time. 64 of 200 ms each make 320 a second and no more.
func measureParallel(ctx context.Context, l *lab) error {
	dir, err := l.dir("parallel")
	if err != nil {
		return err
	}
	const enough = 2 * time.Second // for the last batch, which is not full, to weigh little
	results, err := l.contest(ctx, dir, []int{64}, []contender{
		{name: "toolserver", argv: l.manytools(dir), req: nap, time: enough},
		{name: "mcp-go", argv: []string{l.program("mcpgo"), "-tools=2"}, req: nap, time: enough},
	}, func(name string, answer []byte) error {
		if !bytes.Contains(answer, []byte(`"rested"`)) {
			return fmt.Errorf("%s answers %.300s", name, answer)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.table.add("a tool that sleeps 200 ms, over stdio, 64 in flight", results[0],
		atLeast("per second", results[0].median("toolserver", rate), 280, number))
	return nil
}

// manytools returns the command that serves the product with a tool that
// sleeps, over stdio.
func (l *lab) manytools(dir string) []string {
	return []string{l.program("manytools"), "serve", "--stdio", dir}
}
