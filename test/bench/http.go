package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
)

// era is a way of speaking MCP over HTTP, and what is said.
type era struct {
	version string
	req     request
	answer  []byte      // each answer has this in it
	header  http.Header // of each request
	session bool        // which begins with a handshake
}

// The protocol versions that are measured: with sessions, and without.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// withSessions returns the era of sessions, in which a message is echoed, which
// is JSON.
func withSessions(message string) era { return echoing(legacy, "echo", message) }

// withoutSessions returns the era after that.
func withoutSessions(message string) era { return echoing(modern, "echo", message) }

// echoing returns a call of a tool that echoes a message, which is JSON.
func echoing(version, tool, message string) era {
	return calling(version, tool, `{"message":`+message+`}`, `"Echo: `+message[1:])
}

// calling returns a call of a tool with arguments, which are JSON.
func calling(version, tool, arguments, answer string) era {
	return asking(version, "tools/call", tool, `"name":"`+tool+`","arguments":`+arguments, answer)
}

// asking returns a request with the members of its parameters, of which one may name
// what is called.
func asking(version, method, name, params, answer string) era {
	e := era{version: version, answer: []byte(answer), header: httpHeader(version), session: version == legacy}
	if version == modern {
		e.header.Set("Mcp-Method", method)
		if name != "" {
			e.header.Set("Mcp-Name", name)
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	e.req = request(`,"method":"` + method + `","params":{` + params + `}}`)
	return e
}

func httpHeader(version string, more ...string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Mcp-Protocol-Version", version)
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

// measureHTTP compares how servers echo a short message over HTTP.
func measureHTTP(ctx context.Context, l *lab) error {
	dir, err := l.dir("http")
	if err != nil {
		return err
	}
	all := []contender{
		{name: "toolserver", argv: []string{l.server, "serve", dir, "--insecure-no-auth", "--http"}},
		{name: "mcp-go", argv: []string{l.program("mcpgo")}},
		{name: "net/http ceiling", argv: []string{l.program("ceiling")}},
	}
	const message = `"hello"`
	npm, missing := l.npmPeers(ctx)
	for _, e := range []era{withSessions(message), withoutSessions(message)} {
		in := all
		if e.session && missing == nil { // the one era the TypeScript SDK speaks
			in = append(all[:len(all):len(all)], contender{name: "TypeScript SDK", argv: []string{"node", filepath.Join(npm, "echo.mjs")}, warmUp: nodeWarmUp})
		}
		c, err := l.contestHTTP(ctx, dir, e, 8, in)
		if err != nil {
			return err
		}
		l.table.add(fmt.Sprintf("echo over HTTP, %s, 8 in flight", e.version), c,
			atMost("CPU to ceiling", c.ratio("toolserver", "net/http ceiling", cpu), 1.6, times),
			atMost("CPU to mcp-go", c.ratio("toolserver", "mcp-go", cpu), 0.5, times))
	}
	if missing != nil {
		err = errors.Join(err, fmt.Errorf("the TypeScript SDK is missing: %w", missing))
	}
	return err
}

// contestHTTP starts the contenders in dir and compares how they serve inFlight
// requests at a time.
func (l *lab) contestHTTP(ctx context.Context, dir string, e era, inFlight int, all []contender) (contest, error) {
	var targets []target
	for _, x := range l.withBefore(all) {
		s, err := l.startHTTP(ctx, dir, x.name, x.argv...)
		if err != nil {
			return contest{}, err
		}
		defer s.stop()
		mine := e
		mine.header = e.header.Clone()
		if x.answer != nil {
			mine.answer = x.answer
		}
		if e.session {
			if err := s.open(mine.header); err != nil {
				return contest{}, err
			}
		}
		if _, err := s.load(mine, inFlight, max(x.warmUp, leastWarmUp)); err != nil {
			return contest{}, err
		}
		targets = append(targets, target{s.name, func() (sample, error) { return s.load(mine, inFlight, l.time) }})
	}
	return compare(l.rounds, targets)
}

// open shakes hands and adds the session to the header of requests to come.
func (s *httpServer) open(header http.Header) error {
	_, session, err := s.post(initialize.append(nil, 0), header)
	if err != nil {
		return err
	}
	if session != "" {
		header.Set("Mcp-Session-Id", session)
	}
	_, _, err = s.post([]byte(initialized), header)
	return err
}
