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

// A chain queries search services one after the other, until one answers.
type chain []*provider

// How long services may take.
const (
	providerTime = 30 * time.Second // each, its queue included
	totalTime    = 50 * time.Second // all together
)

// run queries the services. Each gets an even share of the time that is left, so that one that hangs does not keep the next from
// being queried.
func (c chain) run(ctx context.Context, in searchInput) (domain.ToolResult, error) {
	q, bad := in.query()
	if bad != nil {
		return domain.Failure(bad.Type, "Error: "+bad.Message, bad.Hint), nil
	}
	var failed []failedCall
	ends := time.Now().Add(totalTime)
	for i, p := range c {
		share := time.Until(ends) / time.Duration(len(c)-i)
		shared, cancel := context.WithTimeout(ctx, min(share, providerTime))
		found, err := p.find(shared, q)
		cancel()
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		if err == nil {
			return result(q, p.name, found, failed), nil
		}
		failure, ok := errors.AsType[*httpcall.Failure](err)
		if !ok {
			return domain.ToolResult{}, fmt.Errorf("%s: %w", p.name, err)
		}
		failed = append(failed, failedCall{p.name, failure.Type, failure.Message, failure.Hint})
	}
	return allFailed(failed), nil
}

// result returns what a service found, after others failed.
func result(q Query, name string, found Results, failed []failedCall) domain.ToolResult {
	var b strings.Builder
	if len(found.Items) == 0 {
		fmt.Fprintf(&b, "No results found for: %s", q.Text)
	} else {
		fmt.Fprintf(&b, "Search: \"%s\"\nResults: %d\n", q.Text, len(found.Items))
	}
	for i, r := range found.Items {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Description != "" {
			fmt.Fprintf(&b, "   %s\n", r.Description)
		}
	}
	if failed != nil {
		b.WriteString("\n[")
		for _, f := range failed {
			b.WriteString(f.Provider + " failed: " + f.Message + "; ")
		}
		b.WriteString(name + " answered]")
	}
	r := domain.Text(b.String())
	r.Results = searchOutput{
		Query: q.Text, Provider: name, Page: q.Page, Results: append([]Result{}, found.Items...), More: found.More,
		Notes: found.Notes, Fallbacks: failed,
	}
	return r
}

// allFailed returns the tool execution error when no service answered.
func allFailed(failed []failedCall) domain.ToolResult {
	first := failed[0]
	if len(failed) == 1 {
		return domain.Failure(first.ErrorType, "Error: "+sentence(first.Message)+" "+first.hint, first.hint)
	}
	// A service without the option says less than the failure of one that has it.
	if i := slices.IndexFunc(failed, func(f failedCall) bool { return f.ErrorType != "unsupported_option" }); i >= 0 {
		first = failed[i]
	}
	text := "Error: no search service answered"
	for _, f := range failed {
		text += "\n" + f.Provider + ": " + sentence(f.Message) + " " + f.hint
	}
	return domain.Failure(first.ErrorType, text, first.hint)
}

// sentence returns a clause as a sentence.
func sentence(clause string) string { return strings.TrimSuffix(clause, ".") + "." }
