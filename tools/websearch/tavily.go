package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// TavilyOptions are the settings of the Tavily API.
type TavilyOptions struct {
	APIKey  string `yaml:"api_key" secret:"true" doc:"Key of the Tavily API; TAVILY_API_KEY in the environment if unset."`
	BaseURL string `yaml:"base_url" doc:"Where the API is."`
}

func (o *TavilyOptions) name() string { return "tavily" }
func (o *TavilyOptions) optIn() bool  { return false }

func (o *TavilyOptions) missing() string {
	if strings.TrimSpace(o.APIKey) == "" {
		return "it needs a key, in web.search.tavily.api_key or in the environment variable TAVILY_API_KEY"
	}
	return ""
}

func (o *TavilyOptions) mistakes() []Mistake {
	return append(checkBase("tavily", o.BaseURL), checkKey("tavily", o.APIKey)...)
}

func (o *TavilyOptions) connect(client *http.Client) Provider {
	return &tavily{newEndpoint(client, "Tavily API", o.BaseURL, tavilyInterval, tavilyError), strings.TrimSpace(o.APIKey)}
}

// tavily is the Tavily API (https://docs.tavily.com/documentation/api-reference/endpoint/search).
type tavily struct {
	*endpoint
	key string
}

const (
	tavilyInterval = 100 * time.Millisecond
	// tavilyMost is how many results one search can have. There are no pages.
	tavilyMost = 20
)

// tavilyRequest is the body of a request.
type tavilyRequest struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results"`
	Country    string `json:"country,omitempty"`
	TimeRange  string `json:"time_range,omitempty"`
	StartDate  string `json:"start_date,omitempty"`
	EndDate    string `json:"end_date,omitempty"`
}

// tavilyAnswer is the part of an answer that is used.
type tavilyAnswer struct {
	Results *[]struct {
		Title         string `json:"title"`
		URL           string `json:"url"`
		Content       string `json:"content"`
		PublishedDate string `json:"published_date"`
	} `json:"results"`
}

// Name returns tavily.
func (*tavily) Name() string { return "tavily" }

// Search asks for all results up to the end of the page, and one more to know whether there are any.
func (t *tavily) Search(ctx context.Context, q Query) (Results, error) {
	if q.end() > tavilyMost {
		return Results{}, beyond(t.service, q)
	}
	if q.SafeSearch != "" && q.SafeSearch != "off" { // only large customers can have it
		return Results{}, unsupported(t.service, "safesearch", q.SafeSearch)
	}
	ask := tavilyRequest{
		Query: q.Text, MaxResults: min(q.end()+1, tavilyMost),
		TimeRange: q.Freshness.Period, StartDate: q.Freshness.From, EndDate: q.Freshness.To,
	}
	if q.Country != "" {
		name, ok := tavilyCountries[q.Country]
		if !ok {
			return Results{}, unsupported(t.service, "country", q.Country)
		}
		ask.Country = strings.ReplaceAll(name, "_", " ")
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return Results{}, err
	}
	res, err := t.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, httpcall.Endpoint(t.base, "search", nil), bytes.NewReader(body))
		if err == nil {
			req.Header.Set("Accept", "application/json")
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+t.key)
		}
		return req, err
	})
	if err != nil {
		return Results{}, err
	}
	var answer tavilyAnswer
	if err := t.decode(res, &answer); err != nil {
		return Results{}, err
	}
	if answer.Results == nil {
		return Results{}, badAnswer(t.service, "there is no list of results")
	}
	return answer.results(q), nil
}

func (a *tavilyAnswer) results(q Query) Results {
	var raw []Result
	for _, r := range *a.Results {
		raw = append(raw, Result{Title: r.Title, URL: r.URL, Description: r.Content, Age: r.PublishedDate})
	}
	var all collection
	all.add(raw)
	return Results{Items: all.page(q), More: len(all.items) > q.end()}
}

// Statuses of Tavily's own: the limit of the plan or of the key, and of what is paid for beyond the plan.
const (
	statusPlanLimit = 432
	statusPaidLimit = 433
)

// tavilyError says what an answer means that is not of class 2xx. Tavily explains itself in words only.
func tavilyError(e *httpcall.StatusError) *Error {
	is := func(errorType, meaning, hint string) *Error {
		return &Error{Type: errorType, Message: e.Error() + ": " + meaning, Hint: hint}
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return is("bad_credentials", "it does not accept the key", "The key in web.search.tavily.api_key or TAVILY_API_KEY must be replaced.")
	case e.Status == http.StatusForbidden && !isHTML(e.Header, e.Body):
		return is("plan_required", "the key's plan does not include this search", "The plan of the key must be changed, at https://app.tavily.com.")
	case e.Status == statusPlanLimit, e.Status == statusPaidLimit: // "This request exceeds your plan's set usage limit"
		return quotaError(e.Error()+": ", unknownQuota)
	}
	return statusError(e)
}
