package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
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
			return result(ctx, q, p.name, found, failed)
		}
		failure, ok := errors.AsType[*httpcall.Failure](err)
		if !ok {
			return domain.ToolResult{}, fmt.Errorf("%s: %w", p.name, err)
		}
		failed = append(failed, failedCall{p.name, failure.Type, failure.Message, failure.Hint})
	}
	return allFailed(failed), nil
}

// result returns what a service found, after others failed, as far as there is room for it.
func result(ctx context.Context, q Query, name string, found Results, failed []failedCall) (domain.ToolResult, error) {
	out := searchOutput{
		Query: q.Text, Provider: name, Page: q.Page, Results: []Result{}, Answers: found.Answers, More: found.More, Notes: found.Notes, Fallbacks: failed,
	}
	if err := out.add(call.ListRoom(ctx), found.Items); err != nil {
		return domain.ToolResult{}, err
	}
	return domain.Answer(out.text(), out), nil
}

// add adds results, shortened so that all of the output fits room characters. One whose title and address are too long for that
// is left out.
func (out *searchOutput) add(room int, found []Result) error {
	head, err := json.Marshal(out)
	if err != nil {
		return err
	}
	share := (room - len(head)) / max(len(found), 1)
	for _, r := range found {
		if r.fit(share) {
			out.Results = append(out.Results, r)
		}
	}
	if n := len(found) - len(out.Results); n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d results are left out: their addresses are too long.", n))
	}
	return nil
}

// text returns the output as it is read.
func (out *searchOutput) text() string {
	var b strings.Builder
	if len(out.Results)+len(out.Answers) == 0 {
		fmt.Fprintf(&b, "No results found for: %s", out.Query)
	} else {
		fmt.Fprintf(&b, "Search: \"%s\"\nResults: %d\n", out.Query, len(out.Results))
	}
	for _, a := range out.Answers {
		fmt.Fprintf(&b, "Answer: %s\n", a)
	}
	for i, r := range out.Results {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, r.Title, r.URL)
		for _, text := range append([]string{r.Description}, r.ExtraSnippets...) {
			if text != "" {
				fmt.Fprintf(&b, "   %s\n", text)
			}
		}
		if r.Age != "" {
			fmt.Fprintf(&b, "   Date: %s\n", r.Age)
		}
	}
	if notes := strings.Join(append(slices.Clone(out.Notes), out.pages()...), " "); notes != "" {
		b.WriteString("\n[" + notes + "]")
	}
	if out.Fallbacks != nil {
		b.WriteString("\n[")
		for _, f := range out.Fallbacks {
			b.WriteString(f.Provider + " failed: " + f.Message + "; ")
		}
		b.WriteString(out.Provider + " answered]")
	}
	return b.String()
}

// pages says which page of results this is, unless it is the only one, and how to get the next.
func (out *searchOutput) pages() (notes []string) {
	if out.Page > 0 {
		notes = append(notes, fmt.Sprintf("This is page=%d.", out.Page))
	}
	if out.More && out.Page < maxPage {
		notes = append(notes, fmt.Sprintf("For more results call again with page=%d.", out.Page+1))
	}
	return notes
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
