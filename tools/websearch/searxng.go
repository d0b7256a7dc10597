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

// SearXNGOptions are the settings of SearXNG.
type SearXNGOptions struct {
	BaseURL string `yaml:"base_url" doc:"Where the instance is, such as http://searx.lan:8080; one that is not public must be in tools.web_search.private_hosts as well."`
}

func (o *SearXNGOptions) name() string { return "searxng" }
func (o *SearXNGOptions) optIn() bool  { return false }

func (o *SearXNGOptions) missing() string {
	if o.BaseURL == "" {
		return "it needs the address of an instance, in web.search.searxng.base_url"
	}
	return ""
}

func (o *SearXNGOptions) mistakes() []Mistake { return checkBase("searxng", o.BaseURL) }

func (o *SearXNGOptions) connect(client *http.Client) Provider {
	return &searxng{newEndpoint(client, "SearXNG", o.BaseURL, searxngInterval, searxngError)}
}

// searxng is an instance of SearXNG (https://docs.searxng.org/dev/search_api.html).
type searxng struct{ *endpoint }

const (
	searxngInterval = 100 * time.Millisecond
	// searxngPages is how many of its pages one search reads, which have some tens of results each.
	searxngPages = 5
	// searxngFull is how many results a page has at least if there may be another: those of one engine. Nothing says so.
	searxngFull = 10
)

// searxngLanguages are the languages of countries: SearXNG has no countries, but languages as they are spoken in them.
var searxngLanguages = table(`AR es AT de AU en BE nl BG bg BR pt CA en CH de CL es CN zh CO es CZ cs DE de DK da EE et ES es FI fi
FR fr GB en GR el HK zh HR hr HU hu ID id IE en IL he IN en IT it JP ja KR ko LT lt LV lv MX es MY ms NL nl NO nb NZ en PE es
PH en PL pl PT pt RO ro RU ru SA ar SE sv SG en SI sl SK sk TH th TR tr TW zh UA uk US en VN vi ZA en`)

var searxngSafeSearch = map[string]string{"off": "0", "moderate": "1", "strict": "2"}

// searxngAnswer is the part of an answer that is used.
type searxngAnswer struct {
	Results *[]struct {
		Title         string `json:"title"`
		URL           string `json:"url"`
		Content       string `json:"content"`
		PublishedDate string `json:"publishedDate"`
	} `json:"results"`
	Unresponsive [][]string `json:"unresponsive_engines"` // name and reason of each
}

// Name returns searxng.
func (*searxng) Name() string { return "searxng" }

// Search reads the instance's pages, whose size nobody can choose, from the first one on.
func (s *searxng) Search(ctx context.Context, q Query) (Results, error) {
	params := url.Values{"q": {q.Text}, "format": {"json"}}
	switch f := q.Freshness; {
	case f.Period != "":
		params.Set("time_range", f.Period)
	case f.isSet():
		return Results{}, unsupported(s.service, "freshness", f.String())
	}
	if q.Country != "" {
		language, ok := searxngLanguages[q.Country]
		if !ok {
			return Results{}, unsupported(s.service, "country", q.Country)
		}
		params.Set("language", language+"-"+q.Country)
	}
	if q.SafeSearch != "" {
		params.Set("safesearch", searxngSafeSearch[q.SafeSearch])
	}
	var silent []string
	results, err := gather(s.service, q, searxngPages, func(n int) ([]Result, bool, error) {
		params.Set("pageno", strconv.Itoa(n+1))
		answer, err := s.page(ctx, params)
		if err != nil {
			return nil, false, err
		}
		silent = append(silent, answer.silent()...)
		return answer.results(), len(*answer.Results) >= searxngFull, nil
	})
	if err != nil {
		return Results{}, err
	}
	slices.Sort(silent)
	if silent = slices.Compact(silent); silent != nil {
		if engines := strings.Join(silent, ", "); len(results.Items) > 0 {
			results.Notes = append(results.Notes, "Of SearXNG's engines these did not answer: "+engines+".")
		} else if q.Page == 0 {
			return Results{}, &Error{
				Type: "overloaded", Message: "SearXNG found nothing, and of its engines these did not answer: " + engines,
				Hint: "Try again later.",
			}
		}
	}
	return results, nil
}

func (s *searxng) page(ctx context.Context, params url.Values) (*searxngAnswer, error) {
	target := httpcall.Endpoint(s.base, "search", params)
	res, err := s.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		if err == nil {
			req.Header.Set("Accept", "application/json")
		}
		return req, err
	})
	if err != nil {
		return nil, err
	}
	var answer searxngAnswer
	if err := s.decode(res, &answer); err != nil {
		return nil, err
	}
	if answer.Results == nil {
		return nil, badAnswer(s.service, "there is no list of results")
	}
	return &answer, nil
}

func (a *searxngAnswer) results() []Result {
	var raw []Result
	for _, r := range *a.Results {
		raw = append(raw, Result{Title: r.Title, URL: r.URL, Description: r.Content, Age: r.PublishedDate})
	}
	return raw
}

// silent returns the engines that did not answer, and why.
func (a *searxngAnswer) silent() []string {
	var all []string
	word := func(src string, most int) string { // what a message repeats of a stranger's has no markup
		return strings.NewReplacer("<", "", ">", "").Replace(line(src, most))
	}
	for _, engine := range a.Unresponsive[:min(len(a.Unresponsive), 10)] {
		if len(engine) == 2 {
			all = append(all, word(engine[0], 40)+" ("+word(engine[1], 80)+")")
		}
	}
	return all
}

// searxngError says what an answer means that is not of class 2xx.
func searxngError(e *httpcall.StatusError) *Error {
	switch e.Status {
	case http.StatusForbidden: // a page, whatever was asked for
		return &Error{
			Type: "http_status", Message: e.Error() + ": the instance does not answer in JSON",
			Hint: "The settings.yml of the instance must have json in search.formats.",
		}
	case http.StatusTooManyRequests: // a page as well
		return limited(e, &Error{
			Type: "rate_limited", Message: e.Error() + ": its limiter holds this server back",
			Hint: "Wait a little; the limiter of the instance can let this server pass.",
		})
	case http.StatusUnauthorized:
		return &Error{
			Type: "bad_credentials", Message: e.Error() + ": the instance wants a login",
			Hint: "Set base_url to an instance that is open to this server.",
		}
	}
	return statusError(e)
}
