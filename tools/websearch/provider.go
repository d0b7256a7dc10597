package websearch

import (
	"context"
)

// A Provider is a search service.
type Provider interface {
	// Name is the name of the service in the configuration, and in results.
	Name() string
	// Search returns a page of results. The error is an [*Error], or ctx's if that ended. A provider obeys all of a query: what
	// it cannot do is an error of type unsupported_option, before anything is sent.
	Search(ctx context.Context, q Query) (Results, error)
}

// A Query is what to search for.
type Query struct {
	Text       string // one line, trimmed, 1 to 400 characters
	Count      int    // results in a page, 1 to 20
	Page       int    // 0 is the first
	Freshness  Freshness
	Country    string // ISO 3166-1 alpha-2 in capitals, or ""
	SafeSearch string // off, moderate, strict, or "" for what the service does by itself
}

// end is how many results there are up to the end of the page.
func (q Query) end() int { return (q.Page + 1) * q.Count }

// Results are one page of results.
type Results struct {
	Items []Result // at most as many as were asked for, no page twice
	More  bool     // there is a next page, as far as the service tells
	Notes []string // what the reader of the results should know, as sentences
}

// A Result is a page that was found. Its texts are plain, each on one line.
type Result struct {
	Title         string   `json:"title" doc:"Title of the page."`
	URL           string   `json:"url" doc:"Address of the page."`
	Description   string   `json:"description" doc:"What the page says about the query."`
	Age           string   `json:"age,omitempty" doc:"When the page was published or changed, as the service puts it."`
	ExtraSnippets []string `json:"extra_snippets,omitempty" doc:"Further passages of the page."`
}
