package linkedin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/test/tooltest"
)

// pair is the two tools, and the site they read.
type pair struct {
	jobs, detail domain.Tool
	site         *fake.Site
	url          string
}

// serve returns the tools with a site of their own, which they reach through the
// guard, and without pauses between requests.
func serve(t testing.TB, o fake.Options) pair {
	t.Helper()
	site := fake.Handler(o)
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	host, err := netguard.ParseHost(strings.TrimPrefix(srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	client := netguard.New(netguard.Options{Open: []netguard.Host{host}}).Client()
	t.Cleanup(client.CloseIdleConnections)
	tools := tooltest.Tools(t, Family(), declare.From[Options]{Client: tooltest.Client(client), Config: Options{BaseURL: srv.URL}})
	return pair{tools[0], tools[1], site, srv.URL}
}

// starts returns the start of each search request.
func (p pair) starts() (list []string) {
	for _, r := range p.site.Requests() {
		list = append(list, r.Query.Get("start"))
	}
	return list
}

// results returns the structured half of a result, in whatever form it is left.
func results(t testing.TB, res domain.ToolResult) (r jobsResult) {
	t.Helper()
	b, err := json.Marshal(res.Structured())
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Jobs == nil {
		t.Fatalf("structured content %s: %v", b, err)
	}
	return r
}

func TestTools(t *testing.T) {
	tools := tooltest.Tools(t, Family(), declare.From[Options]{Client: tooltest.Client(new(http.Client)), Config: DefaultOptions()})
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
		if tool.Category != "jobs" || tool.Annotations != (domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}) {
			t.Errorf("%s: %s, %+v", tool.Name, tool.Category, tool.Annotations)
		}
	}
	if !slices.Equal(names, []string{"linkedin_jobs", "linkedin_job_detail"}) {
		t.Errorf("tools %v", names)
	}
	for _, base := range []string{"", "linkedin.com", "ftp://www.linkedin.com", "https://", "https://u@www.linkedin.com", "https://www.linkedin.com?a=b"} {
		if _, err := Family().Offer(declare.From[Options]{Client: tooltest.Client(new(http.Client)), Config: Options{BaseURL: base}}); err == nil || !strings.Contains(err.Error(), "linkedin.base_url") {
			t.Errorf("base URL %q: %v", base, err)
		}
	}
}

// TestBaseWithPath sends requests below the path of the base.
func TestBaseWithPath(t *testing.T) {
	site := fake.Handler(fake.Options{Jobs: fake.Jobs(2)})
	srv := httptest.NewServer(http.StripPrefix("/mirror", site))
	defer srv.Close()
	tools := tooltest.Tools(t, Family(), declare.From[Options]{Client: tooltest.Client(srv.Client()), Config: Options{BaseURL: srv.URL + "/mirror/"}})
	if n := len(results(t, tooltest.Call(t, tools[0], `{"keyword":"go","limit":2}`)).Jobs); n != 2 {
		t.Errorf("%d jobs", n)
	}
	tooltest.Run(t, tools[1], []tooltest.Case{{Name: "detail", Args: `{"url":"4012345001"}`, Want: "Title: Go Developer 1"}})
}
