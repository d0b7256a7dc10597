package linkedin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestQuery compares what LinkedIn is asked with what the arguments say.
func TestQuery(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{`{"keyword":" go developer "}`, `keywords=go+developer&start=0`},
		{`{"keyword":"c++ & c#","location":"Malmö, Sverige"}`, `keywords=c%2B%2B+%26+c%23&location=Malm%C3%B6%2C+Sverige&start=0`},
		{`{"keyword":"x","geoId":"105117694"}`, `geoId=105117694&keywords=x&start=0`},
		{`{"keyword":"x","dateSincePosted":"24hr"}`, `f_TPR=r86400&keywords=x&start=0`},
		{`{"keyword":"x","dateSincePosted":"past week"}`, `f_TPR=r604800&keywords=x&start=0`},
		{`{"keyword":"x","dateSincePosted":"Past_Month"}`, `f_TPR=r2592000&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"full time"}`, `f_JT=F&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"Full-time"}`, `f_JT=F&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"PART_TIME"}`, `f_JT=P&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"contract"}`, `f_JT=C&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"temporary"}`, `f_JT=T&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"internship"}`, `f_JT=I&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"volunteer"}`, `f_JT=V&keywords=x&start=0`},
		{`{"keyword":"x","jobType":"full time, contract, fulltime"}`, `f_JT=F%2CC&keywords=x&start=0`},
		{`{"keyword":"x","remoteFilter":"on-site"}`, `f_WT=1&keywords=x&start=0`},
		{`{"keyword":"x","remoteFilter":"onsite"}`, `f_WT=1&keywords=x&start=0`},
		{`{"keyword":"x","remoteFilter":"remote"}`, `f_WT=2&keywords=x&start=0`},
		{`{"keyword":"x","remoteFilter":"Hybrid"}`, `f_WT=3&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"internship"}`, `f_E=1&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"entry-level"}`, `f_E=2&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"associate"}`, `f_E=3&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"senior"}`, `f_E=4&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"Mid-Senior level"}`, `f_E=4&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"director"}`, `f_E=5&keywords=x&start=0`},
		{`{"keyword":"x","experienceLevel":"executive"}`, `f_E=6&keywords=x&start=0`},
		{`{"keyword":"x","sortBy":"recent"}`, `keywords=x&sortBy=DD&start=0`},
		{`{"keyword":"x","sortBy":"Relevant"}`, `keywords=x&sortBy=R&start=0`},
		{`{"keyword":"x","location":"","jobType":"","sortBy":" "}`, `keywords=x&start=0`},
		{`{"keyword":"x","limit":"10","start":"30"}`, `keywords=x&start=30`},
		{`{"keyword":"go","location":"Oslo","dateSincePosted":"past week","jobType":"full time","remoteFilter":"remote","experienceLevel":"senior","limit":5,"sortBy":"recent"}`,
			`f_E=4&f_JT=F&f_TPR=r604800&f_WT=2&keywords=go&location=Oslo&sortBy=DD&start=0`},
	} {
		p := serve(t, fake.Options{Jobs: fake.Jobs(40)})
		res := tooltest.Call(t, p.jobs, test.args)
		asked := p.site.Requests()
		if len(asked) != 1 || asked[0].Path != fake.SearchPath || asked[0].Query.Encode() != test.want {
			t.Errorf("%s asked %v; want %s", test.args, asked, test.want)
		}
		if u, err := url.Parse(results(t, res).QueryURL); err != nil || u.RawQuery != test.want || !strings.HasPrefix(u.String(), p.url) {
			t.Errorf("%s: query URL %s", test.args, results(t, res).QueryURL)
		}
	}
}

// TestWrongArguments are refused with what would be right, and nothing is asked.
func TestWrongArguments(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(3)})
	bad := func(name, args string, want ...string) tooltest.Case {
		return tooltest.Case{Name: name, Args: args, Code: domain.CodeInvalidParams, Wants: want}
	}
	tooltest.Run(t, p.jobs, []tooltest.Case{
		bad("no keyword", `{}`, "keyword is required"),
		bad("empty keyword", `{"keyword":""}`, "keyword must not be empty"),
		bad("blank keyword", `{"keyword":" \t"}`, "keyword must not be empty"),
		bad("limit 0", `{"keyword":"x","limit":0}`, "limit must be at least 1"),
		bad("limit 101", `{"keyword":"x","limit":"101"}`, "limit must be at most 100"),
		bad("limit in words", `{"keyword":"x","limit":"ten"}`, "limit must be an integer"),
		bad("start", `{"keyword":"x","start":1000}`, "start must be at most 999"),
		bad("date", `{"keyword":"x","dateSincePosted":"past weak"}`, "dateSincePosted must be one of 24hr, past week, past month", `did you mean past week?`),
		bad("type", `{"keyword":"x","jobType":"ful time"}`,
			"jobType must be one of full time, part time, contract, temporary, internship", `not "ful time"; did you mean full time?`),
		bad("one of several", `{"keyword":"x","jobType":"contract,part-time,nothing"}`, `not "nothing"`),
		bad("gap in a list", `{"keyword":"x","jobType":"contract,,part time"}`, `not ""`),
		bad("remote", `{"keyword":"x","remoteFilter":"remoet"}`, "remoteFilter must be one of on site, remote, hybrid", "did you mean remote?"),
		bad("level", `{"keyword":"x","experienceLevel":"seniour"}`,
			"experienceLevel must be one of internship, entry level, associate, senior, director, executive", "did you mean senior?"),
		bad("sort", `{"keyword":"x","sortBy":"relevance"}`, "sortBy must be one of recent, relevant", "did you mean relevant?"),
		bad("two sorts", `{"keyword":"x","sortBy":"recent,relevant"}`, "sortBy must be one of"),
		bad("long", `{"keyword":"x","sortBy":"`+strings.Repeat("é", 100)+`"}`, "sortBy must be one of", `…"`),
		bad("unknown", `{"keyword":"x","jobTyp":"contract"}`, "did you mean jobType?"),
	})
	if n := len(p.site.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// uneven is 35 jobs on four pages of different lengths, one of them twice.
func uneven() fake.Options {
	jobs := fake.Jobs(35)
	return fake.Options{Jobs: slices.Insert(jobs, 20, jobs[4]), Pages: []int{10, 10, 9, 7}}
}

func TestPaging(t *testing.T) {
	for _, test := range []struct {
		args   string
		site   fake.Options
		jobs   int
		pages  int
		next   int
		starts string
	}{
		{`{"keyword":"x","limit":100}`, uneven(), 35, 4, 0, "0 10 20 29 36"},
		{`{"keyword":"x","limit":35}`, uneven(), 35, 4, 36, "0 10 20 29"},
		{`{"keyword":"x","limit":34}`, uneven(), 34, 4, 35, "0 10 20 29"},
		{`{"keyword":"x","limit":29}`, uneven(), 29, 4, 30, "0 10 20 29"},
		{`{"keyword":"x","limit":28}`, uneven(), 28, 3, 29, "0 10 20"},
		{`{"keyword":"x","limit":3}`, uneven(), 3, 1, 3, "0"},
		{`{"keyword":"x"}`, uneven(), 10, 1, 10, "0"},
		{`{"keyword":"x","limit":"25"}`, uneven(), 25, 3, 26, "0 10 20"},
		{`{"keyword":"x","limit":100,"start":30}`, uneven(), 6, 1, 0, "30 36"},
		{`{"keyword":"x","start":40}`, uneven(), 0, 0, 0, "40"},
		{`{"keyword":"x"}`, fake.Options{}, 0, 0, 0, "0"},
		{`{"keyword":"x","limit":100}`, fake.Options{Jobs: fake.Jobs(1), Pages: []int{1}}, 1, 1, 0, "0 1"},
		{`{"keyword":"x","limit":100}`, fake.Options{Jobs: fake.Jobs(200)}, 100, 10, 100, "0 10 20 30 40 50 60 70 80 90"},
		{`{"keyword":"x","limit":100,"start":990}`, fake.Options{Jobs: fake.Jobs(1200)}, 10, 1, 0, "990"},
		{`{"keyword":"x","start":990}`, fake.Options{Jobs: fake.Jobs(1200)}, 10, 1, 0, "990"},
	} {
		p := serve(t, test.site)
		res := tooltest.Call(t, p.jobs, test.args)
		r := results(t, res)
		if len(r.Jobs) != test.jobs || r.Pages != test.pages || r.NextStart != test.next || r.Partial || r.Reason != "" {
			t.Errorf("%s: %d jobs, %d pages, next %d, partial %v (%s); want %d, %d, %d",
				test.args, len(r.Jobs), r.Pages, r.NextStart, r.Partial, r.Reason, test.jobs, test.pages, test.next)
		}
		if got := strings.Join(p.starts(), " "); got != test.starts {
			t.Errorf("%s: starts %s; want %s", test.args, got, test.starts)
		}
		seen := map[string]bool{}
		for i, j := range r.Jobs {
			if seen[j.ID] {
				t.Errorf("%s: job %s twice", test.args, j.ID)
			}
			seen[j.ID] = true
			if !strings.Contains(tooltest.Text(res), fmt.Sprintf("%d. %s\n", i+1, j.Title)) {
				t.Errorf("%s: job %d is not in the text", test.args, i)
			}
		}
	}
}

// TestEndlessPages ends a search at a page that has nothing new.
func TestEndlessPages(t *testing.T) {
	first := fake.Options{Jobs: fake.Jobs(10)}
	same := first
	same.Answer = func(n int, r *http.Request) *fake.Answer {
		q := r.URL.Query()
		q.Set("start", "0")
		r.URL.RawQuery = q.Encode()
		return nil
	}
	p := serve(t, same)
	if r := results(t, tooltest.Call(t, p.jobs, `{"keyword":"x","limit":50}`)); len(r.Jobs) != 10 || r.Partial || len(p.site.Requests()) != 2 {
		t.Errorf("%d jobs, partial %v, %d requests", len(r.Jobs), r.Partial, len(p.site.Requests()))
	}
}

// TestEnds are the ways in which LinkedIn says that there is no more.
func TestEnds(t *testing.T) {
	for name, end := range map[string]*fake.Answer{
		"400": fake.Status(400), "404": fake.Status(404), "empty": fake.Status(200), "comment": {Status: 200, Body: "<!DOCTYPE html><!---->"},
		"none": {Status: 200, Body: `<section class="core-section-container my-3 no-results"><h1>No matching jobs found.</h1></section>`},
	} {
		t.Run(name, func(t *testing.T) {
			o := fake.Options{Jobs: fake.Jobs(30), Answer: func(n int, _ *http.Request) *fake.Answer {
				if n == 3 {
					return end
				}
				return nil
			}}
			p := serve(t, o)
			if r := results(t, tooltest.Call(t, p.jobs, `{"keyword":"x","limit":50}`)); len(r.Jobs) != 20 || r.Partial || r.NextStart != 0 {
				t.Errorf("%d jobs, partial %v, next %d", len(r.Jobs), r.Partial, r.NextStart)
			}
		})
	}
}

// TestRefusedAtStart expects a tool execution error on the first page for what ends the search later.
func TestRefusedAtStart(t *testing.T) {
	for status, kind := range map[int]string{400: "http_status", 404: "not_found"} {
		p := serve(t, fake.Options{Answer: func(int, *http.Request) *fake.Answer { return fake.Status(status) }})
		tooltest.Run(t, p.jobs, []tooltest.Case{
			{Name: "start", Args: `{"keyword":"x"}`, ErrorType: kind, Want: fmt.Sprintf("Error fetching LinkedIn jobs: HTTP %d", status), Check: func(t *testing.T, res domain.ToolResult) {
				if text := tooltest.Text(res); !strings.HasSuffix(text, ". "+hintLater) {
					t.Errorf("it asks for what there is not: %s", text)
				}
			}},
			{Name: "further on", Args: `{"keyword":"x","start":20}`, Exact: "No job postings found matching your criteria."},
		})
	}
}

// TestJobsText is the text of the origin of this tool, letter by letter.
func TestJobsText(t *testing.T) {
	jobs := fake.Jobs(4)
	jobs[1].Salary = "$120,000.00 - $150,000.00"
	jobs[3].Company, jobs[3].Location, jobs[3].Posted = "", "", ""
	tooltest.Run(t, serve(t, fake.Options{Jobs: jobs}).jobs, []tooltest.Case{{Name: "four variants", Args: `{"keyword":"go"}`, Exact: `1. Go Developer 1
   Company: Example 1 & Sons
   Location: Stockholm, Sweden
   Posted: 3 days ago
   Salary: Not listed
   URL: https://se.linkedin.com/jobs/view/go-developer-1-at-example-1-sons-4012345001

2. Go Developer 2
   Company: Example 2 & Sons
   Location: Stockholm, Sweden
   Posted: 3 days ago
   Salary: $120,000.00 - $150,000.00
   URL: https://se.linkedin.com/jobs/view/go-developer-2-at-example-2-sons-4012345002

3. Go Developer 3
   Company: Example 3 & Sons
   Location: Stockholm, Sweden
   Posted: 3 days ago
   Salary: Not listed
   URL: https://se.linkedin.com/jobs/view/go-developer-3-at-example-3-sons-4012345003

4. Go Developer 4
   Company: Not listed
   Location: Not listed
   Posted: Not listed
   Salary: Not listed
   URL: https://www.linkedin.com/jobs/view/4012345004`}})
	tooltest.Run(t, serve(t, fake.Options{}).jobs, []tooltest.Case{{Name: "none", Args: `{"keyword":"go"}`, Exact: "No job postings found matching your criteria.",
		Check: func(t *testing.T, res domain.ToolResult) {
			if r := results(t, res); r.Jobs == nil || len(r.Jobs) != 0 {
				t.Errorf("jobs %#v; want an empty list", r.Jobs)
			}
		}}})
}

func TestHeaders(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(1)})
	tooltest.Call(t, p.jobs, `{"keyword":"x","limit":1}`)
	header := p.site.Requests()[0].Header
	for name := range header {
		if !slices.Contains([]string{"User-Agent", "Accept", "Accept-Language", "Accept-Encoding"}, name) {
			t.Errorf("header %s is sent: %q", name, header[name])
		}
	}
}
