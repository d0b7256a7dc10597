package linkedin

import (
	"bytes"
	"encoding/json"
	stdhtml "html"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"

	"toolserver/tools/html"
)

var jsonLD = cascadia.MustCompile(`script[type="application/ld+json"]`)

// readJSONLD reads what the page tells search engines: a JobPosting of
// schema.org. It reports whether there is one.
func readJSONLD(root *goquery.Selection) (p posting, ok bool) {
	root.FindMatcher(jsonLD).EachWithBreak(func(_ int, script *goquery.Selection) bool {
		decoder := json.NewDecoder(bytes.NewReader([]byte(script.Text())))
		decoder.UseNumber() // or salaries would come out as 1e+06
		var v any
		if decoder.Decode(&v) != nil {
			return true
		}
		if data := findPosting(v); data != nil {
			p, ok = data.posting(), true
		}
		return !ok
	})
	return p, ok
}

// ld is an object of JSON-LD. Its members are whatever the page says: nothing is
// taken for granted of their types.
type ld map[string]any

// findPosting looks for a JobPosting: the value itself, or one of a list or of a
// graph.
func findPosting(v any) ld {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			if found := findPosting(element); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, name := range texts(v["@type"]) {
			if name == "JobPosting" {
				return v
			}
		}
		if graph, ok := v["@graph"].([]any); ok {
			return findPosting(graph)
		}
	}
	return nil
}

func (data ld) posting() posting {
	p := posting{
		Title:        data.line("title"),
		Company:      data.object("hiringOrganization").line("name"),
		Location:     data.location(),
		PostedDate:   date(data.line("datePosted")),
		ValidThrough: date(data.line("validThrough")),
		Salary:       data.salary(),
		Description:  markup(data["description"]),
	}
	if p.Company == "" {
		p.Company = data.line("hiringOrganization") // may be the name itself
	}
	if data.line("jobLocationType") == "TELECOMMUTE" {
		p.Workplace = "Remote"
	}
	var types []string
	for _, t := range texts(data["employmentType"]) {
		types = append(types, readable(t))
	}
	p.EmploymentType = clip(strings.Join(types, ", "), maxLine)
	return p
}

// line returns a member that is a text or a number, on one line.
func (data ld) line(name string) string {
	switch v := data[name].(type) {
	case string:
		return clip(html.Line(v), maxLine)
	case json.Number:
		return clip(strings.TrimSuffix(v.String(), ".0"), maxLine)
	}
	return ""
}

func (data ld) object(name string) ld {
	object, _ := data[name].(map[string]any)
	return object
}

// location returns the places of jobLocation, which is one Place or a list.
func (data ld) location() string {
	list, ok := data["jobLocation"].([]any)
	if !ok {
		list = []any{data["jobLocation"]}
	}
	var places []string
	for _, place := range list {
		object, _ := place.(map[string]any)
		address := ld(object).object("address")
		var parts []string
		for _, name := range []string{"addressLocality", "addressRegion", "addressCountry"} {
			if part := address.line(name); part != "" {
				parts = append(parts, part)
			}
		}
		if len(parts) > 0 {
			places = append(places, strings.Join(parts, ", "))
		}
	}
	return clip(strings.Join(places, "; "), maxLine)
}

// salary returns baseSalary, a MonetaryAmount whose value is a range or a number:
// USD 120000 - 150000 per year.
func (data ld) salary() string {
	amount := data.object("baseSalary")
	value := amount.object("value")
	low, high := value.line("minValue"), value.line("maxValue")
	if low == "" {
		low = value.line("value")
	}
	if low == "" {
		low = amount.line("value")
	}
	if low != "" && high != "" && low != high {
		low += " - " + high
	} else if low == "" {
		low = high
	}
	if low == "" {
		return ""
	}
	if unit := value.line("unitText"); unit != "" {
		low += " per " + strings.ToLower(unit)
	}
	return strings.TrimSpace(amount.line("currency") + " " + low)
}

// markup returns HTML as text. That of JSON-LD is usually escaped once more.
func markup(v any) string {
	src, ok := v.(string)
	if !ok {
		return ""
	}
	if !strings.Contains(src, "<") {
		src = stdhtml.UnescapeString(src)
	}
	return html.Text(src, html.Options{Base: publicBase})
}

// texts returns a member that is a text or a list of them.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, element := range v {
			if s, ok := element.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// readable turns FULL_TIME into Full-time, which is how the pages spell it.
func readable(constant string) string {
	word := html.Line(strings.ToLower(strings.ReplaceAll(constant, "_", "-")))
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
