package websearch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// same answers every request with the same body.
type same struct {
	kind, body string
}

func (s same) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(strings.NewReader(s.body)), Request: r}, nil
}

// connectAll returns the services, which get the same answer to all requests, and are never told to wait.
func connectAll(rt http.RoundTripper) map[string]*provider {
	o := DefaultOptions()
	o.Brave.APIKey, o.Tavily.APIKey, o.SearXNG.BaseURL = "k3y", "k3y", "http://searxng.test"
	all := map[string]*provider{}
	for _, s := range o.all() {
		all[s.name] = s.connect(&http.Client{Transport: rt})
		all[s.name].http.Limiter = nil
		all[s.name].http.Observe = nil
	}
	return all
}

var snake = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// fuzzAnswers searches with a service that answers whatever the fuzzer makes up.
func fuzzAnswers(f *testing.F, name, kind string) {
	f.Fuzz(func(t *testing.T, body string, count, page uint8) {
		q := Query{Text: "query", Count: int(count%20) + 1, Page: int(page % 10)}
		results, err := connectAll(same{kind, body})[name].find(context.Background(), q)
		if err != nil {
			if trouble, ok := errors.AsType[*httpcall.Failure](err); !ok || !snake.MatchString(trouble.Type) || trouble.Hint == "" || strings.ContainsAny(trouble.Message, "<>\n") {
				t.Fatalf("%#v", err)
			}
			return
		}
		checkResults(t, q, results)
	})
}

// checkResults checks what holds for all results, whatever a service sent.
func checkResults(t *testing.T, q Query, results Results) {
	t.Helper()
	if len(results.Items) > q.Count {
		t.Fatalf("%d results of %d", len(results.Items), q.Count)
	}
	seen := map[string]bool{}
	for _, r := range results.Items {
		_, key, ok := webAddress(r.URL)
		if !ok || seen[key] || r.Title == "" || strings.ContainsAny(r.URL, " <>\"\n") {
			t.Fatalf("%+v", r)
		}
		seen[key] = true
		for _, text := range append(r.ExtraSnippets, r.Title, r.Description, r.Age, r.URL) {
			if !utf8.ValidString(text) || text != strings.TrimSpace(text) || strings.ContainsFunc(text, odd) || utf8.RuneCountInString(text) > maxURL {
				t.Fatalf("%q of %+v", text, r)
			}
		}
	}
}

// odd reports whether a character does not belong in a line of text.
func odd(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

func FuzzBrave(f *testing.F) {
	f.Add(`{"type":"search","query":{"more_results_available":true},"web":{"results":[{"title":"A &amp; <b>B</b>","url":"https://example.com/","description":"x","age":"2 days ago","extra_snippets":["y"]},{"title":null,"url":"http://[::1"}]}}`, uint8(4), uint8(0))
	f.Add(`{"type":"search"}`, uint8(0), uint8(9))
	f.Add(`{"type":"ErrorResponse"}`, uint8(0), uint8(0))
	f.Add(`<html>`, uint8(0), uint8(0))
	fuzzAnswers(f, "brave", "application/json")
}

func FuzzSearXNG(f *testing.F) {
	f.Add(`{"results":[{"title":"T","url":"https://example.com/a","content":"C","publishedDate":null}],"unresponsive_engines":[["google","<b>x"],["y"],[]]}`, uint8(4), uint8(0))
	f.Add(`{"results":[],"unresponsive_engines":[["google","x"]]}`, uint8(4), uint8(0))
	f.Add(`{"results":null}`, uint8(4), uint8(3))
	f.Add(`{"results":[{"url":"http://<"}]}`, uint8(4), uint8(0))
	fuzzAnswers(f, "searxng", "application/json")
}

func FuzzTavily(f *testing.F) {
	f.Add(`{"results":[{"title":"T","url":"https://example.com/a","content":"C\n\u202e","score":1}]}`, uint8(4), uint8(0))
	f.Add(`{"results":[{"url":7}]}`, uint8(4), uint8(0))
	fuzzAnswers(f, "tavily", "application/json")
}

func FuzzDuckDuckGo(f *testing.F) {
	f.Add(`<table><tr><td><a class='result-link' href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com%2F">T <b>x</b></a></td></tr><tr><td class='result-snippet'>S &lt;b&gt;</td></tr><tr><td><span class='timestamp'>2026-01-01T00</span></td></tr></table><form class="next_form"><input type="hidden" name="s" value="10"></form>`, uint8(9), uint8(1))
	f.Add(`<form id="challenge-form"></form>`, uint8(4), uint8(0))
	f.Add(`No results.`, uint8(4), uint8(0))
	f.Add(`<tr><a class=result-link href=":"><tr><tr class=result-sponsored><a class=result-link>`, uint8(4), uint8(0))
	f.Add(`<table><td><a class='result-link'href=//0">0`, uint8(4), uint8(0))
	fuzzAnswers(f, "duckduckgo", "text/html")
}

// FuzzStatus gives all services an answer that is an error.
func FuzzStatus(f *testing.F) {
	f.Add(422, "", `{"type":"ErrorResponse","error":{"code":"VALIDATION","meta":{"errors":[{"loc":["query","q"]}]}}}`)
	f.Add(429, "1;w=1, 15000;w=2592000", `{"type":"ErrorResponse","errors":[{"code":"QUOTA_LIMITED","meta":7}]}`)
	f.Add(503, "1;w=1", `<html>`)
	f.Fuzz(func(t *testing.T, status int, policy, body string) {
		if status < 300 || status > 999 {
			return
		}
		h := http.Header{"X-Ratelimit-Policy": {policy}, "X-Ratelimit-Remaining": {body}, "X-Ratelimit-Reset": {policy}, "Retry-After": {body}}
		for _, name := range []string{"brave", "searxng", "tavily", "duckduckgo"} {
			e := judge(name, &httpcall.StatusError{Service: "S", Status: status, Header: h, Body: []byte(body)})
			if !snake.MatchString(e.Type) || e.Hint == "" || strings.ContainsAny(e.Message+e.Hint, "<>\n") || e.After < 0 || e.Cooldown < 0 {
				t.Fatalf("%#v", e)
			}
		}
	})
}

// FuzzRate has a limiter learn from whatever headers: afterwards, it still tells everyone something before their time is up.
func FuzzRate(f *testing.F) {
	f.Add("1;w=1, 15000;w=2592000", "0, 1000", "1, 1419704")
	f.Add("50;w=1", "0", "1")
	f.Add("1000000000;w=1000000000", "0", "1000000000")
	f.Fuzz(func(t *testing.T, policy, remaining, reset string) {
		h := http.Header{"X-Ratelimit-Policy": {policy}, "X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset": {reset}}
		for _, w := range rateWindows(h) {
			if w.limit < 0 || w.length <= 0 || w.remaining < -1 || w.reset < -1*time.Second || w.reset > maxReset {
				t.Fatalf("%+v", w)
			}
		}
		p := connectAll(nil)["brave"]
		p.http.Limiter = httpcall.NewLimiter(0, 1, 1000)
		p.learn(h)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		for range 3 {
			if _, err := p.http.Limiter.Acquire(ctx, false); err != nil {
				_, late := errors.AsType[*httpcall.LateError](err)
				if trouble, ok := errors.AsType[*httpcall.Failure](err); !late && (!ok || trouble.Type != "quota_exceeded") {
					t.Fatal(err)
				}
			}
		}
	})
}
