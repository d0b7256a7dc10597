package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/share"
)

// TestShares has one principal take all it can get of what there is for
// everybody, and asks as another one.
func TestShares(t *testing.T) {
	tokens, err := ParseTokens("token", []Token{{Name: "ann", Hash: HashToken("ann's")}, {Name: "bob", Hash: HashToken("bob's")}})
	if err != nil {
		t.Fatal(err)
	}
	bearer := func(who string) map[string]string { return map[string]string{"Authorization": "Bearer " + who + "'s"} }
	long := request(`1`, "tools/call", `{"name":"echo","arguments":{"text":"`+strings.Repeat("x", 2*longMessage)+`"}}`, true)
	for _, test := range []struct {
		name   string
		pool   func(*Server) **share.Pool
		msg    string
		modern bool
		status int // of the one that has too much
		code   string
	}{
		{"requests", func(s *Server) **share.Pool { return &s.requests }, request(`1`, "tools/list", `{}`, true), true, http.StatusOK, `"code":-32007`},
		{"long messages", func(s *Server) **share.Pool { return &s.held }, long, true, 0, ""},
		{"streams", func(s *Server) **share.Pool { return &s.streams }, request(`1`, "subscriptions/listen", `{"notifications":{}}`, true), true, http.StatusOK, `"code":-32007`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := fixture(t)
			pool := test.pool(s)
			*pool = share.NewPool(12*longMessage, 0)
			for (*pool).TryAcquire("token:bob", longMessage) {
			}
			for (*pool).TryAcquire("token:bob", 1) {
			}
			url := httpFixture(t, s, tokens).URL + "/mcp"
			ask := func(who string) (int, string) {
				resp := post(t, url, "", test.msg, test.modern, bearer(who))
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				return resp.StatusCode, string(body)
			}
			if test.code == "" {
				// bob would wait to be read
			} else if status, body := ask("bob"); status != test.status || !strings.Contains(body, test.code) {
				t.Errorf("bob: %d %.200s", status, body)
			}
			if status, body := ask("ann"); status != http.StatusOK || !strings.Contains(body, `"result"`) {
				t.Errorf("ann: %d %.200s", status, body)
			}
		})
	}
}

// TestEndedSessionHasNoTimer checks that a session that was deleted while its
// request was in flight is not kept until it would have expired.
func TestEndedSessionHasNoTimer(t *testing.T) {
	s, _ := fixture(t)
	all := newSessions(s, time.Hour, 1)
	ses, ok := all.create("ann")
	if !ok {
		t.Fatal("there is no room for a session")
	}
	all.establish(ses)
	all.drop(ses, false)
	all.release(ses)
	if ses.idle.Stop() {
		t.Error("a timer keeps a session that has ended")
	}
}

// TestSubscriptionsShared has one principal subscribe to all it can, and others go on,
// also while the documents are looked at again after a reload.
func TestSubscriptionsShared(t *testing.T) {
	s, registry := fixture(t)
	s.watches = share.NewPool(8, 0)
	opening, open := make(chan struct{}), make(chan struct{})
	again := false
	offer := func() {
		registry.Register(domain.FixedSource("documents", domain.Offer{Resources: []domain.Resource{{
			Template: "doc:///{name}", Name: "doc", Description: "A document.",
			Read: func(context.Context, domain.Location) ([]domain.Content, error) { return nil, nil },
			Watch: func(context.Context, domain.Location, func()) error {
				if again {
					opening <- struct{}{}
					<-open
				}
				return nil
			},
		}}}, nil))
	}
	offer()
	subscribe := func(l *listener, uri string) error {
		return l.subscribe(caller{principal: domain.Principal{ID: l.owner}, authenticator: everybody{}}, uri)
	}
	ann, bob := s.begin("a", "user:anonymous").changes, s.begin("b", "bob").changes
	n := 0
	for ; n < 20 && subscribe(ann, fmt.Sprintf("doc:///%d", n)) == nil; n++ {
	}
	if n != 6 || subscribe(bob, "doc:///x") != nil {
		t.Errorf("one has %d of 8 subscriptions, and another gets none", n)
	}
	bob.close()
	ann.unsubscribe("doc:///0")
	if err := subscribe(ann, "doc:///6"); err != nil {
		t.Error(err)
	}
	again = true
	go offer()
	<-opening
	s.begin("c", "carl").close() // while the documents of ann are opened again
	again = false
	close(open)
	ann.close()
	if held := s.watches.InUse(); held != 0 {
		t.Errorf("%d subscriptions are held after the last has ended", held)
	}
}
