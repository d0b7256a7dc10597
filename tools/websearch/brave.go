package websearch

import (
	"context"
	"net/http"
	"net/url"
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

func (o *BraveOptions) name() string { return "brave" }
func (o *BraveOptions) optIn() bool  { return false }

func (o *BraveOptions) missing() string {
	if strings.TrimSpace(o.APIKey) == "" {
		return "it needs a key, in web.search.brave.api_key or in the environment variable BRAVE_API_KEY"
	}
	return ""
}

func (o *BraveOptions) mistakes() []Mistake {
	return append(checkBase("brave", o.BaseURL), checkKey("brave", o.APIKey)...)
}

func (o *BraveOptions) connect(client *http.Client) Provider {
	return &brave{newEndpoint(client, "Brave Search API", o.BaseURL, braveInterval, braveError), strings.TrimSpace(o.APIKey)}
}

// brave is the Brave Search API (https://api-dashboard.search.brave.com/api-reference/web/search/get).
type brave struct {
	*endpoint
	key string
}

const (
	// braveInterval is what the smallest plan allows. The first answer tells what the plan really is.
	braveInterval = time.Second
	braveWords    = 50
	braveLastPage = 9
)

// braveCountries are the values of the parameter country.
var braveCountries = strings.Fields(`AR AT AU BE BR CA CH CL CN DE DK ES FI FR GB GR HK ID IN IT JP KR MX MY NL NO NZ PH PL PT RU SA
SE TR TW US ZA`)

var braveFreshness = map[string]string{"day": "pd", "week": "pw", "month": "pm", "year": "py"}

// braveAnswer is the part of an answer that is used.
type braveAnswer struct {
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

// Name returns brave.
func (*brave) Name() string { return "brave" }

// Search asks for one page. Brave numbers pages as we do.
func (b *brave) Search(ctx context.Context, q Query) (Results, error) {
	if q.Country != "" && !slices.Contains(braveCountries, q.Country) {
		return Results{}, unsupported(b.service, "country", q.Country)
	}
	text, note := firstWords(q.Text, braveWords)
	target := httpcall.Endpoint(b.base, "res/v1/web/search", braveParams(q, text))
	res, err := b.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err == nil {
			req.Header.Set("Accept", "application/json")
			req.Header.Set("X-Subscription-Token", b.key)
		}
		return req, err
	})
	if err != nil {
		return Results{}, err
	}
	var answer braveAnswer
	if err := b.decode(res, &answer); err != nil {
		return Results{}, err
	}
	if answer.Type != "search" && answer.Web == nil {
		return Results{}, badAnswer(b.service, "its type is not \"search\"")
	}
	results := answer.results(q)
	if note != "" {
		results.Notes = append(results.Notes, note)
	}
	return results, nil
}

func braveParams(q Query, text string) url.Values {
	params := url.Values{
		"q": {text}, "count": {strconv.Itoa(q.Count)}, "offset": {strconv.Itoa(q.Page)},
		"text_decorations": {"false"}, "result_filter": {"web,query"},
	}
	if q.Country != "" {
		params.Set("country", q.Country)
	}
	if q.SafeSearch != "" {
		params.Set("safesearch", q.SafeSearch)
	}
	if f := q.Freshness; f.Period != "" {
		params.Set("freshness", braveFreshness[f.Period])
	} else if f.isSet() {
		params.Set("freshness", f.String())
	}
	return params
}

func (a *braveAnswer) results(q Query) Results {
	var raw []Result
	if a.Web != nil {
		for _, r := range a.Web.Results {
			age := r.Age
			if age == "" {
				age = r.PageAge
			}
			raw = append(raw, Result{r.Title, r.URL, r.Description, age, r.ExtraSnippets})
		}
	}
	var all collection
	all.add(raw)
	return Results{Items: all.items[:min(q.Count, len(all.items))], More: a.Query.More && q.Page < braveLastPage}
}

// firstWords returns the text with at most so many words, and a note if it had more.
func firstWords(text string, most int) (cut, note string) {
	words := strings.Fields(text)
	if len(words) <= most {
		return text, ""
	}
	return strings.Join(words[:most], " "), "Only the first " + strconv.Itoa(most) + " words of the query were searched for."
}
