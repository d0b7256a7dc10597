package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// Bounds of a report.
const (
	maxReportBytes = 32 << 20 // of all pages together
	maxReportDays  = 31       // of claude_code, each of which is a request
)

// report is the pages of an answer, put together.
type report struct {
	service
	query   usageQuery
	rows    []json.RawMessage
	size    int // of the rows
	pages   int
	amounts amounts
	notes   []string
	more    []incompleteDay // where to continue
	lost    bool            // there is more, but the API does not say where
}

// fetch reads what the query asks for. If a page after the first cannot be had, the report ends before it and says so. An
// error is about the first page, or that of a caller who canceled.
func (r *report) fetch(ctx context.Context) error {
	page := r.query.page
	for i, start := range r.query.starts {
		err := r.fetchStart(ctx, start, page)
		if err == nil {
			page = "" // it belongs to the first
			continue
		}
		if r.pages == 0 || context.Cause(ctx) == context.Canceled {
			return err
		}
		reason := r.explain(err).Message
		if ctx.Err() != nil {
			reason = "the call timed out"
		}
		r.notes = append(r.notes, fmt.Sprintf("stopped after page %d: %s", r.pages, reason))
		for _, day := range r.query.starts[i+1:] {
			r.more = append(r.more, incompleteDay{StartingAt: day})
		}
		return nil
	}
	return nil
}

// fetchStart reads the pages of one start, and records where to continue if any are left.
func (r *report) fetchStart(ctx context.Context, start, page string) (err error) {
	for range r.query.pages {
		next, err := r.fetchPage(ctx, start, page)
		if err != nil {
			r.more = append(r.more, incompleteDay{start, page})
			return err
		}
		if page = next; page == "" {
			return nil
		}
	}
	r.more = append(r.more, incompleteDay{start, page})
	return nil
}

// fetchPage reads one page and returns the token of the next, empty if there is none.
func (r *report) fetchPage(ctx context.Context, start, page string) (next string, err error) {
	if r.size > maxReportBytes {
		return "", &httpcall.TooLargeError{Max: maxReportBytes}
	}
	query := url.Values{"starting_at": {start}}
	maps.Copy(query, r.query.values)
	if page != "" {
		query.Set("page", page)
	}
	header := maps.Clone(acceptJSON)
	if r.query.beta != "" {
		header["Anthropic-Beta"] = r.query.beta
	}
	err = r.Do(ctx, httpcall.Request{URL: r.URL(r.query.path, query), Header: header}, func(res *httpcall.Response) (err error) {
		next, err = r.add([]byte(strings.ToValidUTF8(string(res.Body), "\uFFFD")), page)
		return err
	})
	if err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	domain.ReportProgress(ctx, domain.Progress{Done: float64(r.pages), Message: fmt.Sprintf("pages: %d, rows: %d", r.pages, len(r.rows))})
	return next, nil
}

// add adds the answer to the token page, and returns the token of the next page. An answer that is no report is an error.
func (r *report) add(answer []byte, page string) (next string, err error) {
	var body struct {
		Data     []json.RawMessage `json:"data"`
		HasMore  bool              `json:"has_more"`
		NextPage string            `json:"next_page"`
	}
	noObject := func(row json.RawMessage) bool { return row[0] != '{' }
	if err := json.Unmarshal(answer, &body); err != nil || body.Data == nil || slices.ContainsFunc(body.Data, noObject) {
		return "", r.badAnswer("the answer is not a report, JSON with an array data of objects")
	}
	for _, row := range body.Data {
		if r.query.money {
			if row, err = r.amounts.rewrite(nil, row, 0); err != nil {
				return "", r.badAnswer(err.Error())
			}
		}
		r.rows = append(r.rows, row)
		r.size += len(row)
	}
	r.pages++
	if body.HasMore && (body.NextPage == "" || body.NextPage == page) {
		r.lost = true
		r.notes = append(r.notes, "the API says that there is more, but not on which page")
	}
	if !body.HasMore || r.lost {
		return "", nil
	}
	return body.NextPage, nil
}

// result returns the report in the API's form with the first of its rows. What the tool adds, which is about all that were
// read, comes first.
func (r *report) result(rows []json.RawMessage) (out reportResult) {
	out.Notes, out.Data, out.HasMore = append(r.amounts.notes(), r.notes...), rows, r.lost || len(r.more) > 0
	if r.query.money {
		out.TotalUSD = json.Number(decimalText(&r.amounts.total, 2))
	}
	if len(r.query.starts) > 1 {
		out.IncompleteDays = r.more
	}
	if len(rows) < len(r.rows) { // a page cannot be continued in its middle
		out.HasMore = true
		out.Notes = append(out.Notes, fmt.Sprintf("only %d of the %d rows fit in one answer: %s", len(rows), len(r.rows), r.further(len(rows))))
	} else if len(r.more) > 0 && r.more[0].NextPage != "" {
		out.NextPage = &r.more[0].NextPage
	}
	return out
}

// further says how to read the rows that do not fit, if so many do.
func (r *report) further(fit int) string {
	if len(r.query.starts) > 1 {
		return "ask for fewer days at a time"
	}
	return fmt.Sprintf("call again with limit=%d and max_pages=1, and go on with page=next_page of that answer", fit)
}
