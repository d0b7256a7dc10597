package websearch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// BraveOptions are the settings of the Brave Search API.
type BraveOptions struct {
	APIKey  string `yaml:"api_key" secret:"true"`
	BaseURL string `yaml:"base_url" template:"-"`
}

// provider returns the Brave Search API (https://api-dashboard.search.brave.com/api-reference/web/search/get).
func (o *BraveOptions) provider() *provider {
	return &provider{
		name: "brave", title: "Brave Search API", base: o.BaseURL, variable: "BRAVE_API_KEY", key: &o.APIKey,
		interval: time.Second, // what the smallest plan allows
		header: func(key string) map[string]string {
			return map[string]string{"Accept": "application/json", "X-Subscription-Token": key}
		},
		periods:    map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"},
		safeSearch: map[string]string{"off": "off", "moderate": "moderate", "strict": "strict"},
		days:       true,
		countries:  braveCountries,
		rules:      braveRules,
		code:       braveError,
		search:     searchBrave,
	}
}

const braveWords = 50

// searchBrave asks for one page. Brave numbers pages as we do.
func searchBrave(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	text := q.Text
	if words := strings.Fields(text); len(words) > braveWords {
		text = strings.Join(words[:braveWords], " ")
	}
	params := url.Values{
		"q": {text}, "count": {strconv.Itoa(q.Count)}, "offset": {strconv.Itoa(q.Page)},
		"text_decorations": {"false"}, "result_filter": {"web,query"},
	}
	setParams(params, "country", o.country, "safesearch", o.safeSearch, "freshness", o.age)
	var answer struct {
		Type  string `json:"type"`
		Query struct {
			More bool `json:"more_results_available"`
		} `json:"query"`
		Web *struct {
			Results []item `json:"results"`
		} `json:"web"`
	}
	if err := p.askJSON(ctx, httpcall.Request{URL: p.http.URL("res/v1/web/search", params)}, &answer); err != nil {
		return Results{}, err
	}
	var found collection
	switch {
	case answer.Web != nil:
		for _, r := range answer.Web.Results {
			found.add(r)
		}
	case answer.Type != "search":
		return Results{}, p.badAnswer("its type is not \"search\"")
	}
	results := Results{Items: found.items[:min(q.Count, len(found.items))], More: answer.Query.More && q.Page < maxPage}
	if text != q.Text {
		results.Notes = []string{fmt.Sprintf("Only the first %d words of the query were searched for.", braveWords)}
	}
	return results, nil
}

// setParams sets pairs of a name and a value, if that is not empty.
func setParams(params url.Values, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			params.Set(pair[0], pair[1])
		}
	}
}

const (
	braveBadKey = "SUBSCRIPTION_TOKEN_INVALID"
	bravePlan   = "The plan of the key must be changed, at https://api-dashboard.search.brave.com."
)

var braveRules = httpcall.Rules{
	{Codes: []string{braveBadKey}, Type: "bad_credentials", Meaning: "it does not accept the key"},
	{Codes: []string{"SUBSCRIPTION_NOT_FOUND"}, Type: "plan_required", Meaning: "the key has no subscription", Hint: bravePlan},
	{
		Codes: []string{"OPTION_NOT_IN_PLAN", "RESOURCE_NOT_ALLOWED"}, Type: "plan_required",
		Meaning: "the key's plan does not include this search", Hint: bravePlan,
	},
	{Codes: []string{"QUOTA_LIMITED"}, Type: "quota_exceeded", Meaning: quotaMeaning, Hint: hintQuota},
	{
		Codes: []string{"RATE_LIMITED"}, Type: "rate_limited", Meaning: "it was asked more often than the key's plan allows",
		Hint: "Wait a little and search again.", Retry: true,
	},
	{
		Codes: []string{"VALIDATION"}, Type: "invalid_query", Meaning: "it does not accept the query",
		Hint: "Search for something else, or with fewer options.",
	},
}

// braveError reads the code of an error. Answers have the error as "error", the documentation as a list, "errors". A missing key is
// an invalid request whose location is its header.
func braveError(body []byte) string {
	type fault struct {
		Code string `json:"code"`
		Meta struct {
			Errors []struct {
				Loc []any `json:"loc"` // such as "query", "q"
			} `json:"errors"`
		} `json:"meta"`
	}
	var answer struct {
		Error  fault   `json:"error"`
		Errors []fault `json:"errors"`
	}
	_ = json.Unmarshal(body, &answer) // what can be read of it is used; a page has no code
	for _, found := range append([]fault{answer.Error}, answer.Errors...) {
		for _, refused := range found.Meta.Errors {
			if slices.Contains(refused.Loc, any("x-subscription-token")) {
				return braveBadKey
			}
		}
		if found.Code != "" {
			return found.Code
		}
	}
	return ""
}

// braveCountries are values of its parameter country.
const braveCountries = `
AR AR AT AT AU AU BE BE BR BR CA CA CH CH CL CL CN CN DE DE DK DK ES ES FI FI FR FR GB GB GR GR HK HK ID ID IN IN IT IT JP JP KR KR MX MX MY MY NL NL NO NO
NZ NZ PH PH PL PL PT PT RU RU SA SA SE SE TR TR TW TW US US ZA ZA`
