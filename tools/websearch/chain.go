package websearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// A chain asks search services one after the other, until one answers.
type chain struct{ providers []*provider }

// How long services may take.
const (
	providerTime = 30 * time.Second // each, its queue included
	totalTime    = 50 * time.Second // all together
)

// found is what came of a search.
type found struct {
	Results
	provider string // that answered; empty if none did
	failed   []attempt
}

// attempt is a service that did not answer.
type attempt struct {
	provider string
	*httpcall.Failure
}

// search asks the services. Each gets an even share of the time that is left, so that one that hangs does not keep the next from
// being asked. The error is ctx's if that ended.
func (c chain) search(ctx context.Context, q Query) (found, error) {
	var out found
	ends := time.Now().Add(totalTime)
	for i, p := range c.providers {
		share := time.Until(ends) / time.Duration(len(c.providers)-i)
		results, err := ask(ctx, p, q, min(share, providerTime))
		if ctx.Err() != nil {
			return found{}, ctx.Err()
		}
		if err == nil {
			out.Results, out.provider = results, p.name
			return out, nil
		}
		failure, ok := errors.AsType[*httpcall.Failure](err)
		if !ok {
			return found{}, fmt.Errorf("%s: %w", p.name, err)
		}
		out.failed = append(out.failed, attempt{p.name, failure})
	}
	return out, nil
}

func ask(ctx context.Context, p *provider, q Query, share time.Duration) (Results, error) {
	ctx, cancel := context.WithTimeout(ctx, share)
	defer cancel()
	return p.find(ctx, q)
}

// result returns what was found.
func (f *found) result(q Query) domain.ToolResult {
	out := searchOutput{Query: q.Text, Provider: f.provider, Page: q.Page, Results: f.Items, More: f.More, Notes: f.Notes}
	if out.Results == nil {
		out.Results = []Result{}
	}
	var b strings.Builder
	if len(f.Items) == 0 {
		fmt.Fprintf(&b, "No results found for: %s", q.Text)
	} else {
		fmt.Fprintf(&b, "Search: \"%s\"\nResults: %d\n", q.Text, len(f.Items))
	}
	for i, r := range f.Items {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Description != "" {
			fmt.Fprintf(&b, "   %s\n", r.Description)
		}
	}
	if f.failed != nil {
		var said []string
		for _, a := range f.failed {
			out.Fallbacks = append(out.Fallbacks, failedCall{a.provider, a.Type, a.Message})
			said = append(said, a.provider+" failed: "+a.Message)
		}
		fmt.Fprintf(&b, "\n[%s; %s answered]", strings.Join(said, "; "), f.provider)
	}
	r := domain.Text(b.String())
	r.Results = out
	return r
}

// failure says why nobody answered.
func (f *found) failure() domain.ToolResult {
	first := f.failed[0]
	if len(f.failed) == 1 {
		return domain.Failure(first.Type, "Error: "+sentence(first.Message)+" "+first.Hint, first.Hint)
	}
	// What a service cannot do says less than what went wrong with one that can.
	if i := slices.IndexFunc(f.failed, func(a attempt) bool { return a.Type != "unsupported_option" }); i >= 0 {
		first = f.failed[i]
	}
	text := "Error: no search service answered"
	for _, a := range f.failed {
		text += "\n" + a.provider + ": " + sentence(a.Message) + " " + a.Hint
	}
	return domain.Failure(first.Type, text, first.Hint)
}

// sentence returns a clause as a sentence.
func sentence(clause string) string { return strings.TrimSuffix(clause, ".") + "." }
