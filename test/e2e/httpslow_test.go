package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is a number of connections that are slow in the same way.
type crowd struct {
	name  string
	size  int
	begin string        // sent at once
	drip  string        // sent byte by byte, one a second; nothing for silence
	limit time.Duration // until all must have been closed
}

// TestHTTPSlowClients has many clients say what they have to say a byte a
// second, or never. A header has 10 s, a body 30 s, also that of a request that
// has been refused: refused clients would otherwise be free to hold as many
// connections as they like. The limits here leave a loaded machine some time.
func TestHTTPSlowClients(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {tokens: ["+tokenEntry("ann", "anns")+"]}")...)
	ann := s.newPeer(t, "2025-11-25", "anns")
	head := "Host: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: " + ann.session + "\r\n"
	known := "POST /mcp HTTP/1.1\r\nAuthorization: Bearer anns\r\n" + head
	const headers, bodies = 10*time.Second + 15*time.Second, 30*time.Second + 15*time.Second
	drip := strings.Repeat("a", 1000)
	crowds := []crowd{
		{"silent", 50, "", "", headers},
		{"slow request line", 100, "GET /", drip, headers},
		{"slow header", 150, known + "X: ", drip, headers},
		{"header without end", 50, known, strings.Repeat("X: y\r\n", 1000), headers},
		{"slow body", 50, known + "Content-Length: 100000\r\n\r\n", drip, bodies},
		{"slow chunks", 50, known + "Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\n \r\n", 1000), bodies},
		{"no body", 20, known + "Content-Length: 100000\r\n\r\n", "", bodies},
		{"no body of a refused token", 20, "POST /mcp HTTP/1.1\r\nAuthorization: Bearer eves\r\n" + head + "Content-Length: 1000\r\n\r\n", "", bodies},
		{"slow body of a refused token", 20, "POST /mcp HTTP/1.1\r\nAuthorization: Bearer eves\r\n" + head + "Content-Length: 1000\r\n\r\n", drip, bodies},
		{"no body of a refused origin", 20, "POST /mcp HTTP/1.1\r\nOrigin: null\r\n" + head + "Content-Length: 1000\r\n\r\n", "", bodies},
		{"no body of a wrong type", 20, "POST /mcp HTTP/1.1\r\nAuthorization: Bearer anns\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", "", bodies},
		{"no body for nobody", 20, "POST /nowhere HTTP/1.1\r\n" + head + "Content-Length: 1000\r\n\r\n", "", bodies},
		{"no body of a health check", 20, "GET /livez HTTP/1.1\r\n" + head + "Content-Length: 1000\r\n\r\n", "", bodies},
	}
	var wg sync.WaitGroup
	for _, c := range crowds {
		wg.Go(func() { c.run(t, s) })
	}
	slow := make(chan struct{})
	go func() {
		wg.Wait()
		close(slow)
	}()
	defer func() { <-slow }()
	var calls int
	var longest time.Duration
	for more := true; more; {
		start := time.Now()
		if a := ann.call(t, "echo", map[string]any{"message": "here"}); a.Error != nil || a.Result.IsError {
			t.Fatalf("got %+v", a)
		}
		calls, longest = calls+1, max(longest, time.Since(start))
		select {
		case <-slow:
			more = false
		case <-time.After(20 * time.Millisecond): // a client like others, not another attack
		}
	}
	if longest > 5*time.Second {
		t.Errorf("somebody else's call took %v", longest)
	}
	t.Logf("%d calls of somebody else took at most %v", calls, longest.Round(time.Millisecond))
	s.running(t)
}

// run opens the connections, keeps them slow, and waits until the server has
// closed them.
func (c crowd) run(t *testing.T, s *httpServer) {
	start := time.Now()
	conns := make([]net.Conn, 0, c.size)
	for range c.size {
		conn, err := net.DialTimeout("tcp", s.address, patience)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(start.Add(c.limit))
		_, _ = io.WriteString(conn, c.begin)
		conns = append(conns, conn)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for i := 0; i < len(c.drip); i++ {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return
			}
			for _, conn := range conns {
				_, _ = io.WriteString(conn, c.drip[i:i+1]) // fails once it is closed
			}
		}
	}()
	open := 0
	var answer []byte
	for _, conn := range conns {
		got, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
		answer = got
	}
	if open > 0 {
		t.Errorf("%s: %d of %d connections are still open after %v", c.name, open, c.size, c.limit)
	}
	first, _, _ := strings.Cut(string(answer), "\r\n")
	t.Logf("%s: closed after %v with %q", c.name, time.Since(start).Round(100*time.Millisecond), first)
}
