package websearch

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// SearXNGOptions are the settings of SearXNG.
type SearXNGOptions struct {
	BaseURL string `yaml:"base_url"`
}

// provider returns an instance of SearXNG (https://docs.searxng.org/dev/search_api.html).
func (o *SearXNGOptions) provider() *provider {
	return &provider{
		name: "searxng", title: "SearXNG", base: o.BaseURL, private: true, interval: 100 * time.Millisecond,
		header:     func(string) map[string]string { return map[string]string{"Accept": "application/json"} },
		periods:    map[string]string{"day": "day", "week": "week", "month": "month", "year": "year"},
		safeSearch: map[string]string{"off": "0", "moderate": "1", "strict": "2"},
		countries:  searxngCountries,
		rules:      searxngRules,
		search:     searchSearXNG,
	}
}

const (
	// searxngPages is how many of its pages one search reads, which have some tens of results each.
	searxngPages = 5
	// searxngFull is how many results a page has at least if there may be another: those of one engine. Nothing says so.
	searxngFull = 10
)

// searxngAnswer is the part of an answer that is used.
type searxngAnswer struct {
	Results      *[]item           `json:"results"`
	Answers      []json.RawMessage `json:"answers"` // objects, and texts until 2024
	Infoboxes    []searxngBox      `json:"infoboxes"`
	Unresponsive [][]string        `json:"unresponsive_engines"` // name and reason of each
}

// searxngBox is what the instance knows about the subject of a query.
type searxngBox struct {
	Title   string `json:"infobox"`
	ID      string `json:"id"` // most often an address
	Content string `json:"content"`
}

// Bounds of answers.
const (
	maxAnswers = 5
	maxAnswer  = 1000 // characters
)

// answers returns the answers and infoboxes, each on one line, with its source.
func (a *searxngAnswer) answers() (all []string) {
	add := func(text, source string) {
		text = line(text, maxAnswer)
		if address, _, ok := webAddress(source); ok {
			text += " (" + address + ")"
		}
		if text != "" && len(all) < maxAnswers && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, raw := range a.Answers {
		var found struct {
			Answer string `json:"answer"`
			URL    string `json:"url"`
		}
		if json.Unmarshal(raw, &found) != nil {
			_ = json.Unmarshal(raw, &found.Answer) // anything else is left out
		}
		if found.Answer != "" {
			add(found.Answer, found.URL)
		}
	}
	for _, box := range a.Infoboxes {
		if box.Content != "" {
			add(box.Title+": "+box.Content, box.ID)
		}
	}
	return all
}

// searchSearXNG reads the instance's pages, whose size nobody can choose, from the first one on.
func searchSearXNG(ctx context.Context, p *provider, q Query, o options) (Results, error) {
	params := url.Values{"q": {q.Text}, "format": {"json"}}
	setParams(params, "time_range", o.age, "safesearch", o.safeSearch)
	if o.country != "" {
		params.Set("language", o.country+"-"+q.Country)
	}
	var silent, said []string
	results, err := p.gather(q, searxngPages, func(n int) (raw []item, more bool, err error) {
		params.Set("pageno", strconv.Itoa(n+1))
		var answer searxngAnswer
		if err := p.askJSON(ctx, httpcall.Request{URL: p.http.URL("search", params)}, &answer); err != nil {
			return nil, false, err
		}
		if answer.Results == nil {
			return nil, false, p.badAnswer("there is no list of results")
		}
		silent = append(silent, answer.silent()...)
		if n == 0 && q.Page == 0 {
			said = answer.answers()
		}
		return *answer.Results, len(*answer.Results) >= searxngFull, nil
	})
	results.Answers = said
	if err != nil || silent == nil {
		return results, err
	}
	slices.Sort(silent)
	engines := strings.Join(slices.Compact(silent), ", ")
	if len(results.Items)+len(said) > 0 {
		results.Notes = append(results.Notes, "Of SearXNG's engines these did not answer: "+engines+".")
	} else if q.Page == 0 {
		return Results{}, &httpcall.Failure{
			Type: "overloaded", Message: "SearXNG found nothing, and of its engines these did not answer: " + engines, Hint: "Try again later.",
		}
	}
	return results, nil
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

var searxngRules = httpcall.Rules{
	{ // a page, whatever was asked for
		Statuses: []int{403}, Type: "http_status", Meaning: "the instance does not answer in JSON",
		Hint: "The settings.yml of the instance must have json in search.formats.",
	},
	{ // a page as well
		Statuses: []int{429}, Type: "rate_limited", Meaning: "its limiter holds this server back",
		Hint: "Wait a little; the limiter of the instance can let this server pass.", Retry: true,
	},
	{
		Statuses: []int{401}, Type: "bad_credentials", Meaning: "the instance wants a login",
		Hint: "Set base_url to an instance that is open to this server.",
	},
}

// searxngCountries are languages as they are spoken in countries: it has no others.
const searxngCountries = `
AR es AT de AU en BE nl BG bg BR pt CA en CH de CL es CN zh CO es CZ cs DE de DK da EE et ES es FI fi FR fr GB en GR el HK zh HR hr HU hu ID id IE en IL he
IN en IT it JP ja KR ko LT lt LV lv MX es MY ms NL nl NO nb NZ en PE es PH en PL pl PT pt RO ro RU ru SA ar SE sv SG en SI sl SK sk TH th TR tr TW zh UA uk
US en VN vi ZA en`
