package websearch

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// DuckDuckGoOptions are the settings of DuckDuckGo.
type DuckDuckGoOptions struct {
	BaseURL string `yaml:"base_url" doc:"Where the page is."`
}

func (o *DuckDuckGoOptions) name() string        { return "duckduckgo" }
func (o *DuckDuckGoOptions) optIn() bool         { return true }
func (o *DuckDuckGoOptions) missing() string     { return "" }
func (o *DuckDuckGoOptions) mistakes() []Mistake { return checkBase("duckduckgo", o.BaseURL) }

func (o *DuckDuckGoOptions) connect(client *http.Client) Provider {
	return &duckduckgo{newEndpoint(client, "DuckDuckGo", o.BaseURL, duckInterval, duckError)}
}

// duckduckgo is DuckDuckGo lite, a page for browsers that can do little. It is no API: its markup may change, and it blocks
// those who search much.
type duckduckgo struct{ *endpoint }

const (
	duckInterval = time.Second
	duckPages    = 4 // of 10 results, then some more each
)

var duckFreshness = map[string]string{"day": "d", "week": "w", "month": "m", "year": "y"}

// Name returns duckduckgo.
func (*duckduckgo) Name() string { return "duckduckgo" }

// Search sends the form of the page, and then the form that leads from each page to the next.
func (d *duckduckgo) Search(ctx context.Context, q Query) (Results, error) {
	form := url.Values{"q": {quoteBangs(q.Text)}}
	switch f := q.Freshness; {
	case f.Period != "":
		form.Set("df", duckFreshness[f.Period])
	case f.isSet():
		return Results{}, unsupported(d.service, "freshness", f.String())
	}
	if q.Country != "" {
		region, ok := duckRegions[q.Country]
		if !ok {
			return Results{}, unsupported(d.service, "country", q.Country)
		}
		form.Set("kl", region)
	}
	if q.SafeSearch != "" && q.SafeSearch != "moderate" { // which it does by itself, and nothing else
		return Results{}, unsupported(d.service, "safesearch", q.SafeSearch)
	}
	return gather(d.service, q, duckPages, func(int) ([]Result, bool, error) {
		page, err := d.page(ctx, form)
		if err != nil {
			return nil, false, err
		}
		form = page.next
		return page.results, form != nil, nil
	})
}

func (d *duckduckgo) page(ctx context.Context, form url.Values) (*duckPage, error) {
	body := form.Encode()
	res, err := d.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, httpcall.Endpoint(d.base, "lite/", nil), strings.NewReader(body))
		if err == nil {
			req.Header.Set("Accept", "text/html")
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Referer", d.base.String()+"/")
		}
		return req, err
	})
	if err != nil {
		return nil, err
	}
	if res.Status == http.StatusAccepted {
		return nil, challenged("HTTP 202 from " + d.service)
	}
	return d.parse(string(res.Body))
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

// duckError says what an answer means that is not of class 2xx. All of its answers are pages.
func duckError(e *httpcall.StatusError) *Error {
	switch e.Status {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusTeapot:
		return challenged(e.Error())
	case http.StatusBadRequest, http.StatusRequestURITooLong:
		return refusedQuery(e)
	}
	return statusError(e)
}
