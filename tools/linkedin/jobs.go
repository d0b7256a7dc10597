package linkedin

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

type jobsInput struct {
	Keyword         string `json:"keyword" min:"1" max:"500"`
	Location        string `json:"location,omitempty" max:"300"`
	GeoID           *int64 `json:"geoId,omitempty" min:"1" max:"999999999999"`
	DateSincePosted string `json:"dateSincePosted,omitempty"`
	JobType         string `json:"jobType,omitempty" list:"true"`
	RemoteFilter    string `json:"remoteFilter,omitempty" list:"true"`
	ExperienceLevel string `json:"experienceLevel,omitempty" list:"true"`
	Limit           int    `json:"limit" default:"10" min:"1" max:"100"`
	SortBy          string `json:"sortBy,omitempty"`
	Start           int    `json:"start" default:"0" min:"0" max:"999"`
}

func (jobsInput) Words() string { return arguments }

// jobsResult is the structured content of linkedin_jobs.
type jobsResult struct {
	Jobs      []job  `json:"jobs"`
	QueryURL  string `json:"query_url"`
	Pages     int    `json:"pages"`
	NextStart int    `json:"next_start,omitempty"`
	Partial   bool   `json:"partial"`
	StoppedBy string `json:"stopped_by,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

func (s *site) jobsTool() domain.Tool {
	return domain.Define(domain.Tool{
		Name: jobsName, Target: []string{"keyword", "location"},
		Title: "LinkedIn jobs",
		Description: "Search public job postings of LinkedIn: title, company, location, age, salary and URL of each. " +
			"LinkedIn allows few requests: after a refusal, wait as the answer says.",
		Annotations: annotations(),
		Output:      schema.OutputOf[jobsResult](),
		Timeout:     callTimeout,
		Ability:     "search LinkedIn's public job postings",
		// A hundred jobs are 25,000 characters as text, and twice that as data.
		MaxResultChars: maxJobsChars,
	}, s.jobs)
}

// LinkedIn's bounds.
const (
	searchPath = "/jobs-guest/jobs/api/seeMoreJobPostings/search"
	maxStart   = 1000 // there is nothing beyond
)

// maxJobsChars is room for as many jobs as a call may ask for.
const maxJobsChars = 100_000

func (s *site) jobs(ctx context.Context, in jobsInput) (domain.ToolResult, error) {
	query, bad := in.query()
	if bad != nil {
		return domain.ToolResult{}, bad
	}
	q := &search{site: s, query: query, limit: in.Limit, start: in.Start, seen: map[string]bool{}}
	q.found = jobsResult{Jobs: []job{}, QueryURL: q.page().String()}
	within, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	f := q.run(within)
	if f == nil {
		return q.result(ctx)
	}
	if ctx.Err() != nil {
		f = &httpcall.Failure{Type: "canceled", Message: "the call was ended", Hint: hintLater}
	}
	switch {
	case len(q.found.Jobs) > 0:
		q.stopped(f)
		res, err := q.result(ctx)
		return res, cmp.Or(ctx.Err(), err) // the executor keeps the text of a call that ran out of time
	case ctx.Err() != nil:
		return domain.ToolResult{}, ctx.Err()
	}
	return failure(f, "Error fetching LinkedIn jobs", "Error searching LinkedIn jobs"), nil
}

// query returns LinkedIn's parameters, without start.
func (in *jobsInput) query() (url.Values, *domain.Error) {
	keyword := strings.TrimSpace(in.Keyword)
	if keyword == "" {
		return nil, domain.InvalidArgument("linkedin_jobs", "keyword", "must not be empty")
	}
	q := url.Values{"keywords": {keyword}}
	if location := strings.TrimSpace(in.Location); location != "" {
		q.Set("location", location)
	}
	if in.GeoID != nil {
		q.Set("geoId", strconv.FormatInt(*in.GeoID, 10))
	}
	for _, f := range in.filters() {
		codes, err := f.codes()
		if err != nil {
			return nil, err
		}
		if codes != "" {
			q.Set(f.query, codes)
		}
	}
	return q, nil
}

// search is one call of linkedin_jobs.
type search struct {
	site  *site
	query url.Values
	limit int
	start int // cards skipped or received
	seen  map[string]bool
	found jobsResult
	after []int // of each job that was found: the start that follows
}

// page returns the address of the page that begins at start.
func (q *search) page() *url.URL {
	u := q.site.Base.JoinPath(searchPath)
	q.query.Set("start", strconv.Itoa(q.start))
	u.RawQuery = q.query.Encode()
	return u
}

// run reads pages until there are enough jobs or no more. How many cards a page has is LinkedIn's business: a short one is
// not the last, and the next begins behind what was received.
func (q *search) run(ctx context.Context) *httpcall.Failure {
	isSearch := func(u *url.URL) bool { return strings.HasSuffix(u.Path, searchPath) }
	for q.start < maxStart {
		var jobs []job
		received := 0
		f := q.site.get(ctx, q.page(), isSearch, func(body string) (ok bool) {
			jobs, received, ok = q.site.cards(body)
			return ok
		})
		if f != nil && q.start > 0 && (f.Status == http.StatusBadRequest || f.Status == http.StatusNotFound) {
			return nil // this is how LinkedIn says that there are no more results
		}
		if f != nil || received == 0 {
			return f
		}
		q.found.Pages++
		if enough, added := q.take(jobs, received); enough || !added {
			return nil
		}
		call.ReportProgress(ctx, call.Progress{
			Done: float64(len(q.found.Jobs)), Total: float64(q.limit),
			Message: fmt.Sprintf("page %d read, %d jobs found", q.found.Pages, len(q.found.Jobs)),
		})
	}
	return nil
}

// take adds the jobs of a page. It reports whether there are enough now, and whether the page had anything new.
func (q *search) take(jobs []job, received int) (enough, added bool) {
	for i, j := range jobs {
		if key := j.key(); !q.seen[key] {
			q.seen[key] = true
			added = true
			q.found.Jobs, q.after = append(q.found.Jobs, j), append(q.after, q.start+i+1)
		}
		if len(q.found.Jobs) == q.limit {
			if q.start += i + 1; q.start < maxStart {
				q.found.NextStart = q.start
			}
			return true, added
		}
	}
	q.start += received
	return false, added
}

// stopped records what ended the search too early.
func (q *search) stopped(f *httpcall.Failure) {
	what := strings.ToUpper(f.Message[:1]) + f.Message[1:]
	if f.Status != 0 {
		what = "LinkedIn answered " + f.Message
	}
	if f.Since.IsZero() { // otherwise another call was blocked, not this one
		what += fmt.Sprintf(" on page %d", q.found.Pages+1)
	}
	jobs := fmt.Sprintf("%d jobs were", len(q.found.Jobs))
	if len(q.found.Jobs) == 1 {
		jobs = "1 job was"
	}
	q.found.Partial, q.found.StoppedBy, q.found.NextStart = true, f.Type, q.start
	q.found.Reason = fmt.Sprintf("%s. %s gathered before. %s", what, jobs, f.Hint)
}

// notListed stands for what a card does not say.
const notListed = "Not listed"

// result returns as many jobs as fit, as text and as data.
func (q *search) result(ctx context.Context) (domain.ToolResult, error) {
	with := func(jobs []job) *jobsResult {
		r := q.found
		if r.Jobs = jobs; len(jobs) < len(q.found.Jobs) {
			r.NextStart = q.after[len(jobs)-1]
		}
		return &r
	}
	return call.List[job]{
		Entries: q.found.Jobs,
		Text:    func(jobs []job) string { return with(jobs).text() },
		Results: func(jobs []job, _ int) any { return with(jobs) },
		Next:    func(next int) string { return fmt.Sprintf("call again with start=%d", q.after[next-1]) },
	}.Result(ctx)
}

func (r *jobsResult) text() string {
	var b strings.Builder
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%d. %s\n   Company: %s\n   Location: %s\n   Posted: %s\n   Salary: %s\n   URL: %s", i+1,
			cmp.Or(j.Title, notListed), cmp.Or(j.Company, notListed), cmp.Or(j.Location, notListed),
			cmp.Or(j.Posted, notListed), cmp.Or(j.Salary, notListed), cmp.Or(j.URL, notListed))
	}
	if len(r.Jobs) == 0 {
		b.WriteString("No job postings found matching your criteria.")
	}
	if r.NextStart > 0 {
		fmt.Fprintf(&b, "\n\n[There may be more jobs: call again with start=%d.]", r.NextStart)
	}
	if r.Partial {
		fmt.Fprintf(&b, "\n\n[Stopped early: %s]", r.Reason)
	}
	return b.String()
}
