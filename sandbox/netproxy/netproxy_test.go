package netproxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/sandbox/netproxy"
	"github.com/toolserver/toolserver/test/fakes/dns"
)

// A setup is a proxy with a server behind it.
type setup struct {
	proxy  *netproxy.Proxy
	at     string // of the proxy
	port   string // of the server, at 127.0.0.1
	served *atomic.Int64
}

// start starts a proxy that allows hosts and opens private ones; PORT in either stands for
// the port of the server.
func start(t *testing.T, resolver *net.Resolver, allow, open []string) setup {
	t.Helper()
	served := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		if r.URL.Path == "/echo" {
			_, _ = io.Copy(w, r.Body) // the test tells
			return
		}
		fmt.Fprintf(w, "host %s, uri %s, proxy %q %q", r.Host, r.RequestURI, r.Header["Proxy-Connection"], r.Header["Proxy-Authorization"])
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	parse := func(texts []string, parse func(string) (netguard.Host, error)) (hosts []netguard.Host) {
		for _, text := range texts {
			h, err := parse(strings.ReplaceAll(text, "PORT", port))
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, h)
		}
		return hosts
	}
	p := &netproxy.Proxy{Rules: netproxy.Rules{
		Places: netproxy.NewPlaces(1024),
		Allow:  parse(allow, netguard.ParseHost), Setting: "the list",
		Guard: netguard.New(netguard.Options{Open: parse(open, netguard.ParseHost), AnyPort: true, Resolver: resolver}),
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); p.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-done })
	return setup{p, l.Addr().String(), port, served}
}

func (s setup) connect(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// say sends text and returns the status line of the answer, and all of it.
func (s setup) say(t *testing.T, text string) (status, all string) {
	t.Helper()
	c := s.connect(t)
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c) // what came tells
	status, _, _ = strings.Cut(string(b), "\r\n")
	return status, string(b)
}

// request sends a request inside what was opened before, and returns the body.
func request(t *testing.T, c net.Conn, host string) string {
	t.Helper()
	fmt.Fprintf(c, "GET /inside HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// socks asks for a connection by SOCKS5 and returns the code of the reply, or -1.
func socks(t *testing.T, c net.Conn, command, kind byte, host []byte, port string) int {
	t.Helper()
	n, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	if kind == 3 {
		host = append([]byte{byte(len(host))}, host...)
	}
	text := binary.BigEndian.AppendUint16(append([]byte{5, 2, 2, 0, 5, command, 0, kind}, host...), uint16(n))
	if _, err := c.Write(text); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 12)
	if _, err := io.ReadFull(c, reply); err != nil || reply[0] != 5 || reply[1] != 0 || reply[2] != 5 {
		return -1
	}
	return int(reply[3])
}

var names = map[string]dns.Answers{
	"open.test": {"127.0.0.1"}, "closed.test": {"127.0.0.1"}, "a.below.test": {"127.0.0.1"}, "inside.test": {"10.0.0.1"}, "cloud.test": {"169.254.169.254"},
}

// TestTargets asks for hosts in each of the three ways.
func TestTargets(t *testing.T) {
	s := start(t, dns.Zone(t, names), []string{"open.test:PORT", "*.below.test:PORT", "closed.test:PORT", "inside.test", "cloud.test", "metadata.google.internal", "localhost:PORT", "none.test"},
		[]string{"open.test:PORT", "a.below.test:PORT", "cloud.test"})
	const reached, unreachable = 0, 4
	for target, want := range map[string]string{ // what a refusal says, if it is one
		"open.test:" + s.port: "", "OPEN.test.:" + s.port: "", "a.below.test:" + s.port: "",
		"below.test:" + s.port: "not in the list", "other.test:80": "not in the list", "open.test:1": "not in the list", "127.0.0.1:" + s.port: "not in the list",
		"0x7f.1:" + s.port: "not in the list", "[::1]:" + s.port: "not in the list", "open.test%00.other.test:" + s.port: "not in the list",
		"closed.test:" + s.port: "network.loopback", "localhost:" + s.port: "network.loopback", "inside.test:80": "network.private",
		"cloud.test:80": "network.metadata", "metadata.google.internal:80": "network.metadata", "none.test:80": "unreachable",
	} {
		host, port, err := net.SplitHostPort(target)
		if err != nil {
			t.Fatal(err)
		}
		before := s.served.Load()
		status, all := s.say(t, "GET http://"+target+"/x?a=%zz;b HTTP/1.1\r\nHost: other\r\nProxy-Connection: close\r\nProxy-Authorization: x\r\nConnection: close\r\n\r\n")
		c := s.connect(t)
		code := socks(t, c, 1, 3, []byte(host), port)
		switch {
		case want == "":
			if !strings.HasSuffix(all, "host "+target+", uri /x?a=%zz;b, proxy [] []") && !strings.Contains(all, "uri /x?a=%zz;b, proxy [] []") {
				t.Errorf("GET %s: %s", target, all)
			}
			if got := request(t, c, host); code != reached || !strings.Contains(got, "uri /inside") {
				t.Errorf("SOCKS %s: %d, %s", target, code, got)
			}
			tunnel := s.connect(t)
			fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
			if line, err := bufio.NewReader(io.LimitReader(tunnel, 39)).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("CONNECT %s: %q, %v", target, line, err)
			}
			if got := request(t, tunnel, host); !strings.Contains(got, "uri /inside") {
				t.Errorf("CONNECT %s: %s", target, got)
			}
			continue
		case want == "unreachable":
			if !strings.Contains(status, " 502 ") || code != unreachable {
				t.Errorf("%s: %s, %d", target, status, code)
			}
			continue
		case strings.Contains(host, "%"): // no URL
			if code != 2 {
				t.Errorf("SOCKS %s: %d", target, code)
			}
			continue
		}
		if !strings.Contains(status, " 403 ") || !strings.Contains(all, "the sandbox refused a connection to "+target+": ") || !strings.Contains(all, want) || code != 2 {
			t.Errorf("GET %s: %s, SOCKS %d", target, all, code)
		}
		status, all = s.say(t, "CONNECT "+target+" HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n")
		if !strings.Contains(status, " 403 ") || !strings.Contains(all, want) {
			t.Errorf("CONNECT %s: %s", target, all)
		}
		if s.served.Load() != before {
			t.Errorf("%s was reached", target)
		}
	}
	refused := s.proxy.Refusals()
	if len(refused) != 5 || refused[0].Target == refused[1].Target || !strings.HasPrefix(refused[0].Error(), "the sandbox refused a connection to ") {
		t.Errorf("recorded: %v", refused)
	}
	if (*netproxy.Proxy)(nil).Refusals() != nil {
		t.Error("no proxy has refused something")
	}
}

// TestSOCKS has clients say what a proxy does not serve.
func TestSOCKS(t *testing.T) {
	s := start(t, dns.Zone(t, names), []string{"127.0.0.1:PORT", "[::1]:PORT"}, []string{"127.0.0.1:PORT"})
	for _, tt := range []struct {
		command, kind byte
		host          []byte
		want          int
	}{
		{1, 1, []byte{127, 0, 0, 1}, 0}, {1, 4, net.ParseIP("::ffff:127.0.0.1").To16(), 0}, {1, 3, []byte("127.0.0.1"), 0},
		{1, 1, []byte{127, 0, 0, 2}, 2}, {1, 4, net.ParseIP("::1").To16(), 2}, {1, 3, []byte("127.0.0.1\x00.open.test"), 2}, {1, 3, []byte("open.test:80@x"), 2},
		{1, 3, nil, 8}, {2, 1, []byte{127, 0, 0, 1}, 7}, {3, 1, []byte{127, 0, 0, 1}, 7}, {1, 2, nil, 8},
	} {
		if got := socks(t, s.connect(t), tt.command, tt.kind, tt.host, s.port); got != tt.want {
			t.Errorf("command %d for %d %q: %d, want %d", tt.command, tt.kind, tt.host, got, tt.want)
		}
	}
	for text, want := range map[string]string{"\x05\x01\x02": "\x05\xff", "\x05\x00": "\x05\xff"} {
		if _, got := s.say(t, text); got != want {
			t.Errorf("%q is answered with %q", text, got)
		}
	}
}

// TestOddRequests sends what is no request for a proxy.
func TestOddRequests(t *testing.T) {
	s := start(t, dns.Zone(t, names), []string{"open.test:PORT"}, []string{"open.test:PORT"})
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: open.test:" + s.port + "\r\nConnection: close\r\n\r\n":                                      " 502 ",
		"GET ftp://open.test:" + s.port + "/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":                               " 502 ",
		"CONNECT open.test HTTP/1.1\r\nHost: open.test\r\nConnection: close\r\n\r\n":                                         " 502 ",
		"\x04\x01\x00P\x7f\x00\x00\x01\x00\r\n\r\n":                                                                          " 400 ",
		"GET http://open.test/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n":                       " 431 ",
		"POST http://open.test:" + s.port + "/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc": " 200 ",
	} {
		if status, all := s.say(t, text); !strings.Contains(status, want) || want == " 200 " && !strings.HasSuffix(all, "abc") {
			t.Errorf("%.60q is answered with %q", text, status)
		}
	}
}

// TestRebinding has a name lead elsewhere from the second time on.
func TestRebinding(t *testing.T) {
	var lookups atomic.Int64
	resolver := dns.Resolver(t, func(_ string, kind dnsmessage.Type) dns.Answers {
		switch {
		case kind != dnsmessage.TypeA:
			return dns.None
		case lookups.Add(1) == 1:
			return dns.Answers{"127.0.0.1"}
		}
		return dns.Answers{"127.0.0.2"}
	})
	s := start(t, resolver, []string{"turns.test:PORT"}, []string{"127.0.0.1:PORT"})
	target := "turns.test:" + s.port
	for i, want := range []int{0, 2, 2} {
		if got := socks(t, s.connect(t), 1, 3, []byte("turns.test"), s.port); got != want {
			t.Errorf("connection %d: %d", i, got)
		}
	}
	if refused := s.proxy.Refusals(); len(refused) != 1 || refused[0].Target != target || !strings.Contains(refused[0].Why, "127.0.0.2") {
		t.Errorf("recorded: %v", refused)
	}
}

// TestEnd leaves no connection and no goroutine when the command ends, whatever its clients do.
func TestEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("proxy", func(t *testing.T) {
		s := start(t, dns.Zone(t, names), []string{"open.test:PORT"}, []string{"open.test:PORT"})
		s.connect(t) // says nothing
		for _, begin := range []string{"CONNECT open.test:" + s.port + " HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://open", "\x05\x01"} {
			c := s.connect(t)
			if _, err := io.WriteString(c, begin); err != nil {
				t.Fatal(err)
			}
		}
		c := s.connect(t)
		if code := socks(t, c, 1, 3, []byte("open.test"), s.port); code != 0 {
			t.Errorf("SOCKS: %d", code)
		}
	})
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

// TestHalfClosed has either side of a tunnel end what it sends before the other.
func TestHalfClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan int, 4)
	first := make(chan bool, 4) // whether the server is to end first
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			serverFirst := <-first
			say := func() {
				_, _ = io.WriteString(c, strings.Repeat("y", 1<<20)) // the client tells
				_ = c.(*net.TCPConn).CloseWrite()
			}
			if serverFirst {
				say()
			}
			b, _ := io.ReadAll(c) // what came tells
			if !serverFirst {
				say()
			}
			got <- len(b)
			c.Close()
		}
	}()
	s := start(t, nil, []string{l.Addr().String()}, []string{l.Addr().String()})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, serverFirst := range []bool{true, false} {
		for _, way := range []string{"SOCKS", "CONNECT"} {
			first <- serverFirst
			c := s.connect(t)
			if way == "SOCKS" {
				if code := socks(t, c, 1, 3, []byte("127.0.0.1"), port); code != 0 {
					t.Fatalf("SOCKS: %d", code)
				}
			} else {
				const answer = "HTTP/1.1 200 Connection established\r\n\r\n"
				fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", l.Addr())
				if b, err := io.ReadAll(io.LimitReader(c, int64(len(answer)))); err != nil || string(b) != answer {
					t.Fatalf("CONNECT: %q, %v", b, err)
				}
			}
			text := strings.Repeat("x", 1<<20)
			received := 0
			receive := func() {
				b, err := io.ReadAll(c)
				if received = len(b); err != nil {
					t.Error(err)
				}
			}
			if serverFirst {
				receive()
			}
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if !serverFirst {
				receive()
			}
			if n := <-got; n != len(text) || received != 1<<20 {
				t.Errorf("%s, server first %t: %d bytes there, %d back", way, serverFirst, n, received)
			}
		}
	}
}

// TestPlaces has more clients than a proxy serves at a time.
func TestPlaces(t *testing.T) {
	s := start(t, dns.Zone(t, names), []string{"open.test:PORT"}, []string{"open.test:PORT"})
	var silent []net.Conn
	for range 64 {
		silent = append(silent, s.connect(t))
	}
	c := s.connect(t)
	fmt.Fprintf(c, "GET http://open.test:%s/ HTTP/1.1\r\nHost: x\r\n\r\n", s.port)
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("one too many is served: %d", n)
	}
	silent[0].Close()
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestClient has Go's client use a proxy for HTTPS, with large bodies both ways.
func TestClient(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })) // the test tells
	defer server.Close()
	at := server.Listener.Addr().String()
	s := start(t, dns.Zone(t, names), []string{at}, []string{at})
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: s.at}),
		TLSClientConfig: &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs},
	}
	defer transport.CloseIdleConnections()
	text := strings.Repeat("0123456789abcdef", 1<<16)
	res, err := (&http.Client{Transport: transport}).Post("https://"+at+"/", "text/plain", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || string(b) != text {
		t.Errorf("%d bytes came back, %v", len(b), err)
	}
}

// listAsker is a person who allows some targets.
type listAsker struct {
	allows []string
	asked  []string
}

func (a *listAsker) Waited() time.Duration { return 0 }

func (a *listAsker) Ask(target string) error {
	a.asked = append(a.asked, target)
	if slices.Contains(a.allows, target) {
		return nil
	}
	return errors.New("no")
}

// TestAsk asks about what is not listed, in its canonical form, but not about what the
// guard refuses, nor about what is listed.
func TestAsk(t *testing.T) {
	s := start(t, nil, []string{"listed.invalid"}, []string{"127.0.0.1:PORT"})
	person := &listAsker{allows: []string{"127.0.0.1:" + s.port}}
	s.proxy.Asker = person
	for _, test := range []struct{ target, want, asked string }{
		{"127.0.0.1:" + s.port, "HTTP/1.1 200", "127.0.0.1:" + s.port},
		{"listed.invalid:443", "HTTP/1.1 502", ""},
		{"NOT.Listed.invalid.:443", "HTTP/1.1 403", "not.listed.invalid:443"},
		{"localhost:1", "HTTP/1.1 403", ""}, {"127.0.0.1:1", "HTTP/1.1 403", ""}, {"169.254.169.254:80", "HTTP/1.1 403", ""},
		{"10.1.1.1:443", "HTTP/1.1 403", ""}, {"metadata.google.internal:80", "HTTP/1.1 403", ""}, {"a..b:80", "HTTP/1.1 403", ""}, {"[::ffff:10.1.1.1]:80", "HTTP/1.1 403", ""},
	} {
		person.asked = nil
		c := s.connect(t)
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", test.target)
		status, err := bufio.NewReader(c).ReadString('\n')
		if err != nil || !strings.HasPrefix(status, test.want) || strings.Join(person.asked, " ") != test.asked {
			t.Errorf("%s: asked %q, got %q, %v; want %q, %q", test.target, person.asked, status, err, test.asked, test.want)
		}
	}
	if refused := fmt.Sprint(s.proxy.Refusals()); !strings.Contains(refused, "NOT.Listed.invalid.:443: not in the list; no") {
		t.Errorf("refused: %s", refused)
	}
}
