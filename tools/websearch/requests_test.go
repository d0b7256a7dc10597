package websearch_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolserver/toolserver/domain"
	fake "github.com/toolserver/toolserver/test/fakes/search"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/websearch"
)

// TestRequests looks at what is sent to each service.
func TestRequests(t *testing.T) {
	const fixed = "count=5&offset=0&result_filter=web%2Cquery&text_decorations=false"
	for _, test := range []struct{ name, args, want string }{
		{"brave", `{"query":"few"}`, "GET /res/v1/web/search?" + fixed + "&q=few"},
		{"brave", `{"query":"a&b=c ü","count":20,"page":9}`, "GET /res/v1/web/search?count=20&offset=9&q=a%26b%3Dc+%C3%BC&result_filter=web%2Cquery&text_decorations=false"},
		{"brave", `{"query":"few","freshness":"day"}`, "GET /res/v1/web/search?freshness=pd&" + fixed + "&q=few"},
		{"brave", `{"query":"few","freshness":"week"}`, "GET /res/v1/web/search?freshness=pw&" + fixed + "&q=few"},
		{"brave", `{"query":"few","freshness":"month"}`, "GET /res/v1/web/search?freshness=pm&" + fixed + "&q=few"},
		{"brave", `{"query":"few","freshness":"year"}`, "GET /res/v1/web/search?freshness=py&" + fixed + "&q=few"},
		{"brave", `{"query":"few","freshness":"2026-01-01to2026-06-30"}`, "GET /res/v1/web/search?freshness=2026-01-01to2026-06-30&" + fixed + "&q=few"},
		{"brave", `{"query":"few","country":"de","safesearch":"strict"}`, "GET /res/v1/web/search?country=DE&" + fixed + "&q=few&safesearch=strict"},
		{"brave", `{"query":"` + strings.Repeat("a ", 60) + `"}`, "GET /res/v1/web/search?" + fixed + "&q=" + strings.TrimSuffix(strings.Repeat("a+", 50), "+")},
		{"searxng", `{"query":"few"}`, "GET /search?format=json&pageno=1&q=few"},
		{"searxng", `{"query":"few","freshness":"week","country":"AT","safesearch":"strict"}`, "GET /search?format=json&language=de-AT&pageno=1&q=few&safesearch=2&time_range=week"},
		{"searxng", `{"query":"few","safesearch":"off"}`, "GET /search?format=json&pageno=1&q=few&safesearch=0"},
		{"searxng", `{"query":"many","page":2}`, "GET /search?format=json&pageno=1&q=many GET /search?format=json&pageno=2&q=many"},
		{"tavily", `{"query":"few"}`, `POST /search {"max_results":6,"query":"few"}`},
		{"tavily", `{"query":"few","count":7,"page":1}`, `POST /search {"max_results":15,"query":"few"}`},
		{"tavily", `{"query":"few","count":20}`, `POST /search {"max_results":20,"query":"few"}`},
		{"tavily", `{"query":"few","freshness":"year","country":"us","safesearch":"off"}`, `POST /search {"country":"united states","max_results":6,"query":"few","time_range":"year"}`},
		{"tavily", `{"query":"few","freshness":"2026-01-01to2026-06-30"}`, `POST /search {"end_date":"2026-06-30","max_results":6,"query":"few","start_date":"2026-01-01"}`},
		{"duckduckgo", `{"query":"few"}`, "POST /lite/ q=few"},
		{"duckduckgo", `{"query":"few !w","freshness":"month","country":"gb","safesearch":"moderate"}`, "POST /lite/ df=m&kl=uk-en&q=few+%27%21w%27"},
		{"duckduckgo", `{"query":"many","page":2,"country":"DE"}`,
			"POST /lite/ kl=de-de&q=many POST /lite/ api=d.js&dc=11&df=&kl=de-de&nextParams=&o=json&q=many&s=10&v=l&vqd=4-27547094037301250810679169593972079382"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{}, test.name)
			structured(t, tooltest.Call(t, tool, test.args))
			var got []string
			for _, r := range fakes[test.name].Requests() {
				got = append(got, describe(t, r))
				checkHeader(t, test.name, r.Header)
				if r.Status != http.StatusOK {
					t.Errorf("%s %s: status %d", test.name, test.args, r.Status)
				}
			}
			if text, want := strings.Join(got, " "), ordered(t, test.want); text != want {
				t.Errorf("%s %s:\n got %s\nwant %s", test.name, test.args, text, want)
			}
		})
	}
}

// ordered returns requests whose only parameters, if they are in the query, are in the order in which they are encoded.
func ordered(t *testing.T, want string) string {
	t.Helper()
	words := strings.Split(want, " ")
	for i, word := range words {
		if path, query, ok := strings.Cut(word, "?"); ok {
			params, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			words[i] = path + "?" + params.Encode()
		}
	}
	return strings.Join(words, " ")
}

func describe(t *testing.T, r fake.Request) string {
	t.Helper()
	text := r.Method + " " + r.Path
	if len(r.Query) > 0 {
		text += "?" + r.Query.Encode()
	}
	switch kind := r.Header.Get("Content-Type"); {
	case r.Body == "":
	case kind == "application/json":
		var body map[string]any
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			t.Error(err)
		}
		b, _ := json.Marshal(body)
		text += " " + string(b)
	default:
		form, err := url.ParseQuery(r.Body)
		if err != nil || kind != "application/x-www-form-urlencoded" {
			t.Errorf("%s: %v", kind, err)
		}
		text += " " + form.Encode()
	}
	return text
}

// checkHeader checks that a service gets the key that is meant for it, and no other.
func checkHeader(t *testing.T, name string, h http.Header) {
	t.Helper()
	want := map[string]map[string]string{"brave": {"X-Subscription-Token": key}, "tavily": {"Authorization": "Bearer " + key}}[name]
	got := map[string]string{}
	for _, header := range []string{"X-Subscription-Token", "Authorization", "Cookie"} {
		if v := h.Get(header); v != "" {
			got[header] = v
		}
	}
	if !maps.Equal(got, want) || h.Get("Accept") == "" {
		t.Errorf("%s: %v", name, h)
	}
}

// TestUnsupported asks services for what they cannot do: nothing is sent.
func TestUnsupported(t *testing.T) {
	for _, test := range []struct{ name, args, want string }{
		{"brave", `{"query":"few","country":"EE"}`, "Error: Brave Search API cannot search with country=EE. Leave country out, or give it another value."},
		{"searxng", `{"query":"few","freshness":"2026-01-01to2026-06-30"}`, "SearXNG cannot search with freshness=2026-01-01to2026-06-30"},
		{"searxng", `{"query":"few","country":"ZW"}`, "SearXNG cannot search with country=ZW"},
		{"tavily", `{"query":"few","safesearch":"moderate"}`, "Tavily API cannot search with safesearch=moderate"},
		{"tavily", `{"query":"few","country":"AQ"}`, "Tavily API cannot search with country=AQ"},
		{"tavily", `{"query":"few","count":5,"page":4}`, "Tavily API is not asked for results as far down as page=4 with count=5"},
		{"duckduckgo", `{"query":"few","safesearch":"off"}`, "DuckDuckGo cannot search with safesearch=off"},
		{"duckduckgo", `{"query":"few","country":"ZW"}`, "DuckDuckGo cannot search with country=ZW"},
		{"duckduckgo", `{"query":"few","freshness":"2026-01-01to2026-06-30"}`, "DuckDuckGo cannot search with freshness="},
	} {
		tool, fakes := inProcess(t, fake.Options{}, test.name)
		tooltest.Run(t, tool, []tooltest.Case{{Name: test.name, Args: test.args, ErrorType: "unsupported_option", Want: test.want}})
		if n := fakes[test.name].Arrived(); n != 0 {
			t.Errorf("%s %s: %d requests", test.name, test.args, n)
		}
	}
}

// TestWrongKey asks with a key that is not good. Brave says 422, Tavily 401, and both repeat the key.
func TestWrongKey(t *testing.T) {
	for name, want := range map[string]string{
		"brave":  "Error: HTTP 422 from Brave Search API: it does not accept the key. The key in web.search.brave.api_key or BRAVE_API_KEY must be replaced.",
		"tavily": "Error: HTTP 401 from Tavily API: it does not accept the key. The key in web.search.tavily.api_key or TAVILY_API_KEY must be replaced.",
	} {
		tool, fakes := inProcess(t, fake.Options{Key: "another"}, name)
		res := tooltest.Call(t, tool, `{"query":"few"}`)
		if got := tooltest.Text(res); got != want || structured(t, res).ErrorType != "bad_credentials" {
			t.Errorf("%s: %s %q; want %q", name, res.ErrorType(), got, want)
		}
		if n := fakes[name].Arrived(); n != 1 {
			t.Errorf("%s: %d requests for a call", name, n)
		}
	}
}

// TestNotes reads what services say besides results.
func TestNotes(t *testing.T) {
	tool, _ := inProcess(t, fake.Options{}, "brave")
	out := structured(t, tooltest.Call(t, tool, `{"query":"`+strings.Repeat("a ", 60)+`"}`))
	if len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "first 50 words") {
		t.Errorf("notes %q", out.Notes)
	}
	tool, fakes := inProcess(t, fake.Options{}, "searxng")
	fakes["searxng"].SetTrouble(fake.Silent)
	tooltest.Run(t, tool, []tooltest.Case{{
		Name: "silent engines", Args: `{"query":"few"}`, ErrorType: "overloaded",
		Want: "Error: SearXNG found nothing, and of its engines these did not answer: bing (timeout), google (Suspended: CAPTCHA).",
	}})
}

// TestAnswers reads what SearXNG knows by itself, with results and without.
func TestAnswers(t *testing.T) {
	const said = "Answer: 6 × 7 = 42 (https://calc.example/42)\nAnswer: no source\nAnswer: a text\nAnswer: Forty-two: is a number (https://wiki.example/42)\n"
	for query, results := range map[string]int{"answered": 3, "known": 0} {
		tool, _ := inProcess(t, fake.Options{}, "searxng")
		res := tooltest.Call(t, tool, `{"query":"`+query+`"}`)
		out := structured(t, res)
		want := fmt.Sprintf("Search: \"%s\"\nResults: %d\n%s", query, results, said)
		if got := tooltest.Text(res); len(out.Answers) != 4 || len(out.Results) != results || results > 0 && !strings.HasPrefix(got, want+"\n1. ") || results == 0 && got != want {
			t.Errorf("%s: %q, %+v", query, got, out)
		}
	}
	tool, _ := inProcess(t, fake.Options{}, "searxng")
	if res := tooltest.Call(t, tool, `{"query":"known","page":1}`); tooltest.Text(res) != "No results found for: known\n[This is page=1.]" {
		t.Errorf("the second page: %q", tooltest.Text(res))
	}
}

// TestPassages has text say all that structured content has.
func TestPassages(t *testing.T) {
	tool, _ := inProcess(t, fake.Options{}, "brave")
	const want = "Search: \"passages\"\nResults: 1\n\n1. Passages\n   https://example.com/passages\n   The description.\n   A further <passage>.\n   Another one.\n" +
		"   Date: 3 days ago\n"
	if got := tooltest.Text(tooltest.Call(t, tool, `{"query":"passages"}`)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRoom shortens results that would not fit, evenly, and keeps text and structured content whole.
func TestRoom(t *testing.T) {
	for _, name := range names {
		tool, _ := inProcess(t, fake.Options{}, name)
		res := tooltest.Call(t, tool, `{"query":"huge","count":20}`)
		out := structured(t, res)
		b, err := json.Marshal(res.Structured())
		if err != nil {
			t.Fatal(err)
		}
		text := tooltest.Text(res)
		if len(b) > domain.DefaultMaxResultChars || strings.Contains(text, "truncated") || len(out.Results) < 3 || len(out.Results)+len(out.Notes) == 20 {
			t.Errorf("%s: %d results in %d bytes, %q", name, len(out.Results), len(b), out.Notes)
		}
		for _, r := range out.Results {
			if r.Description == "" || !strings.Contains(text, r.Description) || !strings.Contains(text, r.URL) {
				t.Errorf("%s: the text does not have %.100q", name, r.Description)
			}
		}
	}
}

// TestFields reads the fields that text does not have.
func TestFields(t *testing.T) {
	for name, age := range map[string]string{"brave": "2026-10-01", "searxng": "2026-10-01", "tavily": "", "duckduckgo": "2026-10-01"} {
		tool, _ := inProcess(t, fake.Options{}, name)
		out := structured(t, tooltest.Call(t, tool, `{"query":"few","count":1}`))
		want := websearch.Result{Title: "Page 1 of few", URL: "https://few.example/1", Description: "Page 1 is about few.", Age: age}
		if len(out.Results) != 1 || out.Query != "few" || out.Provider != name || out.Page != 0 {
			t.Fatalf("%s: %+v", name, out)
		}
		got := out.Results[0]
		if len(got.ExtraSnippets) != 0 { // it repeats the description
			t.Errorf("extra snippets: %q", got.ExtraSnippets)
		}
		if got.ExtraSnippets = nil; got.Title != want.Title || got.URL != want.URL || got.Description != want.Description || got.Age != want.Age {
			t.Errorf("%s: %+v; want %+v", name, got, want)
		}
	}
}
