package websearch

import (
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

// duckPage is a page of DuckDuckGo lite.
type duckPage struct {
	results []Result
	next    url.Values // the form that leads to the next page; nil if there is none
}

// maxFields bounds the fields of a form.
const maxFields = 30

// parse reads a page. Results are rows of a table: one with the link, one with the snippet, one with the site and perhaps a
// date. A page without results must say that there are none, or it is not what it was.
func (d *duckduckgo) parse(page string) (*duckPage, error) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		return nil, badAnswer(d.service, "the page cannot be read")
	}
	if doc.Find("form#challenge-form, .anomaly-modal__modal, .anomaly-modal__title, .anomaly-modal__mask").Length() > 0 {
		return nil, challenged(d.service)
	}
	var out duckPage
	var current *Result
	doc.Find("tr").Each(func(_ int, row *goquery.Selection) {
		if row.HasClass("result-sponsored") || row.Find("tr").Length() > 0 {
			return
		}
		if link := row.Find("a.result-link").First(); link.Length() > 0 {
			href, _ := link.Attr("href")
			out.results = append(out.results, Result{Title: inner(link), URL: unwrapDuck(href)})
			current = &out.results[len(out.results)-1]
		}
		if current == nil {
			return
		}
		if snippet := row.Find("td.result-snippet").First(); snippet.Length() > 0 && current.Description == "" {
			current.Description = inner(snippet)
		}
		if date := row.Find("span.timestamp").First(); date.Length() > 0 && current.Age == "" {
			current.Age, _, _ = strings.Cut(strings.TrimSpace(date.Text()), "T")
		}
	})
	out.next = nextForm(doc)
	if len(out.results) == 0 && !saysNone(doc) {
		return nil, badAnswer(d.service, "the page is not one of results")
	}
	return &out, nil
}

// inner returns the HTML within an element, which is to be made text only once.
func inner(s *goquery.Selection) string {
	text, err := s.Html()
	if err != nil {
		return ""
	}
	return text
}

// saysNone reports whether a page without results says so.
func saysNone(doc *goquery.Document) bool {
	if doc.Find(".no-results").Length() > 0 {
		return true
	}
	text := doc.Find("body").Text()
	return strings.Contains(text, "No results") || strings.Contains(text, "No more results")
}

// nextForm returns the form that leads to the next page.
func nextForm(doc *goquery.Document) url.Values {
	var next url.Values
	doc.Find("form").EachWithBreak(func(_ int, form *goquery.Selection) bool {
		label, _ := form.Find("input[type=submit]").Attr("value")
		if !form.HasClass("next_form") && !strings.HasPrefix(label, "Next") {
			return true
		}
		fields := form.Find("input[type=hidden][name]")
		if fields.Length() == 0 || fields.Length() > maxFields {
			return true
		}
		next = url.Values{}
		fields.Each(func(_ int, field *goquery.Selection) {
			name, _ := field.Attr("name")
			value, _ := field.Attr("value")
			next.Set(name, value)
		})
		return false
	})
	return next
}

// unwrapDuck returns where a link leads that may go by way of DuckDuckGo, as in //duckduckgo.com/l/?uddg=https%3A%2F%2F..., or
// "" for an advertisement.
func unwrapDuck(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	ours := u.Host == "" || u.Host == "duckduckgo.com" || strings.HasSuffix(u.Host, ".duckduckgo.com")
	switch {
	case ours && strings.HasPrefix(u.Path, "/l/") && u.Query().Has("uddg"):
		target := u.Query().Get("uddg")
		if strings.Contains(target, "duckduckgo.com/y.js") {
			return ""
		}
		return target
	case ours && u.Path == "/y.js":
		return ""
	case u.Scheme == "" && u.Host != "":
		u.Scheme = "https"
	}
	return u.String()
}
