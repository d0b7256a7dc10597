package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// era is a way of speaking MCP over HTTP.
type era struct {
	version string
	req     request
	header  http.Header // of each request
	session bool        // which begins with a handshake
}

func eras() []era {
	return []era{
		{"2025-11-25", call("echo", `{"message":"hello"}`), httpHeader("2025-11-25"), true},
		{"2026-07-28", `,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello"},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			httpHeader("2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"), false},
	}
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
	var servers []*httpServer
	defer func() {
		for _, s := range servers {
			s.stop()
		}
	}()
	for _, x := range []struct {
		name string
		argv func(address string) []string
	}{
		{"toolserver", func(address string) []string { return []string{l.server, "serve", "--http", address, dir} }},
		{"mcp-go", func(address string) []string { return []string{l.program("mcpgo"), address} }},
		{"net/http ceiling", func(address string) []string { return []string{l.program("ceiling"), address} }},
	} {
		s, err := l.startHTTP(ctx, dir, x.name, x.argv)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	for _, e := range eras() {
		var targets []target
		for _, s := range servers {
			header := e.header.Clone()
			if e.session {
				if err := s.open(header); err != nil {
					return err
				}
			}
			if _, err := s.load(e.req, header, 8, 200*time.Millisecond); err != nil {
				return err
			}
			targets = append(targets, target{s.name, func() (sample, error) { return s.load(e.req, header, 8, l.time) }})
		}
		c, err := compare(l.rounds, targets)
		if err != nil {
			return err
		}
		l.table.add(fmt.Sprintf("echo over HTTP, %s, 8 in flight", e.version), c,
			atMost("CPU to ceiling", c.ratio("toolserver", "net/http ceiling", cpu), 1.7, times))
	}
	return nil
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
