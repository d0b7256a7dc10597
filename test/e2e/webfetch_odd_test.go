package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// serveRaw serves paths by functions that write what they like to the
// connection. It is closed when they return, but for paths that begin with /keep.
func serveRaw(t *testing.T, routes map[string]func(net.Conn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	var wg sync.WaitGroup
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			wg.Go(func() {
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					delete(open, conn)
					conn.Close()
				}()
				r := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					serve := routes[req.URL.Path]
					if serve == nil {
						return
					}
					serve(conn)
					if !strings.HasPrefix(req.URL.Path, "/keep") {
						return
					}
				}
			})
		}
	})
	return "http://" + listener.Addr().String()
}

// say writes an answer as it is.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) { io.WriteString(conn, text) }
}

// thenReset writes an answer and resets the connection.
func thenReset(text string) func(net.Conn) {
	return func(conn net.Conn) {
		io.WriteString(conn, text)
		conn.(*net.TCPConn).SetLinger(0)
	}
}

// TestWebFetchOdd has malformed responses. Each call returns a page or a tool
// execution error, and none affects later calls.
func TestWebFetchOdd(t *testing.T) {
	t.Parallel()
	const plain = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	const early = "\n\n[The connection ended early, so the end is missing"
	const failing = "failing" // in whatever way
	tests := []struct {
		name  string
		serve func(net.Conn)
		want  string // end of the text; or failing, or the text of the failure
	}{
		{"too long a length", say(plain + "Content-Length: 100\r\n\r\nonly this"), "only this" + early + ": 9 of 100 bytes came]"},
		{"too short a length", say(plain + "Content-Length: 5\r\n\r\nhello world"), "\n\nhello"},
		{"keep: rubbish behind", say(plain + "Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"), "\n\nhello"},
		{"keep: good", say(plain + "Content-Length: 4\r\n\r\ngood"), "\n\ngood"},
		{"keep: not modified", say("HTTP/1.1 304 Not Modified\r\n\r\n"), "Error: HTTP 304"},
		{"keep: good again", say(plain + "Content-Length: 4\r\n\r\ngood"), "\n\ngood"},
		{"chunks that break off", say(plain + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo"), "hellowo" + early + "]"},
		{"chunks without an end", say(plain + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), "hello" + early + "]"},
		{"chunks of odd size", say(plain + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"), ""},
		{"a chunk of all the world", say(plain + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello\r\n"), ""},
		{"a negative chunk", say(plain + "Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n"), ""},
		{"trailers", say(plain + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n"), "\n\nhello"},
		{"reset at once", thenReset(""), failing},
		{"reset in the header", thenReset("HTTP/1.1 200 OK\r\nContent-"), failing},
		{"empty", say("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"), "Length: 0 chars\n\n--- Content ---\n\n"},
		{"no content", say("HTTP/1.1 204 No Content\r\n\r\n"), "Length: 0 chars\n\n--- Content ---\n\n"},
		{"no content with content", say("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello"), "Length: 0 chars\n\n--- Content ---\n\n"},
		{"reset content", say("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"), "Length: 0 chars\n\n--- Content ---\n\n"},
		{"a part nobody asked for", say("HTTP/1.1 206 Partial Content\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-3/10\r\nContent-Length: 4\r\n\r\npart"), "\n\npart"},
		{"not modified, unasked", say("HTTP/1.1 304 Not Modified\r\n\r\n"), "Error: HTTP 304"},
		{"as for HEAD", say(plain + "Content-Length: 100\r\n\r\n"), failing},
		{"HTTP/1.0", say("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold, to the end"), "\n\nold, to the end"},
		{"HTTP/1.0, kept alive", say("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nold"),
			"\n\nold"},
		{"no header at all", say("hello, this is no HTTP\r\n\r\n"), failing},
		{"nothing", say(""), failing},
		{"HTTP/2 on a plain connection", say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), failing},
		{"HTTP/3.7", say("HTTP/3.7 200 OK\r\nContent-Length: 1\r\n\r\nx"), ""},
		{"status 999", say("HTTP/1.1 999 Request denied\r\nContent-Length: 0\r\n\r\n"), "Error: HTTP 999"},
		{"status 099", say("HTTP/1.1 099 What\r\nContent-Length: 0\r\n\r\n"), failing},
		{"status of four digits", say("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"), failing},
		{"no reason", say("HTTP/1.1 200\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"), "\n\nok"},
		{"line feeds only", say("HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 2\n\nok"), "\n\nok"},
		{"two lengths", say(plain + "Content-Length: 2\r\nContent-Length: 5\r\n\r\nhello"), failing},
		{"a negative length", say(plain + "Content-Length: -5\r\n\r\nhello"), failing},
		{"a huge length", say(plain + "Content-Length: 99999999999999999999\r\n\r\nhello"), failing},
		{"a length and chunks", say(plain + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "\n\nhello"},
		{"a coding nobody knows", say(plain + "Transfer-Encoding: gzip\r\n\r\nhello"), failing},
		{"NUL in a header", say(plain + "X: a\x00b\r\nContent-Length: 2\r\n\r\nok"), failing},
		{"a folded header", say(plain + "X: a\r\n b\r\nContent-Length: 2\r\n\r\nok"), ""},
		{"a space before the colon", say(plain + "X : a\r\nContent-Length: 2\r\n\r\nok"), ""},
		{"controls in the type", say("HTTP/1.1 200 OK\r\nContent-Type: text/plain; a=\"\x7f\r\nContent-Length: 2\r\n\r\nok"), ""},
		{"a header of 300 KB", say(plain + "X: " + strings.Repeat("y", 300<<10) + "\r\nContent-Length: 2\r\n\r\nok"),
			"Error: the connection failed"},
		{"300 KB of headers", say(plain + strings.Repeat("X: "+strings.Repeat("y", 1020)+"\r\n", 300) + "Content-Length: 2\r\n\r\nok"),
			"Error: the connection failed"},
		{"20 MB of headers", say(plain + strings.Repeat("X: "+strings.Repeat("y", 1020)+"\r\n", 20<<10) + "Content-Length: 2\r\n\r\nok"),
			failing},
		{"informed", say("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + plain +
			"Content-Length: 2\r\n\r\nok"), "\n\nok"},
		{"informed 1,000 times", say(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000) + plain + "Content-Length: 2\r\n\r\nok"), ""},
		{"informed only", say("HTTP/1.1 103 Early Hints\r\n\r\n"), failing},
		{"other protocols", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nrubbish"), failing},
		{"a title that never ends", say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 200012\r\n\r\n<title>" +
			strings.Repeat("t", 200_005)), ""},
	}
	routes := map[string]func(net.Conn){}
	path := func(i int) string {
		if strings.HasPrefix(tests[i].name, "keep:") {
			return fmt.Sprintf("/keep/%d", i)
		}
		return fmt.Sprintf("/%d", i)
	}
	for i, tt := range tests {
		routes[path(i)] = tt.serve
	}
	site, again := serveRaw(t, routes), serveRaw(t, routes) // each is asked 50 times at once
	c := openFetch(t, "tools: {web_fetch: {timeout: 20s}}\n", site, again)
	for _, base := range []string{site, again} {
		for i, tt := range tests {
			a := c.fetch(base + path(i))
			switch text := a.text(); {
			case a.Error != nil:
				t.Errorf("%s: %+v", tt.name, a.Error)
			case tt.want == failing || strings.HasPrefix(tt.want, "Error: "):
				if !a.failed() || tt.want != failing && !strings.HasPrefix(text, tt.want) || !strings.HasPrefix(text, "Error: ") {
					t.Errorf("%s: %t %.300q", tt.name, a.failed(), text)
				}
			case tt.want == "": // one or the other
			case a.failed() || !strings.HasSuffix(text, tt.want):
				t.Errorf("%s: %t %.300q", tt.name, a.failed(), text)
			}
			if len(a.text()) > 90_000 || strings.Contains(a.text(), "forged") {
				t.Errorf("%s: %d bytes, %.300q", tt.name, len(a.text()), a.text())
			}
		}
		c.ping()
	}
}

// TestWebFetchReset has connections that are reset in the midst of a page. What
// came of it until then is shown.
func TestWebFetchReset(t *testing.T) {
	t.Parallel()
	const header = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	site := serveRaw(t, map[string]func(net.Conn){
		"/length": thenReset(header + "Content-Length: 100\r\n\r\nonly this"),
		"/chunks": thenReset(header + "Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n"),
		"/end":    thenReset(header + "\r\nonly this"),
	})
	c := openFetch(t, "", site)
	for path, want := range map[string]string{"/length": ": 9 of 100 bytes came]", "/chunks": "]", "/end": "]"} {
		a := c.fetch(site + path)
		if a.failed() || !strings.HasSuffix(a.text(), "only this\n\n[The connection ended early, so the end is missing"+want) ||
			a.Result.Meta["incomplete"] != true {
			t.Errorf("%s: %s", path, a.text())
		}
	}
	c.ping()
}

// TestWebFetchSwitching has a site that changes to another protocol, and then
// says nothing: there is no page, which is known at once.
func TestWebFetchSwitching(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 64)
	site := serveRaw(t, map[string]func(net.Conn){"/": func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		io.Copy(io.Discard, conn)
		gone <- struct{}{}
	}})
	c := openFetch(t, "tools: {web_fetch: {timeout: 1s}}\n", site)
	for range 8 { // more than the host is asked at a time
		a := c.fetch(site + "/")
		if !a.Result.IsError || !strings.HasPrefix(a.text(), "Error: ") {
			t.Fatalf("got %+v %.300q", a.Error, a.text())
		}
		select {
		case <-gone:
		case <-time.After(patience):
			t.Fatal("the connection stays")
		}
	}
	c.ping()
}
