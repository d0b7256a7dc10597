//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// runFolder is where commands say that they have started.
const runFolder = "run"

// mark is the argument of every sleep that must not come to its end. No other
// run of this program has the same.
var mark = fmt.Sprintf("9%07d.5", os.Getpid())

// sleeping returns a call of a command that says that it has started, and then
// goes on forever, and what waits for it to start.
func (s *soak) sleeping(ctx context.Context) (r *request, started func() error) {
	flag := fmt.Sprintf("%s/%d", runFolder, s.number())
	wait := func() error {
		path := filepath.Join(s.dir, flag)
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(ctx, 5*time.Millisecond) {
			if os.Remove(path) == nil {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return errors.New("a command did not start")
	}
	return callOf("bash", map[string]any{"command": fmt.Sprintf("touch %s; sleep %s & sleep %s", flag, mark, mark), "timeout": 600}), wait
}

// takeBack cancels a call, or hangs up.
func (c *client) takeBack() error {
	c.lastSent = time.Now()
	if l, ok := c.link.(httpLink); ok && c.rng.IntN(2) == 0 {
		return l.server.hangUp(c.ctx, c.rng.IntN(3))
	}
	r, started := c.soak.sleeping(c.ctx)
	return c.link.withdraw(c.ctx, r, started)
}

// hangUp sends a part of a request and closes the connection.
func (h *httpServer) hangUp(ctx context.Context, way int) error {
	dialer := net.Dialer{Timeout: patience}
	host := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer conn.Close()
	h.soak.tally.add("disconnects", "in a request")
	part := ""
	switch way {
	case 1:
		part = "POST /mcp HT"
	case 2:
		part = "POST /mcp HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"jsonrpc\":\"2.0\","
	}
	_, err = conn.Write([]byte(part))
	return err
}

// wrongPosts are requests that are refused, with the status they get and a part
// of what they are told.
var wrongPosts = []struct {
	body    string
	headers []string
	status  int
	part    string
}{
	{`{"jsonrpc":"2.0","id":1,"method":`, nil, http.StatusBadRequest, "-32700"},
	{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, http.StatusBadRequest, "-32600"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, http.StatusBadRequest, "Mcp-Session-Id"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Session-Id", "none"}, http.StatusNotFound, "session"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Content-Type", "text/plain"}, http.StatusUnsupportedMediaType, "Content-Type"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Accept", "text/html"}, http.StatusNotAcceptable, "Accept"},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Origin", "http://evil.example"}, http.StatusForbidden, "origin"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + metaPrefix + `protocolVersion":"` + modernVersion + `","` +
		metaPrefix + `clientCapabilities":{}}}}`,
		[]string{"MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/call"}, http.StatusBadRequest, "-32020"},
	{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		[]string{"MCP-Protocol-Version", modernVersion, "Mcp-Method", "tools/list"}, http.StatusBadRequest, "-32602"},
}

func (l httpLink) misspeak(ctx context.Context, c *client) error {
	c.soak.tally.add("malformed", "HTTP")
	if c.rng.IntN(50) == 0 {
		status, body, err := l.server.status(ctx, http.MethodPost, make([]byte, maxMessage+1))
		return checkRefusal(status, body, err, http.StatusRequestEntityTooLarge, "-32600")
	}
	wrong := wrongPosts[c.rng.IntN(len(wrongPosts))]
	status, body, err := l.server.status(ctx, http.MethodPost, []byte(wrong.body), wrong.headers...)
	if err := checkRefusal(status, body, err, wrong.status, wrong.part); err != nil {
		return fmt.Errorf("%s with %q: %w", wrong.body, wrong.headers, err)
	}
	return nil
}

func checkRefusal(status int, body []byte, err error, want int, part string) error {
	if err == nil && (status != want || !strings.Contains(string(body), part)) {
		err = fmt.Errorf("got status %d instead of %d, and %s", status, want, body)
	}
	return err
}

func (c *client) misspeak() error { return c.link.misspeak(c.ctx, c) }
