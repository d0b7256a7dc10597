package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestSettings holds settings to what Kubernetes accepts.
func TestSettings(t *testing.T) {
	good := DefaultSettings()
	good.Namespace, good.WarmPool, good.Token = "spaces", "work-2", "x"
	for name, test := range map[string]struct {
		change func(*Settings)
		key    string
	}{
		"as they are":        {func(*Settings) {}, ""},
		"no namespace":       {func(s *Settings) { s.Namespace = "" }, "namespace"},
		"a pool in capitals": {func(s *Settings) { s.WarmPool = "Work" }, "warm_pool"},
		"a path":             {func(s *Settings) { s.WarmPool = "a/b" }, "warm_pool"},
		"a long name":        {func(s *Settings) { s.WarmPool = strings.Repeat("a", 56) }, "warm_pool"},
		"nothing to show":    {func(s *Settings) { s.Token = "" }, "tls"},
		"half a pair":        {func(s *Settings) { s.TLS.Cert = "x" }, "tls"},
		"a whole pair":       {func(s *Settings) { s.Token, s.TLS = "", TLS{CA: "a", Cert: "b", Key: "c"} }, ""},
	} {
		s := good
		test.change(&s)
		if key, problem := s.Check(); key != test.key || (problem == "") != (key == "") {
			t.Errorf("%s: %s: %s", name, key, problem)
		}
	}
	label := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	seen := map[string]bool{}
	for _, profile := range []string{"all", "All", "Jörg & Söhne", "--", "", strings.Repeat("x ", 100), strings.Repeat("x-", 100)} {
		value := labelOf(profile)
		if !label.MatchString(value) || seen[value] {
			t.Errorf("profile %q has the label %q", profile, value)
		}
		seen[value] = true
	}
}

// api answers as an API server does that has one answer for everything.
func api(t *testing.T, status int, body string) Settings {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// serve returns settings for an API server that answers as h does.
func serve(t *testing.T, h http.HandlerFunc) Settings {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Settings{Namespace: "n", WarmPool: "p", Port: 1, Idle: time.Minute, ReadyTimeout: 5 * time.Second, API: API{URL: s.URL, TokenFile: token}}
}

// TestErrors says what an operator can do about answers of the API server, at once.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		body, want string
	}{
		"forbidden":     {403, `{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no, not you"}`, "grant its service account this verb: no, not you"},
		"no token":      {401, `{"kind":"Status","reason":"Unauthorized"}`, "token_file"},
		"no CRDs":       {404, "404 page not found\n", "install agent-sandbox"},
		"other":         {500, "{", "500"},
		"not an object": {200, "[]", "no such object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := New(api(t, test.status, test.body), "all", zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			_, err = w.Of("token:ann").Wake(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v does not say %q", err, test.want)
			}
		})
	}
}

// TestWatchesEnd has workspaces claimed though watches end at once, which they do for reasons of the API server and of proxies before it.
func TestWatchesEnd(t *testing.T) {
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pod.Close() })
	const list = `{"metadata":{"resourceVersion":"7"},"items":[]}`
	for name, test := range map[string]struct{ list, watch string }{
		"closed":      {list, ""},
		"cut off":     {list, `{"type":"ADD`},
		"expired":     {list, `{"type":"ERROR","object":{"kind":"Status","metadata":{},"status":"Failure","reason":"Expired","code":410}}`},
		"null events": {list, `null {"type":null,"object":null} {"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`},
		"null claims": {`{"metadata":null,"items":[null,{"metadata":null,"status":null}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			lists := make(chan bool, 3)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body := test.watch
				if r.Method == http.MethodPost {
					body = `{"metadata":{"resourceVersion":"8"},"status":{"conditions":[{"type":"Ready","status":"True"}],"sandbox":{"name":"s","podIPs":["127.0.0.1"]}}}`
				} else if r.Method == http.MethodPatch {
					body = "{}"
				} else if !r.URL.Query().Has("watch") {
					body = test.list
					select {
					case lists <- true:
					default:
					}
				}
				_, _ = w.Write([]byte(body))
			})
			s.Port = pod.Addr().(*net.TCPAddr).Port
			core, warnings := observer.New(zap.WarnLevel)
			w, err := New(s, "all", zap.New(core))
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			for range cap(lists) {
				<-lists
			}
			if _, err = w.Of("token:ann").Wake(t.Context()); err != nil || warnings.Len() > 0 {
				t.Errorf("%v, with the warnings %v", err, warnings.All())
			}
		})
	}
}

// TestBusy has an API server that has too much to do, and says when to ask again.
func TestBusy(t *testing.T) {
	for _, status := range []int{429, 500, 503} {
		asked := 0
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked < 3 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
			}
			_, _ = w.Write([]byte(`{}`))
		})
		c, err := newClient(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.do(t.Context(), "create", claims, "", map[string]any{}, &claim{}); err != nil || asked != 3 {
			t.Errorf("%d: asked %d times: %v", status, asked, err)
		}
	}
}

// TestResumeConflicts waits for a workspace that others write to while it is resumed, such as another endpoint that resumes it, too.
func TestResumeConflicts(t *testing.T) {
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pod.Close() })
	claim := func(version, ready, reason, ips string) string {
		return fmt.Sprintf(`{"metadata":{"name":"w-%s","resourceVersion":%q},"status":{"conditions":[{"type":"Ready","status":%q,"reason":%q}],"sandbox":{"name":"s","podIPs":[%s]}}}`,
			hash("all", "token:ann"), version, ready, reason, ips)
	}
	refused := make(chan bool)
	first := sync.OnceFunc(func() { close(refused) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"kind":"Status","status":"Failure","reason":"Conflict","code":409}`))
			first()
		case r.URL.Query().Has("watch"):
			select {
			case <-refused:
			case <-r.Context().Done():
			}
			_, _ = w.Write([]byte(`{"type":"MODIFIED","object":` + claim("2", "True", "DependenciesReady", `"127.0.0.1"`) + `}`))
		default:
			_, _ = w.Write([]byte(`{"metadata":{"resourceVersion":"1"},"items":[` + claim("1", "False", "SandboxSuspended", "") + `]}`))
		}
	})
	s.Port = pod.Addr().(*net.TCPAddr).Port
	w, err := New(s, "all", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Of("token:ann").Wake(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestReady reads claims as controllers leave them.
func TestReady(t *testing.T) {
	c := &claim{}
	if ok, _, message := c.ready(); ok || message == "" {
		t.Error("a claim that nobody has looked at is ready")
	}
	c.Status.Conditions = []struct{ Type, Status, Reason, Message string }{{"Ready", "True", "DependenciesReady", ""}}
	c.Status.Sandbox.Name = "s"
	for address, want := range map[string]bool{"10.0.0.7": true, "fd00::7": true, "169.254.169.254": false, "0.0.0.0": false, "evil.example": false, "": false} {
		c.Status.Sandbox.PodIPs = []string{address}
		if ok, _, _ := c.ready(); ok != want {
			t.Errorf("with the address %q it is ready: %v", address, ok)
		}
	}
	c.Status.Sandbox.PodIPs, c.Metadata.Deleted = []string{"10.0.0.7"}, "2026-01-01T00:00:00Z"
	if ok, _, _ := c.ready(); ok {
		t.Error("one that is being deleted is ready")
	}
}

// TestRoundTripWithoutPod sends nothing where there is no pod, and says so in a way that tells it from a call that may have had an effect.
func TestRoundTripWithoutPod(t *testing.T) {
	w, err := New(api(t, 500, ""), "all", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://elsewhere.example/mcp", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := w.Of("token:ann").RoundTrip(req); err == nil || res != nil || errors.Is(err, context.Canceled) {
		t.Errorf("it was sent: %v, %v", res, err)
	}
}
