package server

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
)

const toolsChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// streaming is a session whose streams are pipes, in which a write waits for its
// reader, so that time can be that of a test.
type streaming struct {
	*testing.T
	handler  *httpHandler
	registry *domain.Registry
	session  *session
	who      caller
	shutdown func()
	began    time.Time
}

// onPipes runs a test with a session of ann, whose token expires.
func onPipes(t *testing.T, name string, test func(s *streaming)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server, registry := fixture(t)
			tokens, err := ParseTokens("token", []Token{{Name: "ann", Hash: HashToken("secret"), Expires: time.Now().Add(100 * time.Second)}})
			if err != nil {
				t.Fatal(err)
			}
			stopping, stop := context.WithCancel(t.Context())
			defer stop()
			s := &streaming{T: t, registry: registry, shutdown: stop, began: time.Now()}
			s.handler = server.Handler(stopping, HTTPOptions{SessionTTL: 5 * time.Minute, MaxSessions: 1, Authenticator: tokens}).(*httpHandler)
			s.who = caller{authenticator: tokens, credentials: Credentials{Authorization: "Bearer secret"}}
			s.who.principal, _ = tokens.Authenticate(s.who.credentials)
			s.session, _ = s.handler.sessions.create(s.who.principal.ID)
			s.handler.sessions.establish(s.session)
			s.session.completeHandshake("2025-11-25", nil, "")
			s.handler.sessions.release(s.session)
			test(s)
			s.shutdown()
			s.handler.waitForStreams()
			if held := server.streams.InUse(); held != 0 || s.session.busy != 0 {
				t.Errorf("%d streams are counted, the session has %d uses", held, s.session.busy)
			}
		})
	})
}

// clientEnd is the client's end of a stream.
type clientEnd struct {
	net.Conn
	lines *bufio.Reader
}

// leftUnread is the connection of a client that goes when it is written to.
type leftUnread struct{ left bool }

func (c *leftUnread) Write(b []byte) (int, error)        { c.left = true; return len(b), nil }
func (c *leftUnread) SetWriteDeadline(t time.Time) error { return nil }
func (c *leftUnread) gone() bool                         { return c.left }
func (c *leftUnread) interrupt()                         {}
func (c *leftUnread) Close() error                       { return nil }

// open opens a stream and returns the client's end.
func (s *streaming) open() clientEnd {
	ours, theirs := net.Pipe()
	s.carry(takenConn{ours})
	return clientEnd{theirs, bufio.NewReader(theirs)}
}

// carry begins a stream that is written to out.
func (s *streaming) carry(out streamOutput) {
	ses, err := s.handler.sessions.acquire(context.Background(), s.session.token, s.who)
	if err != nil || !s.handler.server.streams.TryAcquire(ses.owner, 1) {
		s.Fatal("no stream")
	}
	s.handler.streams.Add(1)
	(&stream{handler: s.handler, session: ses, changes: ses.changes, who: s.who}).start(s.handler.stopping, out)
	s.settle()
}

// settle waits until all that has happened is served.
func (s *streaming) settle() {
	time.Sleep(2 * perhapsTime)
	synctest.Wait()
}

// toggle changes the list of tools.
func (s *streaming) toggle(on bool) {
	change := s.registry.Disable
	if on {
		change = s.registry.Enable
	}
	if err := change("nap"); err != nil {
		s.Fatal(err)
	}
	s.settle()
}

// reads checks what comes next, and after how many seconds of the test.
func (s *streaming) reads(from clientEnd, want string, second int) {
	s.Helper()
	line, err := from.lines.ReadString('\n')
	for err == nil && (line == "\n" || strings.HasPrefix(line, "event:")) {
		line, err = from.lines.ReadString('\n')
	}
	got := strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "data: ")
	if err != nil {
		got = err.Error()
	}
	if at := int(time.Since(s.began) / time.Second); got != want || at != second {
		s.Errorf("at %d s: %q; want %q at %d s", at, got, want, second)
	}
}

// count checks how many streams are open.
func (s *streaming) count(want int64) {
	s.Helper()
	if got := s.handler.server.streams.InUse(); got != want {
		s.Errorf("after %v: %d streams are open; want %d", time.Since(s.began), got, want)
	}
}

func TestStreamEnds(t *testing.T) {
	onPipes(t, "keep-alive, then the token expires", func(s *streaming) {
		c := s.open()
		for second := 15; second < 100; second += 15 {
			s.reads(c, ": keep-alive", second)
		}
		s.reads(c, "EOF", 100)
		s.settle()
		s.count(0)
	})
	onPipes(t, "a change postpones the keep-alive", func(s *streaming) {
		c := s.open()
		time.Sleep(10 * time.Second)
		s.toggle(false)
		s.reads(c, toolsChanged, 10)
		s.reads(c, ": keep-alive", 25)
	})
	onPipes(t, "the client goes", func(s *streaming) {
		s.open().Close()
		s.count(1)
		time.Sleep(keepAliveInterval)
		s.settle()
		s.count(0)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if _, err := s.handler.sessions.acquire(t.Context(), s.session.token, s.who); err == nil {
			s.Error("the session has not expired")
		}
	})
	onPipes(t, "the client does not read", func(s *streaming) {
		s.open()
		time.Sleep(keepAliveInterval + writeTimeout - time.Second)
		s.count(1)
		time.Sleep(time.Second)
		s.settle()
		s.count(0)
	})
	onPipes(t, "what the client sends is ignored", func(s *streaming) {
		c := s.open()
		go c.Write([]byte("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"))
		s.reads(c, ": keep-alive", 15)
		s.reads(c, ": keep-alive", 30)
	})
	for name, end := range map[string]func(s *streaming){
		"DELETE":           func(s *streaming) { s.handler.sessions.drop(s.session, false) },
		"the server stops": func(s *streaming) { s.shutdown() },
	} {
		onPipes(t, name, func(s *streaming) {
			c := s.open()
			end(s)
			s.reads(c, "EOF", 0)
			s.settle()
			s.count(0)
		})
		onPipes(t, name+" while the client does not read", func(s *streaming) {
			s.open()
			s.toggle(false)
			end(s)
			time.Sleep(lastWriteTime)
			s.settle()
			s.count(0)
		})
	}
	onPipes(t, "a stream of a session that is ending", func(s *streaming) {
		s.session.close()
		s.reads(s.open(), "EOF", 0)
	})
	onPipes(t, "a stream of a server that is stopping", func(s *streaming) {
		s.shutdown()
		s.session.ctx = context.Background() // as that of a session that began since
		s.reads(s.open(), "EOF", 0)
	})
}

// TestStreamKeepsChanges checks that a change that did not reach the client
// reaches the session's next stream.
func TestStreamKeepsChanges(t *testing.T) {
	onPipes(t, "there was no stream", func(s *streaming) {
		s.toggle(false)
		s.reads(s.open(), toolsChanged, 0)
	})
	onPipes(t, "the client had gone", func(s *streaming) {
		s.open().Close()
		s.toggle(false)
		s.count(0)
		s.reads(s.open(), toolsChanged, 0)
	})
	onPipes(t, "the client went while it was written", func(s *streaming) {
		s.carry(&leftUnread{})
		s.toggle(false)
		s.reads(s.open(), toolsChanged, 0)
	})
	onPipes(t, "the client did not read", func(s *streaming) {
		first := s.open()
		s.toggle(false)
		second := s.open()
		time.Sleep(lastWriteTime)
		s.reads(first, "EOF", 1)
		s.settle()
		s.count(1)
		s.reads(second, toolsChanged, 1)
	})
	onPipes(t, "the end came while it was written", func(s *streaming) {
		c := s.open()
		s.toggle(false)
		s.handler.sessions.drop(s.session, false)
		s.reads(c, toolsChanged, 0)
		s.reads(c, "EOF", 0)
	})
	onPipes(t, "another one, while it is written", func(s *streaming) {
		c := s.open()
		s.toggle(false)
		s.toggle(true)
		s.reads(c, toolsChanged, 0)
		s.reads(c, toolsChanged, 0)
		s.reads(c, ": keep-alive", 15)
	})
}

// TestStreamTransports checks streams on connections that net/http gives away, and
// on those it does not.
func TestStreamTransports(t *testing.T) {
	for _, transport := range []struct {
		name       string
		tls, http2 bool
	}{{"HTTP/1.1", false, false}, {"HTTP/1.1 over TLS", true, false}, {"HTTP/2", true, true}} {
		t.Run(transport.name, func(t *testing.T) {
			s, registry := fixture(t)
			h := s.Handler(t.Context(), HTTPOptions{
				Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: everybody{}, AllowedOrigins: []string{"https://app.example"},
			}).(*httpHandler)
			ts := httptest.NewUnstartedServer(h)
			if ts.EnableHTTP2 = transport.http2; transport.tls {
				ts.StartTLS()
			} else {
				ts.Start()
			}
			t.Cleanup(ts.Close)
			ses, _ := h.sessions.create("user:anonymous")
			h.sessions.establish(ses)
			ses.completeHandshake("2025-11-25", nil, "")
			h.sessions.release(ses)
			open := func(ctx context.Context) *http.Response {
				req, _ := http.NewRequestWithContext(ctx, "GET", ts.URL+"/mcp", nil)
				req.Header = http.Header{"Accept": {"text/event-stream"}, sessionHeader: {ses.id}, "Origin": {"https://app.example"}}
				resp, err := ts.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
					(resp.ProtoMajor == 2) != transport.http2 || resp.Close == transport.http2 {
					t.Fatalf("%s %s, close %v, %v", resp.Proto, resp.Status, resp.Close, resp.Header)
				}
				return resp
			}
			first := open(t.Context())
			if err := registry.Disable("nap"); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(first.Body)
			for lines.Scan() && lines.Text() != "data: "+toolsChanged {
			}
			ctx, leave := context.WithCancel(t.Context())
			second := open(ctx)
			if rest, err := io.ReadAll(first.Body); len(rest) > 0 || err != nil {
				t.Errorf("the stream that was replaced ends with %q, %v", rest, err)
			}
			leave()
			second.Body.Close()
			for on := true; s.streams.InUse() > 0; on = !on { // a change makes the server look
				change := registry.Disable
				if on {
					change = registry.Enable
				}
				if err := change("nap"); err != nil {
					t.Fatal(err)
				}
			}
			third := open(t.Context())
			h.sessions.drop(ses, false)
			if rest, err := io.ReadAll(third.Body); err != nil || s.streams.InUse() > 1 {
				t.Errorf("the stream of a deleted session ends with %q, %v", rest, err)
			}
			h.waitForStreams()
			if s.streams.InUse() != 0 {
				t.Errorf("%d streams are counted in the end", s.streams.InUse())
			}
		})
	}
}
