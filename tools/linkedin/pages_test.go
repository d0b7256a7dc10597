package linkedin

import (
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/test/tooltest"
)

var update = flag.Bool("update", false, "write what pages come to, to be looked at")

// publicSite reads pages as of LinkedIn itself.
func publicSite() *site {
	base, err := url.Parse(DefaultBaseURL)
	if err != nil {
		panic(err)
	}
	return newSite(nil, base, nil)
}

// pages returns the pages of a directory of testdata by name.
func pages(t testing.TB, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.html"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages in %s: %v", dir, err)
	}
	list := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list[strings.TrimSuffix(filepath.Base(path), ".html")] = string(b)
	}
	return list
}

// golden compares got with a file of testdata.
func golden(t *testing.T, got string, name ...string) {
	t.Helper()
	tooltest.Golden(t, filepath.Join(append([]string{"testdata"}, name...)...), got, *update)
}

func indented(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCards reads all variants of cards, also in other languages.
func TestCards(t *testing.T) {
	for name, body := range pages(t, "cards") {
		t.Run(name, func(t *testing.T) {
			jobs, received, ok := publicSite().cards(body)
			if !ok {
				t.Fatal("not taken for a page of results")
			}
			golden(t, indented(t, map[string]any{"received": received, "jobs": jobs}), "cards", name+".json")
		})
	}
}

// TestPostings reads both forms of a job's page: open and closed, in English and
// not, with all there can be and with hardly anything.
func TestPostings(t *testing.T) {
	for name, body := range pages(t, "postings") {
		t.Run(name, func(t *testing.T) {
			p, ok := publicSite().posting(body)
			if !ok {
				t.Fatal("not taken for the page of a job")
			}
			p.ID, p.URL = "3967656419", viewURL("3967656419")
			golden(t, p.text()+"\n", "postings", name+".txt")
			golden(t, indented(t, p), "postings", name+".json")
		})
	}
}

// TestJobsWithoutID are told apart by what is on their cards.
func TestJobsWithoutID(t *testing.T) {
	card := func(title string) string {
		return `<li><div class="base-search-card"><h3 class="base-search-card__title">` + title + `</h3></div></li>`
	}
	jobs, _, _ := publicSite().cards(card("A") + card("B") + card("A"))
	if len(jobs) != 3 || jobs[0].key() == jobs[1].key() || jobs[0].key() != jobs[2].key() || jobs[0].URL != "" {
		t.Errorf("%+v", jobs)
	}
}

// TestNotAPage tells pages that are empty from those that are something else.
func TestNotAPage(t *testing.T) {
	deep := strings.Repeat("<div>", 600)
	for _, test := range []struct {
		name, body string
		results    bool
		wall       bool
	}{
		{"nothing", "", true, false},
		{"comments", "<!DOCTYPE html>\n\n<!----> ", true, false},
		{"no results", `<section class="no-results"><p>We couldn’t find a match</p></section>`, true, false},
		{"other page", "<html><body><h1>Hello</h1></body></html>", false, false},
		{"cards that say nothing", `<li><div class="base-search-card"></div></li>`, false, false},
		{"too deep", deep, false, false},
		{"script", `<script>window.location.href = "https://" + domain + "/authwall?trk=x"</script>`, false, true},
		{"challenge", `<iframe id="captcha-internal"></iframe><p>Quick check</p>`, false, true},
		{"changed page", `<nav><a href="https://www.linkedin.com/uas/login?x">Sign in</a></nav><h1>Gopher</h1>`, false, false},
		{"login", `<form action="/uas/login-submit"><h1>Sign in</h1></form>`, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, _, ok := publicSite().cards(test.body); ok != test.results {
				t.Errorf("page of results: %v; want %v", ok, test.results)
			}
			if p, ok := publicSite().posting(test.body); ok {
				t.Errorf("page of a job: %+v", p)
			}
			if got := loginPage().MatchString(test.body); got != test.wall {
				t.Errorf("wall: %v; want %v", got, test.wall)
			}
		})
	}
}

// TestTextOfStrangers leaves out what does not print, and what is too long.
func TestTextOfStrangers(t *testing.T) {
	body := `<li><div class="base-search-card" data-entity-urn="urn:li:jobPosting:1">
		<h3 class="base-search-card__title">Go` + "\x1b[31m\u202e\x00" + ` Developer<script>x()</script></h3>
		<h4 class="base-search-card__subtitle"><a href="javascript:alert(1)">` + strings.Repeat("é ", 2000) + `</a></h4>
		<a class="base-card__full-link" href="https://linkedin.com.evil.example/jobs/view/2"></a></div></li>`
	jobs, _, _ := publicSite().cards(body)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	j := jobs[0]
	if strings.ContainsAny(j.Title, "\x1b\x00\u202e") || !strings.HasPrefix(j.Title, "Go") || !strings.HasSuffix(j.Title, " Developer") {
		t.Errorf("title %q", j.Title)
	}
	if utf8.RuneCountInString(j.Company) > maxLine || !strings.HasSuffix(j.Company, "…") {
		t.Errorf("company of %d bytes", len(j.Company))
	}
	if j.CompanyURL != "" || j.URL != viewURL("1") {
		t.Errorf("addresses %q, %q", j.CompanyURL, j.URL)
	}
}

// TestOddPostings are pages that lack what they usually have.
func TestOddPostings(t *testing.T) {
	const described = `<div class="description__text">Work.</div>`
	for _, test := range []struct {
		name, body string
		want       posting
	}{
		{"only a description", described, posting{Description: "Work."}},
		{"title elsewhere", `<h1>Gopher</h1>` + described, posting{Title: "Gopher", Description: "Work."}},
		{"older company", `<h2 class="topcard__title">Gopher</h2><span class="topcard__flavor">Example</span>` +
			`<span class="topcard__flavor topcard__flavor--bullet">Oslo</span>`,
			posting{Title: "Gopher", Company: "Example", Location: "Oslo"}},
		{"applicants before the place", `<h2 class="topcard__title">Gopher</h2><span class="num-applicants__caption topcard__flavor--bullet">45 applicants</span>` +
			`<span class="topcard__flavor--bullet">Oslo</span>`,
			posting{Title: "Gopher", Applicants: "45 applicants", Location: "Oslo"}},
		{"buttons around", `<div class="decorated-job-posting__details"><p>Work.</p><button>Show more</button></div>`, posting{Description: "Work."}},
		{"apply here", described + `<code id="applyUrl"><!--"https://jobs.example/1"--></code>`, posting{Description: "Work.", ApplyURL: "https://jobs.example/1"}},
		{"apply in plain", described + `<code id="applyUrl"><!--https://jobs.example/1--></code>`, posting{Description: "Work.", ApplyURL: "https://jobs.example/1"}},
		{"apply in JSON", described + `<code id="applyUrl"><!--"https:\u002F\u002Fjobs.example\u002F?a=1\u0026b=2"--></code>`, posting{Description: "Work.", ApplyURL: "https://jobs.example/?a=1&b=2"}},
		{"apply to a script", described + `<code id="applyUrl"><!--"https://www.linkedin.com/x?url=javascript:alert(1)"--></code>`,
			posting{Description: "Work.", ApplyURL: "https://www.linkedin.com/x?url=javascript:alert(1)"}},
		{"apply nowhere", described + `<code id="applyUrl"><!--"javascript:alert(1)"--></code>`, posting{Description: "Work."}},
		{"apply to no URL", described + `<code id="applyUrl"><!--"http://["--></code>`, posting{Description: "Work."}},
		{"other types", described + `<script type="application/ld+json">{"@type":"JobPosting","title":7,"employmentType":["",1],"description":1,` +
			`"baseSalary":{"currency":"EUR","value":{"maxValue":5}},"hiringOrganization":[],"jobLocation":"Oslo"}</script>`,
			posting{Title: "7", Salary: "EUR 5", Description: "Work."}},
		{"salary alone", described + `<script type="application/ld+json">[7,{"@type":"JobPosting","title":"Gopher","baseSalary":{"value":"12.50"}}]</script>`,
			posting{Title: "Gopher", Salary: "12.50", Description: "Work."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ok := publicSite().posting(test.body)
			if !ok || indented(t, got) != indented(t, test.want) {
				t.Errorf("%v, %s; want %s", ok, indented(t, got), indented(t, test.want))
			}
		})
	}
}
