package websearch

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// BraveOptions are the settings of the Brave Search API.
type BraveOptions struct {
	APIKey  string `yaml:"api_key" secret:"true" doc:"Key of the Brave Search API; BRAVE_API_KEY in the environment if unset."`
	BaseURL string `yaml:"base_url" doc:"Where the API is."`
}

// service returns the Brave Search API (https://api-dashboard.search.brave.com/api-reference/web/search/get).
func (o BraveOptions) service() service {
	return service{
		name: "brave", title: "Brave Search API", base: o.BaseURL, variable: "BRAVE_API_KEY", key: o.APIKey,
		interval: time.Second, // what the smallest plan allows
		header: func(key string) map[string]string {
			return map[string]string{"Accept": "application/json", "X-Subscription-Token": key}
		},
		countries:  braveCountries,
		periods:    map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"},
		safeSearch: map[string]string{"off": "off", "moderate": "moderate", "strict": "strict"},
		days:       true,
		fail:       braveFailure,
		search:     searchBrave,
	}
}

const (
	braveWords    = 50
	braveLastPage = 9
)

// searchBrave asks for one page. Brave numbers pages as we do.
func searchBrave(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	text, note := firstWords(q.Text, braveWords)
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
			Results []struct {
				Title         string   `json:"title"`
				URL           string   `json:"url"`
				Description   string   `json:"description"`
				Age           string   `json:"age"`
				PageAge       string   `json:"page_age"`
				ExtraSnippets []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := p.askJSON(ctx, httpcall.Request{URL: p.http.URL("res/v1/web/search", params)}, &answer); err != nil {
		return Results{}, err
	}
	var found collection
	switch {
	case answer.Web != nil:
		for _, r := range answer.Web.Results {
			if r.Age == "" {
				r.Age = r.PageAge
			}
			found.add(Result{r.Title, r.URL, r.Description, r.Age, r.ExtraSnippets})
		}
	case answer.Type != "search":
		return Results{}, p.badAnswer("its type is not \"search\"")
	}
	results := Results{Items: found.items[:min(q.Count, len(found.items))], More: answer.Query.More && q.Page < braveLastPage}
	if note != "" {
		results.Notes = []string{note}
	}
	return results, nil
}

// firstWords returns the text with at most so many words, and a note if it had more.
func firstWords(text string, most int) (cut, note string) {
	words := strings.Fields(text)
	if len(words) <= most {
		return text, ""
	}
	return strings.Join(words[:most], " "), "Only the first " + strconv.Itoa(most) + " words of the query were searched for."
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
	braveBad    = "VALIDATION"
	bravePlan   = "The plan of the key must be changed, at https://api-dashboard.search.brave.com."
)

var braveRules = slices.Concat(httpcall.Rules{
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
	{Codes: []string{braveBad}, Type: "invalid_query", Meaning: "it does not accept the query", Hint: "Search for something else."},
}, statusRules)

func braveFailure(e *httpcall.StatusError) *httpcall.Failure {
	code, parameter := braveError(e.Body)
	f := braveRules.Failure(e, code)
	if parameter != "" {
		f.Message, f.Hint = e.Error()+": it does not accept "+parameter, "Leave "+parameter+" out, or give it another value."
	}
	return f
}

// parameterName is what the name of a parameter or header looks like; nothing else of an answer is repeated in messages.
var parameterName = regexp.MustCompile(`^[a-z][a-z_-]{0,40}$`)

// braveError reads the code of an error, and which parameter is refused if it is one besides the query. Answers have the error
// as "error", the documentation as a list, "errors".
func braveError(body []byte) (code, parameter string) {
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
	found := answer.Error
	if found.Code == "" && len(answer.Errors) > 0 {
		found = answer.Errors[0]
	}
	if found.Code != braveBad {
		return found.Code, ""
	}
	for _, refused := range found.Meta.Errors {
		if len(refused.Loc) == 0 {
			continue
		}
		switch name, _ := refused.Loc[len(refused.Loc)-1].(string); {
		case name == "x-subscription-token":
			return braveBadKey, ""
		case name == "q":
			return braveBad, ""
		case parameter == "" && parameterName.MatchString(name):
			parameter = name
		}
	}
	return braveBad, parameter
}
