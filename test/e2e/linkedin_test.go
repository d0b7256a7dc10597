//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"
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
	for _, call := range []*pending{search, detail} {
		if o := b.finish(call); o.failed {
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

// TestLinkedInHints accepts an address as browsers show it, says where to go on, and asks for no id where there is none.
func TestLinkedInHints(t *testing.T) {
	t.Parallel()
	gone := func(_ int, r *http.Request) *fake.Answer {
		if r.URL.Query().Get("keywords") == "gone" {
			return fake.Status(http.StatusNotFound)
		}
		return nil
	}
	b, _, _ := newLinkedIn(t, fake.Options{Jobs: fake.Jobs(20), Answer: gone}, atOnce)
	for _, url := range []string{"linkedin.com/jobs/view/4012345001", "www.linkedin.com/jobs/view/go-developer-4012345001?trk=x"} {
		if o := b.checked("linkedin_job_detail", map[string]any{"url": url}); o.failed || !strings.Contains(o.text, "Title: Go Developer 1\n") {
			t.Errorf("%s: %v", url, o)
		}
	}
	if o := b.checked("linkedin_jobs", map[string]any{"keyword": "go", "limit": 5}); !strings.HasSuffix(o.text, "\n\n[There may be more jobs: call again with start=5.]") {
		t.Errorf("the first page: %v", o)
	}
	if o := b.checked("linkedin_jobs", map[string]any{"keyword": "gone"}); o.errorType != "not_found" || strings.Contains(o.text, "id") {
		t.Errorf("a search that is gone: %v", o)
	}
	if o := b.checked("linkedin_job_detail", map[string]any{"url": "4099999999"}); o.errorType != "not_found" || !strings.Contains(o.text, "Check the id") {
		t.Errorf("a job that is gone: %v", o)
	}
	b.stop()
}

// TestLinkedInRoom has an operator allow short results: each answer is whole in both forms, and the next goes on after it.
func TestLinkedInRoom(t *testing.T) {
	t.Parallel()
	site := fake.Handler(fake.Options{Jobs: fake.Jobs(45)})
	at := newStandIn(t, site)
	b := newGround(t, account{"own", os.Geteuid()}).open(setup{config: opened(at) + fmt.Sprintf("limits: {max_result_chars: 4000}\nlinkedin: {base_url: '%s', %s}\n", at.url, atOnce)})
	seen, start := 0, 0
	for calls := 0; calls == 0 || start > 0; calls++ {
		o := b.checked("linkedin_jobs", map[string]any{"keyword": "go", "limit": 100, "start": start})
		jobs, _ := o.structure["jobs"].([]any)
		if o.failed || len(jobs) == 0 || len(o.text) > 4000 || strings.Count(o.text, "   URL: ") != len(jobs) || calls > 20 {
			t.Fatalf("from %d on: %d jobs: %v", start, len(jobs), o)
		}
		if first, _ := jobs[0].(map[string]any); first["title"] != fmt.Sprintf("Go Developer %d", seen+1) {
			t.Errorf("from %d on: the first job is %v", start, first)
		}
		seen += len(jobs)
		next, _ := o.structure["next_start"].(float64)
		start = int(next)
	}
	if seen != 45 {
		t.Errorf("%d jobs", seen)
	}
	b.stop()
}
