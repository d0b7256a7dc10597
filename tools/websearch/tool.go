package websearch

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// searchInput are the arguments of web_search. How many results there are is bounded here and not by the schema, because seeds
// of this tool took any number.
type searchInput struct {
	Query      string `json:"query" max:"100000"`
	Count      int    `json:"count" default:"5" min:"-1000000" max:"1000000"`
	Page       int    `json:"page" default:"0" min:"0" max:"9"`
	Freshness  string `json:"freshness,omitempty" pattern:"^(|day|week|month|year|[0-9]{4}-[0-9]{2}-[0-9]{2}to[0-9]{4}-[0-9]{2}-[0-9]{2})$"`
	Country    string `json:"country,omitempty" pattern:"^(|[A-Za-z]{2})$"`
	SafeSearch string `json:"safesearch,omitempty" enum:"off|moderate|strict"`
}

func (searchInput) Words() string { return arguments }

// searchOutput is the result of web_search.
type searchOutput struct {
	Query     string       `json:"query" also:"q search search_term search_query keywords text" doc:"What was searched for."`
	Provider  string       `json:"provider" doc:"Search service that answered."`
	Page      int          `json:"page" doc:"Which page of results this is, counted from 0."`
	Answers   []string     `json:"answers,omitempty" doc:"Answers of the service itself, each with its source."`
	Results   []Result     `json:"results" doc:"What was found, the best first."`
	More      bool         `json:"more_available" doc:"Whether there is a next page, as far as the service tells."`
	Notes     []string     `json:"notes,omitempty" doc:"What should be known about the results."`
	Fallbacks []failedCall `json:"fallbacks,omitempty" doc:"Search services that were asked before, and why they did not answer."`
}

// failedCall is a service that did not answer.
type failedCall struct {
	Provider  string `json:"provider" doc:"Search service."`
	ErrorType string `json:"error_type" doc:"Kind of failure."`
	Message   string `json:"message" doc:"Why it failed."`
	hint      string `json:"-"`
}

// Bounds of a query.
const (
	maxQuery = 400
	maxCount = 20
	maxPage  = 9
)

// toolTime is more than the services get together, so that their failures can be reported.
const toolTime = totalTime + 5*time.Second

func searchTool(providers []*provider) domain.Tool {
	return domain.Define(domain.Tool{
		Name: toolName, Target: []string{"query"},
		Title: "Search the web",
		Description: "Search the web and return titles, addresses and descriptions of pages; read a page with web_fetch. " +
			"Results can be limited to an age, a country and a level of safe search; a search service that cannot do so is not asked.",
		Output:      schema.OutputOf[searchOutput](),
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Timeout:     toolTime,
		Ability:     "search the web",
	}, chain(providers).run)
}

// query returns what the arguments ask for.
func (in searchInput) query() (Query, *httpcall.Failure) {
	text := oneLine(in.Query)
	if text == "" {
		return Query{}, &httpcall.Failure{Type: "invalid_query", Message: "query must not be empty", Hint: "Say in query what to search for."}
	}
	if err := checkFreshness(in.Freshness); err != nil {
		return Query{}, &httpcall.Failure{
			Type: "invalid_query", Message: "freshness: " + err.Error(),
			Hint: "Give freshness as YYYY-MM-DDtoYYYY-MM-DD, or as day, week, month or year.",
		}
	}
	country := strings.ToUpper(in.Country)
	if country == "UK" { // which is GB, whatever people write
		country = "GB"
	}
	return Query{
		Text: text, Count: min(max(in.Count, 1), maxCount), Page: in.Page,
		Freshness: in.Freshness, Country: country, SafeSearch: in.SafeSearch,
	}, nil
}

// oneLine returns a query without control characters, trimmed and cut.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	n := 0
	for i := range text {
		if n++; n > maxQuery {
			return strings.TrimSpace(text[:i])
		}
	}
	return text
}

// checkFreshness validates the days of a range. The rest is in the schema.
func checkFreshness(text string) error {
	from, to, days := strings.Cut(text, "to")
	if !days {
		return nil
	}
	for _, day := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return fmt.Errorf("there is no day %s", day)
		}
	}
	if from > to {
		return errors.New("the first day comes after the last")
	}
	return nil
}
