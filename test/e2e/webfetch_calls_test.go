package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestWebFetchCancel takes calls back: the site sees its connection closed, and
// no answer comes.
func TestWebFetchCancel(t *testing.T) {
	t.Parallel()
	begun, left := make(chan string, 8), make(chan string, 8)
	hang := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, before)
			if before != "" {
				w.(http.Flusher).Flush()
			}
			begun <- r.URL.Path
			<-r.Context().Done()
			left <- r.URL.Path
		}
	}
	site := serveSite(t, map[string]http.HandlerFunc{
		"/silent": hang(""), "/half": hang("half"), "/page": body("text/plain", "page"),
		"/moved": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/silent", http.StatusFound) },
	})
	c := openFetch(t, "", site)
	for i, path := range []string{"/silent", "/half", "/moved"} {
		call := c.begin("web_fetch", with(site+path))
		<-begun
		call.cancel()
		select {
		case <-left:
		case <-time.After(patience):
			t.Fatalf("%s: the connection stays", path)
		}
		if got := c.fetched(site+"/page", "refresh", true); got != "page" {
			t.Errorf("after a cancellation: %q", got)
		}
		answers := 0
		for _, line := range c.said() {
			if line.Method == "" {
				answers++
			}
		}
		if answers != 2+i { // to initialize and to each fetch of /page
			t.Errorf("%s: %d answers, one of them to a call that was canceled", path, answers)
		}
	}
	c.ping()
}

// TestWebFetchHTTP fetches for clients over HTTP, of both eras. A call that is
// taken back, or whose client is gone, is gone at the site too.
func TestWebFetchHTTP(t *testing.T) {
	t.Parallel()
	begun, left := make(chan struct{}, 8), make(chan struct{}, 8)
	site := serveSite(t, map[string]http.HandlerFunc{
		"/page": body("text/html", "<title>T</title><p>page"),
		"/hang": func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-r.Context().Done()
			left <- struct{}{}
		},
	})
	s := startHTTP(t, binary(), httpConfig(t, t.TempDir(), privateHosts(site))...)
	for _, version := range []string{"2025-11-25", modernVersion} {
		p := s.newPeer(t, version, "")
		want := "URL: " + site + "/page\nStatus: 200\nContent-Type: text/html\nTitle: T\nLength: 4 chars\n\n--- Content ---\n\npage"
		if a := p.call(t, "web_fetch", with(site+"/page")); a.failed() || a.text() != want || a.Result.Meta["status"] != 200.0 {
			t.Errorf("%s: %s %v", version, a.text(), a.Result.Meta)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		reply := p.send(ctx, p.callMessage("1", "web_fetch", with(site+"/hang"), ""))
		<-begun
		if p.modern {
			hangUp()
		} else {
			p.post(t, cancelFirst, nil)
		}
		select {
		case <-left:
		case <-time.After(patience):
			t.Fatalf("%s: the connection stays", version)
		}
		<-reply
		hangUp()
	}
	s.running(t)
}

// TestWebFetchSideBySide fetches 20 pages of one host at a time, which sees no
// more than 6 at a time, while another that hangs holds up nobody.
func TestWebFetchSideBySide(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	six := make(chan struct{})
	var once sync.Once
	site := serveSite(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == 6 {
			once.Do(func() { close(six) })
		}
		select { // all six are there before one of them is answered
		case <-six:
			fmt.Fprint(w, "page ", r.URL.Path)
		case <-r.Context().Done():
		}
	}})
	hanging := serveSite(t, map[string]http.HandlerFunc{"/": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }})
	c := openFetch(t, "", site, hanging)
	var stuck []*pending
	for i := range 20 {
		stuck = append(stuck, c.begin("web_fetch", with(fmt.Sprintf("%s/%d", hanging, i))))
	}
	calls := map[int]*pending{}
	for i := range 20 {
		calls[i] = c.begin("web_fetch", with(fmt.Sprintf("%s/%d", site, i)))
	}
	for i, call := range calls {
		if a := c.finish(call); a.failed() || !strings.HasSuffix(a.text(), fmt.Sprintf("\n\npage /%d", i)) {
			t.Errorf("page %d: %s", i, a.text())
		}
	}
	if n := most.Load(); n != 6 {
		t.Errorf("the host was asked %d times at a time", n)
	}
	for _, call := range stuck {
		call.cancel()
	}
	c.ping()
}
