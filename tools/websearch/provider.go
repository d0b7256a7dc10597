package websearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// A Query is what to search for.
type Query struct {
	Text       string // one line, trimmed, 1 to 400 characters
	Count      int    // results in a page, 1 to 20
	Page       int    // 0 is the first
	Freshness  string // day, week, month, year, YYYY-MM-DDtoYYYY-MM-DD with both included, or "" for any age
	Country    string // ISO 3166-1 alpha-2 in capitals, or ""
	SafeSearch string // off, moderate, strict, or "" for what the service does by itself
}

// end is the number of results up to the end of the page.
func (q Query) end() int { return (q.Page + 1) * q.Count }

// Results are one page of results.
type Results struct {
	Items   []Result // at most as many as were asked for, no page twice
	Answers []string // of the service itself, on one line each, with their source
	More    bool     // there is a next page, as far as the service says
	Notes   []string // what the reader of the results should know, as sentences
}

// A Result is a page that was found. Its texts are plain, each on one line.
type Result struct {
	Title         string   `json:"title" doc:"Title of the page."`
	URL           string   `json:"url" doc:"Address of the page."`
	Description   string   `json:"description" doc:"What the page says about the query."`
	Age           string   `json:"age,omitempty" doc:"When the page was published or changed, as the service puts it."`
	ExtraSnippets []string `json:"extra_snippets,omitempty" doc:"Further passages of the page."`
}

// fit shortens a result that has more than so many characters as JSON, which is longer than as text: further passages first, then
// the description, then the title. It reports whether the rest fits.
func (r *Result) fit(most int) bool {
	for {
		b, err := json.Marshal(r)
		n := len(r.ExtraSnippets)
		switch {
		case err != nil:
			return false
		case len(b) <= most:
			return true
		case n > 0:
			r.ExtraSnippets = r.ExtraSnippets[:n-1]
		case r.Description != "":
			r.Description = half(r.Description)
		case utf8.RuneCountInString(r.Title) > minTitle:
			r.Title = half(r.Title)
		default:
			return false
		}
	}
}

// minTitle is how short a title may become, in characters.
const minTitle = 40

// half returns the first half of a text.
func half(text string) string { return httpcall.Clip(text, utf8.RuneCountInString(text)/2) }

// An item is a result as a service sends it, with texts that are HTML or may have some in them. Services call the same
// fields differently.
type item struct {
	Title         string   `json:"title"`
	URL           string   `json:"url"`
	Description   string   `json:"description"`    // Brave
	Content       string   `json:"content"`        // SearXNG, Tavily
	Age           string   `json:"age"`            // Brave
	PageAge       string   `json:"page_age"`       // Brave
	PublishedDate string   `json:"publishedDate"`  // SearXNG
	Published     string   `json:"published_date"` // Tavily
	ExtraSnippets []string `json:"extra_snippets"` // Brave
}

// A provider is a search service.
type provider struct {
	name     string        // in the configuration and in results
	title    string        // in messages
	base     string        // URL
	private  bool          // there is no public instance, so base must be configured
	variable string        // of the environment, with the key
	key      *string       // in the settings; nil if the service has none
	optIn    bool          // used only where the configuration names it
	hasNext  bool          // another service is asked when this one fails
	interval time.Duration // between requests, until the service says what it allows
	header   func(key string) map[string]string

	// What a query may ask for: the service's values for the last day, week, month and year, for levels of safe search, and
	// for countries.
	periods, safeSearch map[string]string
	countries           string // pairs of a code and what the service calls the country, in which _ is a space
	days                bool   // a range of days is possible

	rules httpcall.Rules           // for answers that are not of class 2xx, before statusRules
	code  func(body []byte) string // returns the code of an error for the rules; may be nil
	// search returns a page of results. The error is a [*httpcall.Failure], or ctx's if that was canceled.
	search func(ctx context.Context, p *provider, q Query, o options) (Results, error)

	http httpcall.Service // set by connect
}

// options are the values of a query's options for a service; empty if unset.
type options struct{ country, age, safeSearch string }

// Bounds of the exchange with a service.
const (
	maxBody = 4 << 20
	retries = 2
)

// connect makes a service whose settings were checked ready for use.
func (p *provider) connect(client *http.Client) *provider {
	base, err := httpcall.ParseBase(p.base)
	if err != nil {
		panic(err) // it was checked
	}
	p.http = httpcall.Service{
		Name: p.title, Client: client, Base: base, Header: p.header(p.secret()), Timeout: providerTime, MaxBody: maxBody,
		Retries: retries, Limiter: httpcall.NewLimiter(p.interval, 1, math.MaxInt).Guess(), Fail: p.failure, Observe: p.learn,
	}
	return p
}

// secret returns the key. What a file ends with is no part of it.
func (p *provider) secret() string {
	if p.key == nil {
		return ""
	}
	return strings.TrimSpace(*p.key)
}

// find returns a page of results. No option of a query is ignored: with one that
// the service does not support nothing is sent.
func (p *provider) find(ctx context.Context, q Query) (Results, error) {
	var err error
	lookup := func(option, value string, values map[string]string) string {
		found, ok := values[value]
		if !ok && value != "" && err == nil {
			err = &httpcall.Failure{
				Type: "unsupported_option", Message: fmt.Sprintf("%s cannot search with %s=%s", p.title, option, value),
				Hint: "Leave " + option + " out, or give it another value.",
			}
		}
		return found
	}
	o := options{country: lookup("country", q.Country, codes(p.countries)), safeSearch: lookup("safesearch", q.SafeSearch, p.safeSearch)}
	if _, _, days := strings.Cut(q.Freshness, "to"); days && p.days {
		o.age = q.Freshness
	} else {
		o.age = lookup("freshness", q.Freshness, p.periods)
	}
	if err != nil {
		return Results{}, err
	}
	return p.search(ctx, p, q, o)
}

// ask sends a request and gives the answer to read. The error is a [*httpcall.Failure], or ctx's if that was canceled.
func (p *provider) ask(ctx context.Context, r httpcall.Request, read func(*httpcall.Response) error) error {
	err := p.http.Do(ctx, r, read)
	if err == nil {
		return nil
	}
	if ctx.Err() == context.Canceled {
		return ctx.Err()
	}
	_, answered := errors.AsType[*httpcall.Failure](err)
	late, isLate := errors.AsType[*httpcall.LateError](err)
	f := *httpcall.Explain(err)
	switch {
	case isLate:
		f.Message = p.title + " limits the rate of requests: " + late.Error()
		f.Hint = "Make fewer searches in parallel, and search again later."
	case f.Cooldown > 0:
		p.explainBlock(&f)
	case answered:
	case f.Type == "timed_out":
		f.Message = "Search request timed out: " + p.title + " did not answer in time"
	default:
		f.Message = p.title + ": " + f.Message
	}
	return &f
}

// explainBlock says of a service that is not asked for a while when it is, and what else may free it.
func (p *provider) explainBlock(f *httpcall.Failure) {
	earlier := !f.Since.IsZero() // another request was refused
	quota := f.Type == "quota_exceeded"
	if earlier {
		f.Message = p.title + ": " + map[bool]string{true: quotaMeaning, false: "it was asked too often"}[quota]
	}
	f.Message += "; it is asked again in " + span(f.Cooldown)
	if renewed := f.After; quota && renewed > 0 {
		if earlier {
			renewed -= time.Since(f.Since)
		}
		f.Hint = fmt.Sprintf("Go on without searching: the quota is renewed in %s, or when the plan of the key is extended or the key replaced.", span(renewed))
	}
}

// nullResults is null where results are to be.
var nullResults = lazyregexp.New(`"results"\s*:\s*(null|\[\s*null)`)

// askJSON is [provider.ask] for an answer that is documented to be JSON. A field
// of another type than documented is left empty: it is no reason to lose the rest.
func (p *provider) askJSON(ctx context.Context, r httpcall.Request, into any) error {
	return p.ask(ctx, r, func(res *httpcall.Response) error {
		if httpcall.IsPage(res.Header, res.Body) {
			return challenged(p.title)
		}
		err := json.Unmarshal(bytes.TrimPrefix(res.Body, []byte("\ufeff")), into)
		odd, isOdd := errors.AsType[*json.UnmarshalTypeError](err)
		lost := isOdd && (odd.Field == "web" || strings.HasSuffix(odd.Field, "results"))
		if err != nil && !isOdd || !httpcall.IsObject(res.Body) || nullResults().Match(res.Body) || lost {
			return p.badAnswer("it is not the JSON it should be")
		}
		return nil
	})
}

// badAnswer is the failure of an answer that is not as documented.
func (p *provider) badAnswer(what string) *httpcall.Failure {
	return &httpcall.Failure{
		Type: "bad_answer", Message: fmt.Sprintf("%s sent something else than search results: %s", p.title, what),
		Hint: "Check that base_url leads to the service, or try again later.",
	}
}

const (
	challenge     = "it sent a page for people instead of results, most likely to find out whether one is there"
	hintChallenge = "Do not search again at once; the service blocks this address for a while."
)

// challenged is the failure of a service that sent a page for people.
func challenged(answer string) *httpcall.Failure {
	return &httpcall.Failure{Type: "blocked", Message: answer + ": " + challenge, Hint: hintChallenge}
}

// isPage and noPage are conditions of rules: a page for people, or an answer of the API itself.
func isPage(e *httpcall.StatusError) bool { return httpcall.IsPage(e.Header, e.Body) }
func noPage(e *httpcall.StatusError) bool { return !isPage(e) }

const (
	quotaMeaning = "the key's quota is used up"
	hintQuota    = "Go on without searching, or have the plan of the key extended or the key replaced."
)

// statusRules are for what services do not explain in a way of their own.
var statusRules = httpcall.Rules{
	{
		Statuses: []int{3}, Type: "http_status", Meaning: "it redirects, and redirects of an API are not followed",
		Hint: "Set base_url to where the service answers.",
	},
	{Statuses: []int{502, 503, 504, 529}, Type: "overloaded", Meaning: "it is overloaded or down", Hint: "Try again later.", Retry: true},
	{Statuses: []int{5}, Type: "http_status", Meaning: "it failed", Hint: "Try again later.", Retry: true},
	{
		Statuses: []int{404}, Type: "http_status", Meaning: "there is no search API",
		Hint: "Check that base_url leads to the service.",
	},
	{When: isPage, Type: "blocked", Meaning: challenge, Hint: hintChallenge},
	{Statuses: []int{429}, When: quotaUsedUp, Type: "quota_exceeded", Meaning: quotaMeaning, Hint: hintQuota},
	{Statuses: []int{429}, Type: "rate_limited", Meaning: "it was asked too often", Hint: "Wait a little and search again.", Retry: true},
	{
		Statuses: []int{401, 403}, Type: "bad_credentials", Meaning: "it does not accept the key",
		Hint: "The key in the configuration must be replaced.",
	},
	{
		Statuses: []int{402}, Type: "plan_required", Meaning: "the key's plan does not include this",
		Hint: "The plan must be changed with the service.",
	},
	{
		Statuses: []int{400, 414, 422}, Type: "invalid_query", Meaning: "it does not accept the query",
		Hint: "Search for something else, or with fewer options.",
	},
	{Type: "http_status", Meaning: "there is no search API", Hint: "Check that base_url leads to the service."},
}

// failure says what an answer means that is not of class 2xx. Its texts never
// have a key in them, nor markup the service sent.
func (p *provider) failure(e *httpcall.StatusError) error {
	code := ""
	if p.code != nil {
		code = p.code(e.Body)
	}
	f := slices.Concat(p.rules, statusRules).Failure(e, code)
	switch {
	case f.Type == "bad_credentials" && p.variable != "":
		f.Hint = fmt.Sprintf("The key in %s%s.api_key or %s must be replaced.", section, p.name, p.variable)
	case f.Type == "rate_limited":
		f.After = cmp.Or(f.After, resetOf(e.Header, window.short))
		f.Retry = f.After > 0 // otherwise nobody knows when it is of use
		if p.hasNext && f.After > patience {
			f.Retry, f.Cooldown = false, min(f.After, probeAfter)
		}
	case f.Type == "quota_exceeded":
		*f = *quotaFailure(f, resetOf(e.Header, window.usedUp))
	}
	return f
}

// patience is how long a service is waited for, at its own request, that is not the last to be asked.
const patience = 2 * time.Second

// quotaFailure makes a Failure one of a quota that is used up, and renewed after some time, or 0 if that is unknown. The service is
// asked again after an hour even so: its plan may have been extended.
func quotaFailure(f *httpcall.Failure, renewed time.Duration) *httpcall.Failure {
	f.After, f.Cooldown = renewed, min(cmp.Or(renewed, probeAfter), probeAfter)
	return f
}

// span returns a duration the way people say it, to two digits or so.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()+12)/24)
}
