//go:build unix

package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHTTPEdge sends what ordinary clients get wrong, and what would show a proxy
// something other than what the server does.
func TestHTTPEdge(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, fixtureBinary(t), t.TempDir())
	modern, old, latest := s.newPeer(t, modernVersion, ""), s.newPeer(t, "2025-03-26", ""), s.newPeer(t, "2025-11-25", "")
	echo := modern.callMessage("7", "echo", map[string]any{"message": "x"}, "")
	session := "Mcp-Session-Id: " + latest.session + "\r\n"
	const list = `{"jsonrpc":"2.0","id":7,"method":"tools/list"`
	headers := func(method string) string {
		return "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " + method + "\r\n"
	}
	for _, test := range []struct{ name, request, header, body, status, want string }{
		{"two tokens", "POST /mcp", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n" + session, list + "}", "400", "-32020"},
		{"two sessions", "POST /mcp", session + session, list + "}", "400", `"id":7,"error":{"code":-32020`},
		{"two arguments", "POST /mcp", headers("tools/call") + "Mcp-Name: echo\r\nMcp-Param-Region: us\r\nMcp-Param-Region: eu\r\n", echo, "400", "-32020"},
		{"a slash", "POST /mcp/", session, list + "}", "200", `"tools":[`},
		{"an unknown version", "POST /mcp", session + "MCP-Protocol-Version: 1999-01-01\r\n", list + "}", "400", `"id":7,"error":{"code":-32022`},
		{"an unknown version of a stream", "GET /mcp", session + "MCP-Protocol-Version: 1999-01-01\r\n", "", "400", "-32022"},
		{"an unknown version of an end", "DELETE /mcp", session + "MCP-Protocol-Version: 1999-01-01\r\n", "", "400", "-32022"},
		{"a subscription without events", "POST /mcp", headers("subscriptions/listen") + "Accept: application/json\r\n",
			modern.message("7", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`, ""), "406", "event-stream"},
		{"a batch with a header of another version", "POST /mcp", headers("tools/call") + "Mcp-Session-Id: " + old.session + "\r\n", "[" + echo + "]", "400", "-32600"},
		{"a batch with a request of another version", "POST /mcp", "Mcp-Session-Id: " + old.session + "\r\n", "[" + echo + "]", "200", "-32600"},
		{"a handshake in a batch", "POST /mcp", "Mcp-Session-Id: " + old.session + "\r\n", "[" + initializeMessage("2025-11-25") + "]", "200", "-32600"},
		{"no parameters", "POST /mcp", session, list + `,"params":null}`, "200", `"tools":[`},
		{"no cursor", "POST /mcp", session, list + `,"params":{"cursor":null}}`, "200", `"tools":[`},
		{"a notification without parameters", "POST /mcp", session, `{"jsonrpc":"2.0","method":"notifications/initialized","params":null}`, "202", ""},
		{"arguments of PHP", "POST /mcp", session, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"system_info","arguments":[]}}`, "200", `"id":7,"result":`},
		{"a handshake that fails", "POST /mcp", "", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}`, "200", "-32602"},
		{"a long header", "GET /livez", "X: " + strings.Repeat("x", 100_000) + "\r\n", "", "431", ""},
	} {
		conn := s.dial(t)
		if !strings.Contains(test.header, "Accept:") {
			test.header += "Accept: application/json, text/event-stream\r\n"
		}
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
			test.request, len(test.body), test.header, test.body)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(resp.Status, test.status) || !strings.Contains(string(body), test.want) || resp.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s %.300s; want %s %s", test.name, resp.Status, body, test.status, test.want)
		}
	}
}

// TestElicitationVersions asks only clients of protocol versions that have elicitation,
// and takes an answer however its id is written.
func TestElicitationVersions(t *testing.T) {
	t.Parallel()
	config, _ := configured(t, "tools: {echo: {confirm: true}}\n")
	for version, asks := range map[string]bool{"2024-11-05": false, "2025-03-26": false, "2025-06-18": true, "2025-11-25": true} {
		w := open(t, binary(), "--config", config)
		w.send(strings.Replace(initializeMessage(version), `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
		w.answer("0")
		w.send(request("1", "tools/call", `{"name":"echo","arguments":{"message":"x"}}`))
		first := w.receive()
		if asked := first.Method == "elicitation/create"; asked != asks {
			t.Errorf("%s: got %s", version, first.Raw)
		}
		if asks {
			w.send(`{"jsonrpc":"2.0","id":"server\u002d1","result":{"action":"accept","content":{}}}`)
			if r := w.answer("1"); !strings.Contains(string(r.Result), "Echo: x") {
				t.Errorf("%s: got %s", version, r.Raw)
			}
		}
	}
}

// TestCertificateRenewed replaces the certificate while the server runs, and uses both
// versions of HTTP over TLS.
func TestCertificateRenewed(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	expires := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	o.certificate("cert", time.Now().Add(-time.Hour), expires)
	file, _ := configured(t, fmt.Sprintf("server: {tokens: [%s], tls: {cert: %s/cert.pem, key: %[2]s/cert.key}}\n", tokenEntry("ann", "anns"), o.dir))
	s := launchHTTP(t, nil, binary(), "--config", file)
	secure := &tls.Config{InsecureSkipVerify: true}
	until := func() time.Time {
		conn := tls.Client(s.dial(t), secure)
		must(t, conn.Handshake())
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].NotAfter
	}
	if got := until(); !got.Equal(expires) {
		t.Errorf("the certificate expires at %v; want %v", got, expires)
	}
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}}
	p := s.newPeer(t, "2025-11-25", "anns")
	p.may(t, "HTTP/2", http.StatusOK)
	stream, err := p.tryListen(t.Context(), "GET", "")
	must(t, err)
	if resp, err := s.try(t.Context(), "GET", "/livez", nil, nil); err != nil || resp.ProtoMajor != 2 {
		t.Errorf("%v is not HTTP/2: %v", resp, err)
	}
	for _, hangup := range []bool{false, true} {
		expires = expires.Add(time.Hour)
		o.certificate("cert", time.Now().Add(-time.Hour), expires)
		if hangup {
			must(t, s.cmd.Process.Signal(syscall.SIGHUP))
		}
		eventually(t, "the new certificate is used", func() bool { return until().Equal(expires) })
	}
	o.file("cert.key", "nothing\n")
	eventually(t, "a wrong one is told", func() bool { return strings.Contains(s.log(), "the old one stays in use") })
	p.may(t, "the old certificate", http.StatusOK)
	s.reloaded(t, file, read(t, file)[len("working_directory: .\n"):]+withoutEcho)
	if line, _ := stream.next("data: "); !strings.Contains(line, listChanged) {
		t.Errorf("the stream over HTTP/2 says %q", line)
	}
	for range 20 { // as a balancer looks whether the port is open
		s.dial(t).Close()
	}
	s.client.CloseIdleConnections()
	until()
	if n := strings.Count(s.log(), "TLS handshake error"); n > 5 {
		t.Errorf("%d lines of connections that ended", n)
	}
}

// TestDrainDelay stops a server that has a balancer in front: for a while it says that it
// is not ready, and serves all the same.
func TestDrainDelay(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {drain_delay: 3s}")...)
	p := s.newPeer(t, "2025-11-25", "")
	stream := p.listen(t, "GET", "")
	must(t, s.cmd.Process.Signal(syscall.SIGTERM))
	eventually(t, "/readyz says so", func() bool { return s.do(t, "GET", "/readyz", "", nil).status == http.StatusServiceUnavailable })
	s.newPeer(t, "2025-11-25", "").may(t, "a new session", http.StatusOK)
	p.may(t, "a session", http.StatusOK)
	stream.ends(t, "a stream of a server that stops")
	s.succeeded()
}
