package websearch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/search"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestFallback has services fail one after the other.
func TestFallback(t *testing.T) {
	for _, test := range []struct {
		name     string
		args     string
		services []string
		troubles map[string]fake.Trouble
		exact    string
		provider string
	}{
		{
			name: "the first answers", args: `{"query":"few","count":1}`, services: []string{"brave", "searxng"},
			exact: "Search: \"few\"\nResults: 1\n\n1. Page 1 of few\n   https://few.example/1\n   Page 1 is about few.\n   Date: 2026-10-01\n\n[For more results call again with page=1.]", provider: "brave",
		},
		{
			name: "the second answers", args: `{"query":"few","count":1}`, services: []string{"brave", "searxng"},
			troubles: map[string]fake.Trouble{"brave": fake.NoPlan}, provider: "searxng",
			exact: "Search: \"few\"\nResults: 1\n\n1. Page 1 of few\n   https://few.example/1\n   Page 1 is about few.\n   Date: 2026-10-01\n" +
				"\n[For more results call again with page=1.]\n[brave failed: HTTP 400 from Brave Search API: the key's plan does not include this search; searxng answered]",
		},
		{
			name: "the second finds nothing", args: `{"query":"nothing"}`, services: []string{"duckduckgo", "tavily"},
			troubles: map[string]fake.Trouble{"duckduckgo": fake.Forbidden}, provider: "tavily",
			exact: "No results found for: nothing\n[duckduckgo failed: HTTP 202 from DuckDuckGo: it sent a page for people instead of results, " +
				"most likely to find out whether one is there; tavily answered]",
		},
		{
			name: "to find nothing is an answer", args: `{"query":"nothing"}`, services: []string{"brave", "searxng"},
			exact: "No results found for: nothing", provider: "brave",
		},
		{
			name: "one that cannot is not asked", args: `{"query":"few","count":1,"safesearch":"strict"}`, services: []string{"tavily", "duckduckgo", "brave"},
			exact: "Search: \"few\"\nResults: 1\n\n1. Page 1 of few\n   https://few.example/1\n   Page 1 is about few.\n   Date: 2026-10-01\n" +
				"\n[For more results call again with page=1.]\n[tavily failed: Tavily API cannot search with safesearch=strict; duckduckgo failed: DuckDuckGo cannot search with safesearch=strict; brave answered]",
			provider: "brave",
		},
		{
			name: "the last of four", args: `{"query":"few","count":1}`, services: []string{"brave", "searxng", "tavily", "duckduckgo"},
			troubles: map[string]fake.Trouble{"brave": fake.Hang, "searxng": fake.Hang, "tavily": fake.Hang},
			exact: "Search: \"few\"\nResults: 1\n\n1. Page 1 of few\n   https://few.example/1\n   Page 1 is about few.\n   Date: 2026-10-01\n" +
				"\n[For more results call again with page=1.]\n[brave failed: Search request timed out: Brave Search API did not answer in time; searxng failed: Search request timed out: SearXNG did not answer in time; " +
				"tavily failed: Search request timed out: Tavily API did not answer in time; duckduckgo answered]",
			provider: "duckduckgo",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tool, fakes := inProcess(t, fake.Options{}, test.services...)
				for name, trouble := range test.troubles {
					fakes[name].SetTrouble(trouble)
				}
				res := tooltest.Call(t, tool, test.args)
				if got := tooltest.Text(res); got != test.exact {
					t.Errorf("\n got %q\nwant %q", got, test.exact)
				}
				out := structured(t, res)
				at := slices.Index(test.services, test.provider)
				if out.Provider != test.provider || len(out.Fallbacks) != at {
					t.Errorf("%+v", out)
				}
				for _, name := range test.services[at+1:] {
					if fakes[name].Arrived() != 0 {
						t.Errorf("%s was asked although %s answered", name, test.provider)
					}
				}
			})
		})
	}
}

// TestNobodyAnswers has every service fail, each for a reason of its own.
func TestNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool, fakes := inProcess(t, fake.Options{}, "tavily", "brave", "searxng", "duckduckgo")
		fakes["brave"].SetTrouble(fake.NoPlan)
		fakes["searxng"].SetTrouble(fake.Forbidden)
		fakes["duckduckgo"].SetTrouble(fake.Hang)
		began := time.Now()
		res := tooltest.Call(t, tool, `{"query":"few","count":20,"page":9}`)
		want := "Error: no search service answered\n" +
			"tavily: Tavily API is not asked for results as far down as page=9 with count=20. Ask for an earlier page, or make the query more precise.\n" +
			"brave: HTTP 400 from Brave Search API: the key's plan does not include this search. The plan of the key must be changed, at https://api-dashboard.search.brave.com.\n" +
			"searxng: HTTP 403 from SearXNG: the instance does not answer in JSON. The settings.yml of the instance must have json in search.formats.\n" +
			"duckduckgo: Search request timed out: DuckDuckGo did not answer in time. Try again later."
		if got := tooltest.Text(res); got != want {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
		if res.ErrorType() != "plan_required" || time.Since(began) > 31*time.Second {
			t.Errorf("%s after %v", res.ErrorType(), time.Since(began))
		}
	})
}

// TestPages reads all there is, page by page: nothing is missing and nothing comes twice.
func TestPages(t *testing.T) {
	for name, reach := range map[string]int{"brave": 60, "searxng": 50, "tavily": 20, "duckduckgo": 55} {
		synctest.Test(t, func(t *testing.T) {
			tool, fakes := inProcess(t, fake.Options{}, name)
			var urls []string
			for page := range 10 {
				res := tooltest.Call(t, tool, `{"query":"many","count":7,"page":`+string(rune('0'+page))+`}`)
				out := structured(t, res)
				for _, r := range out.Results {
					urls = append(urls, r.URL)
				}
				if !out.More && res.ErrorType() == "" && len(urls) < 60 && len(out.Notes) == 0 {
					t.Errorf("%s: page %d says that it is the last", name, page)
				}
				if res.ErrorType() == "unsupported_option" || !out.More {
					break
				}
			}
			for i, u := range urls {
				if want := numberedURL(i + 1); u != want {
					t.Fatalf("%s: result %d is %s", name, i+1, u)
				}
			}
			if len(urls) < reach-6 {
				t.Errorf("%s: %d results; want about %d", name, len(urls), reach)
			}
			if n := refused(fakes[name]); n != 0 {
				t.Errorf("%s refused %d requests", name, n)
			}
		})
	}
}

func numberedURL(n int) string {
	_, rest, _ := strings.Cut(numbered("", "many", n, n), "   ")
	return strings.SplitN(rest, "\n", 2)[0]
}
