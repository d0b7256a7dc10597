package websearch_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/websearch"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		name       string
		change     func(*websearch.Options)
		configured string // joined by blanks
		mistakes   string // key: part of the problem; joined by "; "
	}{
		{"nothing", func(*websearch.Options) {}, "", ""},
		{"a key", func(o *websearch.Options) { o.Brave.APIKey = key }, "brave", ""},
		{"a key from a file", func(o *websearch.Options) { o.Brave.APIKey = key + "\n" }, "brave", ""},
		{"a blank key", func(o *websearch.Options) { o.Brave.APIKey = " \n" }, "", ""},
		{"all", func(o *websearch.Options) {
			o.Tavily.APIKey, o.Brave.APIKey, o.SearXNG.BaseURL = key, key, "http://searx.lan:8080"
		}, "brave searxng tavily", ""},
		{"in order", func(o *websearch.Options) {
			o.Tavily.APIKey, o.Brave.APIKey, o.Providers = key, key, []string{"duckduckgo", "tavily"}
		}, "duckduckgo tavily", ""},
		{"none on purpose", func(o *websearch.Options) { o.Brave.APIKey, o.Providers = key, []string{} }, "", ""},
		{"opt in", func(o *websearch.Options) { o.Providers = []string{"duckduckgo"} }, "duckduckgo", ""},
		{"unknown", func(o *websearch.Options) { o.Providers = []string{"duckduckgo", "bing"} }, "duckduckgo",
			`web.search.providers[1]: there is no search service "bing"; known: brave, searxng, tavily, duckduckgo`},
		{"twice", func(o *websearch.Options) { o.Providers = []string{"duckduckgo", "duckduckgo"} }, "duckduckgo duckduckgo",
			"web.search.providers[1]: duckduckgo is named twice"},
		{"without key", func(o *websearch.Options) { o.Providers = []string{"brave", "tavily", "duckduckgo", "searxng"} }, "duckduckgo", ""},
		{"bad addresses", func(o *websearch.Options) {
			o.Providers = []string{"brave", "duckduckgo"}
			o.Brave, o.DuckDuckGo.BaseURL, o.SearXNG.BaseURL = websearch.BraveOptions{APIKey: key, BaseURL: "ftp://x"}, "", "also bad"
		}, "brave duckduckgo", "web.search.brave.base_url: https://; web.search.duckduckgo.base_url: https://"},
		{"bad key", func(o *websearch.Options) { o.Brave.APIKey = "two\nlines" }, "brave", "web.search.brave.api_key: no spaces"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := websearch.DefaultOptions()
			test.change(&o)
			if got := strings.Join(o.Configured(), " "); got != test.configured {
				t.Errorf("configured: %q; want %q", got, test.configured)
			}
			mistakes := o.Check()
			var wants []string
			if test.mistakes != "" {
				wants = strings.Split(test.mistakes, "; web")
			}
			if len(mistakes) != len(wants) {
				t.Fatalf("mistakes: %q; want %q", mistakes, wants)
			}
			for i, want := range wants {
				at, problem, _ := strings.Cut(want, ": ")
				if m := mistakes[i]; !strings.HasSuffix(m.Key, strings.TrimPrefix(at, "web")) || !strings.Contains(m.Problem, problem) {
					t.Errorf("mistake %+v; want %q", m, want)
				}
			}
			offer, err := websearch.Family().Offer(declare.From[websearch.Options]{Client: tooltest.Client(http.DefaultClient), Config: o})
			tools := offer.Tools
			if (err != nil) != (wants != nil) || len(tools) > 0 != (test.configured != "" && wants == nil) {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "two")) {
				t.Errorf("the key is in %v", err)
			}
		})
	}
	lacking := websearch.Options{Providers: []string{"brave", "duckduckgo", "tavily", "searxng"}}.Lacking()
	for i, want := range []websearch.Mistake{
		{Key: "web.search.providers[0]", Problem: "BRAVE_API_KEY"}, {Key: "web.search.providers[2]", Problem: "TAVILY_API_KEY"},
		{Key: "web.search.providers[3]", Problem: "web.search.searxng.base_url"},
	} {
		if len(lacking) != 3 || lacking[i].Key != want.Key || !strings.Contains(lacking[i].Problem, want.Problem) {
			t.Errorf("lacking: %q; want %q", lacking, want)
		}
	}
	if o := websearch.DefaultOptions(); !slices.Equal(o.Configured(), nil) {
		t.Error("something is configured by default")
	}
}
