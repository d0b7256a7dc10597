package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/test/fakes/oauth"
)

// world is an upstream that requires OAuth, with a client that signs in to it. At the end of the test no client may have done what
// the specifications forbid, unless the test says so, and nothing that was shown may have a secret.
type world struct {
	*oauth.Server
	t     *testing.T
	dir   string
	wrong bool // clients are expected to do wrong

	mu    sync.Mutex
	shown []string
}

func newWorld(t *testing.T) *world {
	w := &world{Server: oauth.Start(), t: t, dir: filepath.Join(t.TempDir(), "state")}
	t.Cleanup(func() {
		w.Close()
		if found := w.Problems(); len(found) > 0 && !w.wrong {
			t.Errorf("the client does what is forbidden: %q", found)
		}
		for _, secret := range w.Secrets() {
			for _, text := range w.shown {
				if strings.Contains(text, secret) {
					t.Errorf("a secret is shown: %q has %q", text, secret)
				}
			}
		}
	})
	return w
}

// client returns a client of the upstream, whose state is that of all others of this world.
func (w *world) client(changes ...func(*Config)) *Client {
	w.t.Helper()
	config := Config{
		Upstream: "notes", URL: w.URL(), HTTP: &http.Transport{DisableKeepAlives: true}, State: sandbox.NewState(w.dir, "upstream"), Linger: time.Millisecond,
	}
	for _, change := range changes {
		change(&config)
	}
	c, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// settings changes the settings of a client.
func settings(change func(*Settings)) func(*Config) {
	return func(c *Config) { change(&c.Settings) }
}

// show notes what people get to see.
func (w *world) show(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, text)
	return text
}

// says notes an error, and reports whether it has a text.
func (w *world) says(err error, want string) bool {
	return err != nil && strings.Contains(w.show(err.Error()), want)
}

// call sends a request to the upstream for a principal.
func (w *world) call(c *Client, principal, method string) (status int, body string, err error) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL(), strings.NewReader(`{"method":"`+method+`"}`))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send(c.Transport(principal), req)
}

func (w *world) send(transport http.RoundTripper, req *http.Request) (status int, body string, err error) {
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		w.show(err.Error())
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// required returns what an error asks a person for.
func required(t *testing.T, err error) *SignInRequired {
	t.Helper()
	e, ok := errors.AsType[*SignInRequired](err)
	if !ok {
		t.Fatalf("no sign-in is required: %v", err)
	}
	return e
}

// visit opens an address in a browser and returns the page that it ends at.
func (w *world) visit(browser *http.Client, address string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := browser.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, w.show(string(page))
}

func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
}

// signIn does what an error asks a person for, and returns how it ended.
func (w *world) signIn(err error) error {
	w.t.Helper()
	flow, err := required(w.t, err).Begin(w.t.Context())
	if err != nil {
		w.show(err.Error())
		return err
	}
	return w.finish(flow)
}

func (w *world) finish(flow *signin.Flow) error {
	w.t.Helper()
	_, page := w.visit(newBrowser(w.t), flow.URL)
	select {
	case <-flow.Done():
	default:
		w.t.Fatalf("the sign-in is not done: %s", page)
	}
	if err := flow.Err(); err != nil {
		w.show(err.Error())
		return err
	}
	return nil
}

// signedIn has a principal sign in.
func (w *world) signedIn(c *Client, principal string) {
	w.t.Helper()
	_, _, err := w.call(c, principal, "tools/list")
	if err := w.signIn(err); err != nil {
		w.t.Fatal(err)
	}
	w.works(c, principal)
}

// works checks that a principal's requests are answered.
func (w *world) works(c *Client, principal string) {
	w.t.Helper()
	if status, body, err := w.call(c, principal, "tools/list"); status != http.StatusOK || !strings.HasPrefix(body, "ann ") || err != nil {
		w.t.Errorf("%d %q, %v", status, body, err)
	}
}

// grants returns how often a token was requested with a grant type.
func (w *world) grants(grantType string) (n int) {
	for _, r := range w.Requests("/token") {
		if r.Form.Get("grant_type") == grantType {
			n++
		}
	}
	return n
}

// newKey returns a private key in PEM with its public key.
func newKey(t *testing.T) (string, *ecdsa.PublicKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), &key.PublicKey
}

// at returns the time of a clock that a test moves.
func at(now *time.Time) func(*Config) {
	return func(c *Config) { c.Now = func() time.Time { return *now } }
}

// canceled returns a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func sameScopes(got string, want ...string) bool {
	scopes := strings.Fields(got)
	slices.Sort(scopes)
	slices.Sort(want)
	return slices.Equal(scopes, want)
}
