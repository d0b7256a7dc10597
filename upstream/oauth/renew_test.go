package oauth

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// callers is how many calls a process makes at a time.
const callers = 20

// TestMain lets the test binary be another process that uses the same grants.
func TestMain(m *testing.M) {
	dir, address := os.Getenv("TEST_OAUTH_STATE"), os.Getenv("TEST_OAUTH_URL")
	if dir == "" {
		os.Exit(m.Run())
	}
	c, err := New(Config{Upstream: "notes", URL: address, HTTP: http.DefaultTransport, State: sandbox.NewState(dir, "upstream")})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if os.Getenv("TEST_OAUTH_FOREVER") != "" {
		for stale := ""; ; {
			g, err := c.grants.Current(context.Background(), string(everyone), stale)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			stale = g.Access
		}
	}
	got := make([]string, callers)
	var calls sync.WaitGroup
	for i := range got {
		calls.Go(func() {
			req, err := http.NewRequest(http.MethodPost, address, strings.NewReader("{}"))
			if err != nil {
				panic(err)
			}
			res, err := (&http.Client{Transport: c.Transport("")}).Do(req)
			if err != nil {
				got[i] = err.Error()
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			got[i] = res.Status
		})
	}
	calls.Wait()
	for _, line := range got {
		fmt.Println(line)
	}
	os.Exit(0)
}

// process is another process with a client.
type process struct {
	*exec.Cmd
	out   *bufio.Reader
	begin func()
}

// start starts a process, which waits until it is told to begin.
func (w *world) start(env ...string) *process {
	w.t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), append(env, "TEST_OAUTH_STATE="+w.dir, "TEST_OAUTH_URL="+w.URL())...)
	stdin, err := p.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	stdout, err := p.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	p.out = bufio.NewReader(stdout)
	if line, err := p.out.ReadString('\n'); line != "ready\n" {
		w.t.Fatalf("a process says %q, %v", line, err)
	}
	p.begin = func() { fmt.Fprintln(stdin) }
	return p
}

// TestOneRefresh has many calls of many processes find a token that is no longer accepted. Refresh tokens are rotated, and one that
// is used twice ends the grant.
func TestOneRefresh(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "")
	w.EndAccess()
	const processes = 8
	var all []*process
	for range processes {
		all = append(all, w.start())
	}
	for _, p := range all {
		p.begin()
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
	if n := w.grants(grantRefresh); n != 1 || seen["200 OK\n"] != processes*callers {
		t.Errorf("%d refreshes, %v", n, seen)
	}
}

// TestKilled kills a process again and again while it refreshes a token that is rotated. What is kept can always be read, and is
// either good or leads to one sign-in.
func TestKilled(t *testing.T) {
	kills := 40
	if testing.Short() {
		kills = 10
	}
	w := newWorld(t)
	w.wrong = true // a refresh token whose successor was lost is used again
	c := w.client()
	w.signedIn(c, "")
	lost := 0
	for range kills {
		p := w.start("TEST_OAUTH_FOREVER=1")
		end := sync.OnceFunc(func() { _ = p.Process.Kill() })
		after := 1 + rand.IntN(4) // requests
		w.Set(func() {
			w.Before = func(_ http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/token" {
					return false
				}
				w.Set(func() {
					if after--; after == 0 { // some moment between this request and what follows its answer
						time.AfterFunc(rand.N(3*time.Millisecond), end)
					}
				})
				return false
			}
		})
		p.begin()
		if line, err := p.out.ReadString('\n'); err == nil {
			t.Errorf("the process says %q", line)
		}
		end()
		_ = p.Wait() // it was killed
		w.Set(func() { w.Before = nil })
		data, err := os.ReadFile(filepath.Join(w.dir, "upstream", c.name("grant", "")))
		var kept grant
		if err != nil || json.Unmarshal(data, &kept) != nil || kept.Refresh == "" {
			t.Fatalf("kept %q, %v", data, err)
		}
		next := w.client()
		w.EndAccess()
		status, body, err := w.call(next, "", "tools/list")
		if _, ok := errors.AsType[*SignInRequired](err); ok {
			lost++
			w.signedIn(next, "")
		} else if status != http.StatusOK || err != nil {
			t.Fatalf("%d %s, %v", status, body, err)
		}
		_ = next.Close()
	}
	t.Logf("%d of %d kills lost the grant", lost, kills)
}

// TestExpiry refreshes a token before it expires, and uses it as long as it is valid if that fails.
func TestExpiry(t *testing.T) {
	now := time.Now()
	w := newWorld(t)
	c := w.client(at(&now))
	w.signedIn(c, "")
	now = now.Add(58 * time.Minute)
	w.works(c, "")
	if n := w.grants(grantRefresh); n != 0 {
		t.Errorf("%d refreshes two minutes before", n)
	}
	now = now.Add(90 * time.Second)
	fails := func(to http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			to.WriteHeader(http.StatusBadGateway)
		}
		return r.URL.Path == "/token"
	}
	w.Set(func() { w.Before = fails })
	w.works(c, "")
	w.Set(func() { w.Before = nil })
	w.works(c, "")
	if n := w.grants(grantRefresh); n != 1 {
		t.Errorf("%d refreshes half a minute before", n)
	}
	now = now.Add(2 * time.Hour)
	w.Set(func() { w.Before = fails })
	_, _, err := w.call(c, "", "tools/list")
	if f, ok := errors.AsType[*httpcall.Failure](err); !ok || f.Status != http.StatusBadGateway || !w.says(err, "HTTP 502") {
		t.Errorf("%v", err)
	}
	if s, err := c.Status(""); !s.SignedIn || err != nil {
		t.Errorf("the grant is lost: %+v, %v", s, err)
	}
	w.Set(func() { w.Before = nil })
	w.works(c, "")
}

// TestEnded has the authorization server end a grant, or give no refresh token.
func TestEnded(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "")
	w.EndGrants()
	_, _, err := w.call(c, "", "tools/list")
	if required(t, err); !w.says(err, "no longer accepts the sign-in") {
		t.Error(err)
	}
	w.Set(func() { w.NoRefresh = true })
	w.signedIn(c, "")
	if s, err := c.Status(""); !s.SignedIn || s.Renews || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	w.EndAccess()
	_, _, err = w.call(c, "", "tools/list")
	if required(t, err); !w.says(err, "has expired") {
		t.Error(err)
	}
}

// TestChanged has the upstream, or its configuration, change after a sign-in: its token goes to nobody else.
func TestChanged(t *testing.T) {
	for name, change := range map[string]func(w, other *world) func(*Config){
		"the authorization server": func(w, other *world) func(*Config) {
			w.Change = func(document string, answer map[string]any) {
				if document == "resource" {
					answer["authorization_servers"] = []string{other.Issuer()}
				}
			}
			return func(*Config) {}
		},
		"the resource": func(w, _ *world) func(*Config) {
			w.Change = func(document string, answer map[string]any) {
				if document == "resource" {
					answer["resource"] = w.Resource.URL
				}
			}
			return func(*Config) {}
		},
		"the address":              func(_, other *world) func(*Config) { return func(c *Config) { c.URL = other.URL() } },
		"the client":               func(*world, *world) func(*Config) { return settings(func(s *Settings) { s.ClientID = "another" }) },
		"the issuer in the config": func(_, other *world) func(*Config) { return settings(func(s *Settings) { s.Issuer = other.Issuer() }) },
		"the upstream's name":      func(*world, *world) func(*Config) { return func(c *Config) { c.Upstream = "others" } },
	} {
		for _, late := range []bool{false, true} { // whether the token has expired, as far as the client knows
			t.Run(fmt.Sprintf("%s, %v", name, late), func(t *testing.T) {
				w, other := newWorld(t), newWorld(t)
				c := w.client()
				w.signedIn(c, "")
				w.EndAccess()
				now := time.Now()
				if late {
					now = now.Add(2 * time.Hour)
				}
				var with func(*Config)
				w.Set(func() { with = change(w, other) })
				c = w.client(with, at(&now))
				req, err := http.NewRequest(http.MethodPost, c.config.URL, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = w.send(c.Transport(""), req)
				if err == nil {
					t.Error("the old grant is used")
				}
				if n := w.grants(grantRefresh); n > 0 {
					t.Errorf("%d refreshes", n)
				}
				for _, r := range other.Requests("/mcp") {
					if r.Auth != "" {
						t.Errorf("the other upstream gets %s", r.Auth)
					}
				}
				if n := len(other.Requests("/token")); n > 0 {
					t.Errorf("the other authorization server gets %d requests for tokens", n)
				}
			})
		}
	}
}

// TestPinned has an upstream name another authorization server than the one that a preregistered client was used with.
func TestPinned(t *testing.T) {
	w, evil := newWorld(t), newWorld(t)
	w.AnyPort = true
	w.Clients["known"] = oauth.Client{Method: "client_secret_basic", Secret: "s3cr3t-known", Redirects: []string{"http://127.0.0.1/callback"}}
	known := settings(func(s *Settings) { s.ClientID, s.ClientSecret = "known", "s3cr3t-known" })
	c := w.client(known)
	w.signedIn(c, "")
	w.Set(func() {
		w.Change = func(document string, answer map[string]any) {
			if document == "resource" {
				answer["authorization_servers"] = []string{evil.Issuer()}
			}
		}
	})
	w.EndGrants()
	c = w.client(known)
	_, _, err := w.call(c, "", "tools/list")
	if err := w.signIn(err); !w.says(err, "client_id was used with "+w.Issuer()) || len(evil.Requests("/authorize"))+len(evil.Requests("/token")) > 0 {
		t.Error(err)
	}
}

// TestCanceled cancels one of the callers who share a refresh.
func TestCanceled(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	w.signedIn(c, "")
	kept, err := c.grants.Load(everyone, true)
	if err != nil {
		t.Fatal(err)
	}
	arrived, goOn := make(chan bool), make(chan bool)
	w.Set(func() {
		w.Before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				close(arrived)
				<-goOn
			}
			return false
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.grants.Current(ctx, string(everyone), kept.Access); first <- err }()
	<-arrived
	go func() { _, err := c.grants.Current(t.Context(), string(everyone), kept.Access); second <- err }()
	cancel()
	if err := <-first; err != context.Canceled {
		t.Errorf("the one who was canceled: %v", err)
	}
	close(goOn)
	if err := <-second; err != nil {
		t.Errorf("the other: %v", err)
	}
	if n := w.grants(grantRefresh); n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

// TestHangs has servers that do not answer in time.
func TestHangs(t *testing.T) {
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/register", "/token"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t)
			c := w.client()
			hangs := func(to http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == path {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = to.Write([]byte(`{"issuer":"`))
					to.(http.Flusher).Flush()
					<-r.Context().Done()
				}
				return r.URL.Path == path
			}
			if path == "/token" {
				w.signedIn(c, "")
				w.EndAccess()
			}
			c.answer = 100 * time.Millisecond
			w.Set(func() { w.Before = hangs })
			_, _, err := w.call(c, "", "tools/list")
			if e, ok := errors.AsType[*SignInRequired](err); ok {
				_, err = e.Begin(t.Context())
			}
			if f, ok := errors.AsType[*httpcall.Failure](err); !ok || f.Type != "timed_out" || !w.says(err, "no answer") {
				t.Errorf("%v", err)
			}
		})
	}
}
