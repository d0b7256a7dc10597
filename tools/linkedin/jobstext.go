package linkedin

import (
	"fmt"
	"strings"

	"toolserver/domain"
)

// notListed stands for what a card does not say.
const notListed = "Not listed"

// result returns the jobs as text and as data.
func (r *jobsResult) result() domain.ToolResult {
	var b strings.Builder
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "%d. %s\n   Company: %s\n   Location: %s\n   Posted: %s\n   Salary: %s\n   URL: %s", i+1,
			orNotListed(j.Title), orNotListed(j.Company), orNotListed(j.Location), orNotListed(j.Posted), orNotListed(j.Salary), orNotListed(j.URL))
	}
	if len(r.Jobs) == 0 {
		b.WriteString("No job postings found matching your criteria.")
	}
	if r.Partial {
		fmt.Fprintf(&b, "\n\n[Stopped early: %s]", r.Reason)
	}
	res := domain.Text(b.String())
	res.Results = r
	return res
}

func orNotListed(s string) string {
	if s == "" {
		return notListed
	}
	return s
}

func count(jobs int) string {
	if jobs == 1 {
		return "1 job was"
	}
	return fmt.Sprintf("%d jobs were", jobs)
}

// capitalize begins a clause of this package's own like a sentence.
func capitalize(clause string) string {
	return strings.ToUpper(clause[:1]) + clause[1:]
}
