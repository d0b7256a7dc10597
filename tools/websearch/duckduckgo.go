package websearch

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// DuckDuckGoOptions are the settings of DuckDuckGo.
type DuckDuckGoOptions struct {
	BaseURL string `yaml:"base_url" template:"-"`
}

// provider returns DuckDuckGo lite, a page for browsers that can do little. It is no API: its markup may change, and it blocks
// those who search much.
func (o *DuckDuckGoOptions) provider() *provider {
	return &provider{
		name: "duckduckgo", title: "DuckDuckGo", base: o.BaseURL, optIn: true, interval: time.Second,
		header: func(string) map[string]string {
			return map[string]string{
				"Accept": "text/html", "Content-Type": "application/x-www-form-urlencoded", "Referer": strings.TrimSuffix(o.BaseURL, "/") + "/",
			}
		},
		periods:    map[string]string{"day": "d", "week": "w", "month": "m", "year": "y"},
		safeSearch: map[string]string{"moderate": ""}, // which it does by itself, and nothing else
		countries:  duckCountries,
		rules:      duckRules,
		search:     searchDuckDuckGo,
	}
}

const duckPages = 4 // of 10 results, then some more each

// duckRules are for answers that are all pages.
var duckRules = httpcall.Rules{
	{Statuses: []int{403, 429, http.StatusTeapot}, Type: "blocked", Meaning: challenge, Hint: hintChallenge},
	{
		Statuses: []int{400, 414}, Type: "invalid_query", Meaning: "it does not accept the query",
		Hint: "Search for something else, or with fewer options.",
	},
}

// searchDuckDuckGo sends the form of the page, and then the form that leads from each page to the next.
func searchDuckDuckGo(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	form := url.Values{"q": {quoteBangs(q.Text)}}
	setParams(form, "df", o.age, "kl", o.country)
	return p.gather(q, duckPages, func(int) (found []item, more bool, err error) {
		err = p.ask(ctx, httpcall.Request{URL: p.http.URL("lite/", nil), Body: []byte(form.Encode())}, func(res *httpcall.Response) (err error) {
			if res.Status == http.StatusAccepted {
				return challenged("HTTP 202 from " + p.title)
			}
			found, form, err = p.parseDuckPage(string(res.Body))
			return err
		})
		return found, form != nil, err
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

// maxFields bounds the fields of a form.
const maxFields = 30

// parseDuckPage reads a page, and the form that leads to the next, which is nil if there is none. Results are rows of a table: one
// with the link, one with the snippet, one with the site and perhaps a date. A page without results must say that there are none,
// or it is not what it was.
func (p *provider) parseDuckPage(page string) (found []item, next url.Values, err error) {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		return nil, nil, p.badAnswer("the page cannot be read")
	}
	if doc.Find("form#challenge-form, .anomaly-modal__modal, .anomaly-modal__title, .anomaly-modal__mask").Length() > 0 {
		return nil, nil, challenged(p.title)
	}
	doc.Find("tr").Each(func(_ int, row *goquery.Selection) {
		if row.HasClass("result-sponsored") || row.Find("tr").Length() > 0 {
			return
		}
		if link := row.Find("a.result-link").First(); link.Length() > 0 {
			found = append(found, item{Title: inner(link), URL: unwrapDuck(link.AttrOr("href", ""))})
		}
		if len(found) == 0 {
			return
		}
		last := &found[len(found)-1]
		last.Description = cmp.Or(last.Description, inner(row.Find("td.result-snippet").First()))
		last.Age = cmp.Or(last.Age, strings.TrimSpace(row.Find("span.timestamp").First().Text()))
	})
	text := doc.Find("body").Text()
	none := doc.Find(".no-results").Length() > 0 || strings.Contains(text, "No results") || strings.Contains(text, "No more results")
	if len(found) == 0 && !none {
		return nil, nil, p.badAnswer("the page is not one of results")
	}
	fields := doc.Find(`form.next_form, form:has(input[type=submit][value^="Next"])`).First().Find("input[type=hidden][name]")
	if fields.Length() > 0 && fields.Length() <= maxFields {
		next = url.Values{}
		fields.Each(func(_ int, field *goquery.Selection) { next.Set(field.AttrOr("name", ""), field.AttrOr("value", "")) })
	}
	return found, next, nil
}

// inner returns the HTML within an element, which is to be made text only once; it is empty if there is none.
func inner(s *goquery.Selection) string {
	text, _ := s.Html()
	return text
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

// duckCountries are values of its parameter kl; where a country has several languages, that of most.
const duckCountries = `
AR ar-es AU au-en AT at-de BE be-nl BR br-pt BG bg-bg CA ca-en CL cl-es CN cn-zh CO co-es HR hr-hr CZ cz-cs DK dk-da EE ee-et FI fi-fi FR fr-fr DE de-de
GR gr-el HK hk-tzh HU hu-hu IN in-en ID id-en IE ie-en IL il-en IT it-it JP jp-jp KR kr-kr LV lv-lv LT lt-lt MY my-en MX mx-es NL nl-nl NZ nz-en NO no-no
PK pk-en PE pe-es PH ph-en PL pl-pl PT pt-pt RO ro-ro RU ru-ru SG sg-en SK sk-sk SI sl-sl ZA za-en ES es-es SE se-sv CH ch-de TW tw-tzh TH th-en TR tr-tr
UA ua-uk GB uk-en US us-en VN vn-en`
