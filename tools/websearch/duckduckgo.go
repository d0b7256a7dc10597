package websearch

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"toolserver/tools/httpcall"
)

// DuckDuckGoOptions are the settings of DuckDuckGo.
type DuckDuckGoOptions struct {
	BaseURL string `yaml:"base_url" doc:"Where the page is."`
}

// service returns DuckDuckGo lite, a page for browsers that can do little. It is no API: its markup may change, and it blocks
// those who search much.
func (o DuckDuckGoOptions) service() service {
	return service{
		name: "duckduckgo", title: "DuckDuckGo", base: o.BaseURL, optIn: true, interval: time.Second,
		header: func(string) map[string]string {
			return map[string]string{
				"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded", "Referer": strings.TrimSuffix(o.BaseURL, "/") + "/",
			}
		},
		countries:  duckRegions,
		periods:    map[string]string{"day": "d", "week": "w", "month": "m", "year": "y"},
		safeSearch: map[string]string{"moderate": ""}, // which it does by itself, and nothing else
		fail:       func(e *httpcall.StatusError) *httpcall.Failure { return duckRules.Failure(e, "") },
		search:     searchDuckDuckGo,
	}
}

const duckPages = 4 // of 10 results, then some more each

// duckRules are for answers that are all pages.
var duckRules = slices.Concat(httpcall.Rules{
	{Statuses: []int{403, 429, http.StatusTeapot}, Type: "blocked", Meaning: challenge, Hint: hintChallenge},
	{
		Statuses: []int{400, 414}, Type: "invalid_query", Meaning: "it does not accept the query",
		Hint: "Search for something else, or with fewer options.",
	},
}, statusRules)

// searchDuckDuckGo sends the form of the page, and then the form that leads from each page to the next.
func searchDuckDuckGo(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	form := url.Values{"q": {quoteBangs(q.Text)}}
	setParams(form, "df", o.age, "kl", o.country)
	return p.gather(q, duckPages, func(int) ([]Result, bool, error) {
		var page *duckPage
		err := p.ask(ctx, httpcall.Request{URL: p.http.URL("lite/", nil), Body: []byte(form.Encode())}, func(res *httpcall.Response) (err error) {
			if res.Status == http.StatusAccepted {
				return challenged("HTTP 202 from " + p.title)
			}
			page, err = p.parseDuckPage(string(res.Body))
			return err
		})
		if err != nil {
			return nil, false, err
		}
		form = page.next
		return page.results, form != nil, nil
	})
}

// quoteBangs quotes words such as !g, which would send the search to another site.
func quoteBangs(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.HasPrefix(word, "!") {
			words[i] = "'" + word + "'"
		}
	}
	return strings.Join(words, " ")
}

// duckPage is a page of DuckDuckGo lite.
type duckPage struct {
	results []Result
	next    url.Values // the form that leads to the next page; nil if there is none
}

// maxFields bounds the fields of a form.
const maxFields = 30

// parseDuckPage reads a page. Results are rows of a table: one with the link, one with the snippet, one with the site and perhaps a
// date. A page without results must say that there are none, or it is not what it was.
func (p *provider) parseDuckPage(page string) (*duckPage, error) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		return nil, p.badAnswer("the page cannot be read")
	}
	if doc.Find("form#challenge-form, .anomaly-modal__modal, .anomaly-modal__title, .anomaly-modal__mask").Length() > 0 {
		return nil, challenged(p.title)
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
		return nil, p.badAnswer("the page is not one of results")
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
