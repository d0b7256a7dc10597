// Package linkedin reads the public job pages of LinkedIn: those it shows to guests, without an account, a browser or a key.
//
// LinkedIn does not want to be read by programs without end, and says so: with HTTP 429 and 999, with its login wall, with a
// CAPTCHA. The first of these ends a call, which returns what it has, and for some minutes every other call too. Nothing here
// gets around them.
package linkedin

import (
	"fmt"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// DefaultBaseURL is where LinkedIn is.
const DefaultBaseURL = "https://www.linkedin.com"

// Options are the section linkedin of the configuration.
type Options struct {
	BaseURL  string        `yaml:"base_url" format:"base_url" template:"-"`
	Interval time.Duration `yaml:"interval" min:"0s" max:"1m"`
}

// DefaultOptions returns the options of a server whose configuration says nothing about LinkedIn. Those in use by scrapers
// that get along with it leave two to five seconds between requests.
func DefaultOptions() Options {
	return Options{BaseURL: DefaultBaseURL, Interval: 2 * time.Second}
}

// Bounds of requests and calls.
const (
	requestTimeout = 30 * time.Second
	maxBody        = 2_000_000 // bytes; a page of results has 50 KB, a job 300 KB
	callTimeout    = 2 * time.Minute
	// searchTime is when a search stops to ask for more, so that what it has
	// is an ordinary result and not the remains of a call that ran out of time.
	searchTime = callTimeout - 10*time.Second
)

const (
	jobsName   = "linkedin_jobs"
	detailName = "linkedin_job_detail"
)

// Family returns the tools of the category jobs. What they share is LinkedIn for each of them, with one [Options.Interval], and one
// cooldown after LinkedIn has blocked one of them.
func Family() declare.Family[Options, func(tool string) *site] {
	type sites = func(tool string) *site
	return declare.Family[Options, sites]{
		Name: "linkedin", Category: declare.Category{Name: "jobs", Heading: "Jobs"}, Once: true,
		Tools: []declare.Entry[sites]{
			{Owner: sandbox.Owner{Tool: jobsName, Fetches: jobsName}, Make: func(of sites, _ sandbox.Capabilities) domain.Tool { return of(jobsName).jobsTool() }},
			{Owner: sandbox.Owner{Tool: detailName, Fetches: jobsName}, Make: func(of sites, _ sandbox.Capabilities) domain.Tool { return of(detailName).detailTool() }},
		},
		Share: func(from declare.From[Options]) (sites, error) {
			base, err := httpcall.ParseBase(from.Config.BaseURL)
			if err != nil {
				return nil, fmt.Errorf("linkedin.base_url: %w", err)
			}
			limiter := httpcall.NewLimiter(from.Config.Interval, 1, 1)
			return func(tool string) *site { return newSite(from.Client(tool), base, limiter) }, nil
		},
	}
}

// annotations of both tools: they only read, from elsewhere.
func annotations() domain.Annotations {
	return domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
}
