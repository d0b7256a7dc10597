//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	fake "toolserver/test/fakes/search"
)

// standIn is a server on loopback that stands in for a service. What it answers
// can be exchanged.
type standIn struct {
	url         string
	connections atomic.Int64
	handler     atomic.Pointer[http.Handler]
}

func newStandIn(t *testing.T, h http.Handler) *standIn {
	t.Helper()
	s := &standIn{}
	s.serve(h)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.handler.Load()).ServeHTTP(w, r) }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *standIn) serve(h http.Handler) { s.handler.Store(&h) }

func (s *standIn) untouched(t *testing.T) {
	t.Helper()
	if n := s.connections.Load(); n != 0 {
		t.Errorf("%d connections to %s", n, s.url)
	}
}

// opened is the configuration that lets tools reach servers on loopback.
func opened(list ...*standIn) string {
	var hosts []string
	for _, s := range list {
		hosts = append(hosts, "'"+strings.TrimPrefix(s.url, "http://")+"'")
	}
	return "sandbox: {private_hosts: [" + strings.Join(hosts, ", ") + "]}\n"
}

// listed returns the output schemas of the tools that clients are told of; nil for
// those that have none.
func (b *box) listed() map[string]json.RawMessage {
	b.wire.t.Helper()
	id := fmt.Sprintf(`"list %d"`, unique.Add(1))
	b.send(request(id, "tools/list", "{}"))
	var result struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
		NextCursor string
	}
	r := b.answer(id)
	must(b.wire.t, json.Unmarshal(r.Result, &result))
	if result.NextCursor != "" {
		b.wire.t.Fatal("the list has more than one page")
	}
	all := map[string]json.RawMessage{}
	for _, tool := range result.Tools {
		all[tool.Name] = tool.OutputSchema
	}
	return all
}

// checked calls a tool, whose structured content must be what its listed schema
// says.
func (b *box) checked(tool string, args map[string]any) outcome {
	b.wire.t.Helper()
	o := b.call(tool, args)
	conforms(b.wire.t, string(b.listed()[tool]), o.structure)
	return o
}

func conforms(t *testing.T, schema string, structure map[string]any) {
	t.Helper()
	compiled, err := jsonschema.CompileString("output.json", schema)
	must(t, err)
	if err := compiled.Validate(structure); structure == nil || err != nil {
		t.Errorf("structured content %v: %#v", structure, err)
	}
}

// Keys of the services, which are to be nowhere but in requests.
const (
	braveKey  = "brave-key-0123456789abcdef"
	tavilyKey = "tavily-key-0123456789abcdef"
)

// searchServices are all there are.
var searchServices = []string{"brave", "searxng", "tavily", "duckduckgo"}

// newService returns the fake of a service, which takes the key of the tests unless o
// has another.
func newService(name string, o fake.Options, trouble fake.Trouble) (s *fake.Service) {
	if o.Key == "" {
		o.Key = map[string]string{"brave": braveKey, "tavily": tavilyKey}[name]
	}
	switch name {
	case "brave":
		s = fake.Brave(o)
	case "searxng":
		s = fake.SearXNG(o)
	case "tavily":
		s = fake.Tavily(o)
	default:
		s = fake.DuckDuckGo(o)
	}
	s.SetTrouble(trouble)
	return s
}

// searchConfig makes web_search ask services at stand-ins, in this order.
func searchConfig(at map[string]*standIn, services ...string) string {
	text := "web:\n  search:\n    providers: [" + strings.Join(services, ", ") + "]\n"
	for name, s := range at {
		text += fmt.Sprintf("    %s: {base_url: '%s'}\n", name, s.url)
	}
	return text
}

// searching is a server with web_search.
type searching struct {
	*box
	at map[string]*standIn
}

// newSearching starts a server that asks services in this order. Its keys are in the
// environment.
func newSearching(t *testing.T, more string, services ...string) *searching {
	t.Helper()
	s := &searching{at: map[string]*standIn{}}
	var all []*standIn
	for _, name := range services {
		s.at[name] = newStandIn(t, newService(name, fake.Options{Rate: 50}, fake.None))
		all = append(all, s.at[name])
	}
	g := newGround(t, account{"own", os.Geteuid()})
	s.box = g.open(setup{
		config: more + opened(all...) + searchConfig(s.at, services...),
		env:    []string{"BRAVE_API_KEY=" + braveKey, "TAVILY_API_KEY=" + tavilyKey},
	})
	return s
}

// become exchanges a service.
func (s *searching) become(name string, o fake.Options, trouble fake.Trouble) *fake.Service {
	service := newService(name, o, trouble)
	s.at[name].serve(service)
	return service
}

// few is the answer to the query of that name, in the words of the tool's origin.
const few = `Search: "few"
Results: 3

1. Page 1 of few
   https://few.example/1
   Page 1 is about few.

2. Page 2 of few
   https://few.example/2
   Page 2 is about few.

3. Page 3 of few
   https://few.example/3
   Page 3 is about few.
`

// cleaned is the answer to "markup": no tags, entities decoded once.
const cleaned = `Search: "markup"
Results: 4

1. Tom & Jerry: "if a < b && b > c"
   https://example.com/a?x=1&y=2
   Why &amp; is written &amp;amp; in HTML

2. Use of the <b> tag
   https://example.com/b
   <script>alert(1)</script> is how it starts

3. A bold title
   https://example.com/c
   line one line two end !

4. https://example.com/untitled
   https://example.com/untitled
`

// TestWebSearch asks each service, and compares every letter.
func TestWebSearch(t *testing.T) {
	t.Parallel()
	for _, name := range searchServices {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", name)
			for query, want := range map[string]string{"few": few, "nothing": "No results found for: nothing", "markup": cleaned} {
				o := s.checked("web_search", map[string]any{"query": query})
				if o.failed || o.text != want {
					t.Errorf("%s: %v\nwant %q", query, o, want)
				}
				b, _ := json.Marshal(o.structure)
				var found struct {
					Query, Provider string
					Page            *int
					More            *bool `json:"more_available"`
					Results         []struct{ Title, URL, Description string }
				}
				must(t, json.Unmarshal(b, &found))
				if found.Query != query || found.Provider != name || found.Page == nil || found.More == nil || found.Results == nil {
					t.Errorf("%s: structured content %s", query, b)
				}
				for i, r := range found.Results {
					entry := fmt.Sprintf("\n%d. %s\n   %s\n   %s\n", i+1, r.Title, r.URL, r.Description)
					if !strings.Contains(o.text, strings.TrimSuffix(entry, "   \n")) { // without a description there is no line for it
						t.Errorf("%s: the text has no %q", query, entry)
					}
				}
			}
			if name == "tavily" { // which has no pages
				return
			}
			o := s.checked("web_search", map[string]any{"query": "many", "count": 20, "page": 1})
			if !strings.HasPrefix(o.text, "Search: \"many\"\nResults: 20\n\n1. Page 21 of many\n") ||
				!strings.Contains(o.text, "\n20. Page 40 of many\n") {
				t.Errorf("second page: %v", o)
			}
			s.stop()
		})
	}
}

// TestWebSearchParallel makes ten calls at once where one a second is allowed.
func TestWebSearchParallel(t *testing.T) {
	t.Parallel()
	const calls = 10
	slow := fake.Options{Rate: 1, Window: time.Second}
	served := func(t *testing.T, service *fake.Service) {
		t.Helper()
		good := 0
		for _, r := range service.Requests() {
			if r.Status == http.StatusOK {
				good++
			}
		}
		if good != calls {
			t.Errorf("%d good requests for %d calls", good, calls)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		s := newSearching(t, "", "brave")
		service := s.become("brave", slow, fake.None)
		var ids []string
		for range calls {
			ids = append(ids, s.begin("web_search", map[string]any{"query": "few"}))
		}
		for _, id := range ids {
			if o := s.finish(id); o.failed || o.text != few {
				t.Errorf("got %v", o)
			}
		}
		served(t, service)
	})
	t.Run("HTTP, two sessions", func(t *testing.T) {
		t.Parallel()
		service := newService("brave", slow, fake.None)
		at := newStandIn(t, service)
		key := filepath.Join(t.TempDir(), "key")
		must(t, os.WriteFile(key, []byte(braveKey+"\n"), 0o600))
		h := startHTTP(t, binary(), httpConfig(t, t.TempDir(), opened(at)+
			fmt.Sprintf("web: {search: {brave: {base_url: '%s', api_key: '${file:%s}'}}}", at.url, key))...)
		var replies []<-chan reply
		for range 2 {
			p := h.newPeer(t, "2025-11-25", "")
			for i := range calls / 2 {
				replies = append(replies, p.send(t.Context(), p.callMessage(fmt.Sprint(i+1), "web_search", map[string]any{"query": "few"}, "")))
			}
		}
		for _, r := range replies {
			var a answer
			if got := <-r; json.Unmarshal([]byte(got.last()), &a) != nil || a.Result.IsError || a.text() != few {
				t.Errorf("got %s", got.body)
			}
		}
		served(t, service)
	})
}

// searchTrouble is something that goes wrong with a service.
type searchTrouble struct {
	name     string
	options  fake.Options
	trouble  fake.Trouble
	noQuery  bool // the service does not get the query
	requests int
	kind     string
	text     string // after "Error: "
}

const forPeople = "it sent a page for people instead of results, most likely to find out whether one is there. " +
	"Do not search again at once; the service blocks this address for a while."

var searchTroubles = map[string][]searchTrouble{
	"brave": {
		{"bad key", fake.Options{Key: "another"}, "", false, 1, "bad_credentials", "HTTP 422 from Brave Search API: it does not accept the key. " +
			"The key in web.search.brave.api_key or BRAVE_API_KEY must be replaced."},
		{"plan", fake.Options{}, fake.NoPlan, false, 1, "plan_required", "HTTP 400 from Brave Search API: the key's plan does not include this search. " +
			"The plan of the key must be changed, at https://api-dashboard.search.brave.com."},
		{"payment", fake.Options{}, fake.NoPayment, false, 1, "plan_required", "HTTP 402 from Brave Search API: the key's plan does not include this. "},
		{"bad query", fake.Options{}, "", true, 1, "invalid_query", "HTTP 422 from Brave Search API: it does not accept the query. Search for something else."},
		{"challenge", fake.Options{}, fake.Page, false, 1, "blocked", "Brave Search API: " + forPeople},
		{"challenge, 403", fake.Options{}, fake.Forbidden, false, 1, "blocked", "HTTP 403 from Brave Search API: " + forPeople},
		{"broken", fake.Options{}, fake.Broken, false, 2, "http_status", "HTTP 500 from Brave Search API: it failed. Try again later."},
		{"down", fake.Options{}, fake.Overloaded, false, 2, "overloaded", "HTTP 503 from Brave Search API: it is overloaded or down. Try again later."},
		{"moved", fake.Options{}, fake.Redirect, false, 1, "http_status", "HTTP 302 from Brave Search API: it redirects, " +
			"and redirects of an API are not followed."},
		{"half an answer", fake.Options{}, fake.BadJSON, false, 1, "bad_answer", "Brave Search API sent something else than search results: "},
		{"another answer", fake.Options{}, fake.OtherJSON, false, 1, "bad_answer", "Brave Search API sent something else than search results: "},
		{"too much", fake.Options{}, fake.Large, false, 1, "too_large", "Brave Search API: "},
	},
	"searxng": {
		{"no JSON", fake.Options{}, fake.Forbidden, false, 1, "http_status", "HTTP 403 from SearXNG: the instance does not answer in JSON. " +
			"The settings.yml of the instance must have json in search.formats."},
		{"bad query", fake.Options{}, "", true, 1, "invalid_query", "HTTP 400 from SearXNG: it does not accept the query. "},
		{"challenge", fake.Options{}, fake.Page, false, 1, "blocked", "SearXNG: " + forPeople},
		{"silent", fake.Options{}, fake.Silent, false, 1, "overloaded", "SearXNG found nothing, and of its engines these did not answer: " +
			"bing (timeout), google (Suspended: CAPTCHA)."},
		{"another answer", fake.Options{}, fake.OtherJSON, false, 1, "bad_answer", "SearXNG sent something else than search results: " +
			"there is no list of results. "},
	},
	"tavily": {
		{"bad key", fake.Options{Key: "another"}, "", false, 1, "bad_credentials", "HTTP 401 from Tavily API: it does not accept the key. " +
			"The key in web.search.tavily.api_key or TAVILY_API_KEY must be replaced."},
		{"plan", fake.Options{}, fake.NoPlan, false, 1, "plan_required", "HTTP 403 from Tavily API: the key's plan does not include this search. " +
			"The plan of the key must be changed, at https://app.tavily.com."},
		{"bad query", fake.Options{}, "", true, 1, "invalid_query", "HTTP 400 from Tavily API: it does not accept the query. "},
		{"challenge", fake.Options{}, fake.Page, false, 1, "blocked", "Tavily API: " + forPeople},
		{"challenge, 403", fake.Options{}, fake.Forbidden, false, 1, "blocked", "HTTP 403 from Tavily API: " + forPeople},
		{"half an answer", fake.Options{}, fake.BadJSON, false, 1, "bad_answer", "Tavily API sent something else than search results: "},
		{"payment", fake.Options{}, fake.NoPayment, false, 1, "quota_exceeded", "HTTP 433 from Tavily API: the key's quota is used up; " +
			"it is not asked again for 10 minutes. "},
	},
	"duckduckgo": {
		{"bad query", fake.Options{}, "", true, 1, "invalid_query", "HTTP 400 from DuckDuckGo: it does not accept the query. "},
		{"challenge", fake.Options{}, fake.Page, false, 1, "blocked", "DuckDuckGo: " + forPeople},
		{"challenge, 202", fake.Options{}, fake.Forbidden, false, 1, "blocked", "HTTP 202 from DuckDuckGo: " + forPeople},
		{"another page", fake.Options{}, fake.OtherJSON, false, 1, "bad_answer", "DuckDuckGo sent something else than search results: " +
			"the page is not one of results. "},
	},
}

// withoutQuery takes the query out of requests.
func withoutQuery(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		q.Del("q")
		r.URL.RawQuery = q.Encode()
		body := ""
		if r.Header.Get("Content-Type") == "application/json" {
			body = `{"query":""}`
		}
		r.Body = io.NopCloser(strings.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// TestWebSearchTroubles tells apart what goes wrong. Keys and markup that services
// send back are nowhere.
func TestWebSearchTroubles(t *testing.T) {
	t.Parallel()
	for name, troubles := range searchTroubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", name)
			for _, tt := range troubles {
				s.become(name, fake.Options{Rate: 50}, fake.None) // from which it learns the rate
				if o := s.call("web_search", map[string]any{"query": "few"}); o.text != few {
					t.Fatalf("before %s: %v", tt.name, o)
				}
				service := s.become(name, tt.options, tt.trouble)
				if tt.noQuery {
					s.at[name].serve(withoutQuery(service))
				}
				o := s.checked("web_search", map[string]any{"query": "few"})
				if !o.failed || o.errorType != tt.kind || !strings.HasPrefix(o.text, "Error: "+tt.text) {
					t.Errorf("%s: %v\nwant %s %q", tt.name, o, tt.kind, tt.text)
				}
				hint, _ := o.structure["next_action_hint"].(string)
				if hint == "" || !strings.Contains(o.text, hint) || o.structure["message"] != o.text {
					t.Errorf("%s: structured content %v", tt.name, o.structure)
				}
				if said := fmt.Sprint(o.text, o.structure); strings.Contains(said, "-key-") || strings.ContainsAny(said, "<>") {
					t.Errorf("%s: %s", tt.name, said)
				}
				if n := service.Arrived(); n != tt.requests {
					t.Errorf("%s: %d requests; want %d", tt.name, n, tt.requests)
				}
			}
			s.stop()
		})
	}
}

// TestWebSearchLimits tells used-up quotas from waits that would be too long, and
// asks no more in vain.
func TestWebSearchLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, service string
		options       fake.Options
		requests      int
		kind, text    string // of the second call
		again         string // of the third
	}{
		{"announced quota", "brave", fake.Options{Rate: 50, Quota: 1}, 1, "quota_exceeded",
			"Brave Search API: the key's quota is used up; it is not asked again for 16 days.", "Brave Search API: the key's quota is used up"},
		{"quota", "brave", fake.Options{Quota: 1}, 2, "quota_exceeded",
			"HTTP 429 from Brave Search API: the key's quota is used up; it is not asked again for 10 minutes.", "Brave Search API: the key's quota is used up"},
		{"quota", "tavily", fake.Options{Quota: 1}, 2, "quota_exceeded",
			"HTTP 432 from Tavily API: the key's quota is used up; it is not asked again for 10 minutes.", "Tavily API: the key's quota is used up"},
		{"rate", "brave", fake.Options{Rate: 1, Window: time.Minute}, 1, "rate_limited",
			"Brave Search API takes only so many requests in a time, others wait, and this one's turn would come only in ", "Brave Search API takes only so many"},
	} {
		t.Run(tt.service+", "+tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSearching(t, "", tt.service)
			service := s.become(tt.service, tt.options, fake.None)
			if o := s.call("web_search", map[string]any{"query": "few"}); o.text != few {
				t.Errorf("got %v", o)
			}
			for _, want := range []string{tt.text, tt.again} {
				if o := s.checked("web_search", map[string]any{"query": "few"}); o.errorType != tt.kind || !strings.HasPrefix(o.text, "Error: "+want) {
					t.Errorf("got %v\nwant %s", o, want)
				}
			}
			if n := service.Arrived(); n != tt.requests {
				t.Errorf("%d requests; want %d", n, tt.requests)
			}
		})
	}
}

// TestWebSearchArguments refuses what no service would take, without asking one.
func TestWebSearchArguments(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "", "brave")
	for _, tt := range []struct {
		args       map[string]any
		kind, text string
	}{
		{map[string]any{"query": " \t"}, "invalid_query", "Error: query must not be empty"},
		{map[string]any{"query": "few", "freshness": "2026-13-01to2026-14-01"}, "invalid_query", "Error: freshness: "},
		{map[string]any{"query": "few", "country": "EE"}, "unsupported_option", "Error: Brave Search API cannot search with country=EE. "},
		{map[string]any{"query": "few", "freshness": "fortnight"}, "-32602", "freshness"},
		{map[string]any{}, "-32602", "query is required"},
	} {
		if o := s.call("web_search", tt.args); o.errorType != tt.kind || !strings.Contains(o.text, tt.text) {
			t.Errorf("%v: %v", tt.args, o)
		}
	}
	s.at["brave"].untouched(t)
}

// TestWebSearchFallback asks the next service when one fails, in the order of the
// configuration.
func TestWebSearchFallback(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "", "tavily", "brave", "searxng", "duckduckgo")
	services := map[string]*fake.Service{}
	for name, trouble := range map[string]fake.Trouble{"tavily": fake.NoPlan, "brave": "", "searxng": "", "duckduckgo": ""} {
		services[name] = s.become(name, fake.Options{}, trouble)
	}
	o := s.checked("web_search", map[string]any{"query": "few"})
	const plan = "HTTP 403 from Tavily API: the key's plan does not include this search"
	if o.failed || o.text != few+"\n[tavily failed: "+plan+"; brave answered]" || o.structure["provider"] != "brave" {
		t.Errorf("second: %v", o)
	}
	if got := fmt.Sprint(o.structure["fallbacks"]); got != "[map[error_type:plan_required message:"+plan+" provider:tavily]]" {
		t.Errorf("fallbacks %s", got)
	}
	o = s.checked("web_search", map[string]any{"query": "few", "country": "EE"}) // which the second cannot do, and is not asked
	const country = "; brave failed: Brave Search API cannot search with country=EE; searxng answered]"
	if o.failed || o.structure["provider"] != "searxng" || !strings.HasSuffix(o.text, country) {
		t.Errorf("third: %v", o)
	}
	if n, first := services["brave"].Arrived(), services["duckduckgo"].Arrived(); n != 1 || first != 0 {
		t.Errorf("%d requests to the second, %d to the last", n, first)
	}
	for name, trouble := range map[string]fake.Trouble{"brave": fake.Broken, "searxng": fake.Page, "duckduckgo": fake.Forbidden} {
		s.become(name, fake.Options{}, trouble)
	}
	o = s.checked("web_search", map[string]any{"query": "few"})
	want := []string{
		"Error: no search service answered", "tavily: " + plan + ". ", "brave: HTTP 500 from Brave Search API: it failed. ",
		"searxng: SearXNG: it sent a page for people", "duckduckgo: HTTP 202 from DuckDuckGo: ",
	}
	got := strings.Split(o.text, "\n")
	if !o.failed || o.errorType != "plan_required" || !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("all fail: %v", o)
	}
	s.stop()
}

// TestWebSearchCancel takes back a call that waits for its turn. It is never sent,
// never answered, and does not keep the next one waiting.
func TestWebSearchCancel(t *testing.T) {
	t.Parallel()
	// With others behind it, Brave has a third of 50 s: time for one turn, but not for two.
	s := newSearching(t, "", "searxng", "brave", "tavily", "duckduckgo")
	broken := s.become("searxng", fake.Options{}, fake.OtherJSON) // once a call, which then goes on to the queue
	service := s.become("brave", fake.Options{Rate: 1, Window: 9 * time.Second}, fake.None)
	search := func(query string) string { return s.begin("web_search", map[string]any{"query": query}) }
	if o := s.finish(search("first")); o.failed {
		t.Fatalf("got %v", o)
	}
	second := search("second")
	eventually(t, "the second call comes to the queue", func() bool { return len(broken.Requests()) == 2 })
	s.send(cancel(second))
	if o := s.finish(search("third")); o.failed || o.structure["query"] != "third" || o.structure["provider"] != "brave" {
		t.Errorf("got %v", o)
	}
	s.in.Close()
	for _, r := range append(s.before, s.rest()...) {
		if string(r.ID) == second {
			t.Errorf("the canceled call is answered with %s", r.Raw)
		}
	}
	var asked []string
	for _, r := range service.Requests() {
		asked = append(asked, r.Query.Get("q"))
	}
	if !slices.Equal(asked, []string{"first", "third"}) {
		t.Errorf("asked %q", asked)
	}
}

// TestWebSearchSecret looks for the keys in all that comes out, of calls that services
// answer and of those that they refuse with the key in what they say.
func TestWebSearchSecret(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "logging: {level: debug}\n", "brave", "tavily")
	var said strings.Builder
	note := func(line string) {
		id := fmt.Sprintf(`"said %d"`, unique.Add(1))
		method, params, _ := strings.Cut(line, " ")
		s.send(request(id, method, params))
		fmt.Fprintln(&said, s.answer(id))
	}
	const search = `tools/call {"name":"web_search","arguments":{"query":"few"}}`
	note(search)
	refusing := []*fake.Service{s.become("brave", fake.Options{Key: "another"}, ""), s.become("tavily", fake.Options{Key: "another"}, "")}
	note(search)
	first := func(service *fake.Service, header string) string { return service.Requests()[0].Header.Get(header) }
	if first(refusing[0], "X-Subscription-Token") != braveKey || first(refusing[1], "Authorization") != "Bearer "+tavilyKey {
		t.Errorf("the services do not get their keys")
	}
	for _, trouble := range []fake.Trouble{fake.NoPlan, fake.BadJSON, fake.Redirect, fake.Broken} {
		s.become("brave", fake.Options{}, trouble)
		note(search)
	}
	s.become("brave", fake.Options{}, fake.None)
	note(`tools/call {"name":"web_search","arguments":{"query":"` + braveKey + " " + tavilyKey + `"}}`) // which the answer repeats
	note(`tools/list {}`)
	note(`resources/list {}`)
	note(`resources/read {"uri":"config://server"}`)
	note(`resources/read {"uri":"status://health"}`)
	note(`tools/call {"name":"bash","arguments":{"command":"env; cat /proc/$PPID/environ /proc/self/environ | tr '\\0' '\\n'"}}`)
	s.stop()
	for _, r := range append(s.before, s.rest()...) {
		fmt.Fprintln(&said, r)
	}
	if log := s.log(); strings.Count(log, "web_search") < 7 {
		t.Errorf("the log does not speak of the calls:\n%s", log)
	}
	said.WriteString(s.log())
	for _, command := range [][]string{
		{"config", "show"}, {"check"}, {"check", "--json"}, {"tools", "--all"}, {"explain", "bash", "env"}, {"call", "web_search", "--query", "few"},
	} {
		text, _ := s.run(setup{
			file: filepath.Join(s.dir, "config.yaml"), command: command, env: []string{"BRAVE_API_KEY=" + braveKey, "TAVILY_API_KEY=" + tavilyKey},
		})
		if text == "" {
			t.Errorf("%v says nothing", command)
		}
		said.WriteString(text)
	}
	for _, key := range []string{braveKey, tavilyKey, url.QueryEscape("Bearer " + tavilyKey)} {
		if at := strings.Index(said.String(), key); at >= 0 {
			t.Errorf("the key is said: %s", said.String()[max(0, at-300):at+50])
		}
	}
}

// TestWebSearchClosed connects to nothing that the configuration does not open.
func TestWebSearchClosed(t *testing.T) {
	t.Parallel()
	at := map[string]*standIn{}
	for _, name := range searchServices {
		at[name] = newStandIn(t, newService(name, fake.Options{}, fake.None))
	}
	other := newStandIn(t, http.NotFoundHandler())
	for _, more := range []string{"", opened(other)} {
		for _, name := range searchServices {
			g := newGround(t, account{"own", os.Geteuid()})
			b := g.open(setup{config: more + searchConfig(at, name), env: []string{"BRAVE_API_KEY=" + braveKey, "TAVILY_API_KEY=" + tavilyKey}})
			o := b.checked("web_search", map[string]any{"query": "few"})
			if o.errorType != "denied" || !strings.Contains(o.text, "network.loopback") || !strings.Contains(o.text, "sandbox.private_hosts") {
				t.Errorf("%s: %v", name, o)
			}
			b.stop()
		}
	}
	for _, s := range at {
		s.untouched(t)
	}
}

// TestWebSearchOwnHost opens a private host for web_search, and for no other tool.
func TestWebSearchOwnHost(t *testing.T) {
	t.Parallel()
	at := newStandIn(t, newService("searxng", fake.Options{}, fake.None))
	g := newGround(t, account{"own", os.Geteuid()})
	b := g.open(setup{config: fmt.Sprintf("tools: {web_search: {private_hosts: ['%s']}}\nweb: {search: {providers: [searxng], searxng: {base_url: '%s'}}}\n", strings.TrimPrefix(at.url, "http://"), at.url)})
	if o := b.checked("web_search", map[string]any{"query": "few"}); o.failed {
		t.Errorf("web_search: %v", o)
	}
	before := at.connections.Load()
	o := b.fetch(at.url + "/search?q=few")
	if o.errorType != "denied" || !strings.Contains(o.text, "tools.web_fetch.private_hosts") {
		t.Errorf("web_fetch: %v", o)
	}
	b.stop()
	if n := at.connections.Load() - before; n != 0 {
		t.Errorf("%d connections by web_fetch", n)
	}
}
