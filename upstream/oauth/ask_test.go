package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

// user is a client whose user may open addresses.
type user struct {
	opens  bool
	action string
	visit  func(address string) // runs beside the call; may be nil

	mu       sync.Mutex
	visits   sync.WaitGroup
	asked    []string // addresses
	complete []string // elicitations
}

func (u *user) WantsProgress() bool         { return false }
func (u *user) Progress(call.Progress)      {}
func (u *user) Log(call.LogMessage)         {}
func (u *user) Supports(method string) bool { return u.opens && method == call.AskURL }
func (u *user) Round() (string, bool)       { return "", false }
func (u *user) Detach(string) bool          { return false }

func (u *user) Ended() <-chan struct{} { return nil }

func (u *user) Complete(elicitation string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.complete = append(u.complete, elicitation)
}

func (u *user) Ask(_ context.Context, requests map[string]call.InputRequest) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for name, r := range requests {
		data, err := json.Marshal(r.Params)
		if err != nil {
			return nil, err
		}
		var q struct{ URL string }
		if err := json.Unmarshal(data, &q); err != nil {
			return nil, err
		}
		u.mu.Lock()
		u.asked = append(u.asked, q.URL)
		u.mu.Unlock()
		if u.visit != nil {
			u.visits.Go(func() { u.visit(q.URL) })
		}
		answers[name] = json.RawMessage(`{"action":"` + u.action + `"}`)
	}
	return answers, nil
}

// TestAsk has callers of a tool sign in during the call, or says how to.
func TestAsk(t *testing.T) {
	for name, test := range map[string]struct {
		opens, serving, visits bool
		action                 string
		wants                  []string // parts of the refusal; nil for a result
	}{
		"signs in":              {true, true, true, "accept", nil},
		"signs in, one call":    {true, false, true, "accept", nil},
		"declines":              {true, true, false, "decline", []string{"upstream notes requires a sign-in", "did not agree"}},
		"cannot open":           {false, true, false, "", []string{"requires a sign-in", "opens http://127.0.0.1:", "toolserver upstream login notes --paste"}},
		"cannot open, one call": {false, false, false, "", []string{"requires a sign-in", "Run: toolserver upstream login notes"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.client(settings(func(s *Settings) { s.PerPrincipal = true }), func(c *Config) { c.Serving = func() bool { return test.serving } })
			u := &user{opens: test.opens, action: test.action}
			if test.visits {
				browser := newBrowser(t)
				u.visit = func(address string) { w.visit(browser, address) }
			}
			tool := domain.Define(domain.Tool{
				Name: "notes", Title: "Notes", Description: "Return what the upstream says.", Category: "test", Annotations: domain.Annotations{ReadOnly: true, Idempotent: true}, Ability: "test",
			}, func(ctx context.Context, _ struct{}) (domain.ToolResult, error) {
				for {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL(), strings.NewReader("{}"))
					if err != nil {
						return domain.ToolResult{}, err
					}
					_, body, err := w.send(c.Transport(""), req) // of the principal of the call
					e, ok := errors.AsType[*SignInRequired](err)
					if !ok {
						return domain.Text(body), err
					}
					refusal, err := e.Ask(ctx)
					if refusal != nil {
						return domain.Failure("sign_in_required", refusal.Message+". "+refusal.Remedy, refusal.Remedy), nil
					}
					if err != nil {
						return domain.ToolResult{}, err
					}
				}
			})
			session := domain.Session{ID: "s1", Principal: domain.Principal{ID: "user:ann"}}
			res, err := tooltest.Executor(t, tool).Call(t.Context(), call.ExecuteToolCommand{Session: session, Tool: "notes", Client: u})
			u.visits.Wait()
			if err != nil || res.IsError != (test.wants != nil) {
				t.Fatalf("%+v, %v", res, err)
			}
			text := w.show(tooltest.Text(res))
			for _, want := range test.wants {
				if !strings.Contains(text, want) {
					t.Errorf("%q has no %q", text, want)
				}
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			if (len(u.asked) == 1) != test.opens || test.visits != (len(u.complete) == 1) || test.visits != strings.HasPrefix(text, "ann ") {
				t.Errorf("asked %q, complete %q: %s", u.asked, u.complete, text)
			}
			if s, err := c.Status("user:ann"); s.SignedIn != test.visits || err != nil {
				t.Errorf("%+v, %v", s, err)
			}
			if s, err := c.Status("user:bob"); s.SignedIn || err != nil || slices.Contains(u.complete, "") {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}
