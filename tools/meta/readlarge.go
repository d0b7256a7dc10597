package meta

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/text/jq"
)

// ReadLargeName is the name of the tool that reads results which were too long.
const ReadLargeName = "read_large_result"

// readTool returns read_large_result. A page of store must be no longer than a result may be, or
// the executor cuts it again; see [domain.PageBytes].
func readTool(store *call.ResultStore, selector *jq.Selector) domain.Tool {
	return domain.Define(domain.Tool{
		Name: ReadLargeName, Target: []string{"id"},
		Title:       "Read on in a long result",
		Description: "Read a page of a result that was too long for an answer; its end has the ID.",
		Listing:     domain.ListedAlways,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true},
		Ability:     "page through results that are too long for one answer",
	}, reader{store, selector}.read)
}

// maxSelectable bounds a result that parts are selected of, in bytes.
const maxSelectable = 16 << 20

type reader struct {
	store    *call.ResultStore
	selector *jq.Selector
}

type readInput struct {
	ID     string `json:"id" min:"1" max:"64" also:"result_id" doc:"Such as lr_0123456789ab."`
	Page   int    `json:"page" default:"1" min:"1" max:"1000000000" doc:"Page, from 1."`
	Select string `json:"select,omitempty" also:"jq filter" doc:"Program of jq for JSON."`
}

// pageMeta is the _meta of a page.
type pageMeta struct {
	ID       string `json:"id"`
	Page     int    `json:"page"`
	Pages    int    `json:"pages"`
	NextPage int    `json:"next_page,omitempty"` // absent on the last page
}

func (r reader) read(ctx context.Context, in readInput) (domain.ToolResult, error) {
	p := call.SessionOf(ctx).Principal
	text, pages, err := r.store.Page(p, in.ID, in.Page)
	if in.Select != "" {
		var whole []byte
		var marked bool
		if whole, marked, err = r.store.All(p, in.ID, maxSelectable); err == nil {
			res, err := r.selector.Select(ctx, ReadLargeName, in.Select, whole, nil)
			if marked && err == nil && !res.IsError {
				res.Content[0].Text = call.Untrusted(ctx, "Result", "somebody else", res.Content[0].Text)
			}
			return res, err
		}
	}
	switch {
	case errors.Is(err, call.ErrUnknownResult):
		why := fmt.Sprintf("results expire after %d minutes, or sooner if many are kept", int(call.KeptFor.Minutes()))
		if _, known, ok := strings.Cut(err.Error(), ": "); ok {
			why = known
		}
		return domain.Failure("unknown_id", fmt.Sprintf("there is no result %q: %s; repeat the call that made it", in.ID, why),
			"Repeat the call that made the result, and read it with the id the new answer gives."), nil
	case errors.Is(err, call.ErrTooLong):
		return domain.Failure("too_large", fmt.Sprintf("result %q is too long for select, which reads up to %d MiB", in.ID, maxSelectable>>20),
			"Read its pages."), nil
	case errors.Is(err, call.ErrPageOutOfRange):
		count := "1 page"
		if pages != 1 {
			count = fmt.Sprintf("%d pages", pages)
		}
		last := call.KeptResult{ID: in.ID, Pages: pages}
		return domain.Failure("page_out_of_range", fmt.Sprintf("there is no page %d: result %q has %s", in.Page, in.ID, count),
			"Call "+last.Call(pages)+" for the last page."), nil
	case err != nil:
		return domain.ToolResult{}, err
	}
	meta := pageMeta{ID: in.ID, Page: in.Page, Pages: pages}
	if in.Page < pages {
		meta.NextPage = in.Page + 1
	}
	// The first block of all pages, joined, is exactly the result, but for marks of untrusted text that are
	// repeated: where a page is stands in a block of its own, which nothing in the result can be taken for.
	res := domain.Text(text)
	place := fmt.Sprintf("\n[Page %d of %d, the last]", in.Page, pages)
	if meta.NextPage > 0 {
		next := call.KeptResult{ID: in.ID, Pages: pages}
		place = fmt.Sprintf("\n[Page %d of %d; to read on: %s]", in.Page, pages, next.Call(meta.NextPage))
	}
	res.Content = append(res.Content, domain.Content{Type: domain.TextContent, Text: place})
	res.Meta = meta
	return res, nil
}
