package signin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
)

// callers is how many calls a process makes at a time.
const callers = 20

// TestMain lets the test binary be another process that uses the same grants.
func TestMain(m *testing.M) {
	dir, base := os.Getenv("TEST_SIGNIN_STATE"), os.Getenv("TEST_SIGNIN_GOOGLE")
	if dir == "" {
		os.Exit(m.Run())
	}
	store := fileStore(sandbox.NewState(dir, "google"), os.Getenv("TEST_SIGNIN_KEY"))
	a := New(Config{
		ClientID: clientID, ClientSecret: clientSecret, BaseURL: base,
		HTTP:   func(Service) *http.Client { return &http.Client{} },
		Store:  func(Service) signin.Store { return store },
		Scopes: func(Service) []string { return []string{mailRead, mailSend} },
	})
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if os.Getenv("TEST_SIGNIN_FOREVER") != "" {
		for stale := ""; ; {
			token, err := a.Renew(context.Background(), ann.principal, ann.service, stale)
			if stale = token.Access; err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	}
	var calls sync.WaitGroup
	got := make([]string, callers)
	for i := range got {
		calls.Go(func() {
			token, err := a.Token(context.Background(), ann.principal, ann.service)
			if got[i] = token.Access; err != nil {
				got[i] = err.Error()
			}
		})
	}
	calls.Wait()
	for _, line := range got {
		fmt.Println(line)
	}
	os.Exit(0)
}

// process is another process with accounts.
type process struct {
	*exec.Cmd
	out *bufio.Reader
	go_ func()
}

// start starts a process, which waits until it is told to go.
func start(t *testing.T, base, dir string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), append(env, "TEST_SIGNIN_STATE="+dir, "TEST_SIGNIN_GOOGLE="+base)...)
	stdin, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(stdout)
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("a process says %q, %v", line, err)
	}
	p.go_ = func() { fmt.Fprintln(stdin) }
	return p
}

// TestOneRefresh has many calls of many processes find an expired token.
func TestOneRefresh(t *testing.T) {
	for passphrase, processes := range map[string]int{"": 8, "passphrase": 2} { // deriving a key takes long
		t.Run(cmp.Or(passphrase, "plain"), func(t *testing.T) {
			g := newGoogle(t)
			dir := filepath.Join(t.TempDir(), "state")
			a := accountsOn(t, g.URL, fileStore(sandbox.NewState(dir, "google"), passphrase))
			g.put(a, ann, -time.Hour)
			var all []*process
			for range processes {
				all = append(all, start(t, g.URL, dir, "TEST_SIGNIN_KEY="+passphrase))
			}
			for _, p := range all {
				p.go_()
			}
			seen := map[string]int{}
			for _, p := range all {
				for range callers {
					line, err := p.out.ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					seen[line]++
				}
				if err := p.Wait(); err != nil {
					t.Error(err)
				}
			}
			token, err := a.Token(t.Context(), ann.principal, Gmail)
			if err != nil || len(seen) != 1 || seen[token.Access+"\n"] != processes*callers || g.requests() != 1 {
				t.Errorf("%d token requests, tokens %v, %v", g.requests(), seen, err)
			}
		})
	}
}

// TestKilled kills a process again and again while it refreshes. Its Google gives a new refresh token each time, and accepts
// the older ones, as Google does.
func TestKilled(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 20
	}
	const places = 4
	var workers sync.WaitGroup
	for range places {
		workers.Go(func() { kill(t, kills/places) })
	}
	workers.Wait()
}

func kill(t *testing.T, times int) {
	g := newGoogle(t)
	g.answer = func(_ url.Values, to map[string]any) {
		refresh := g.secret("1//refresh")
		to["refresh_token"], g.refresh[refresh] = refresh, true
	}
	dir := filepath.Join(t.TempDir(), "state")
	a := accountsOn(t, g.URL, fileStore(sandbox.NewState(dir, "google"), ""))
	g.put(a, ann, -time.Hour)
	for range times {
		p := start(t, g.URL, dir, "TEST_SIGNIN_FOREVER=1")
		end := sync.OnceFunc(func() { _ = p.Process.Kill() })
		after := 1 + rand.IntN(4) // requests
		g.set(func() {
			g.before = func(http.ResponseWriter, *http.Request) bool {
				if after--; after == 0 { // some moment between this request and what follows its answer
					time.AfterFunc(rand.N(3*time.Millisecond), end)
				}
				return false
			}
		})
		p.go_()
		if line, err := p.out.ReadString('\n'); err == nil {
			t.Errorf("the process says %q", line)
		}
		end()
		_ = p.Wait() // it was killed
		var kept grant
		data := files(t, dir)[ann.entry().Name] // which checks permissions
		if err := json.Unmarshal(data, &kept); err != nil {
			t.Errorf("kept %q: %v", data, err)
		}
		g.set(func() {
			if !g.refresh[kept.Grant.Refresh] {
				t.Errorf("the refresh token is lost: %q", kept.Grant.Refresh)
			}
			g.before = nil
		})
	}
	if _, err := a.Renew(t.Context(), ann.principal, Gmail, ""); err != nil {
		t.Error(err)
	}
}

// TestTokenKept uses a token as long as it is valid for a minute.
func TestTokenKept(t *testing.T) {
	g, a, _ := world(t)
	kept := g.put(a, ann, 2*time.Minute)
	if token, err := a.Token(t.Context(), ann.principal, Gmail); err != nil || token.Access != kept.Grant.Access || token.Email != "ann@example.com" || g.requests() != 0 {
		t.Errorf("%+v, %v", token, err)
	}
	if token, err := a.Renew(t.Context(), ann.principal, Gmail, "another"); err != nil || token.Access != kept.Grant.Access || g.requests() != 0 {
		t.Errorf("renewed, although another was rejected: %+v, %v", token, err)
	}
	fresh, err := a.Renew(t.Context(), ann.principal, Gmail, kept.Grant.Access)
	if err != nil || fresh.Access == kept.Grant.Access || g.requests() != 1 {
		t.Errorf("renewed: %+v, %v", fresh, err)
	}
	if token, err := a.Renew(t.Context(), ann.principal, Gmail, kept.Grant.Access); err != nil || token.Access != fresh.Access || g.requests() != 1 {
		t.Errorf("renewed twice: %+v, %v", token, err)
	}
	g.put(a, ann, 59*time.Second)
	if _, err := a.Token(t.Context(), ann.principal, Gmail); err != nil || g.requests() != 2 {
		t.Errorf("%d requests for a token with a life of 59 s, %v", g.requests(), err)
	}
}

// TestRefreshed keeps what answers leave out, and takes what they have.
func TestRefreshed(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(to map[string]any)
		want   func(before, after *grant) bool
	}{
		"no refresh token":      {func(map[string]any) {}, func(b, a *grant) bool { return a.Grant.Refresh == b.Grant.Refresh }},
		"another refresh token": {func(to map[string]any) { to["refresh_token"] = "1//rotated" }, func(_, a *grant) bool { return a.Grant.Refresh == "1//rotated" }},
		"no scope":              {func(to map[string]any) { delete(to, "scope") }, func(b, a *grant) bool { return slices.Equal(a.Scopes, b.Scopes) }},
		"another scope":         {func(to map[string]any) { to["scope"] = mailSend }, func(_, a *grant) bool { return slices.Equal(a.Scopes, []string{mailSend}) }},
		"no life":               {func(to map[string]any) { delete(to, "expires_in") }, func(_, a *grant) bool { return a.Usable("", time.Now()) }},
		"a broken ID token":     {func(to map[string]any) { to["id_token"] = "a.!.b" }, func(b, a *grant) bool { return a.Email == b.Email }},
	} {
		t.Run(name, func(t *testing.T) {
			g, a, _ := world(t)
			before := g.put(a, ann, -time.Hour)
			g.answer = func(_ url.Values, to map[string]any) { test.answer(to) }
			if _, err := a.Token(t.Context(), ann.principal, Gmail); err != nil {
				t.Fatal(err)
			}
			after, err := a.stored(ann)
			if err != nil || !test.want(before, after) || after.Email != before.Email || !after.Created.Equal(before.Created) || after.Refreshed.IsZero() {
				t.Errorf("%+v, %v", after, err)
			}
		})
	}
}

// TestRevoked has Google no longer accept a grant.
func TestRevoked(t *testing.T) {
	g, a, store := world(t)
	kept := g.put(a, ann, -time.Hour)
	g.refresh[kept.Grant.Refresh] = false
	_, err := a.Token(t.Context(), ann.principal, Gmail)
	revoked, ok := errors.AsType[*RevokedError](err)
	if !ok || revoked.Email != "ann@example.com" || revoked.Service != Gmail {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"ann@example.com", "Gmail", `"Testing"`, "7 days", "password", "removed", "6 months"} {
		if !g.says(err, want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if _, err := store.Read(ann.entry()); err == nil {
		t.Error("the grant is kept")
	}
	if _, err := a.Token(t.Context(), ann.principal, Gmail); err != ErrNoGrant || g.requests() != 1 {
		t.Errorf("afterwards: %v", err)
	}
}

// TestNoGrant has records that do not count.
func TestNoGrant(t *testing.T) {
	g, a, store := world(t)
	kept := g.put(a, ann, time.Hour)
	other := accountsOn(t, g.URL, store, func(c *Config) { c.ClientID = "another.apps.example" })
	if _, err := other.Token(t.Context(), ann.principal, Gmail); !errors.Is(err, ErrNoGrant) || !g.says(err, "another OAuth client") {
		t.Errorf("another client: %v", err)
	}
	if f := begin(t, other, ann); !waiting(f) {
		t.Error(f.Err())
	}
	if _, err := a.Token(t.Context(), "user:bob", Gmail); err != ErrNoGrant {
		t.Errorf("another principal: %v", err)
	}
	bob := owner{"user:bob", Gmail}
	if err := a.save(bob, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := accountsOn(t, g.URL, store).Token(t.Context(), bob.principal, Gmail); !g.says(err, "no sign-in of this principal") {
		t.Errorf("the record of another principal: %v", err)
	}
	for _, damaged := range []string{"", "{", "null", `[]`, `{"principal":"user:ann","expiry":"soon"}`} {
		if err := store.Write(ann.entry(), []byte(damaged)); err != nil {
			t.Fatal(err)
		}
		if _, err := accountsOn(t, g.URL, store).Token(t.Context(), ann.principal, Gmail); !g.says(err, "no sign-in of this principal") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
	kept.Grant.Refresh = ""
	if err := a.save(ann, kept); err != nil {
		t.Fatal(err)
	}
	if _, err := accountsOn(t, g.URL, store).Token(t.Context(), ann.principal, Gmail); !errors.Is(err, ErrNoGrant) || !g.says(err, "no refresh token") {
		t.Errorf("no refresh token: %v", err)
	}
}

// TestRefreshFails has Google answer with errors that keep the grant.
func TestRefreshFails(t *testing.T) {
	status := func(code int, header ...string) func(w http.ResponseWriter, r *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			for pair := range slices.Chunk(header, 2) {
				w.Header().Set(pair[0], pair[1])
			}
			refuse(w, code, "internal_failure", r)
			return true
		}
	}
	for name, test := range map[string]struct {
		before     func(w http.ResponseWriter, r *http.Request) bool
		kind, want string
	}{
		"overloaded":            {status(503), "overloaded", "HTTP 503 from Google's token endpoint"},
		"rate limit":            {status(429, "Retry-After", "7"), "rate_limited", "HTTP 429"},
		"bad gateway":           {status(502), "http_status", "HTTP 502"},
		"unknown":               {status(418), "http_status", "HTTP 418"},
		"success with an error": {status(200), "http_status", "HTTP 200"},
		"client": {func(w http.ResponseWriter, r *http.Request) bool {
			refuse(w, 401, "invalid_client", r)
			return true
		}, "bad_credentials", "rejects the OAuth client"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }, "timed_out", "no answer in time"},
		"hangs in the body": {func(w http.ResponseWriter, r *http.Request) bool {
			fmt.Fprint(w, `{"access_token":"ya29`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return true
		}, "timed_out", "no answer in time"},
		"repeats what was sent": {func(w http.ResponseWriter, r *http.Request) bool {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(conn, "%s\r\n\r\n", r.PostForm.Get("refresh_token"))
			conn.Close()
			return true
		}, "unreachable", "connection failed"},
	} {
		t.Run(name, func(t *testing.T) {
			g, a, _ := world(t)
			a.answer = 30 * time.Millisecond
			if !strings.HasPrefix(name, "hangs") {
				a.answer = time.Minute
			}
			kept := g.put(a, ann, -time.Hour)
			g.before = test.before
			_, err := a.Token(t.Context(), ann.principal, Gmail)
			f, ok := errors.AsType[*httpcall.Failure](err)
			if !ok || f.Type != test.kind || !g.says(err, test.want) || f.Hint == "" {
				t.Errorf("%v, %+v; want %s, %q", err, f, test.kind, test.want)
			}
			if after, err := a.stored(ann); err != nil || after.Grant.Refresh != kept.Grant.Refresh || after.Grant.Access != kept.Grant.Access {
				t.Errorf("kept: %+v, %v", after, err)
			}
			g.set(func() { g.before = nil })
			a.answer = time.Minute
			if _, err := a.Token(t.Context(), ann.principal, Gmail); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestCanceledCaller cancels one of the callers who share a refresh.
func TestCanceledCaller(t *testing.T) {
	g, a, _ := world(t)
	g.put(a, ann, -time.Hour)
	arrived, goOn := make(chan bool), make(chan bool)
	g.before = func(http.ResponseWriter, *http.Request) bool { close(arrived); <-goOn; return false }
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := a.Token(ctx, ann.principal, Gmail); first <- err }()
	<-arrived
	go func() { _, err := a.Token(t.Context(), ann.principal, Gmail); second <- err }()
	cancel()
	if err := <-first; err != context.Canceled {
		t.Errorf("the one who was canceled: %v", err)
	}
	close(goOn)
	if err := <-second; err != nil {
		t.Errorf("the other: %v", err)
	}
	if n := g.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// TestRenewDuringRefresh renews the very token that another caller's refresh is about to return.
func TestRenewDuringRefresh(t *testing.T) {
	g, a, _ := world(t)
	g.put(a, ann, -time.Hour)
	arrived, goOn := make(chan string), make(chan bool)
	g.before = func(http.ResponseWriter, *http.Request) bool {
		g.before = nil
		arrived <- fmt.Sprintf("ya29.access-secret-%d", g.n+1)
		<-goOn
		return false
	}
	type result struct {
		token Token
		err   error
	}
	first, second := make(chan result, 1), make(chan result, 1)
	go func() { token, err := a.Token(t.Context(), ann.principal, Gmail); first <- result{token, err} }()
	next := <-arrived
	called := make(chan bool)
	go func() {
		close(called)
		token, err := a.Renew(t.Context(), ann.principal, Gmail, next)
		second <- result{token, err}
	}()
	<-called
	for range 10_000 {
		runtime.Gosched() // so that it most likely finds the first refresh in flight
	}
	close(goOn)
	if r := <-first; r.err != nil || r.token.Access != next {
		t.Errorf("%+v, want %s", r, next)
	}
	if r := <-second; r.err != nil || r.token.Access == next {
		t.Errorf("%+v", r)
	}
}

// TestGoneMeanwhile has another process end the sign-in while this one waits for the lock.
func TestGoneMeanwhile(t *testing.T) {
	g, a, store := world(t)
	g.put(a, ann, -time.Hour)
	unlock, err := store.Lock(t.Context(), ann.entry())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { _, err := a.Token(t.Context(), ann.principal, Gmail); failed <- err }()
	for range 10_000 {
		runtime.Gosched() // so that it most likely waits for the lock
	}
	if err := store.Remove(ann.entry()); err != nil {
		t.Error(err)
	}
	unlock()
	if err := <-failed; err != ErrNoGrant || g.requests() != 0 {
		t.Errorf("%v", err)
	}
}

// TestNotPersisted cannot keep a new token: nobody uses it.
func TestNotPersisted(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("permissions are those of POSIX")
	}
	g := newGoogle(t)
	dir := filepath.Join(t.TempDir(), "state")
	a := accountsOn(t, g.URL, fileStore(sandbox.NewState(dir, "google"), ""))
	g.put(a, ann, -time.Hour)
	g.before = func(http.ResponseWriter, *http.Request) bool {
		if err := os.Chmod(dir, 0o755); err != nil { // which the state directory refuses
			t.Error(err)
		}
		return false
	}
	if token, err := a.Token(t.Context(), ann.principal, Gmail); err == nil || token.Access != "" || !g.says(err, "chmod 700") {
		t.Errorf("%+v, %v", token, err)
	}
}

func TestSignOut(t *testing.T) {
	g, a, store := apart(t)
	if _, err := a.SignOut(t.Context(), ann.principal, Gmail); err != ErrNoGrant {
		t.Errorf("nothing to end: %v", err)
	}
	kept := g.put(a, ann, time.Hour)
	if _, err := a.SignOut(t.Context(), ann.principal, Gmail); err != nil || !slices.Equal(g.revoked, []string{kept.Grant.Refresh}) {
		t.Errorf("%v, revoked %v", err, g.revoked)
	}
	if _, err := store.Read(ann.entry()); err == nil {
		t.Error("the grant is kept")
	}
	g.put(a, ann, time.Hour)
	g.before = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, 503, "", r); return true }
	if _, err := a.SignOut(t.Context(), ann.principal, Gmail); !g.says(err, "forgotten here, but was not revoked: HTTP 503") {
		t.Errorf("%v", err)
	}
	if _, err := store.Read(ann.entry()); err == nil {
		t.Error("the grant is kept")
	}
	g.put(a, ann, time.Hour)
	g.before = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, 400, "invalid_token", r); return true }
	if _, err := a.SignOut(t.Context(), ann.principal, Gmail); err != nil {
		t.Errorf("a token that is no longer valid: %v", err)
	}
	if err := store.Write(ann.entry(), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.SignOut(t.Context(), ann.principal, Gmail); !g.says(err, "was not revoked") {
		t.Errorf("%v", err)
	}
	if _, err := store.Read(ann.entry()); err == nil {
		t.Error("what cannot be read is kept")
	}
	// Google's grant is one for all services of an account: the other goes on.
	g.before = nil
	g.put(a, ann, time.Hour)
	calendar := *g.put(a, owner{"user:bo", Gmail}, time.Hour)
	calendar.Principal = string(ann.principal)
	if err := a.grants[Calendar].Save(string(ann.principal), &calendar); err != nil {
		t.Fatal(err)
	}
	before := len(g.revoked)
	if note, err := a.SignOut(t.Context(), ann.principal, Gmail); err != nil || len(g.revoked) != before || !strings.Contains(note, "forgotten here only: at Google the access is one with that to Google Calendar") {
		t.Errorf("%q, %v, revoked %v", note, err, g.revoked)
	}
	all, err := a.Status(ann.principal)
	if err != nil || all[0].SignedIn || !all[1].SignedIn {
		t.Errorf("%+v, %v", all, err)
	}
	g.put(a, ann, time.Hour)
	if note, err := a.SignOut(t.Context(), ann.principal, Gmail, Services()...); err != nil || len(g.revoked) != before+1 || !strings.Contains(note, "revoked") {
		t.Errorf("%q, %v, revoked %v", note, err, g.revoked)
	}
}

// apart is [world] with a store for each service.
func apart(t *testing.T) (*google, *Accounts, signin.Store) {
	return world(t, func(c *Config) {
		files := c.Store(Gmail)
		c.Store = func(s Service) signin.Store {
			if s != Gmail {
				return fileStore(sandbox.NewState(filepath.Join(t.TempDir(), string(s)), "google"), "")
			}
			return files
		}
	})
}

func TestStatus(t *testing.T) {
	g, a, store := apart(t)
	g.put(a, ann, time.Hour)
	all, err := a.Status(ann.principal)
	if err != nil || len(all) != 3 || all[0].Service != Gmail || !all[0].SignedIn || all[0].Kept != "file" || !slices.Equal(all[0].Missing, []string{mailSend}) ||
		all[1].SignedIn || all[1].Problem != "" || len(all[1].Asked) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := store.Write(ann.entry(), []byte("damaged")); err != nil {
		t.Fatal(err)
	}
	if all, err = a.Status(ann.principal); err != nil || len(all) != 3 || all[0].SignedIn || !strings.Contains(all[0].Problem, "is damaged") {
		t.Errorf("%+v, %v", all, err)
	}
	if n := g.requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}
