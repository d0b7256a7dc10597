//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/google"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// opener is a user whose client opens addresses.
type opener struct {
	action string
	opens  func(address string) // runs beside the call; may be nil
	visits sync.WaitGroup       // of that

	mu        sync.Mutex
	asked     []string // elicitationId, message and address of each question
	completed []string // elicitationIds
}

func (o *opener) elicit(_ context.Context, params json.RawMessage) (any, error) {
	var q struct{ Mode, ElicitationID, Message, URL string }
	if err := json.Unmarshal(params, &q); err != nil || q.Mode != "url" {
		return nil, fmt.Errorf("%s: %w", params, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, q.ElicitationID+" "+q.Message+" "+q.URL)
	if o.opens != nil {
		o.visits.Go(func() { o.opens(q.URL) })
	}
	return map[string]string{"action": o.action}, nil
}

func (o *opener) notified(_ context.Context, method string, params json.RawMessage) {
	var p struct{ ElicitationID string }
	if method == "notifications/elicitation/complete" && json.Unmarshal(params, &p) == nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.completed = append(o.completed, p.ElicitationID)
	}
}

func (o *opener) said() (asked, completed []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked, o.completed
}

// wait waits until the last pages are shown.
func (o *opener) wait() {
	if o != nil {
		o.visits.Wait()
	}
}

// client connects a client to a new server. Without an opener it cannot be asked.
func (g *googleGround) client(o *opener, version, transport string) *toolClient {
	g.t.Helper()
	options := mcpclient.Options{Name: "t", Version: "1", Protocol: version, ConnectTimeout: patience}
	if o != nil {
		options.OpensURLs, options.Notify = true, o.notified
		options.Handlers = map[string]mcpclient.Handler{"elicitation/create": o.elicit}
	}
	if transport == "http" {
		s := launchHTTP(g.t, []string{"HOME=" + g.home}, binary(), "--insecure-no-auth", "--config", g.file)
		client, err := mcpclient.ConnectHTTP(g.t.Context(), http.DefaultClient, s.url, nil, options)
		must(g.t, err)
		g.t.Cleanup(client.Close)
		g.t.Cleanup(o.wait)
		return &toolClient{program: s.program, mcp: client}
	}
	out, stdout, err := os.Pipe()
	must(g.t, err)
	c := &toolClient{program: spawn(g.t, stdout, nil, g.argv(setup{file: g.file})...)}
	g.t.Cleanup(func() { c.kill(); c.mcp.Close() })
	g.t.Cleanup(o.wait)
	c.output = &checkedOutput{File: out, in: c.in, t: g.t}
	c.mcp, err = mcpclient.Connect(g.t.Context(), c.output, options)
	must(g.t, err)
	return c
}

func text(a answer) string {
	var b strings.Builder
	for _, c := range a.Result.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// eachClient runs a test in both protocol versions and over both transports.
func eachClient(t *testing.T, test func(t *testing.T, version, transport string)) {
	for _, version := range []string{"2025-11-25", modernVersion} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(version+" "+transport, func(t *testing.T) {
				t.Parallel()
				test(t, version, transport)
			})
		}
	}
}

// TestGoogleSignInURL signs in through a client that opens addresses: the call that needs it waits and goes on.
func TestGoogleSignInURL(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, version, transport string) {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		g.google.Deliver(alice, []byte("From: carol@example.com\r\nTo: alice@example.com\r\nSubject: Lunch\r\n\r\nAt noon?\r\n"))
		user := &opener{action: "accept"}
		user.opens = func(address string) { newVisitor(t).allows(address, alice) }
		c := g.client(user, version, transport)
		got := c.call("gmail_search", map[string]any{"query": "lunch"})
		if !strings.Contains(text(got), "Subject: Lunch") {
			t.Fatalf("got %+v", got)
		}
		asked, completed := user.said()
		if len(asked) != 1 || !strings.Contains(asked[0], "not signed in to Gmail") || !signInAddress.MatchString(asked[0]) {
			t.Errorf("asked %q", asked)
		}
		if id, _, _ := strings.Cut(asked[0], " "); version != modernVersion && (len(completed) != 1 || completed[0] != id) || version == modernVersion && completed != nil {
			t.Errorf("asked %q, completed %q", asked, completed)
		}
		// The other service is a grant of its own.
		if got := c.call("calendar_list_events", map[string]any{}); !strings.Contains(text(got), "No events found.") {
			t.Errorf("got %+v", got)
		}
		if asked, _ := user.said(); len(asked) != 2 || !strings.Contains(asked[1], "Google Calendar") {
			t.Errorf("asked %q", asked)
		}
		if again := c.call("gmail_search", map[string]any{"query": "lunch"}); text(again) != text(got) && !strings.Contains(text(again), "Lunch") {
			t.Errorf("again: %+v", again)
		}
	})
}

// TestGoogleSignInDeclined has users who do not want to sign in, who do not answer, and who do not allow it.
func TestGoogleSignInDeclined(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, version, transport string) {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		user := &opener{action: "decline"}
		c := g.client(user, version, transport)
		if got := c.call("gmail_search", map[string]any{"query": "x"}); !got.Result.IsError || !strings.Contains(text(got), "the user did not agree to sign in") {
			t.Errorf("declined: %+v", got)
		}
		user.action = "cancel" // nobody has chosen: the model says how
		if got := c.call("gmail_search", map[string]any{"query": "x"}); !got.Result.IsError || !strings.Contains(text(got), "To sign in, the user opens http://") {
			t.Errorf("canceled: %+v", got)
		}
		user.action = "accept"
		user.opens = func(address string) {
			v := newVisitor(t)
			v.decides(v.open(address), alice, "deny")
		}
		if got := c.call("gmail_search", map[string]any{"query": "x"}); !got.Result.IsError || !strings.Contains(text(got), "the sign-in failed") {
			t.Errorf("denied: %+v", got)
		}
		if n := g.google.TokenRequests()["authorization_code"]; n != 0 {
			t.Errorf("%d codes were exchanged", n)
		}
		user.opens = func(address string) { newVisitor(t).allows(address, alice) }
		if got := c.call("gmail_search", map[string]any{"query": "x"}); got.Result.IsError {
			t.Errorf("in the end: %+v", got)
		}
	})
}

// TestGoogleSignInText signs in through a client that cannot be asked: the address is in the answer, and stays the same.
func TestGoogleSignInText(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, version, transport string) {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		c := g.client(nil, version, transport)
		first := c.call("gmail_search", map[string]any{"query": "x"})
		address := g.address(text(first))
		if !first.Result.IsError || first.Result.StructuredContent["error_type"] != "sign_in_required" {
			t.Errorf("got %+v", first)
		}
		for range 3 { // also many at a time
			if again := c.call("gmail_send", map[string]any{"to": bob, "subject": "s", "body": "b"}); g.address(text(again)) != address {
				t.Errorf("another address: %s", text(again))
			}
		}
		if _, err := c.mcp.Call(t.Context(), "tools/list", nil); err != nil {
			t.Error(err)
		}
		if p := newVisitor(t).allows(address, alice); !strings.Contains(p.text, alice) {
			t.Errorf("the page: %d %s", p.status, p.text)
		}
		if got := c.call("gmail_search", map[string]any{"query": "x"}); got.Result.IsError {
			t.Errorf("signed in: %+v", got)
		}
		if n := g.google.TokenRequests()["authorization_code"]; n != 1 {
			t.Errorf("%d codes were exchanged", n)
		}
		eventually(t, "nobody listens any more", func() bool { return unreachable(address) })
		if len(g.google.Sent(alice)) != 0 {
			t.Error("a mail was sent")
		}
	})
}

// TestGoogleSignInAttacks visits the pages of a sign-in in ways that must not end it, and must give no token.
func TestGoogleSignInAttacks(t *testing.T) {
	t.Parallel()
	g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
	b := g.serve()
	o := b.call("gmail_search", map[string]any{"query": "x"})
	address := g.address(o.text)
	base, err := url.Parse(address)
	must(t, err)
	v := newVisitor(t)
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	visit := func(v *visitor, method, path, host string, header ...string) visited {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+base.Host+path, nil)
		must(t, err)
		req.Host = host
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		return v.read(v.client.Do(req))
	}
	state := ""
	to := func() string {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, address, nil)
		must(t, err)
		res, err := v.client.Do(req)
		must(t, err)
		res.Body.Close()
		at, err := url.Parse(res.Header.Get("Location"))
		must(t, err)
		return at.Query().Get("state")
	}
	if state = to(); len(state) < 32 {
		t.Fatalf("state %q", state)
	}
	for _, test := range []struct {
		name, method, path, host string
		header                   []string
	}{
		{"wrong state", "GET", "/callback?state=" + strings.Repeat("x", len(state)) + "&code=c", "", nil},
		{"no state", "GET", "/callback?code=c", "", nil},
		{"no state and an error", "GET", "/callback?error=access_denied", "", nil},
		{"part of the state", "GET", "/callback?state=" + state[:20] + "&code=c", "", nil},
		{"foreign host", "GET", "/callback?state=" + state + "&code=c", "evil.example", nil},
		{"foreign host with the port", "GET", base.Path, "evil.example:" + base.Port(), nil},
		{"localhost by another name", "GET", base.Path, "localhost.evil.example", nil},
		{"post", "POST", "/callback?state=" + state + "&code=c", "", nil},
		{"another path", "GET", "/callback/x?state=" + state + "&code=c", "", nil},
		{"another id", "GET", base.Path + "x", "", nil},
		{"favicon", "GET", "/favicon.ico", "", nil},
		{"prefetch", "GET", "/callback?state=" + state + "&code=c", "", []string{"Sec-Purpose", "prefetch"}},
		{"old prefetch", "GET", "/callback?state=" + state + "&code=c", "", []string{"Purpose", "prefetch"}},
		{"head", "HEAD", "/callback?state=" + state + "&code=c", "", nil},
		{"markup", "GET", "/callback?state=%3Cscript%3Ealert(1)%3C/script%3E&error=%3Cscript%3Ealert(1)%3C/script%3E", "", nil},
	} {
		p := visit(v, test.method, test.path, test.host, test.header...)
		if p.status == http.StatusOK || p.status/100 == 3 || strings.Contains(p.text, "alert(1)") || strings.Contains(p.text, state) {
			t.Errorf("%s: %d %s", test.name, p.status, p.text)
		}
	}
	if n := g.google.TokenRequests()["authorization_code"]; n != 0 {
		t.Errorf("%d codes were exchanged", n)
	}
	if got := b.call("gmail_search", map[string]any{"query": "x"}); g.address(got.text) != address {
		t.Errorf("another address: %s", got.text)
	}
	// A second tab is open while the first one signs in.
	v.client.CheckRedirect = nil
	second := v.open(address)
	first := v.allows(address, alice)
	if !strings.Contains(first.text, alice) {
		t.Errorf("the first tab: %d %s", first.status, first.text)
	}
	after := v.read(v.client.PostForm(second.at.ResolveReference(&url.URL{Path: fake.AuthPath}).String(), url.Values{
		"request": {consentField.FindStringSubmatch(second.text)[1]}, "account": {bob}, "decision": {"allow"}, "scope": {"https://www.googleapis.com/auth/gmail.readonly"},
	}))
	if strings.Contains(after.text, bob) || !strings.Contains(after.text, "already complete") {
		t.Errorf("the second tab: %d %s", after.status, after.text)
	}
	if got := b.call("gmail_search", map[string]any{"query": "x"}); got.failed {
		t.Errorf("signed in: %v", got)
	}
	if n := g.google.TokenRequests()["authorization_code"]; n != 1 {
		t.Errorf("%d codes were exchanged", n)
	}
	b.stop()
	if log := b.log(); strings.Contains(log, state) || strings.Contains(log, googleSecret) {
		t.Errorf("the log has secrets: %s", log)
	}
}

func unreachable(address string) bool {
	res, err := http.Get(address)
	if err == nil {
		res.Body.Close()
	}
	return err != nil
}

// printed reads lines of a program until one has an address.
func printed(t *testing.T, out *os.File, has *regexp.Regexp) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := has.FindString(lines.Text()); found != "" {
			return found
		}
	}
	t.Fatalf("no %v", has)
	return ""
}

// auth starts toolserver auth google. Wait returns the rest of what it prints, and its exit code.
func (g *googleGround) auth(args ...string) (cmd *exec.Cmd, out *os.File, wait func() (string, int)) {
	g.t.Helper()
	out, w, err := os.Pipe()
	must(g.t, err)
	argv := g.argv(setup{file: g.file, command: append([]string{"auth", "google"}, args...)})
	cmd = exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", w, w
	must(g.t, cmd.Start())
	w.Close()
	return cmd, out, func() (string, int) {
		rest := new(strings.Builder)
		_, _ = bufio.NewReader(out).WriteTo(rest) // until it ends
		_ = cmd.Wait()                            // the state tells
		return rest.String(), cmd.ProcessState.ExitCode()
	}
}

// TestGoogleAuthCommand signs in from the terminal: with a browser, without one, never.
func TestGoogleAuthCommand(t *testing.T) {
	t.Parallel()
	t.Run("browser", func(t *testing.T) {
		t.Parallel()
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		if text, code := g.command("auth", "google", "status"); code != 1 || !strings.Contains(text, "not signed in") {
			t.Errorf("status before: %d %s", code, text)
		}
		_, out, wait := g.auth("--no-browser", "--services", "gmail")
		newVisitor(t).allows(printed(t, out, signInAddress), alice)
		if text, code := wait(); code != 0 || !strings.Contains(text, alice) {
			t.Errorf("%d %s", code, text)
		}
		if text, code := g.command("gmail", "search", "x"); code != 0 || !strings.Contains(text, "No emails found matching your query.") {
			t.Errorf("%d %s", code, text)
		}
		if text, _ := g.command("auth", "google", "status"); !strings.Contains(text, alice) || !strings.Contains(text, "gmail.readonly") {
			t.Errorf("status: %s", text)
		}
		if text, code := g.command("auth", "google", "revoke", "--services", "gmail"); code != 0 {
			t.Errorf("revoke: %d %s", code, text)
		}
		if text, code := g.command("gmail", "search", "x"); code != 1 || !strings.Contains(text, "toolserver auth google") {
			t.Errorf("revoked: %d %s", code, text)
		}
	})
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		_, out, wait := g.auth("--no-browser", "--services", "calendar")
		v := newVisitor(t)
		v.decides(v.open(printed(t, out, signInAddress)), alice, "deny")
		if text, code := wait(); code != 1 || !strings.Contains(text, "not") {
			t.Errorf("%d %s", code, text)
		}
	})
	t.Run("terminated", func(t *testing.T) {
		t.Parallel()
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		cmd, out, wait := g.auth("--no-browser", "--services", "gmail")
		address := printed(t, out, signInAddress)
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		begun := time.Now()
		if text, code := wait(); code == 0 || time.Since(begun) > patience/2 || !strings.Contains(text, "interrupted: not signed in to Gmail") {
			t.Errorf("%d %s", code, text)
		}
		if !unreachable(address) {
			t.Error("the listener is still there")
		}
		if text, code := g.command("auth", "google", "status"); code != 1 {
			t.Errorf("status: %d %s", code, text)
		}
	})
	t.Run("paste", func(t *testing.T) {
		t.Parallel()
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", "")
		argv := g.argv(setup{file: g.file, command: []string{"auth", "google", "--paste", "--services", "gmail"}})
		cmd := exec.Command(argv[0], argv[1:]...)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, w, err := os.Pipe()
		must(t, err)
		cmd.Dir, cmd.Stdout, cmd.Stderr = "/", w, w
		must(t, cmd.Start())
		w.Close()
		v := newVisitor(t)
		consent := v.open(printed(t, out, regexp.MustCompile(`http://[^ ]*`+fake.AuthPath+`[^ ]*`)))
		back := ""
		v.client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
			back = req.URL.String()
			return http.ErrUseLastResponse
		}
		v.decides(consent, alice, "allow")
		fmt.Fprintln(in, back)
		rest := new(strings.Builder)
		_, _ = bufio.NewReader(out).WriteTo(rest)
		_ = cmd.Wait()
		if cmd.ProcessState.ExitCode() != 0 || !strings.Contains(rest.String(), alice) {
			t.Errorf("%v: %s", cmd.ProcessState, rest)
		}
	})
	t.Run("not configured", func(t *testing.T) {
		t.Parallel()
		g := newGround(t, account{"own", os.Geteuid()})
		if text, code := g.run(setup{command: []string{"auth", "google"}}); code == 0 || !strings.Contains(text, "GOOGLE_CLIENT_ID") {
			t.Errorf("%d %s", code, text)
		}
		if text, _ := g.run(setup{command: []string{"tools", "--all"}}); !strings.Contains(text, "GOOGLE_CLIENT_SECRET") {
			t.Errorf("%s", text)
		}
	})
}
