package websearch

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// TavilyOptions are the settings of the Tavily API.
type TavilyOptions struct {
	APIKey  string `yaml:"api_key" secret:"true"`
	BaseURL string `yaml:"base_url" template:"-"`
}

// provider returns the Tavily API (https://docs.tavily.com/documentation/api-reference/endpoint/search).
func (o TavilyOptions) provider() *provider {
	return &provider{
		name: "tavily", title: "Tavily API", base: o.BaseURL, variable: "TAVILY_API_KEY", key: o.APIKey, interval: 100 * time.Millisecond,
		header: func(key string) map[string]string {
			return map[string]string{"Accept": "application/json", "Content-Type": "application/json", "Authorization": "Bearer " + key}
		},
		periods:    map[string]string{"day": "day", "week": "week", "month": "month", "year": "year"},
		safeSearch: map[string]string{"off": ""}, // only large customers can have it
		days:       true,
		rules:      tavilyRules,
		search:     searchTavily,
	}
}

// tavilyMost is how many results one search can have. There are no pages.
const tavilyMost = 20

// searchTavily asks for all results up to the end of the page, and one more to know whether there are any.
func searchTavily(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	if q.end() > tavilyMost {
		return Results{}, p.beyond(q)
	}
	period, from, to := o.age, "", ""
	if first, last, days := strings.Cut(o.age, "to"); days {
		period, from, to = "", first, last
	}
	body, err := json.Marshal(struct {
		Query      string `json:"query"`
		MaxResults int    `json:"max_results"`
		Country    string `json:"country,omitempty"`
		TimeRange  string `json:"time_range,omitempty"`
		StartDate  string `json:"start_date,omitempty"`
		EndDate    string `json:"end_date,omitempty"`
	}{q.Text, min(q.end()+1, tavilyMost), o.country, period, from, to})
	if err != nil {
		return Results{}, err
	}
	return p.gather(q, 1, func(int) ([]item, bool, error) {
		var answer struct {
			Results *[]item `json:"results"`
		}
		if err := p.askJSON(ctx, httpcall.Request{URL: p.http.URL("search", nil), Body: body}, &answer); err != nil {
			return nil, false, err
		}
		if answer.Results == nil {
			return nil, false, p.badAnswer("there is no list of results")
		}
		return *answer.Results, false, nil
	})
}

// tavilyRules go by the status: Tavily explains itself in words only. 432 is the limit of the plan or of the key, 433 of what is
// paid for beyond the plan.
var tavilyRules = httpcall.Rules{
	{
		Statuses: []int{403}, When: noPage, Type: "plan_required", Meaning: "the key's plan does not include this search",
		Hint: "The plan of the key must be changed, at https://app.tavily.com.",
	},
	{Statuses: []int{432, 433}, Type: "quota_exceeded", Meaning: quotaMeaning, Hint: hintQuota},
}
