package linkedin

import (
	"cmp"
	"encoding/json"
	stdhtml "html"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
)

// linkedJob is a JobPosting of schema.org, as a page tells search engines. What is of another type than expected is left out.
type linkedJob struct {
	Type         many[string]    `json:"@type"`
	Title        text            `json:"title"`
	Organization json.RawMessage `json:"hiringOrganization"` // an object, or its name
	Places       many[struct {
		Address struct {
			Locality text `json:"addressLocality"`
			Region   text `json:"addressRegion"`
			Country  text `json:"addressCountry"`
		} `json:"address"`
	}] `json:"jobLocation"`
	LocationType text         `json:"jobLocationType"`
	Posted       text         `json:"datePosted"`
	ValidThrough text         `json:"validThrough"`
	Employment   many[string] `json:"employmentType"`
	Salary       struct {
		Currency text            `json:"currency"`
		Value    json.RawMessage `json:"value"` // a range, or a number
	} `json:"baseSalary"`
	Description string `json:"description"` // HTML, usually escaped once more
}

// text is a string or a number on one line.
type text string

// UnmarshalJSON leaves anything else empty.
func (t *text) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '"':
		*t = text(httpcall.Clip(html.Line(as[string](b)), maxLine))
	case b[0] == '-' || '0' <= b[0] && b[0] <= '9':
		*t = text(httpcall.Clip(strings.TrimSuffix(string(b), ".0"), maxLine))
	}
	return nil
}

// many is a value or a list of them.
type many[T any] []T

// UnmarshalJSON leaves elements of other types empty.
func (m *many[T]) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		*m = as[[]T](b)
	} else {
		*m = []T{as[T](b)}
	}
	return nil
}

// as decodes JSON as far as it is of a type.
func as[T any](b []byte) (v T) {
	_ = json.Unmarshal(b, &v) // what is of another type is left out
	return v
}

// readJSONLD reads the first JobPosting for search engines: alone, in a list or in a graph. It reports whether there is one.
func readJSONLD(root *goquery.Selection) (posting, bool) {
	for _, script := range firstOf(root, `script[type="application/ld+json"]`, maxItems) {
		for _, item := range as[many[struct {
			linkedJob
			Graph many[linkedJob] `json:"@graph"`
		}]]([]byte(strings.TrimSpace(script.Text()))) {
			for _, job := range append([]linkedJob{item.linkedJob}, item.Graph...) {
				if slices.Contains(job.Type, "JobPosting") {
					return job.posting(), true
				}
			}
		}
	}
	return posting{}, false
}

func (job *linkedJob) posting() posting {
	name := as[struct {
		Name text `json:"name"`
	}](job.Organization).Name
	description := job.Description
	if !strings.Contains(description, "<") {
		description = stdhtml.UnescapeString(description)
	}
	p := posting{
		Title:        string(job.Title),
		Company:      string(cmp.Or(name, as[text](job.Organization))),
		PostedDate:   date(string(job.Posted)),
		ValidThrough: date(string(job.ValidThrough)),
		Salary:       job.salary(),
		Description:  html.Text(description, html.Options{Base: publicBase}),
	}
	if job.LocationType == "TELECOMMUTE" {
		p.Workplace = "Remote"
	}
	var places, types []string
	for _, place := range job.Places {
		address := place.Address
		places = append(places, joined(", ", string(address.Locality), string(address.Region), string(address.Country)))
	}
	for _, constant := range job.Employment {
		types = append(types, readable(constant))
	}
	p.Location, p.EmploymentType = joined("; ", places...), joined(", ", types...)
	return p
}

// joined joins what is not empty.
func joined(separator string, parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return httpcall.Clip(strings.Join(parts, separator), maxLine)
}

// salary returns baseSalary, a MonetaryAmount whose value is a range or a number: USD 120000 - 150000 per year.
func (job *linkedJob) salary() string {
	value := as[struct {
		Min   text `json:"minValue"`
		Max   text `json:"maxValue"`
		Value text `json:"value"`
		Unit  text `json:"unitText"`
	}](job.Salary.Value)
	amount := cmp.Or(value.Min, value.Value, as[text](job.Salary.Value), value.Max)
	if amount == "" {
		return ""
	}
	if value.Max != "" && value.Max != amount {
		amount += " - " + value.Max
	}
	if value.Unit != "" {
		amount += " per " + text(strings.ToLower(string(value.Unit)))
	}
	return strings.TrimSpace(string(job.Salary.Currency + " " + amount))
}

// readable turns FULL_TIME into Full-time, which is how the pages spell it.
func readable(constant string) string {
	word := html.Line(strings.ToLower(strings.ReplaceAll(constant, "_", "-")))
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
