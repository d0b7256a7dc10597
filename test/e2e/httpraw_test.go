package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// statusLines finds where the answers on a connection begin.
var statusLines = regexp.MustCompile(`HTTP/1\.[01] (\d{3}) `)

// TestHTTPRaw sends what no HTTP library would. Each connection must end by
// itself, with the statuses that are due and no more, or without any: a second
// answer to one request is how requests are smuggled past a proxy.
func TestHTTPRaw(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := s.newPeer(t, "2025-11-25", "")
	ping := p.message("1", "ping", "", "")
	head := "Host: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: " + p.session + "\r\n"
	post := "POST /mcp HTTP/1.1\r\n" + head
	length := fmt.Sprintf("Content-Length: %d\r\n", len(ping))
	bye := "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(ping), ping)
	for _, test := range []struct{ name, send, want string }{
		{"zeros", strings.Repeat("\x00", 30_000) + "\n\n", "400"},
		{"random bytes", "\x93\xfe\x01\r\n\x88\xff\r\n\r\n", "400"},
		{"a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\xaa", 200) + "\r\n\r\n", "400"},
		{"an SSH greeting", "SSH-2.0-OpenSSH_9.6\r\n\r\n", "400"},
		{"HTTP/0.9", "GET /mcp\r\n\r\n", "400"},
		{"HTTP/1.0", "GET /livez HTTP/1.0\r\n\r\n", "200"},
		{"HTTP/1.0 for this machine", "POST /mcp HTTP/1.0\r\n" + head + length + "\r\n" + ping, "200"},
		{"HTTP/1.0 without host", "POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\n" + length + "\r\n" + ping, "403"},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "404"},
		{"HTTP/3.0", "GET /livez HTTP/3.0\r\nHost: localhost\r\n\r\n", "505"},
		{"upgrade to HTTP/2", "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n", "200"},
		{"no host", "GET /mcp HTTP/1.1\r\n\r\n", "400"},
		{"two hosts", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", "400"},
		{"host that is none", "GET /mcp HTTP/1.1\r\nHost: local host\r\n\r\n", "400"},
		{"absolute URI of this machine", "POST http://localhost/mcp HTTP/1.1\r\nConnection: close\r\n" + head + length + "\r\n" + ping, "200"},
		{"absolute URI of another", "POST http://evil.example/mcp HTTP/1.1\r\nConnection: close\r\n" + head + length + "\r\n" + ping, "403"},
		{"a proxy's request", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n", "404"},
		{"every path", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200"},
		{"no path", "GET HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"path that climbs", "POST /livez/../mcp HTTP/1.1\r\nConnection: close\r\n" + head + length + "\r\n" + ping, "404"},
		{"path with escapes", "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"method of no letters", "G\x00T / HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
		{"huge header", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", "431"},
		{"many headers", "GET /livez HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 400_000) + "\r\n", "431"},
		{"huge path", "GET /" + strings.Repeat("x", 2<<20) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", "431"},
		{"header without name", "GET /livez HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n", "400"},
		{"header without colon", "GET /livez HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n", "400"},
		{"header with NUL", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n", "400"},
		{"space before a colon", post + "Transfer-Encoding : chunked\r\n\r\n" + chunks, "400"},
		{"two lengths", post + length + "Content-Length: 5\r\n\r\n" + ping, "400"},
		{"a list of lengths", post + "Content-Length: 5, 6\r\n\r\n" + ping, "400"},
		{"negative length", post + "Content-Length: -1\r\n\r\n" + ping, "400"},
		{"length with a sign", post + "Content-Length: +5\r\n\r\n" + ping, "400"},
		{"length in hexadecimal", post + "Content-Length: 0x10\r\n\r\n" + ping, "400"},
		{"length without end", post + "Content-Length: 99999999999999999999999\r\n\r\n" + ping, "400"},
		{"unknown encoding", post + "Transfer-Encoding: xchunked\r\n\r\n" + chunks, "501"},
		{"encoding with a tab", post + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks, "400"},
		{"encodings in a list", post + "Transfer-Encoding: identity, chunked\r\n\r\n" + chunks, "501"},
		{"encoding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, "501"},
		{"chunks over a short length", post + "Connection: close\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, "200"},
		{"chunk sizes that are none", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + ping + "\r\n0\r\n\r\n", "400"},
		{"chunk size that overflows", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\n" + ping + "\r\n0\r\n\r\n", "400"},
		{"chunk that is longer than said", post + "Transfer-Encoding: chunked\r\n\r\n2\r\n" + ping + "\r\n0\r\n\r\n", "400"},
		{"message in the rest of another", post + "Content-Length: 2\r\n\r\n{}" + bye, "400 200"},
		{"one after the other at once", post + length + "\r\n" + ping + post + length + "\r\n" + ping + bye, "200 200 200"},
		{"many at once", strings.Repeat(post+length+"\r\n"+ping, 50) + bye, strings.Repeat("200 ", 50) + "200"},
		{"what follows chunks", post + "Transfer-Encoding: chunked\r\n\r\n" + chunks + bye, "200"}, // see "smuggled"
		{"smuggled", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + bye, "200"},
		{"what follows a refusal", "POST /mcp HTTP/1.1\r\nOrigin: null\r\n" + head + length + "\r\n" + ping + bye, "403 200"},
		{"body of a GET", "GET /livez HTTP/1.1\r\nHost: localhost\r\n" + length + "\r\n" + ping + bye, "200 200"},
		{"waits to be asked on", post + length + "Expect: 100-continue\r\nConnection: close\r\n\r\n" + ping, "100 200"},
		{"expects the unexpected", post + length + "Expect: miracles\r\nConnection: close\r\n\r\n" + ping, "417"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := s.dial(t)
			// A refusal may come before everything is sent, and the rest be
			// cut off.
			go func() { _, _ = io.WriteString(conn, test.send) }()
			got, err := io.ReadAll(conn)
			var statuses []string
			for _, m := range statusLines.FindAllStringSubmatch(string(got), -1) {
				statuses = append(statuses, m[1])
			}
			if strings.Join(statuses, " ") != test.want {
				t.Errorf("got %q, %v; want %s\n%.300q", statuses, err, test.want, got)
			}
		})
	}
	s.running(t)
}

// TestHTTPCutOff ends connections at every point of a request. None may harm
// the session, and none but the whole request is served.
func TestHTTPCutOff(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := s.newPeer(t, "2025-11-25", "")
	ping := p.message("1", "ping", "", "")
	request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", p.session, len(ping), ping)
	for i := range len(request) {
		conn := s.dial(t)
		_, _ = io.WriteString(conn, request[:i])
		conn.Close()
	}
	conn := s.dial(t)
	_, _ = io.WriteString(conn, request)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(b), `"result":{}`) {
		t.Errorf("got %s %s", resp.Status, b)
	}
	s.running(t)
}
