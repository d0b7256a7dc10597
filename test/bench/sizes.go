package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
)

// measureSizes compares how servers echo texts, as tools that read files return
// them, one at a time.
func measureSizes(ctx context.Context, l *lab) error {
	dir, err := l.dir("sizes")
	if err != nil {
		return err
	}
	npm, err := l.npmPeers(ctx)
	if err != nil {
		return fmt.Errorf("the TypeScript SDK is missing: %w", err)
	}
	script := filepath.Join(npm, "echo.mjs")
	// By default, a result as long is kept and read in parts: less to send, and a file
	// to write.
	config, err := l.config("longresults.yaml", "limits:\n  max_result_chars: 2000000\n")
	if err != nil {
		return err
	}
	for _, x := range []struct {
		what string
		size int
	}{{"4 KiB", 4 << 10}, {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}} {
		quoted, err := json.Marshal(sourceText(x.size))
		if err != nil {
			return err
		}
		result, err := l.config("ceiling.json", `,"result":{"content":[{"type":"text","text":"Echo: `+string(quoted[1:])+`}]}}`)
		if err != nil {
			return err
		}
		e := withSessions(string(quoted))
		results, err := l.contest(ctx, dir, []int{1}, []contender{
			l.ours("toolserver", dir, e.req),
			{name: wholeResults, argv: []string{l.server, "serve", "--config", config, "--stdio", dir}, req: e.req},
			{name: "mcp-go", argv: []string{l.program("mcpgo")}, req: e.req},
			{name: "ceiling", argv: []string{l.program("ceiling"), "-result", result}, req: e.req},
			{name: "TypeScript SDK", argv: []string{"node", script}, warmUp: nodeWarmUp, req: e.req},
		}, func(name string, answer []byte) error {
			if name != "toolserver" && name != "toolserver"+earlier && !bytes.Contains(answer, e.answer) {
				return fmt.Errorf("%s does not answer with the text but %.300s", name, answer)
			}
			return nil
		})
		if err != nil {
			return err
		}
		l.addSize("echo of "+x.what+" over stdio, 1 in flight", results[0])
		c, err := l.contestHTTP(ctx, dir, e, 1, []contender{
			{name: "toolserver", argv: []string{l.server, "serve", dir, "--insecure-no-auth", "--http"}, answer: e.answer[:1<<10]},
			{name: wholeResults, argv: []string{l.server, "serve", "--config", config, dir, "--insecure-no-auth", "--http"}},
			{name: "mcp-go", argv: []string{l.program("mcpgo")}},
			{name: "net/http ceiling", argv: []string{l.program("ceiling"), "-result", result}},
			{name: "TypeScript SDK", argv: []string{"node", script}, warmUp: nodeWarmUp},
		})
		if err != nil {
			return err
		}
		l.addSize("echo of "+x.what+" over HTTP, 1 in flight", c)
	}
	return nil
}

// wholeResults is the server whose results are not cut.
const wholeResults = "toolserver, max_result_chars: 2000000"

func (l *lab) addSize(what string, c contest) {
	l.table.add(what, c, atMost("CPU to TypeScript SDK", c.ratio("toolserver", "TypeScript SDK", cpu), 1, times),
		atMost("whole, likewise", c.ratio(wholeResults, "TypeScript SDK", cpu), 1, times))
}
