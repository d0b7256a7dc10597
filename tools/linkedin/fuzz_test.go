package linkedin

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// clean reports whether a text may go into a line of a result.
func clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// safe checks an address that goes into a result.
func safe(t *testing.T, s *site, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if address != "" && (err != nil || !s.isOurs(u) || u.RawQuery != "" || u.User != nil || !clean(address)) {
		t.Errorf("address %q: %v", address, err)
	}
}

func FuzzCards(f *testing.F) {
	for _, body := range pages(f, "cards") {
		f.Add(body)
	}
	f.Add(`<li><a href="/jobs/view/1"></li><li><li class=job-search-card><ul><li class=base-search-card>`)
	s := publicSite()
	f.Fuzz(func(t *testing.T, body string) {
		jobs, received, ok := s.cards(strings.ToValidUTF8(body, "\uFFFD"))
		if len(jobs) > received || received > maxCards || len(jobs) > 0 && !ok {
			t.Errorf("%d jobs of %d cards, %v", len(jobs), received, ok)
		}
		for _, j := range jobs {
			if j.ID == "" && j.Title == "" || j.ID != "" && !bareID().MatchString(j.ID) {
				t.Errorf("%+v", j)
			}
			for _, text := range append([]string{j.Title, j.Company, j.Location, j.Posted, j.PostedDate, j.Salary}, j.Benefits...) {
				if !clean(text) || utf8.RuneCountInString(text) > maxLine {
					t.Errorf("text %q", text)
				}
			}
			safe(t, s, j.URL)
			safe(t, s, j.CompanyURL)
			if id, why := s.jobID(j.URL); j.URL != "" && id == "" {
				t.Errorf("%s is not read back: %s", j.URL, why)
			}
		}
		loginPage().MatchString(body)
	})
}

func FuzzDetail(f *testing.F) {
	for _, body := range pages(f, "postings") {
		f.Add(body)
	}
	f.Add(`<script type="application/ld+json">[{"@graph":[{"@type":"JobPosting","title":1e400,"jobLocation":[[]],"baseSalary":[{}]}]}]</script>`)
	f.Add(`<script type="application/ld+json">{"@type":"JobPosting","employmentType":"évasion"}</script>`)
	s := publicSite()
	f.Fuzz(func(t *testing.T, body string) {
		p, ok := s.posting(strings.ToValidUTF8(body, "\uFFFD"))
		if !ok && (p.Title != "" || p.Description != "") {
			t.Errorf("%+v is no posting", p)
		}
		lines := []string{p.Title, p.Company, p.Location, p.Workplace, p.Posted, p.PostedDate, p.ValidThrough, p.Applicants, p.Salary, p.EmploymentType, p.ApplyURL}
		for label, value := range p.Criteria {
			lines = append(lines, label, value)
		}
		for _, text := range lines {
			if !clean(text) || utf8.RuneCountInString(text) > maxLine && text != p.ApplyURL {
				t.Errorf("text %q", text)
			}
		}
		if len(p.labels) != len(p.Criteria) || len(p.labels) > maxItems {
			t.Errorf("%d labels of %d criteria", len(p.labels), len(p.Criteria))
		}
		if !clean(strings.NewReplacer("\n", "", "\t", "").Replace(p.Description)) {
			t.Errorf("description %q", p.Description)
		}
		safe(t, s, p.CompanyURL)
		if u, err := url.Parse(p.ApplyURL); p.ApplyURL != "" && (err != nil || !isWeb(u)) {
			t.Errorf("apply at %q: %v", p.ApplyURL, err)
		}
		if text := p.text(); !strings.HasPrefix(text, "Title: ") || !strings.Contains(text, "\n\n--- Job Description ---\n\n") {
			t.Errorf("text %q", text)
		}
	})
}

func FuzzJobID(f *testing.F) {
	for _, test := range named {
		f.Add(test.arg)
	}
	for _, arg := range lookalikes {
		f.Add(arg)
	}
	s := publicSite()
	f.Fuzz(func(t *testing.T, arg string) {
		id, why := s.jobID(arg)
		if (id == "") == (why == "") || id != "" && !bareID().MatchString(id) {
			t.Fatalf("%q: %q, %q", arg, id, why)
		}
		if id == "" || !strings.Contains(arg, "/") {
			return
		}
		// What was taken for LinkedIn's must be so by the plainest reading, too.
		rest := strings.TrimSpace(arg)
		if scheme, after, found := strings.Cut(rest, "://"); found && !strings.Contains(scheme, "/") {
			rest = after
		}
		host, _, _ := strings.Cut(rest, "/")
		host, _, _ = strings.Cut(host, "?")
		host = strings.ToLower(host)
		if host != "linkedin.com" && !strings.HasSuffix(host, ".linkedin.com") || strings.ContainsAny(host, "@:\\%#") {
			t.Errorf("%q is taken for job %s", arg, id)
		}
	})
}
