//go:build unix

package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawStream is a session's stream, read byte by byte as it comes.
type rawStream struct {
	net.Conn
	proto string
	lines *bufio.Reader
}

// rawStream opens the stream of a session on a connection of its own. More
// follows the request at once.
func (p *peer) rawStream(t *testing.T, conn net.Conn, proto, more string) *rawStream {
	t.Helper()
	fmt.Fprintf(conn, "GET /mcp %s\r\nHost: localhost\r\nOrigin: https://app.example\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\n\r\n%s", proto, p.token, p.session, more)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	must(t, err)
	if resp.StatusCode != http.StatusOK || !resp.Close || resp.TransferEncoding != nil || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Fatalf("%s: %s, %v", proto, resp.Status, resp.Header)
	}
	checkEventHeaders(t, proto, resp.Header)
	return &rawStream{conn, proto, in}
}

// next returns the next line that is not empty, or how the stream ends.
func (s *rawStream) next() string {
	for {
		line, err := s.lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
		if err != nil {
			return err.Error()
		}
	}
}

// TestHTTPStreamConnection looks at the connections of streams, which are the
// server's own: of both versions of HTTP, with and without TLS.
func TestHTTPStreamConnection(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.certificate("good", time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	for _, secure := range []bool{false, true} {
		settings := "allowed_origins: ['https://app.example'], tokens: [" + tokenEntry("ann", "anns") + ", " + tokenEntry("bob", "bobs") + "]"
		if secure {
			settings += fmt.Sprintf(", tls: {cert: %s/good.pem, key: %[1]s/good.key}", o.dir)
		}
		with, without := "server: {"+settings+"}\n", "server: {"+settings+"}\n"+withoutEcho
		file, _ := configured(t, with)
		s := launchHTTP(t, nil, binary(), "--config", file)
		connect := s.dial
		if secure {
			connect = func(t *testing.T) net.Conn { return tls.Client(s.dial(t), &tls.Config{InsecureSkipVerify: true}) }
		}
		ann, bob := s.newPeer(t, "2025-11-25", "anns"), s.newPeer(t, "2025-11-25", "bobs")
		const changed = `data: {"jsonrpc":"2.0","method":"` + listChanged + `"}`
		expect := func(stream *rawStream, want ...string) {
			t.Helper()
			for _, line := range want {
				got := stream.next()
				for got == ": keep-alive" {
					got = stream.next()
				}
				if got != line {
					t.Errorf("TLS %v, %s: got %q; want %q", secure, stream.proto, got, line)
				}
			}
		}
		// What follows the request on its connection is no request, as the response
		// says that there will be no other.
		first := ann.rawStream(t, connect(t), "HTTP/1.1", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		s.reloaded(t, file, without)
		expect(first, "event: message", changed)
		fmt.Fprint(first, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		s.reloaded(t, file, with)
		expect(first, "event: message", changed)
		second := ann.rawStream(t, connect(t), "HTTP/1.0", "")
		expect(first, "EOF")
		// A change after the client has left is for its next stream.
		must(t, second.Close())
		s.reloaded(t, file, without)
		third := ann.rawStream(t, connect(t), "HTTP/1.1", "")
		expect(third, "event: message", changed)
		bobs := bob.rawStream(t, connect(t), "HTTP/1.1", "")
		s.reloaded(t, file, strings.Replace(without, tokenEntry("ann", "anns")+", ", "", 1))
		expect(third, "EOF")
		if r := s.do(t, "DELETE", "/mcp", "", bob.headers("", nil)); r.status != http.StatusNoContent {
			t.Errorf("DELETE: %d", r.status)
		}
		expect(bobs, "event: message", changed, "EOF") // what changed before it was opened
		last := s.newPeer(t, "2025-11-25", "bobs").rawStream(t, connect(t), "HTTP/1.1", "")
		must(t, s.cmd.Process.Signal(syscall.SIGTERM))
		expect(last, "EOF")
		s.succeeded()
	}
}

// TestHTTPStreamMemory holds the streams of 1,000 sessions to 12 kB each. As with
// sessions, the measure is resident memory after a first round, by which the
// process has what opening that many takes at all. The first streams are closed by
// their clients, which the server must notice, and the others by the server, which
// must do so before it ends.
func TestHTTPStreamMemory(t *testing.T) {
	t.Parallel()
	const many = 1000
	s := startHTTP(t, binary(), t.TempDir())
	peers := make([]*peer, many)
	for i := range peers {
		peers[i] = s.newPeer(t, "2025-11-25", "")
	}
	idle := descriptors(t, s.cmd.Process.Pid)
	open := func() (streams []net.Conn) {
		for _, p := range peers {
			conn := s.dial(t)
			fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: %s\r\n\r\n", p.session)
			if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			streams = append(streams, conn)
		}
		return streams
	}
	for _, conn := range open() {
		conn.Close()
	}
	eventually(t, "the server closes what its clients have closed", func() bool { return descriptors(t, s.cmd.Process.Pid) <= idle+10 })
	before := s.settledMemory(t)
	streams := open()
	after := s.settledMemory(t)
	each := (after - before) * 1024 / many
	t.Logf("%d kB, and %d with %d streams: %d bytes each", before, after, many, each)
	if each > 12_000 {
		t.Errorf("a stream takes %d bytes", each)
	}
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	for i, conn := range streams {
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("stream %d ends with %v", i, err)
		}
	}
	s.succeeded()
}
