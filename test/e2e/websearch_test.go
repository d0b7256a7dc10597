//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	fake "github.com/toolserver/toolserver/test/fakes/search"
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
	b.t.Helper()
	var result struct {
		Tools []struct {
			Name         string
			OutputSchema json.RawMessage
		}
		NextCursor string
	}
	must(b.t, json.Unmarshal(b.request("tools/list", nil), &result))
	if result.NextCursor != "" {
		b.t.Fatal("the list has more than one page")
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
	b.t.Helper()
	o := b.call(tool, args)
	conforms(b.t, string(b.listed()[tool]), o.structure)
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

// dated adds the dates of pages to the answer of a service that has them.
func dated(service, text string) string {
	if service == "tavily" {
		return text
	}
	return strings.ReplaceAll(text, " is about few.\n", " is about few.\n   Date: 2026-10-01\n")
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
				if want = dated(name, want); o.failed || o.text != want {
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
				!strings.Contains(o.text, "\n20. Page 40 of many\n") || !strings.HasSuffix(o.text, "\n[This is page=1. For more results call again with page=2.]") {
				t.Errorf("second page: %v", o)
			}
			s.stop()
		})
	}
}

// TestWebSearchSecret looks for the keys in all that comes out, of calls that services
// answer and of those that they refuse with the key in what they say.
func TestWebSearchSecret(t *testing.T) {
	t.Parallel()
	s := newSearching(t, "logging: {level: debug}\n", "brave", "tavily")
	var said strings.Builder
	note := func(line string) {
		method, params, _ := strings.Cut(line, " ")
		_, _ = s.mcp.Call(t.Context(), method, json.RawMessage(params)) // some calls fail on purpose
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
	<-s.mcp.Done()
	for _, r := range s.said() {
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
