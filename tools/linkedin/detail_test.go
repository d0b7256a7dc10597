package linkedin

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// answers gives the pages of a job by path: what is nil is served as usual.
func answers(posting, view *fake.Answer) func(int, *http.Request) *fake.Answer {
	return func(_ int, r *http.Request) *fake.Answer {
		if strings.HasPrefix(r.URL.Path, fake.ViewPath) {
			return view
		}
		return posting
	}
}

func fixture(t *testing.T, name string) *fake.Answer {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "postings", name+".html"))
	if err != nil {
		t.Fatal(err)
	}
	return &fake.Answer{Status: 200, Body: string(b)}
}

// TestDetailForms reads the fragment, the whole page where that is not enough,
// and says what the matter is where neither is.
func TestDetailForms(t *testing.T) {
	const both = 2
	open := fake.Options{Jobs: fake.Jobs(1)}
	bare := fake.Jobs(1)
	bare[0].Description = ""
	for _, test := range []struct {
		name     string
		options  fake.Options
		requests int
		want     tooltest.Case
	}{
		{"fragment", open, 1, tooltest.Case{Exact: `Title: Go Developer 1
Company: Example 1 & Sons
Location: Stockholm, Sweden
Posted: 3 days ago
Applicants: 45 applicants
Seniority level: Mid-Senior level
Employment type: Full-time

--- Job Description ---

We build tools.

- Go & SQL
- HTTP`}},
		{"page", fake.Options{Jobs: fake.Jobs(1), Answer: answers(fake.Status(404), nil)}, both, tooltest.Case{Wants: []string{"Title: Go Developer 1\n", "- Go & SQL"}}},
		{"page after 410", fake.Options{Jobs: fake.Jobs(1), Answer: answers(fake.Status(410), nil)}, both, tooltest.Case{Want: "- HTTP"}},
		{"page after 500", fake.Options{Jobs: fake.Jobs(1), Answer: answers(fake.Status(500), nil)}, both, tooltest.Case{Want: "- HTTP"}},
		{"page after nothing", fake.Options{Jobs: fake.Jobs(1), Answer: answers(fake.Status(200), nil)}, both, tooltest.Case{Want: "- HTTP"}},
		{"both halves", fake.Options{Jobs: fake.Jobs(1), Answer: answers(fixture(t, "no_description"), fixture(t, "jsonld"))}, both,
			tooltest.Case{Wants: []string{"Title: Go Developer\n", "Company: Example\n", "Location: Oslo, Norway\n", "Workplace: Remote\n", "- SQL & Go"}}},
		{"closed", fake.Options{Answer: answers(fixture(t, "closed_german"), nil)}, 1, tooltest.Case{
			Wants: []string{"\nStatus: No longer accepting applications\n", "Karrierestufe: Direktor:in"},
			Check: func(t *testing.T, res domain.ToolResult) {
				if p := res.Results.(*posting); !p.Closed || p.ApplyURL != "" || p.Criteria["Karrierestufe"] != "Direktor:in" {
					t.Errorf("%+v", p)
				}
			}}},
		{"all there can be", fake.Options{Answer: answers(fixture(t, "guest"), nil)}, 1, tooltest.Case{
			Wants: []string{"Location: Stockholm, Stockholm County, Sweden\nPosted: 2 weeks ago\nApplicants: Over 200 applicants\n" +
				"Salary: $120,000.00/yr - $150,000.00/yr\n", "\nApply: https://careers.example.com/jobs/42"}}},
		{"no description", fake.Options{Jobs: bare}, both, tooltest.Case{ErrorType: "bad_answer", Exact: noDescription}},
		{"no description, no page", fake.Options{Jobs: bare, Answer: answers(nil, fake.Status(404))}, both, tooltest.Case{ErrorType: "bad_answer", Exact: noDescription}},
		{"other pages", fake.Options{Answer: answers(&fake.Answer{Status: 200, Body: "<h1>Hello</h1>"}, &fake.Answer{Status: 200, Body: "<h1>Hello</h1>"})}, both,
			tooltest.Case{ErrorType: "bad_answer", Exact: noDescription}},
		{"no such job", fake.Options{}, both, tooltest.Case{ErrorType: "not_found", Want: "Error fetching job page: HTTP 404"}},
		{"expired", fake.Options{Answer: answers(fake.Status(404), fake.Redirect("/jobs/go-developer-jobs?trk=expired_jd_redirect"))}, both,
			tooltest.Case{ErrorType: "not_found", Want: "Error fetching job details: LinkedIn redirected to another page, /jobs/go-developer-jobs"}},
		{"500 twice", fake.Options{Answer: answers(fake.Status(500), fake.Status(500))}, both, tooltest.Case{ErrorType: "http_status", Want: "Error fetching job page: HTTP 500"}},
		{"503", fake.Options{Answer: answers(fake.Status(503), nil)}, 1, tooltest.Case{ErrorType: "overloaded", Want: "Error fetching job page: HTTP 503"}},
		{"403", fake.Options{Answer: answers(fake.Status(403), nil)}, 1, tooltest.Case{ErrorType: "blocked", Want: "Error fetching job page: HTTP 403"}},
		{"429", fake.Options{Answer: answers(fake.TooManyRequests(""), nil)}, 1, tooltest.Case{ErrorType: "rate_limited", Want: "Error fetching job page: HTTP 429"}},
		{"999", fake.Options{Answer: answers(fake.RequestDenied(), nil)}, 1, tooltest.Case{ErrorType: "blocked", Want: "Error fetching job page: HTTP 999 (request denied)"}},
		{"wall", fake.Options{Answer: answers(fake.Redirect("https://www.linkedin.com/authwall?x"), nil)}, 1,
			tooltest.Case{ErrorType: "blocked", Want: "Error fetching job details: LinkedIn redirected to its login wall (/authwall)"}},
		{"CAPTCHA", fake.Options{Answer: answers(fake.Captcha(), nil)}, 1,
			tooltest.Case{ErrorType: "blocked", Want: "Error fetching job details: LinkedIn answered with a CAPTCHA or login page"}},
		{"429 on the page", fake.Options{Jobs: bare, Answer: answers(nil, fake.TooManyRequests("60"))}, both, tooltest.Case{ErrorType: "rate_limited", Want: "HTTP 429"}},
		{"too large", fake.Options{Answer: answers(&fake.Answer{Status: 200, Body: strings.Repeat("<p>x</p>", maxBody/8+1)}, nil)}, 1,
			tooltest.Case{ErrorType: "too_large", Want: "Error fetching job details: "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := serve(t, test.options)
			test.want.Args = `{"url":"4012345001"}`
			tooltest.Run(t, p.detail, []tooltest.Case{test.want})
			asked := p.site.Requests()
			if len(asked) != test.requests || asked[0].Path != fake.PostingPath+"4012345001" {
				t.Errorf("requests %v; want %d", asked, test.requests)
			}
		})
	}
}

// TestRedirects follows what stays the same page on the same site, and a few of
// those only.
func TestRedirects(t *testing.T) {
	const at = fake.PostingPath + "4012345001"
	for _, test := range []struct {
		name     string
		to       string
		always   bool
		requests int
		want     tooltest.Case
	}{
		{"same page", "/jobs/view/go-developer-4012345001", false, 2, tooltest.Case{Want: "- HTTP"}},
		{"loop", at, true, maxRedirects + 1, tooltest.Case{ErrorType: "too_many_redirects", Want: "more than three times"}},
		{"another host", "https://evil.example" + at, true, 1, tooltest.Case{ErrorType: "bad_answer", Want: "another site"}},
		{"LinkedIn instead of the configured host", "https://www.linkedin.com" + at, true, 1, tooltest.Case{ErrorType: "bad_answer", Want: "another site"}},
		{"another scheme", "file://" + at, true, 1, tooltest.Case{ErrorType: "bad_answer", Want: "another site"}},
		{"nowhere", "", true, 1, tooltest.Case{ErrorType: "http_status", Want: "HTTP 302 (found)"}},
		{"no URL", "http://[", true, 1, tooltest.Case{ErrorType: "http_status", Want: "HTTP 302 (found)"}},
		{"another job", "/jobs/view/9", true, 2, tooltest.Case{ErrorType: "not_found", Want: "another page, /jobs/view/9"}},
		{"login", "/m/login?x", true, 1, tooltest.Case{ErrorType: "blocked", Want: "login wall (/m/login)"}},
		{"uas", "/uas/login?x", true, 1, tooltest.Case{ErrorType: "blocked", Want: "login wall"}},
		{"checkpoint", "/checkpoint/challenge/x", true, 1, tooltest.Case{ErrorType: "blocked", Want: "login wall"}},
		{"signup", "https://www.linkedin.com/signup/cold-join", true, 1, tooltest.Case{ErrorType: "blocked", Want: "login wall"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := serve(t, fake.Options{Jobs: fake.Jobs(1), Answer: func(n int, _ *http.Request) *fake.Answer {
				if n == 1 || test.always {
					return fake.Redirect(test.to)
				}
				return nil
			}})
			test.want.Args = `{"url":"4012345001"}`
			tooltest.Run(t, p.detail, []tooltest.Case{test.want})
			if n := len(p.site.Requests()); n != test.requests {
				t.Errorf("%d requests; want %d", n, test.requests)
			}
		})
	}
}

// TestSearchRedirects follows a search that goes on elsewhere, and nothing else.
func TestSearchRedirects(t *testing.T) {
	for to, want := range map[string]tooltest.Case{
		fake.SearchPath + "?keywords=x&start=0": {Want: "3. Go Developer 3"},
		"/jobs/search?keywords=x":               {ErrorType: "not_found", Want: "Error searching LinkedIn jobs: LinkedIn redirected to another page, /jobs/search"},
	} {
		p := serve(t, fake.Options{Jobs: fake.Jobs(3), Answer: func(n int, _ *http.Request) *fake.Answer {
			if n == 1 {
				return fake.Redirect(to)
			}
			return nil
		}})
		want.Args = `{"keyword":"x"}`
		tooltest.Run(t, p.jobs, []tooltest.Case{want})
	}
}

// TestCountryHosts are followed from LinkedIn itself, over HTTPS.
func TestCountryHosts(t *testing.T) {
	s := publicSite()
	for to, want := range map[string]bool{
		"https://se.linkedin.com/jobs/view/1": true, "https://linkedin.com/x": true, "https://www.linkedin.com/x": true,
		"http://se.linkedin.com/x": false, "https://se.linkedin.com:8443/x": false, "https://u@se.linkedin.com/x": false,
		"https://linkedin.com.evil.example/x": false, "https://127.0.0.1/x": false,
	} {
		u, err := publicBase.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.mayFollow(u); got != want {
			t.Errorf("%s: %v; want %v", to, got, want)
		}
	}
}
