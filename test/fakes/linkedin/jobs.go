package linkedin

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Job is a posting on the site.
type Job struct {
	ID, Title, Company, Location string
	Posted, Date                 string // 3 days ago, 2026-11-18
	Salary                       string // may be empty
	Variant                      byte   // of the card, A to D; A if it is 0
	Description                  string // HTML; a job without one has it on neither form of its page
	Closed                       bool
}

// Jobs returns n jobs whose cards have all variants in turn. Their ids count up
// from 4012345001.
func Jobs(n int) []Job {
	jobs := make([]Job, n)
	for i := range jobs {
		jobs[i] = Job{
			ID: fmt.Sprint(4012345001 + i), Title: fmt.Sprintf("Go Developer %d", i+1), Company: fmt.Sprintf("Example %d & Sons", i%7+1),
			Location: "Stockholm, Sweden", Posted: "3 days ago", Date: "2026-11-18", Variant: "ABCD"[i%4],
			Description: "<p>We build <strong>tools</strong>.</p><ul><li>Go &amp; SQL</li><li>HTTP</li></ul>",
		}
	}
	return jobs
}

// Slug is what stands before the id in a job's address.
func (j Job) Slug() string {
	words := strings.FieldsFunc(strings.ToLower(j.Title+" at "+j.Company), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// Markup is the description as HTML.
func (j Job) Markup() template.HTML { return template.HTML(j.Description) }

// LD is the job as JSON-LD, with its description escaped as LinkedIn has it.
func (j Job) LD() (template.JS, error) {
	b, err := json.Marshal(map[string]any{
		"@context": "http://schema.org", "@type": "JobPosting", "title": j.Title, "description": template.HTMLEscapeString(j.Description),
		"datePosted": j.Date + "T08:00:00.000Z", "employmentType": "FULL_TIME",
		"hiringOrganization": map[string]any{"@type": "Organization", "name": j.Company},
		"jobLocation":        map[string]any{"@type": "Place", "address": map[string]any{"addressLocality": j.Location}},
	})
	return template.JS(b), err
}

var cardTemplate = template.Must(template.New("card").Parse(`
{{define "info"}}<div class="base-search-card__info">
        <h3 class="base-search-card__title">
          {{.Title}}
        </h3>
        <h4 class="base-search-card__subtitle">
          {{if eq .Variant 66}}{{.Company}}{{else}}<a class="hidden-nested-link" href="https://www.linkedin.com/company/example?trk=public_jobs_jserp-result_job-search-card-subtitle">
            {{.Company}}
          </a>{{end}}
        </h4><!---->
        <div class="base-search-card__metadata">
          <span class="job-search-card__location">
            {{.Location}}
          </span>
          {{if .Salary}}<span class="job-search-card__salary-info">{{.Salary}}</span>{{end}}
          <time class="job-search-card__listdate" datetime="{{.Date}}">
            {{.Posted}}
          </time>
        </div>
      </div>{{end}}
<li>
{{- if eq .Variant 66}}
  <a class="base-card relative base-card--link base-search-card job-search-card" data-entity-urn="urn:li:jobPosting:{{.ID}}"
      href="https://se.linkedin.com/jobs/view/{{.Slug}}-{{.ID}}?position=1&amp;pageNum=0&amp;trk=public_jobs_jserp-result_search-card">
      {{template "info" .}}
  </a>
{{- else}}
  <div class="base-card relative{{if eq .Variant 67}} outline-offset-[4px]{{end}} base-search-card job-search-card"
      data-entity-urn="urn:li:jobPosting:{{.ID}}" data-row="1">
      {{if ne .Variant 68}}<a class="base-card__full-link"
        href="https://se.linkedin.com/jobs/view/{{.Slug}}-{{.ID}}?position=1&amp;pageNum=0&amp;refId=x&amp;trackingId=y"><span class="sr-only">{{.Title}}</span></a>{{end}}
      {{template "info" .}}
  </div>
{{- end}}
</li>
`))

func (j Job) card(w io.Writer) error { return cardTemplate.Execute(w, j) }

// form is one of the two forms of a job's page.
type form string

const (
	fragment form = "fragment"
	page     form = "page"
)

var pageTemplate = template.Must(template.New("page").Parse(`
{{define "top"}}<section class="top-card-layout container-lined overflow-hidden">
  <div class="top-card-layout__entity-info">
    {{.Head}}
    <h4 class="top-card-layout__second-subline">
      <div class="topcard__flavor-row">
        <span class="topcard__flavor"><a class="topcard__org-name-link topcard__flavor--black-link" href="https://www.linkedin.com/company/example?trk=public_jobs_topcard-org-name">
            {{.Job.Company}}
        </a></span>
        <span class="topcard__flavor topcard__flavor--bullet">
          {{.Job.Location}}
        </span>
      </div>
      <div class="topcard__flavor-row">
        <span class="posted-time-ago__text topcard__flavor--metadata">
          {{.Job.Posted}}
        </span>
        <span class="num-applicants__caption topcard__flavor--metadata topcard__flavor--bullet">
          45 applicants
        </span>
      </div>
    </h4>
    {{if .Job.Closed}}<figure class="closed-job closed-job__flavor topcard__flavor-row">
      <figcaption class="closed-job__flavor--closed">No longer accepting applications</figcaption></figure>{{end}}
  </div>
</section>
{{if .Job.Salary}}<div class="compensation__salary-range"><div class="salary compensation__salary">{{.Job.Salary}}</div></div>{{end}}
{{if .Job.Description}}<div class="description__text description__text--rich"><section class="show-more-less-html">
  <div class="show-more-less-html__markup show-more-less-html__markup--clamp-after-5">{{.Job.Markup}}</div>
  <button class="show-more-less-html__button">Show more</button>
</section></div>{{end}}
<ul class="description__job-criteria-list">
  <li class="description__job-criteria-item"><h3 class="description__job-criteria-subheader">Seniority level</h3>
    <span class="description__job-criteria-text description__job-criteria-text--criteria">Mid-Senior level</span></li>
  <li class="description__job-criteria-item"><h3 class="description__job-criteria-subheader">Employment type</h3>
    <span class="description__job-criteria-text description__job-criteria-text--criteria">Full-time</span></li>
</ul>{{end}}
{{- if eq .Form "fragment"}}<!DOCTYPE html><!---->{{template "top" .}}{{else -}}
<!DOCTYPE html><html lang="en"><head><title>{{.Job.Company}} hiring {{.Job.Title}} | LinkedIn</title>
<script type="application/ld+json">{{.Job.LD}}</script></head>
<body><nav><a href="https://www.linkedin.com/login">Sign in</a></nav><main>{{template "top" .}}</main></body></html>
{{- end}}`))

func (j Job) page(w io.Writer, f form) error {
	tag := "h2"
	if f == page {
		tag = "h1"
	}
	head := fmt.Sprintf(`<%s class="top-card-layout__title topcard__title">%s</%[1]s>`, tag, template.HTMLEscapeString(j.Title))
	return pageTemplate.Execute(w, struct {
		Form form
		Head template.HTML
		Job  Job
	}{f, template.HTML(head), j})
}
