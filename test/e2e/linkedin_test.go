//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	fake "toolserver/test/fakes/linkedin"
)

// newLinkedIn starts a server whose LinkedIn is a stand-in. Settings are of the
// section linkedin.
func newLinkedIn(t *testing.T, o fake.Options, settings string) (*box, *standIn, *fake.Site) {
	t.Helper()
	site := fake.Handler(o)
	at := newStandIn(t, site)
	g := newGround(t, account{"own", os.Geteuid()})
	return g.open(setup{config: opened(at) + fmt.Sprintf("linkedin: {base_url: '%s', %s}\n", at.url, settings)}), at, site
}

// atOnce leaves no time between requests.
const atOnce = "interval: 0s"

// foundJobs is the structured content of linkedin_jobs.
type foundJobs struct {
	Jobs      []map[string]any
	QueryURL  string `json:"query_url"`
	Pages     int
	NextStart int `json:"next_start"`
	Partial   bool
	StoppedBy string `json:"stopped_by"`
	Reason    string
}

func jobsOf(t *testing.T, o outcome) (found foundJobs) {
	t.Helper()
	b, err := json.Marshal(o.structure)
	must(t, err)
	must(t, json.Unmarshal(b, &found))
	return found
}

// TestLinkedInQuery compares what LinkedIn is asked with each filter.
func TestLinkedInQuery(t *testing.T) {
	t.Parallel()
	b, at, _ := newLinkedIn(t, fake.Options{}, atOnce)
	for _, tt := range []struct{ args, want string }{
		{`{}`, "keywords=go&start=0"},
		{`{"keyword":" c++ & c# "}`, "keywords=c%2B%2B+%26+c%23&start=0"},
		{`{"location":"Malmö, Sverige"}`, "keywords=go&location=Malm%C3%B6%2C+Sverige&start=0"},
		{`{"geoId":105117694}`, "geoId=105117694&keywords=go&start=0"},
		{`{"dateSincePosted":"24hr"}`, "f_TPR=r86400&keywords=go&start=0"},
		{`{"dateSincePosted":"past week"}`, "f_TPR=r604800&keywords=go&start=0"},
		{`{"dateSincePosted":"Past-Month"}`, "f_TPR=r2592000&keywords=go&start=0"},
		{`{"jobType":"full time"}`, "f_JT=F&keywords=go&start=0"},
		{`{"jobType":"Part-Time"}`, "f_JT=P&keywords=go&start=0"},
		{`{"jobType":"contract"}`, "f_JT=C&keywords=go&start=0"},
		{`{"jobType":"temporary"}`, "f_JT=T&keywords=go&start=0"},
		{`{"jobType":"internship"}`, "f_JT=I&keywords=go&start=0"},
		{`{"jobType":"volunteer"}`, "f_JT=V&keywords=go&start=0"},
		{`{"jobType":"other"}`, "f_JT=O&keywords=go&start=0"},
		{`{"jobType":"full_time, contract"}`, "f_JT=F%2CC&keywords=go&start=0"},
		{`{"remoteFilter":"on site"}`, "f_WT=1&keywords=go&start=0"},
		{`{"remoteFilter":"remote"}`, "f_WT=2&keywords=go&start=0"},
		{`{"remoteFilter":"hybrid"}`, "f_WT=3&keywords=go&start=0"},
		{`{"experienceLevel":"internship"}`, "f_E=1&keywords=go&start=0"},
		{`{"experienceLevel":"entry level"}`, "f_E=2&keywords=go&start=0"},
		{`{"experienceLevel":"associate"}`, "f_E=3&keywords=go&start=0"},
		{`{"experienceLevel":"senior"}`, "f_E=4&keywords=go&start=0"},
		{`{"experienceLevel":"director"}`, "f_E=5&keywords=go&start=0"},
		{`{"experienceLevel":"executive"}`, "f_E=6&keywords=go&start=0"},
		{`{"sortBy":"recent"}`, "keywords=go&sortBy=DD&start=0"},
		{`{"sortBy":"relevant"}`, "keywords=go&sortBy=R&start=0"},
		{`{"limit":"5","start":30}`, "keywords=go&start=30"},
		{`{"location":"Oslo","dateSincePosted":"past week","jobType":"full time","remoteFilter":"remote","experienceLevel":"senior","limit":5,"sortBy":"recent"}`,
			"f_E=4&f_JT=F&f_TPR=r604800&f_WT=2&keywords=go&location=Oslo&sortBy=DD&start=0"},
	} {
		site := fake.Handler(fake.Options{Jobs: fake.Jobs(40)})
		at.serve(site)
		args := map[string]any{"keyword": "go"}
		must(t, json.Unmarshal([]byte(tt.args), &args))
		o := b.call("linkedin_jobs", args)
		asked := site.Requests()
		if o.failed || len(asked) != 1 || asked[0].Path != fake.SearchPath || asked[0].Query.Encode() != tt.want {
			t.Errorf("%s asks %v; want %s; %v", tt.args, asked, tt.want, o)
		}
		if found := jobsOf(t, o); found.QueryURL != at.url+fake.SearchPath+"?"+tt.want {
			t.Errorf("%s: query_url %s", tt.args, found.QueryURL)
		}
	}
	site := fake.Handler(fake.Options{Jobs: fake.Jobs(3)})
	at.serve(site)
	for argument, value := range map[string]any{
		"keyword": " ", "dateSincePosted": "past weak", "jobType": "ful time", "remoteFilter": "remoet", "experienceLevel": "seniour",
		"sortBy": "newest", "limit": 101, "start": 1000,
	} {
		args := map[string]any{"keyword": "go"}
		args[argument] = value
		if o := b.call("linkedin_jobs", args); o.errorType != "-32602" || !strings.Contains(o.text, argument) {
			t.Errorf("%s=%v: %v", argument, value, o)
		}
	}
	if n := len(site.Requests()); n != 0 {
		t.Errorf("%d requests with wrong arguments", n)
	}
	b.stop()
}

// TestLinkedInPages finds the 35 jobs of 36 cards on pages of 10, 10, 9 and 7.
func TestLinkedInPages(t *testing.T) {
	t.Parallel()
	jobs := fake.Jobs(35)
	o := fake.Options{Jobs: slices.Insert(slices.Clone(jobs), 20, jobs[4]), Pages: []int{10, 10, 9, 7}}
	b, at, _ := newLinkedIn(t, o, atOnce)
	for _, tt := range []struct {
		limit, jobs, next int
		starts            string
	}{{100, 35, 0, "0 10 20 29 36"}, {35, 35, 36, "0 10 20 29"}, {25, 25, 26, "0 10 20"}, {10, 10, 10, "0"}, {3, 3, 3, "0"}} {
		site := fake.Handler(o)
		at.serve(site)
		got := b.checked("linkedin_jobs", map[string]any{"keyword": "go", "limit": tt.limit})
		found := jobsOf(t, got)
		var starts []string
		for _, r := range site.Requests() {
			starts = append(starts, r.Query.Get("start"))
		}
		if got.failed || len(found.Jobs) != tt.jobs || found.Partial || found.NextStart != tt.next || strings.Join(starts, " ") != tt.starts {
			t.Errorf("limit %d: %d jobs, next %d, starts %v: %v", tt.limit, len(found.Jobs), found.NextStart, starts, got)
		}
		for i, job := range found.Jobs {
			if job["id"] != jobs[i].ID || !strings.Contains(got.text, fmt.Sprintf("%d. %s\n", i+1, jobs[i].Title)) {
				t.Errorf("limit %d: job %d is %v", tt.limit, i+1, job)
			}
		}
		if strings.Contains(got.text, fmt.Sprintf("\n%d. ", tt.jobs+1)) {
			t.Errorf("limit %d: the text has more jobs", tt.limit)
		}
	}
	b.stop()
}

// TestLinkedInCards reads the four variants of cards, and pages in other languages.
func TestLinkedInCards(t *testing.T) {
	t.Parallel()
	jobs := fake.Jobs(4)
	jobs[1].Salary = "$120,000.00 - $150,000.00"
	jobs[3].Company, jobs[3].Location, jobs[3].Posted = "", "", ""
	b, at, _ := newLinkedIn(t, fake.Options{Jobs: jobs}, atOnce)
	const want = `1. Go Developer 1
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
   URL: https://www.linkedin.com/jobs/view/4012345004`
	if o := b.checked("linkedin_jobs", map[string]any{"keyword": "go"}); o.text != want {
		t.Errorf("got %v", o)
	}
	for _, name := range []string{"variants", "swedish", "german"} {
		at.serve(onePage(t, "cards", name))
		o := b.checked("linkedin_jobs", map[string]any{"keyword": "go"})
		var known struct{ Jobs []map[string]any }
		must(t, json.Unmarshal(captured(t, "cards", name+".json"), &known))
		if found := jobsOf(t, o); !reflect.DeepEqual(found.Jobs, known.Jobs) {
			t.Errorf("%s: %v\nwant %v", name, found.Jobs, known.Jobs)
		}
	}
	at.serve(fake.Handler(fake.Options{}))
	if o := b.checked("linkedin_jobs", map[string]any{"keyword": "go"}); o.failed || o.text != "No job postings found matching your criteria." {
		t.Errorf("none: %v", o)
	}
	b.stop()
}

// captured returns a page that was kept, or what it comes to.
func captured(t *testing.T, kind, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "tools", "linkedin", "testdata", kind, name))
	must(t, err)
	return b
}

// onePage is a site whose first page is one that was kept; there is nothing behind it.
func onePage(t *testing.T, kind, name string) *fake.Site {
	t.Helper()
	body := string(captured(t, kind, name+".html"))
	return fake.Handler(fake.Options{Answer: func(n int, _ *http.Request) *fake.Answer {
		if n > 1 {
			return fake.Status(http.StatusBadRequest)
		}
		return &fake.Answer{Status: http.StatusOK, Body: body}
	}})
}

// linkedInBlocks are the ways in which LinkedIn says that it has had enough.
var linkedInBlocks = []struct {
	name       string
	answer     func(*http.Request) *fake.Answer
	kind, what string
	isStatus   bool
}{
	{"429", func(*http.Request) *fake.Answer { return fake.TooManyRequests("900") }, "rate_limited", "HTTP 429 (too many requests)", true},
	{"429 without time", func(*http.Request) *fake.Answer { return fake.TooManyRequests("") }, "rate_limited", "HTTP 429 (too many requests)", true},
	{"999", func(*http.Request) *fake.Answer { return fake.RequestDenied() }, "blocked", "HTTP 999 (request denied)", true},
	{"authwall", fake.Authwall, "blocked", "LinkedIn redirected to its login wall (/authwall)", false},
	{"CAPTCHA", func(*http.Request) *fake.Answer { return fake.Captcha() }, "blocked", "LinkedIn answered with a CAPTCHA or login page", false},
}

// TestLinkedInBlocks ends a search at the first block, with what was gathered and the
// reason. For some minutes neither tool sends a request.
func TestLinkedInBlocks(t *testing.T) {
	t.Parallel()
	for _, block := range linkedInBlocks {
		for blocked := 1; blocked <= 2; blocked++ {
			t.Run(fmt.Sprintf("%s on page %d", block.name, blocked), func(t *testing.T) {
				t.Parallel()
				answer := func(n int, r *http.Request) *fake.Answer {
					if n == blocked {
						return block.answer(r)
					}
					return nil
				}
				b, _, site := newLinkedIn(t, fake.Options{Jobs: fake.Jobs(40), Answer: answer}, atOnce)
				o := b.checked("linkedin_jobs", map[string]any{"keyword": "go", "limit": 40})
				text, reason := "Error searching LinkedIn jobs: ", block.what
				if block.isStatus {
					text, reason = "Error fetching LinkedIn jobs: ", "LinkedIn answered "+block.what
				}
				switch found := jobsOf(t, o); blocked {
				case 1:
					if !o.failed || o.errorType != block.kind || !strings.HasPrefix(o.text, text+block.what+". ") {
						t.Errorf("got %v; want %s %s%s", o, block.kind, text, block.what)
					}
				case 2:
					if o.failed || len(found.Jobs) != 10 || !found.Partial || found.StoppedBy != block.kind || found.NextStart != 10 ||
						!strings.HasPrefix(found.Reason, reason+" on page 2. 10 jobs were gathered before. ") {
						t.Errorf("got %v", o)
					}
					if !strings.Contains(o.text, "\n10. Go Developer 10\n") || !strings.HasSuffix(o.text, "\n\n[Stopped early: "+found.Reason+"]") {
						t.Errorf("text %q", o.text)
					}
				}
				for tool, args := range map[string]map[string]any{"linkedin_jobs": {"keyword": "rust"}, "linkedin_job_detail": {"url": "4012345001"}} {
					o := b.checked(tool, args)
					if o.errorType != block.kind || !strings.Contains(o.text, block.what+" ") || !strings.Contains(o.text, " ago, so no request is sent for another ") {
						t.Errorf("while it cools down, %s: %v", tool, o)
					}
				}
				if n := len(site.Requests()); n != blocked {
					t.Errorf("%d requests; want %d", n, blocked)
				}
				b.stop()
			})
		}
	}
}

// TestLinkedInDetailBlocks ends the reading of a job at the first block, without a try
// of its other page.
func TestLinkedInDetailBlocks(t *testing.T) {
	t.Parallel()
	for _, block := range linkedInBlocks {
		t.Run(block.name, func(t *testing.T) {
			t.Parallel()
			answer := func(_ int, r *http.Request) *fake.Answer { return block.answer(r) }
			b, _, site := newLinkedIn(t, fake.Options{Jobs: fake.Jobs(40), Answer: answer}, atOnce)
			text := "Error fetching job details: "
			if block.isStatus {
				text = "Error fetching job page: "
			}
			o := b.checked("linkedin_job_detail", map[string]any{"url": "4012345001"})
			if !o.failed || o.errorType != block.kind || !strings.HasPrefix(o.text, text+block.what+". ") {
				t.Errorf("got %v; want %s%s", o, text, block.what)
			}
			o = b.checked("linkedin_jobs", map[string]any{"keyword": "go"})
			if o.errorType != block.kind || !strings.Contains(o.text, "so no request is sent for another ") {
				t.Errorf("while it cools down: %v", o)
			}
			if n := len(site.Requests()); n != 1 {
				t.Errorf("%d requests; want 1", n)
			}
			b.stop()
		})
	}
}

var jobNumber = regexp.MustCompile("[0-9]{10}")

// TestLinkedInDetail reads jobs in both forms of their pages.
func TestLinkedInDetail(t *testing.T) {
	t.Parallel()
	jobs := fake.Jobs(3)
	jobs[1].Closed = true
	jobs[2].Description = ""
	b, at, _ := newLinkedIn(t, fake.Options{}, atOnce)
	const open = `Title: Go Developer 1
Company: Example 1 & Sons
Location: Stockholm, Sweden
Posted: 3 days ago
Applicants: 45 applicants
Seniority level: Mid-Senior level
Employment type: Full-time

--- Job Description ---

We build tools.

- Go & SQL
- HTTP`
	closed := strings.NewReplacer("Developer 1", "Developer 2", "Example 1", "Example 2",
		"Full-time\n", "Full-time\nStatus: No longer accepting applications\n").Replace(open)
	const none = "Could not extract job description from the page. LinkedIn may have blocked the request or the page structure has changed."
	fragmentGone := func(_ int, r *http.Request) *fake.Answer {
		if strings.HasPrefix(r.URL.Path, fake.PostingPath) {
			return fake.Status(http.StatusNotFound)
		}
		return nil
	}
	for _, tt := range []struct {
		name, url string
		answer    func(int, *http.Request) *fake.Answer
		requests  int
		kind      string
		text      string
	}{
		{"fragment", "https://www.linkedin.com/jobs/view/go-developer-4012345001?trk=x", nil, 1, "", open},
		{"page", "https://se.linkedin.com/jobs/view/4012345001/", fragmentGone, 2, "", open},
		{"closed, fragment", "4012345002", nil, 1, "", closed},
		{"closed, page", "https://www.linkedin.com/jobs/search?currentJobId=4012345002", fragmentGone, 2, "", closed},
		{"no description", "urn:li:jobPosting:4012345003", nil, 2, "bad_answer", none},
		{"no such job", "4012345999", nil, 2, "not_found", "Error fetching job page: HTTP 404 (not found). Check the id; jobs are removed some time after they are filled."},
	} {
		site := fake.Handler(fake.Options{Jobs: jobs, Answer: tt.answer})
		at.serve(site)
		o := b.checked("linkedin_job_detail", map[string]any{"url": tt.url})
		var paths []string
		for _, r := range site.Requests() {
			paths = append(paths, r.Path)
		}
		id := jobNumber.FindString(tt.url)
		want := []string{fake.PostingPath + id, fake.ViewPath + id}[:tt.requests]
		if o.errorType != tt.kind || o.failed != (tt.kind != "") || o.text != tt.text || !slices.Equal(paths, want) {
			t.Errorf("%s: %v asked %v; want %s %q from %v", tt.name, o, paths, tt.kind, tt.text, want)
		}
		if tt.kind != "" {
			continue
		}
		description, _ := o.structure["description"].(string)
		if o.structure["id"] != id || o.structure["closed"] != strings.HasPrefix(tt.name, "closed") || !strings.HasSuffix(o.text, "\n\n"+description) {
			t.Errorf("%s: structured content %v", tt.name, o.structure)
		}
	}
	for _, name := range []string{"guest", "page", "jsonld", "closed", "closed_german", "swedish"} {
		at.serve(onePage(t, "postings", name))
		o := b.checked("linkedin_job_detail", map[string]any{"url": "3967656419"})
		var known map[string]any
		must(t, json.Unmarshal(captured(t, "postings", name+".json"), &known))
		if o.text+"\n" != string(captured(t, "postings", name+".txt")) || !reflect.DeepEqual(o.structure, known) {
			t.Errorf("%s: %v\nstructured content %v", name, o, o.structure)
		}
	}
	b.stop()
}

// TestLinkedInOnly refuses what is not the URL of a job on LinkedIn, and asks nobody.
func TestLinkedInOnly(t *testing.T) {
	t.Parallel()
	b, at, _ := newLinkedIn(t, fake.Options{Jobs: fake.Jobs(1)}, atOnce)
	other := newStandIn(t, http.NotFoundHandler())
	for _, url := range []string{
		"https://example.com/jobs/view/4012345001", other.url + "/jobs/view/4012345001", "https://linkedin.com.evil.example/jobs/view/1",
		"https://evillinkedin.com/jobs/view/1", "https://www.linkedin.com@127.0.0.1/jobs/view/1", "https://www.linkedin.com:x@evil.example/jobs/view/1",
		"http://169.254.169.254/jobs/view/1", "http://127.0.0.1/jobs/view/1", "file:///jobs/view/1", "javascript:alert(1)", "//www.linkedin.com/jobs/view/1",
		"https://www.linkedin.com\\@evil.example/jobs/view/1", "https://evil.example/?u=https://www.linkedin.com/jobs/view/1",
		"https://evil.example#https://www.linkedin.com/jobs/view/1", "https://www.linkedin.com/in/somebody", "https://www.linkedin.com/jobs/view/",
		"https://www.linkedin.com/jobs/view/..%2f..%2ffeed-1", "https://ｗｗｗ.linkedin.com/jobs/view/1", "https://lınkedin.com/jobs/view/1",
		"https://www.linkedin.com/redirect?url=https://evil.example/1", "0", "-1", "x", " ",
	} {
		o := b.checked("linkedin_job_detail", map[string]any{"url": url})
		if !o.failed || o.errorType != "invalid_url" || !strings.HasPrefix(o.text, "Error fetching job details: ") {
			t.Errorf("%s: %v", url, o)
		}
	}
	if o := b.call("linkedin_job_detail", map[string]any{"url": ""}); o.errorType != "-32602" {
		t.Errorf("nothing: %v", o)
	}
	b.stop()
	at.untouched(t)
	other.untouched(t)
}

// TestLinkedInInterval leaves two seconds between requests by default, of calls of
// both tools that are made at once.
func TestLinkedInInterval(t *testing.T) {
	t.Parallel()
	b, _, site := newLinkedIn(t, fake.Options{Jobs: fake.Jobs(20)}, "")
	start := time.Now()
	search := b.begin("linkedin_jobs", map[string]any{"keyword": "go", "limit": 20})
	detail := b.begin("linkedin_job_detail", map[string]any{"url": "4012345001"})
	for _, id := range []string{search, detail} {
		if o := b.finish(id); o.failed {
			t.Errorf("got %v", o)
		}
	}
	if took := time.Since(start); len(site.Requests()) != 3 || took < 4*time.Second {
		t.Errorf("%d requests in %v; want 3 in 4s at least", len(site.Requests()), took)
	}
	b.stop()
}

// TestLinkedInClosed connects to nothing that the configuration does not open.
func TestLinkedInClosed(t *testing.T) {
	t.Parallel()
	at := newStandIn(t, fake.Handler(fake.Options{Jobs: fake.Jobs(3)}))
	g := newGround(t, account{"own", os.Geteuid()})
	b := g.open(setup{config: fmt.Sprintf("linkedin: {base_url: '%s', %s}\n", at.url, atOnce)})
	for tool, args := range map[string]map[string]any{"linkedin_jobs": {"keyword": "go"}, "linkedin_job_detail": {"url": at.url + "/jobs/view/4012345001"}} {
		o := b.checked(tool, args)
		if !o.failed || o.errorType != "denied" || !strings.Contains(o.text, "network.loopback") || !strings.Contains(o.text, "sandbox.private_hosts") {
			t.Errorf("%s: %v", tool, o)
		}
	}
	b.stop()
	at.untouched(t)
}
