package linkedin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

type detailInput struct {
	URL string `json:"url" min:"1" max:"4096" doc:"URL of a LinkedIn job, such as https://www.linkedin.com/jobs/view/4012345678, or its ID."`
}

func (s *site) detailTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: detailName, Target: []string{"url"},
		Title:       "LinkedIn job detail",
		Description: "Read one public job posting of LinkedIn, by a URL or ID that linkedin_jobs returned.",
		Annotations: annotations(),
		Output:      schema.OutputOf[posting](),
		Timeout:     callTimeout,
		Ability:     "read a job posting in full",
	}, s.detail)
}

// noDescription is said of a page that has no description. Programs look for these words.
const noDescription = "Could not extract job description from the page. " +
	"LinkedIn may have blocked the request or the page structure has changed."

func (s *site) detail(ctx context.Context, in detailInput) (domain.ToolResult, error) {
	id, why := s.jobID(in.URL)
	if id == "" {
		return domain.Failure("invalid_url",
			fmt.Sprintf("Error fetching job details: %q is not the URL of a job on LinkedIn: %s", httpcall.Clip(in.URL, 200), why),
			"Pass a URL such as "+viewURL("4012345678")+" or the id of a job, as linkedin_jobs returns them."), nil
	}
	p, f := s.readJob(ctx, id)
	switch {
	case f != nil && ctx.Err() != nil:
		return domain.ToolResult{}, ctx.Err()
	case f == errUnreadable:
		return domain.Failure("bad_answer", noDescription, "Open "+viewURL(id)+" in a browser, or try again later."), nil
	case f != nil:
		if f.Status == http.StatusNotFound || f.Status == http.StatusGone {
			f.Hint = "Check the id; jobs are removed some time after they are filled."
		}
		return failure(f, "Error fetching job page", "Error fetching job details"), nil
	}
	return domain.Answer(p.text(), &p), nil
}

// readJob reads the fragment that guests are shown, which is small. If that is
// missing or has no description, it reads the whole page, too.
func (s *site) readJob(ctx context.Context, id string) (posting, *httpcall.Failure) {
	p, f := s.readPage(ctx, id, "/jobs-guest/jobs/api/jobPosting/"+id)
	if f == nil && p.Description != "" {
		return p, nil
	}
	if !mayTryPage(f) {
		return posting{}, f
	}
	call.ReportProgress(ctx, call.Progress{Done: 1, Total: 2, Message: "reading the whole page"})
	page, pageFailure := s.readPage(ctx, id, "/jobs/view/"+id)
	if pageFailure != nil && (f != nil || !mayTryPage(pageFailure)) {
		return posting{}, pageFailure
	}
	p.fill(page)
	if p.Description == "" {
		return posting{}, errUnreadable
	}
	return p, nil
}

// readPage reads one page of a job.
func (s *site) readPage(ctx context.Context, id, path string) (p posting, f *httpcall.Failure) {
	same := func(u *url.URL) bool { return idOfURL(u) == id }
	f = s.get(ctx, s.Base.JoinPath(path), same, func(body string) (ok bool) {
		p, ok = s.posting(body)
		return ok
	})
	p.ID, p.URL = id, viewURL(id)
	return p, f
}

// mayTryPage reports whether the whole page may have what the fragment has not. After a block nothing else is tried.
func mayTryPage(f *httpcall.Failure) bool {
	return f == nil || f == errUnreadable || f.Type == "not_found" ||
		f.Status == http.StatusBadRequest || f.Status == http.StatusInternalServerError
}

// text returns the job as it is read. The labels of criteria are the page's own.
func (p *posting) text() string {
	var b strings.Builder
	write := func(label, value string) {
		if value != "" {
			b.WriteString(label + ": " + value + "\n")
		}
	}
	write("Title", cmp.Or(p.Title, notListed))
	write("Company", cmp.Or(p.Company, notListed))
	write("Location", cmp.Or(p.Location, notListed))
	write("Workplace", p.Workplace)
	write("Posted", cmp.Or(p.Posted, p.PostedDate))
	write("Applicants", p.Applicants)
	write("Salary", p.Salary)
	for _, label := range p.labels {
		write(label, p.Criteria[label])
	}
	if len(p.labels) == 0 {
		write("Employment type", p.EmploymentType)
	}
	write("Apply", p.ApplyURL)
	if p.Closed {
		write("Status", "No longer accepting applications")
	}
	b.WriteString("\n--- Job Description ---\n\n" + p.Description)
	return b.String()
}
