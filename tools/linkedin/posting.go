package linkedin

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/text/html"
)

// posting is a job as its page tells it. Texts are in the language of the host that answers.
type posting struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Title          string            `json:"title"`
	Company        string            `json:"company"`
	CompanyURL     string            `json:"company_url,omitempty"`
	Location       string            `json:"location"`
	Workplace      string            `json:"workplace,omitempty"`
	Posted         string            `json:"posted,omitempty"`
	PostedDate     string            `json:"posted_date,omitempty"`
	ValidThrough   string            `json:"valid_through,omitempty"`
	Applicants     string            `json:"applicants,omitempty"`
	Salary         string            `json:"salary,omitempty"`
	EmploymentType string            `json:"employment_type,omitempty"`
	Criteria       map[string]string `json:"criteria,omitempty"`
	ApplyURL       string            `json:"apply_url,omitempty"`
	Closed         bool              `json:"closed"`
	Description    string            `json:"description"`

	labels []string `json:"-"` // of the criteria, in the order of the page
}

// closedWords are how a page in English says it.
const closedWords = "no longer accepting applications"

// posting reads a job's page: the fragment for guests, whose title is an h2, or the whole page, whose title is an h1 and
// which has JSON-LD for search engines. It reports whether the page is one.
func (s *site) posting(body string) (p posting, ok bool) {
	root, ok := parsePage(body)
	if !ok {
		return posting{}, false
	}
	p = posting{
		Title: firstLine(root, ".top-card-layout__title, .topcard__title"),
		Company: firstLine(root, ".topcard__org-name-link, .top-card-layout__company-name, "+
			".topcard__flavor:not(.topcard__flavor--bullet):not(.topcard__flavor--metadata)"),
		CompanyURL: s.canonical(attribute(root, "a.topcard__org-name-link[href]", "href")),
		Location: firstLine(root, "span.topcard__flavor--bullet:not(.topcard__flavor--metadata):not(.num-applicants__caption), "+
			"span.top-card-layout__bullet"),
		Posted:      firstLine(root, ".posted-time-ago__text"),
		Applicants:  firstLine(root, ".num-applicants__caption"),
		Salary:      firstLine(root, ".compensation__salary"),
		ApplyURL:    applyURL(root),
		Closed:      isClosed(root),
		Description: description(root),
	}
	if strings.Contains(strings.ToLower(p.Applicants), closedWords) {
		p.Applicants = "" // some pages say it in that place
	}
	p.readCriteria(root)
	data, hasData := readJSONLD(root)
	p.fill(data)
	if p.Title == "" && p.Description != "" {
		p.Title = firstLine(root, "h1")
	}
	return p, p.Title != "" || p.Description != "" || hasData
}

// fill takes from other what p lacks.
func (p *posting) fill(other posting) {
	if p.Criteria == nil {
		p.labels = other.labels
	}
	to, from := reflect.ValueOf(p).Elem(), reflect.ValueOf(other)
	for i := range to.NumField() {
		if field := to.Field(i); field.CanSet() && field.IsZero() {
			field.Set(from.Field(i))
		}
	}
}

// readCriteria reads the list below the description.
func (p *posting) readCriteria(root *goquery.Selection) {
	for _, item := range firstOf(root, ".description__job-criteria-item", maxItems) {
		label, value := firstLine(item, ".description__job-criteria-subheader"), firstLine(item, ".description__job-criteria-text")
		if label == "" || value == "" || p.Criteria[label] != "" {
			continue
		}
		if p.Criteria == nil {
			p.Criteria = map[string]string{}
		}
		p.Criteria[label] = value
		p.labels = append(p.labels, label)
	}
}

// descriptions are where the description is, in this order: the later ones have buttons in them.
var descriptions = []string{".show-more-less-html__markup", ".description__text", ".decorated-job-posting__details"}

// description returns the description as text.
func description(root *goquery.Selection) string {
	for _, selector := range descriptions {
		found := root.Find(selector).First()
		found.Find("button").Remove()
		if inner, err := found.Html(); err == nil {
			if text := html.Text(inner, html.Options{Base: publicBase}); text != "" {
				return text
			}
		}
	}
	return ""
}

// isClosed goes by the banner, whose classes are the same in every language, or else by its English words on the card at the
// top. It ignores the description, which the employer writes.
func isClosed(root *goquery.Selection) bool {
	written := strings.Join(descriptions, ", ")
	for _, banner := range firstOf(root, `.closed-job, [class*="closed-job__flavor"]`, maxItems) {
		if banner.ParentsFiltered(written).Length() == 0 {
			return true
		}
	}
	return strings.Contains(strings.ToLower(line(root.Find(".top-card-layout, .topcard").First())), closedWords)
}

// applyURL returns where the job's button leads to. The address stands in a
// comment, as a JSON string, in the query of a page that counts clicks.
func applyURL(root *goquery.Selection) string {
	inner, err := root.Find("code#applyUrl").First().Html()
	if err != nil {
		return ""
	}
	inner = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(inner), "<!--"), "-->"))
	var text string
	if json.Unmarshal([]byte(inner), &text) != nil {
		text = strings.Trim(inner, `"`)
	}
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	if to, err := url.Parse(u.Query().Get("url")); err == nil && isWeb(to) {
		u = to
	}
	if !isWeb(u) {
		return ""
	}
	return u.String()
}

func isWeb(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}
