package e2e

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHTTPRequests answers each kind of wrong request in its own way.
func TestHTTPRequests(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {max_message: 10MiB}")...)
	p := s.newPeer(t, "2025-11-25", "")
	ping := p.message("1", "ping", "", "")
	deep := strings.Repeat("[", 200_000)
	for _, test := range []struct {
		name, body string
		header     map[string]string
		status     int
		code       int // of the JSON-RPC error, if there is one
	}{
		{"right", ping, nil, 200, 0},
		{"with a charset", ping, map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200, 0},
		{"with its version", ping, map[string]string{"MCP-Protocol-Version": "2025-11-25"}, 200, 0},
		{"any answer will do", ping, map[string]string{"Accept": "*/*"}, 200, 0},
		{"JSON will do", ping, map[string]string{"Accept": "text/html;q=0.1, application/json"}, 200, 0},
		{"empty", "", nil, 400, -32700},
		{"blank", " \r\n\t ", nil, 400, -32700},
		{"no JSON", "hello", nil, 400, -32700},
		{"truncated", ping[:len(ping)-1], nil, 400, -32700},
		{"truncated string", ping[:20], nil, 400, -32700},
		{"more behind it", ping + "{}", nil, 400, -32700},
		{"two messages", ping + "\n" + ping, nil, 400, -32700},
		{"byte order mark", "\ufeff" + ping, nil, 400, -32700},
		{"UTF-16", "{\x00\"\x00}\x00", nil, 400, -32700},
		{"NUL", "\x00", nil, 400, -32700},
		{"deep object", strings.Repeat(`{"a":`, 200_000), nil, 400, -32700},
		{"deep params", p.message("1", "ping", `"a":`+deep+strings.Repeat("]", len(deep)), ""), nil, 400, -32700},
		{"no object", `"ping"`, nil, 400, -32600},
		{"null", `null`, nil, 400, -32600},
		{"no version", `{"id":1,"method":"ping"}`, nil, 400, -32600},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, nil, 400, -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, nil, 400, -32600},
		{"null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, -32600},
		{"object as id", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, -32600},
		{"params of no kind", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, nil, 400, -32602},
		{"form", ping, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, 0},
		{"plain text", ping, map[string]string{"Content-Type": "text/plain"}, 415, 0},
		{"almost JSON", ping, map[string]string{"Content-Type": "application/jsonp"}, 415, 0},
		{"no content type", ping, map[string]string{"Content-Type": ""}, 415, 0},
		{"content type that is none", ping, map[string]string{"Content-Type": ";;"}, 415, 0},
		{"takes pages only", ping, map[string]string{"Accept": "text/html"}, 406, 0},
		{"takes images only", ping, map[string]string{"Accept": "image/*, text/plain"}, 406, 0},
		{"unknown version header", ping, map[string]string{"MCP-Protocol-Version": "1999-01-01"}, 400, 0},
		{"version header that is none", ping, map[string]string{"MCP-Protocol-Version": "latest"}, 400, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := p.post(t, test.body, test.header)
			if r.status != test.status {
				t.Errorf("got %d %.200s; want %d", r.status, r.body, test.status)
			}
			var a answer
			if err := json.Unmarshal([]byte(r.body), &a); test.code != 0 && (err != nil || a.Error == nil || a.Error.Code != test.code) {
				t.Errorf("got %.200s; want code %d", r.body, test.code)
			}
		})
	}
	s.running(t)
}

// TestHTTPInvalidUTF8 must not have the server say what is no JSON, nor change
// an id: answers that repeat such bytes are as bad as such bytes.
func TestHTTPInvalidUTF8(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	p := s.newPeer(t, "2025-11-25", "")
	for _, body := range []string{
		p.message("\"\xff\"", "ping", "", ""), p.message("1", "pi\xffng", "", ""), p.message("1", "ping", "\"x\":\"\xc3\x28\"", ""), "\xff\xfe", "{\xff}",
	} {
		r := p.post(t, body, nil)
		var a answer
		if err := json.Unmarshal([]byte(r.body), &a); r.status != http.StatusBadRequest || err != nil || a.Error == nil {
			t.Errorf("%q: %d %q", body, r.status, r.body)
		}
	}
}

// TestHTTPMethods knows the methods and paths there are.
func TestHTTPMethods(t *testing.T) {
	t.Parallel()
	s := startHTTP(t, binary(), t.TempDir())
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/livez", 200}, {"HEAD", "/livez", 200}, {"GET", "/readyz", 200}, {"POST", "/livez", 405}, {"DELETE", "/readyz", 405},
		{"PUT", "/mcp", 405}, {"PATCH", "/mcp", 405}, {"HEAD", "/mcp", 405}, {"post", "/mcp", 405}, {"BREW", "/mcp", 405}, {"OPTIONS", "/mcp", 204},
		{"GET", "/", 404}, {"POST", "/", 404}, {"POST", "/mcp//", 404}, {"POST", "/MCP", 404}, {"GET", "/.well-known/nothing", 404}, {"GET", "/debug/pprof/", 404},
	} {
		r := s.do(t, test.method, test.path, "", nil)
		if r.status != test.status || (r.status == 405) != (r.header.Get("Allow") != "") {
			t.Errorf("%s %s: %d, Allow %q; want %d", test.method, test.path, r.status, r.header.Get("Allow"), test.status)
		}
		if r.status == 404 && !strings.Contains(r.body, "the MCP endpoint is /mcp") {
			t.Errorf("%s %s: %s", test.method, test.path, r.body)
		}
	}
}

// TestHTTPTooLarge refuses what is over the limit, whether or not the client says so
// in advance, and does not read on without end.
func TestHTTPTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 10 << 20
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), "server: {max_message: 10MiB}")...)
	p := s.newPeer(t, "2025-11-25", "")
	ping := p.message("1", "ping", "", "")
	if r := p.post(t, ping+strings.Repeat(" ", limit-len(ping)), nil); r.status != http.StatusOK {
		t.Errorf("a body of the limit: %d %.200s", r.status, r.body)
	}
	if r := p.post(t, ping+strings.Repeat(" ", limit-len(ping)+1), nil); r.status != http.StatusRequestEntityTooLarge || !strings.Contains(r.body, `"code":-32600`) {
		t.Errorf("one byte more: %d %.200s", r.status, r.body)
	}
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: " + p.session + "\r\n"
	block := strings.Repeat(" ", 1<<16)
	for name, body := range map[string]struct{ head, block string }{
		"declared": {"Content-Length: 1099511627776\r\n\r\n", block},
		"chunked":  {"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n" + block + "\r\n"},
	} {
		conn := s.dial(t)
		sent := make(chan int, 1)
		go func() {
			n, _ := io.WriteString(conn, head+body.head)
			for err := error(nil); err == nil; {
				var more int
				more, err = io.WriteString(conn, body.block)
				n += more
			}
			sent <- n
		}()
		if got, _ := io.ReadAll(conn); !strings.HasPrefix(string(got), "HTTP/1.1 413 ") || !strings.Contains(string(got), `"code":-32600`) {
			t.Errorf("%s: %.300q", name, got)
		}
		conn.Close()
		// What the two ends of a connection hold for each other is beyond the
		// server, and no more than a few MiB.
		if n := <-sent; n > 5*limit {
			t.Errorf("%s: the server took %d bytes", name, n)
		}
	}
	s.running(t)
}

// dial opens a connection that is closed with the test and fails reads and
// writes when patience is at an end.
func (s *httpServer) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}
