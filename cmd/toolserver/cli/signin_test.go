package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// googleWorld is a command line whose Google is a stand-in that grants everything, unless its answer has an error.
type googleWorld struct {
	t      *testing.T
	state  string
	base   string
	refuse string
}

func newGoogleWorld(t *testing.T) *googleWorld {
	w := &googleWorld{t: t, state: filepath.Join(workspace(t), "state")}
	mux := http.NewServeMux()
	mux.HandleFunc("/o/oauth2/v2/auth", func(rw http.ResponseWriter, r *http.Request) {
		query := "code=4/secret-code"
		if w.refuse != "" {
			query = "error=" + w.refuse
		}
		http.Redirect(rw, r, r.FormValue("redirect_uri")+"?"+query+"&state="+r.FormValue("state"), http.StatusFound)
	})
	mux.HandleFunc("/token", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"access_token":"secret-access","refresh_token":"secret-refresh","expires_in":3599,"scope":"openid https://www.googleapis.com/auth/gmail.readonly","id_token":"e30.eyJlbWFpbCI6ImFubkBleGFtcGxlLmNvbSJ9.c2ln"}`)
	})
	mux.HandleFunc("/revoke", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w.base = server.URL
	return w
}

func (w *googleWorld) accounts(*app.App) (*signin.Accounts, error) {
	return signin.New(signin.Config{
		ClientID: "id", ClientSecret: "secret-client", BaseURL: w.base,
		HTTP: func(signin.Service) *http.Client { return &http.Client{} },
		Store: func(s signin.Service) pages.Store {
			return pages.NewStore(pages.StoreConfig{State: sandbox.NewState(w.state, string(s)), Forget: "toolserver auth google revoke"})
		},
		Scopes: func(s signin.Service) []string {
			if s != signin.Gmail {
				return nil // no tool needs it
			}
			return []string{"https://www.googleapis.com/auth/gmail.readonly", "https://www.googleapis.com/auth/gmail.send"}
		},
	}), nil
}

// run runs a command line, and calls meanwhile with what it prints.
func (w *googleWorld) run(ctx context.Context, args, stdin string, meanwhile func(line string)) (out string, code int) {
	w.t.Helper()
	return w.runWith(ctx, args, strings.NewReader(stdin), meanwhile)
}

func (w *googleWorld) runWith(ctx context.Context, args string, stdin io.Reader, meanwhile func(line string)) (out string, code int) {
	w.t.Helper()
	r, pipe := io.Pipe()
	done := make(chan int, 1)
	go func() {
		g := newGlobals(app.Streams{In: stdin, Out: pipe, Err: pipe}, app.Program{})
		root := bareRoot(g)
		root.AddCommand(authCommand(g, w.accounts))
		done <- g.execute(ctx, root, strings.Fields(args))
		pipe.Close()
	}()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		out += lines.Text() + "\n"
		if meanwhile != nil {
			meanwhile(lines.Text())
		}
	}
	for _, secret := range []string{"secret-access", "secret-refresh", "secret-client", "secret-code"} {
		if strings.Contains(out, secret) {
			w.t.Errorf("%s prints a secret: %s", args, out)
		}
	}
	return out, <-done
}

// visit opens the address in a line as a browser does, and returns the address it ends at.
func (w *googleWorld) visit(line string) string {
	address := strings.TrimSpace(line)
	if !strings.HasPrefix(address, "http://") {
		return ""
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	end := ""
	c := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if end = r.URL.String(); strings.HasPrefix(address, w.base) {
			return http.ErrUseLastResponse // on another machine
		}
		return nil
	}}
	res, err := c.Get(address)
	if err != nil {
		w.t.Fatal(err)
	}
	res.Body.Close()
	return end
}

func TestAuthGoogle(t *testing.T) {
	w := newGoogleWorld(t)
	follow := func(line string) { w.visit(line) }
	for _, test := range []struct {
		name, args string
		refuse     string
		code       int
		want       []string
		not        string
	}{
		{name: "nothing yet", args: "auth google status", code: 1, want: []string{"Gmail: not signed in; run toolserver auth google --services gmail"}, not: "Calendar"},
		{name: "nothing to revoke", args: "auth google revoke", want: []string{"Gmail: not signed in", "Google Calendar: not signed in"}},
		{name: "denied", args: "auth google --no-browser", refuse: "access_denied", code: 1, want: []string{"not signed in to Gmail: it was not allowed"}},
		{name: "denied one by one", args: "auth google --no-browser --services gmail,calendar", refuse: "access_denied", code: 1, want: []string{"not signed in to Gmail: it was not allowed", "not signed in to Google Calendar: it was not allowed"}},
		{name: "sign in", args: "auth google --no-browser", want: []string{"search and read mail (https://", "http://127.0.0.1:", "Gmail: signed in as ann@example.com", "not granted: send mail"}, not: "Calendar"},
		{name: "status", args: "auth google status", want: []string{"Gmail: signed in as ann@example.com", "granted: search and read mail", "kept in: file"}},
		{name: "status of one that is not", args: "auth google status --services gmail,calendar", code: 1, want: []string{"Google Calendar: not signed in"}},
		{name: "again", args: "auth google --no-browser --services Gmail --again", want: []string{"signed in as ann@example.com"}},
		{name: "another principal", args: "auth google status --principal token:bob", code: 1, want: []string{"not signed in"}},
		{name: "revoke", args: "auth google revoke --services gmail", want: []string{"Gmail: revoked"}},
		{name: "revoked", args: "auth google status", code: 1, want: []string{"not signed in"}},
		{name: "unknown service", args: "auth google --services drive", code: 2, want: []string{"the services are gmail, calendar and contacts"}},
		{name: "unexpected argument", args: "auth google sing-in", code: 2, want: []string{"unexpected argument"}},
		{name: "unknown flag", args: "auth google --bogus", code: 2, want: []string{"unknown flag"}},
		{name: "unknown principal", args: "auth google --principal nobody", code: 2, want: []string{"there is no principal"}},
	} {
		w.refuse = test.refuse
		out, code := w.run(t.Context(), test.args, "", follow)
		if code != test.code || test.not != "" && strings.Contains(out, test.not) {
			t.Errorf("%s: exit code %d, want %d: %s", test.name, code, test.code, out)
		}
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q: %s", test.name, want, out)
			}
		}
	}
}

// TestAuthGooglePaste pastes addresses that another machine ends at.
func TestAuthGooglePaste(t *testing.T) {
	w := newGoogleWorld(t)
	r, in := io.Pipe()
	defer in.Close()
	printed := make(chan string, 1)
	go func() {
		end := w.visit(<-printed)
		fmt.Fprintf(in, "nonsense\n%s\n", end)
	}()
	out, code := w.runWith(t.Context(), "auth google --paste", r, func(line string) {
		if strings.Contains(line, w.base) {
			printed <- line
		}
	})
	if code != exitOK || !strings.Contains(out, "this is not the address") || !strings.Contains(out, "signed in as ann@example.com") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := w.run(t.Context(), "auth google --paste --again", "", nil); code != exitFailed || !strings.Contains(out, "no address was pasted") {
		t.Errorf("nothing is pasted: exit code %d: %s", code, out)
	}
	if out, code := w.run(t.Context(), "auth google --paste --again", strings.Repeat("x\n", 9), nil); code != exitFailed || !strings.Contains(out, "no address that belongs to it") {
		t.Errorf("nonsense is pasted: exit code %d: %s", code, out)
	}
	out, code = w.run(t.Context(), "auth google status --json --services gmail", "", nil)
	var status struct {
		Principal string
		Services  []signin.Status
	}
	if err := json.Unmarshal([]byte(out), &status); err != nil || code != exitOK || len(status.Services) != 1 || !status.Services[0].SignedIn || !strings.HasPrefix(status.Principal, "user:") {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

// TestAuthGoogleInterrupted interrupts a sign-in that waits.
func TestAuthGoogleInterrupted(t *testing.T) {
	w := newGoogleWorld(t)
	for _, args := range []string{"auth google --no-browser", "auth google --paste"} {
		ctx, interrupt := context.WithCancel(t.Context())
		r, in := io.Pipe() // nobody pastes
		out, code := w.runWith(ctx, args, r, func(line string) {
			if strings.Contains(line, "http://127.0.0.1:") {
				interrupt()
			}
		})
		in.Close()
		interrupt()
		if code != exitFailed || !strings.Contains(out, "interrupted: not signed in to Gmail") {
			t.Errorf("%s: exit code %d: %s", args, code, out)
		}
	}
	if out, _ := w.run(t.Context(), "auth google status", "", nil); !strings.Contains(out, "not signed in") {
		t.Error(out)
	}
}

// TestAuthGoogleNotConfigured has no credentials.
func TestAuthGoogleNotConfigured(t *testing.T) {
	workspace(t)
	t.Setenv("GOOGLE_CLIENT_ID", "")
	t.Setenv("GOOGLE_CLIENT_SECRET", "")
	if _, stderr, code := play(t, "", "auth", "google"); code != exitFailed || !strings.Contains(stderr, "GOOGLE_CLIENT_ID") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
