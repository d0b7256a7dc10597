package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/toolserver/toolserver/domain"
)

// TestWatchAgain subscribes to a document while the subscription before has not ended: the
// server must not get the end of that last.
func TestWatchAgain(t *testing.T) {
	var over atomic.Bool
	subscribed := make(chan bool, 10)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(req.Body).Decode(&m)
		result := "{}"
		switch m.Method {
		case "server/discover", "":
			w.WriteHeader(http.StatusNotFound)
			return
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{}}`
		case "resources/subscribe":
			subscribed <- over.Load()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(far.Close)
	s := testServer(t, "far", Settings{URL: far.URL})
	registered(t, s)
	until(t, s, "ready", func() bool { return s.Report().Status == StatusReady })
	before := make(chan struct{})
	s.calls.watches.last = map[string]<-chan struct{}{"r://1": before}
	if err := s.calls.watches.watch(t.Context(), domain.Location{URI: "r://1"}, func() {}); err != nil {
		t.Fatal(err)
	}
	for range 10 { // time enough for whoever does not wait
		if _, err := s.Ping(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	over.Store(true)
	close(before)
	if !<-subscribed {
		t.Error("the subscription begins before the last one has ended")
	}
}
