package linkedin

import (
	"fmt"
	"net/url"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/linkedin"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// named are ways to name a job, and its id.
var named = []struct{ arg, id string }{
	{"4012345001", "4012345001"},
	{" 4012345001\n", "4012345001"},
	{"urn:li:jobPosting:4012345001", "4012345001"},
	{"urn:li:fsd_jobPosting:4012345001", "4012345001"},
	{"urn:li:fs_normalized_jobPosting:4012345001", "4012345001"},
	{"https://www.linkedin.com/jobs/view/4012345001", "4012345001"},
	{"https://www.linkedin.com/jobs/view/4012345001/", "4012345001"},
	{"linkedin.com/jobs/view/4012345001", "4012345001"},
	{" SE.LinkedIn.com/jobs/view/go-developer-4012345001?position=1", "4012345001"},
	{"www.linkedin.com/jobs/search/?currentJobId=4012345001", "4012345001"},
	{"https://www.linkedin.com/jobs/view/4012345001/?refId=a&trackingId=b#top", "4012345001"},
	{"http://linkedin.com/jobs/view/4012345001", "4012345001"},
	{"HTTPS://WWW.LinkedIn.COM/jobs/view/4012345001", "4012345001"},
	{"https://se.linkedin.com/jobs/view/go-developer-2-at-example-4012345001?position=1", "4012345001"},
	{"https://se.linkedin.com/jobs/view/utvecklare-p%C3%A5-milj%C3%B6-4012345001", "4012345001"},
	{"https://www.linkedin.com/comm/jobs/view/4012345001/?trk=eml", "4012345001"},
	{"https://www.linkedin.com/jobs/search/?currentJobId=4012345001&keywords=go", "4012345001"},
	{"https://www.linkedin.com/jobs/collections/recommended/?currentJobId=4012345001", "4012345001"},
	{"https://www.linkedin.com/jobs?currentJobId=4012345001", "4012345001"},
	{"https://www.linkedin.com/jobs-guest/jobs/api/jobPosting/4012345001", "4012345001"},
}

// lookalikes name no job on LinkedIn, whatever they look like.
var lookalikes = []string{
	"https://linkedin.com.evil.example/jobs/view/1",
	"https://evil.example/linkedin.com/jobs/view/1",
	"https://evil.example/?https://www.linkedin.com/jobs/view/1",
	"https://evil.example#https://www.linkedin.com/jobs/view/1",
	"https://linkedin.com@evil.example/jobs/view/1",
	"https://www.linkedin.com:x@evil.example/jobs/view/1",
	"https://evil.example@www.linkedin.com/jobs/view/1",
	"https://www.linkedin.com\\@evil.example/jobs/view/1",
	"https:\\\\www.linkedin.com\\jobs\\view\\1",
	"https://lınkedin.com/jobs/view/1",
	"https://lin\u212aedin.com/jobs/view/1", // with the sign of the kelvin
	"https://ｌｉｎｋｅｄｉｎ.com/jobs/view/1",
	"https://xn--lnkedin-rfb.com/jobs/view/1",
	"https://evillinkedin.com/jobs/view/1",
	"https://.linkedin.com/jobs/view/1",
	"https://a..linkedin.com/jobs/view/1",
	"https://www.linkedin.com./jobs/view/1",
	"http://www.linkedin.com:8080/jobs/view/1",
	"https://www.linkedin.com:443/jobs/view/1",
	"https://www.linkedin.com:/jobs/view/1",
	"//www.linkedin.com/jobs/view/1",
	"/jobs/view/1",
	"www.linkedin.com",
	"linkedin.com.evil.example/jobs/view/1",
	"evil.example/www.linkedin.com/jobs/view/1",
	"linkedin.com:443/jobs/view/1",
	"user@linkedin.com/jobs/view/1",
	"javascript:alert(1)//https://www.linkedin.com/jobs/view/1",
	"file:///jobs/view/1",
	"file://www.linkedin.com/jobs/view/1",
	"ftp://www.linkedin.com/jobs/view/1",
	"data:text/html,https://www.linkedin.com/jobs/view/1",
	"https:www.linkedin.com/jobs/view/1",
	"https:/www.linkedin.com/jobs/view/1",
	"https://www.linkedin.com%2fjobs/view/1",
	"https://evil.example%2f.linkedin.com/jobs/view/1",
	"https://evil.example%23.linkedin.com/jobs/view/1",
	"https://www.linkedin.com/jobs%2fview%2f1",
	"https://www.linkedin.com/jobs/view/x%2f..%2f1",
	"https://www.linkedin.com/jobs/view/a%5C1",
	"https://www.linkedin.com/jobs/view/../../evil/1",
	"https://www.linkedin.com/jobs/view/",
	"https://www.linkedin.com/jobs/view/go-developer",
	"https://www.linkedin.com/jobs/view/0",
	"https://www.linkedin.com/jobs/view/12345678901234567",
	"https://www.linkedin.com/jobs/search/?currentJobId=1%2f2",
	"https://www.linkedin.com/redir?currentJobId=1",
	"https://www.linkedin.com/in/someone-1",
	"https://www.linkedin.com/company/1",
	"https://www.linkedin.com/",
	"https://127.0.0.1/jobs/view/1",
	"http://169.254.169.254/jobs/view/1",
	"http://2130706433/jobs/view/1",
	"http://[::1]/jobs/view/1",
	"http://localhost/jobs/view/1",
	"urn:li:company:1",
	"urn:li:jobPosting:1/../2",
	"urn:li:jobPosting:",
	"-1", "+1", "1.5", "0x10", "01", "1 2", "1\n2", "12345678901234567", "go developer", "https://", " ", "\x00", "%31",
}

func TestJobID(t *testing.T) {
	s := publicSite()
	for _, test := range named {
		if id, why := s.jobID(test.arg); id != test.id || why != "" {
			t.Errorf("%q: %q, %s; want %s", test.arg, id, why, test.id)
		}
	}
	for _, arg := range lookalikes {
		if id, why := s.jobID(arg); id != "" || why == "" {
			t.Errorf("%q: %q, %q; want none", arg, id, why)
		}
	}
	if _, why := s.jobID("https://www.linkedin.com@evil.example/jobs/view/1"); why != "it has a user name in it, so that its host is evil.example" {
		t.Error(why)
	}
	for _, test := range named {
		if u, err := url.Parse(viewURL(test.id)); err != nil || idOfURL(u) != test.id {
			t.Errorf("the address of %s is not read back: %v", test.id, err)
		}
	}
}

// TestRefusedWithoutRequest calls the tool with what is no job on LinkedIn.
func TestRefusedWithoutRequest(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(3)})
	cases := []tooltest.Case{{Name: "empty", Args: `{"url":""}`, Code: domain.CodeInvalidParams, Want: "url must not be empty"}}
	for _, arg := range lookalikes {
		cases = append(cases, tooltest.Case{
			Name: arg, Args: `{"url":` + quoted(arg) + `}`, ErrorType: "invalid_url",
			Want: fmt.Sprintf("Error fetching job details: %q is not the URL of a job on LinkedIn: ", arg),
		})
	}
	tooltest.Run(t, p.detail, cases)
	if n := len(p.site.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestNamedJobs calls the tool with all that names a job, also as the host that
// stands in for LinkedIn has it.
func TestNamedJobs(t *testing.T) {
	p := serve(t, fake.Options{Jobs: fake.Jobs(1)})
	var cases []tooltest.Case
	for _, test := range append(named, struct{ arg, id string }{p.url + "/jobs/view/go-4012345001", "4012345001"}) {
		cases = append(cases, tooltest.Case{Name: test.arg, Args: `{"url":` + quoted(test.arg) + `}`, Want: "Title: Go Developer 1\n"})
	}
	tooltest.Run(t, p.detail, cases)
	for _, r := range p.site.Requests() {
		if r.Path != fake.PostingPath+"4012345001" || len(r.Query) != 0 {
			t.Errorf("asked %s?%s", r.Path, r.Query.Encode())
		}
	}
}
