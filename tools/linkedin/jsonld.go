package linkedin

import (
	"cmp"
	"encoding/json"
	stdhtml "html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// A node is a value of JSON. What is of another type than expected is left out.
type node struct{ value any }

// at returns the member that names lead to, if there is one.
func (n node) at(names ...string) node {
	for _, name := range names {
		object, _ := n.value.(map[string]any)
		n.value = object[name]
	}
	return n
}

// list returns the elements of a list, or what is none as the only one.
func (n node) list() (all []node) {
	list, ok := n.value.([]any)
	if !ok {
		return []node{n}
	}
	for _, element := range list {
		all = append(all, node{element})
	}
	return all
}

// line returns a string or a number on one line.
func (n node) line() string {
	switch v := n.value.(type) {
	case string:
		return httpcall.Clip(html.Line(v), maxLine)
	case json.Number:
		return httpcall.Clip(strings.TrimSuffix(v.String(), ".0"), maxLine)
	}
	return ""
}

// maxValues is how many values there are in the JSON of a page that is read; those of a job are some dozens.
const maxValues = 100_000

// readJSONLD reads the first JobPosting of schema.org, as pages tell search engines: alone, in a list or in a graph. It reports
// whether there is one.
func readJSONLD(root *goquery.Selection) (posting, bool) {
	for _, script := range firstOf(root, `script[type="application/ld+json"]`, maxItems) {
		all, _ := rawjson.DecodeMax([]byte(strings.TrimSpace(script.Text())), maxValues) // what is not JSON has none
		for _, item := range (node{all}).list() {
			for _, job := range append([]node{item}, item.at("@graph").list()...) {
				if slices.ContainsFunc(job.at("@type").list(), func(t node) bool { return t.value == "JobPosting" }) {
					return job.posting(), true
				}
			}
		}
	}
	return posting{}, false
}

func (n node) posting() posting {
	description, _ := n.at("description").value.(string) // HTML, usually escaped once more
	if !strings.Contains(description, "<") {
		description = stdhtml.UnescapeString(description)
	}
	p := posting{
		Title:        n.at("title").line(),
		Company:      cmp.Or(n.at("hiringOrganization", "name").line(), n.at("hiringOrganization").line()),
		PostedDate:   date(n.at("datePosted").line()),
		ValidThrough: date(n.at("validThrough").line()),
		Salary:       n.at("baseSalary").salary(),
		Description:  html.Text(description, html.Options{Base: publicBase}),
	}
	if n.at("jobLocationType").line() == "TELECOMMUTE" {
		p.Workplace = "Remote"
	}
	var places, types []string
	for _, place := range n.at("jobLocation").list() {
		at := place.at("address")
		places = append(places, joined(", ", at.at("addressLocality").line(), at.at("addressRegion").line(), at.at("addressCountry").line()))
	}
	for _, kind := range n.at("employmentType").list() {
		constant, _ := kind.value.(string)
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

// salary returns a MonetaryAmount whose value is a range or a number: USD 120000 - 150000 per year.
func (n node) salary() string {
	value := n.at("value")
	most := value.at("maxValue").line()
	amount := cmp.Or(value.at("minValue").line(), value.at("value").line(), value.line(), most)
	if amount == "" {
		return ""
	}
	if most != "" && most != amount {
		amount += " - " + most
	}
	if unit := value.at("unitText").line(); unit != "" {
		amount += " per " + strings.ToLower(unit)
	}
	return strings.TrimSpace(n.at("currency").line() + " " + amount)
}

// readable turns FULL_TIME into Full-time, which is how the pages spell it.
func readable(constant string) string {
	word := html.Line(strings.ToLower(strings.ReplaceAll(constant, "_", "-")))
	if word == "" {
		return ""
	}
	_, first := utf8.DecodeRuneInString(word)
	return strings.ToUpper(word[:first]) + word[first:]
}
