package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolserver/toolserver/domain"
)

// begin opens a session and returns its id.
func begin(t *testing.T, url string, header map[string]string) string {
	t.Helper()
	resp := post(t, url, "", initialize("2025-11-25"), false, header)
	resp.Body.Close()
	id := resp.Header.Get(sessionHeader)
	if resp.StatusCode != http.StatusOK || id == "" {
		t.Fatalf("status %s, session %q", resp.Status, id)
	}
	return id
}

func TestHTTPRefusals(t *testing.T) {
	s, _ := fixture(t)
	url := httpFixture(t, s, nil).URL + "/mcp"
	session := begin(t, url, nil)
	ping, modern := request(`1`, "ping", `{}`, false), request(`1`, "tools/list", `{}`, true)
	for _, test := range []struct {
		name, session, body string
		modern              bool
		header              map[string]string
		status              int
		want                string
	}{
		{"ok", session, ping, false, nil, 200, `"result":{}`},
		{"modern ok", "", modern, true, nil, 200, `"tools":[`},
		{"no session", "", ping, false, nil, 400, "initialize first"},
		{"unknown session", "feed", ping, false, nil, 404, "initialize again"},
		{"evil origin", session, ping, false, map[string]string{"Origin": "http://evil.example"}, 403, "origin http://evil.example is not allowed"},
		{"null origin", session, ping, false, map[string]string{"Origin": "null"}, 403, "not allowed"},
		{"local origin", session, ping, false, map[string]string{"Origin": "http://localhost:5173"}, 200, `"result":{}`},
		{"content type", session, ping, false, map[string]string{"Content-Type": "text/plain"}, 415, "application/json"},
		{"accept", session, ping, false, map[string]string{"Accept": "text/html"}, 406, "Accept"},
		{"not JSON", session, `{`, false, nil, 400, `"code":-32700`},
		{"empty", session, ``, false, nil, 400, `"code":-32700`},
		{"too large", session, strings.Repeat(" ", 1<<20) + ping, false, nil, 413, `"code":-32600`},
		{"old version", session, ping, false, map[string]string{"MCP-Protocol-Version": "1999-01-01"}, 400, "not supported"},
		{"notification", session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, false, nil, 202, ""},
		{"answer", session, `{"jsonrpc":"2.0","id":1,"result":{}}`, false, nil, 202, ""},
		{"batch", session, "[" + ping + "]", false, nil, 400, "batches belong to"},
		{"modern without header", "", modern, false, nil, 400, `"code":-32020`},
		{"modern header on legacy", "", ping, true, nil, 400, `"code":-32602`},
		{"modern wrong method header", "", modern, true, map[string]string{"Mcp-Method": "tools/call"}, 400, `"code":-32020`},
		{"modern resumption", "", modern, true, map[string]string{"Last-Event-ID": "1"}, 400, `"code":-32020`},
		{"modern unknown method", "", request(`1`, "no/such", `{}`, true), true, nil, 404, `"code":-32601`},
		{"modern unknown tool", "", request(`1`, "tools/call", `{"name":"nope"}`, true), true, nil, 200, `"code":-32001`},
		{"modern notification", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, true, nil, 202, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp := post(t, url, test.session, test.body, test.modern, test.header)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != test.status || !strings.Contains(string(body), test.want) {
				t.Errorf("got %s %s; want %d %s", resp.Status, body, test.status, test.want)
			}
		})
	}
}

func TestHost(t *testing.T) {
	s, _ := fixture(t)
	ts := httpFixture(t, s, nil)
	for host, status := range map[string]int{"evil.example": 403, "localhost:1": 400, "127.0.0.1": 400, "[::1]:80": 400, "127.0.0.1.evil.example": 403} {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", ts.URL+"/mcp", strings.NewReader(`{}`))
		req.Host = host
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s: %s; want %d", host, resp.Status, status)
		}
	}
}

func TestTokens(t *testing.T) {
	tokens, err := ParseTokens("token", []Token{
		{Name: "ann", Hash: HashToken("ann's"), Groups: []string{"staff"}},
		{Name: "bob", Hash: HashToken("bob's")},
		{Name: "old", Hash: HashToken("old's"), Expires: time.Now().Add(-time.Hour)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := fixture(t)
	url := httpFixture(t, s, tokens).URL + "/mcp"
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	call := request(`1`, "tools/call", `{"name":"staff"}`, true)
	for token, want := range map[string]string{
		"ann's": `hello, staff`, "bob's": `"code":-32001`, "old's": "has expired", "eve's": "is not known", "": "a bearer token is required",
	} {
		resp := post(t, url, "", call, true, bearer(token))
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%q: %s; want %s", token, body, want)
		}
		if challenge := resp.Header.Get("WWW-Authenticate"); (resp.StatusCode == 401) != strings.HasPrefix(challenge, `Bearer realm="fixture"`) {
			t.Errorf("%q: %s, %q", token, resp.Status, challenge)
		}
	}
	session := begin(t, url, bearer("ann's"))
	for who, status := range map[string]int{"ann's": 200, "bob's": 404} {
		resp := post(t, url, session, request(`1`, "ping", `{}`, false), false, bearer(who))
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s in ann's session: %s; want %d", who, resp.Status, status)
		}
	}
	for _, bad := range [][]Token{
		{{Hash: HashToken("x")}}, {{Name: "a", Hash: "sha256:abc"}}, {{Name: "a", Hash: strings.Repeat("a", 71)}},
		{{Name: "a", Hash: HashToken("x")}, {Name: "b", Hash: HashToken("x")}}, {{Name: "a", Hash: HashToken("x") + "00"}}, {{Name: "a", Hash: HashToken("x")}, {Name: "a", Hash: HashToken("y"), Groups: []string{"g"}}},
	} {
		if _, err := ParseTokens("token", bad); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// TestForeignCancel checks that nobody can cancel the call of another client.
func TestForeignCancel(t *testing.T) {
	s, _ := fixture(t)
	url := httpFixture(t, s, nil).URL + "/mcp"
	mine, theirs := begin(t, url, nil), begin(t, url, nil)
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	for _, test := range []struct {
		session, from string
		modern, ends  bool
	}{{mine, theirs, false, false}, {"", "", true, false}, {mine, mine, false, true}} {
		done := make(chan string)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(done)
			req, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(request(`1`, "tools/call", `{"name":"wait"}`, test.modern)))
			req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, sessionHeader: {test.session}}
			if test.modern {
				req.Header["Mcp-Protocol-Version"], req.Header["Mcp-Method"], req.Header["Mcp-Name"] = []string{"2026-07-28"}, []string{"tools/call"}, []string{"wait"}
			}
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		for waiting := 0; waiting == 0; { // until the call is there to be canceled
			if ses, ok := s.exec.Registry.Get("wait"); !ok || ses == nil {
				t.Fatal("no wait")
			}
			post(t, url, test.from, cancel, test.modern, nil).Body.Close()
			waiting = 1
		}
		if !test.ends {
			post(t, url, test.from, cancel, test.modern, nil).Body.Close()
			select {
			case <-done:
				t.Errorf("%+v: the call ended", test)
			default:
			}
			stop()
		} else {
			for ended := false; !ended; {
				post(t, url, test.from, cancel, test.modern, nil).Body.Close()
				select {
				case <-done:
					ended = true
				default:
				}
			}
		}
		<-done
		stop()
	}
}

// TestHTTPProgress checks that progress precedes the answer in a stream of
// events, and that a client that takes no events gets the answer alone.
func TestHTTPProgress(t *testing.T) {
	s, _ := fixture(t)
	url := httpFixture(t, s, nil).URL + "/mcp"
	session := begin(t, url, nil)
	for i := range 100 {
		modern := i%2 == 1
		id := session
		msg := strings.Replace(request(`1`, "tools/call", `{"name":"steps"}`, modern), `"_meta":{`, `"_meta":{"progressToken":7,`, 1)
		if modern {
			id = ""
		} else {
			msg = strings.Replace(msg, `"params":{`, `"params":{"_meta":{"progressToken":7},`, 1)
		}
		resp := post(t, url, id, msg, modern, nil)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Accel-Buffering") != "no" {
			t.Fatalf("%v, %v", err, resp.Header)
		}
		events := strings.Split(strings.TrimSuffix(string(body), "\n\n"), "\n\n")
		if len(events) != 4 || !strings.Contains(events[2], `"progress":3`) || !strings.Contains(events[3], `event: message`+"\n"+`data: {"jsonrpc":"2.0","id":1,"result"`) {
			t.Fatalf("got %q", events)
		}
		resp = post(t, url, id, msg, modern, map[string]string{"Accept": "application/json"})
		body, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.Header.Get("Content-Type") != "application/json" || !strings.Contains(string(body), `"done"`) {
			t.Fatalf("got %s", body)
		}
	}
}

// events reads the data of a stream's events.
func events(t *testing.T, url string, header http.Header, method, body string) (next func() string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s, %s: %s", resp.Status, ct, b)
	}
	lines := bufio.NewScanner(resp.Body)
	return func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return "end: " + fmt.Sprint(lines.Err())
	}
}

func TestHTTPStreams(t *testing.T) {
	s, registry := fixture(t)
	url := httpFixture(t, s, nil).URL + "/mcp"
	session := begin(t, url, nil)
	legacy := events(t, url, http.Header{"Accept": {"text/event-stream"}, sessionHeader: {session}}, "GET", "")
	modern := events(t, url, http.Header{
		"Accept": {"text/event-stream, application/json"}, "Content-Type": {"application/json"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"},
	}, "POST", request(`5`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, true))
	if got := modern(); !strings.Contains(got, "notifications/subscriptions/acknowledged") {
		t.Errorf("got %s", got)
	}
	if err := registry.Disable("nap"); err != nil {
		t.Fatal(err)
	}
	if got := legacy(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("got %s", got)
	}
	if got := modern(); !strings.Contains(got, `"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":5}}`) {
		t.Errorf("got %s", got)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "DELETE", url, nil)
	req.Header.Set(sessionHeader, session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := legacy(); got != "end: <nil>" {
		t.Errorf("after DELETE: %s", got)
	}
	if resp := post(t, url, session, request(`1`, "ping", `{}`, false), false, nil); resp.StatusCode != 404 {
		t.Errorf("after DELETE: %s", resp.Status)
	}
	for _, method := range []string{"GET", "DELETE"} {
		req, _ := http.NewRequestWithContext(t.Context(), method, url, nil)
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != "POST" {
			t.Errorf("modern %s: %s", method, resp.Status)
		}
	}
}

// TestHTTPStreamReplaced checks that a session's new stream ends the one before,
// and has what changed while there was none.
func TestHTTPStreamReplaced(t *testing.T) {
	s, registry := fixture(t)
	url := httpFixture(t, s, nil).URL + "/mcp"
	session := begin(t, url, nil)
	if err := registry.Disable("nap"); err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Accept": {"text/event-stream"}, sessionHeader: {session}}
	first := events(t, url, header, "GET", "")
	if got := first(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("got %s", got)
	}
	second := events(t, url, header, "GET", "")
	if got := first(); got != "end: <nil>" {
		t.Errorf("the first stream goes on with %s", got)
	}
	if err := registry.Enable("nap"); err != nil {
		t.Fatal(err)
	}
	if got := second(); got != `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` {
		t.Errorf("got %s", got)
	}
}

func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, _ := fixture(t)
		s := newSessions(server, time.Minute, 2)
		a, _ := s.create("user:local")
		b, _ := s.create("user:local")
		s.establish(a)
		s.establish(b)
		user := caller{principal: domain.Principal{ID: "user:local"}}
		s.release(a)
		if _, ok := s.create("user:local"); ok {
			t.Error("there is room for a third session")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, err := s.acquire(t.Context(), a.token, user); err == nil {
			t.Error("an expired session is still there")
		}
		if _, err := s.acquire(t.Context(), b.token, user); err != nil {
			t.Error("a session in use has expired")
		}
		if _, ok := s.create("user:local"); !ok {
			t.Error("no room although a session has expired")
		}
		if n := len(s.byID) + len(s.single); n != 2 {
			t.Errorf("%d sessions left", n)
		}
	})
}

// TestShutdown checks that open streams do not keep the server from stopping,
// and that a call under way is answered.
func TestShutdown(t *testing.T) {
	s, _ := fixture(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- s.ServeHTTP(ctx, l, HTTPOptions{Path: "/mcp", SessionTTL: time.Hour, MaxSessions: 10, Authenticator: everybody{}})
	}()
	url := "http://" + l.Addr().String() + "/mcp"
	session := begin(t, url, nil)
	stream := events(t, url, http.Header{"Accept": {"text/event-stream"}, sessionHeader: {session}}, "GET", "")
	listen := events(t, url, http.Header{
		"Accept": {"text/event-stream, application/json"}, "Content-Type": {"application/json"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"},
	}, "POST", request(`5`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, true))
	listen()
	answered := make(chan string, 1)
	go func() {
		msg := strings.Replace(request(`1`, "tools/call", `{"name":"nap"}`, false), `"params":{`, `"params":{"_meta":{"progressToken":7},`, 1)
		resp := post(t, url, session, msg, false, nil)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answered <- string(b)
	}()
	if got := <-answered; !strings.Contains(got, "rested") {
		t.Errorf("got %s", got)
	}
	stop()
	if got := stream(); got != "end: <nil>" {
		t.Errorf("the stream went on with %s", got)
	}
	if got := listen(); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the subscription ended with %s", got)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
