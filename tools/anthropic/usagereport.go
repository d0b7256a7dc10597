package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/wire/rawjson"
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
	rows    []row
	size    int // of the rows
	count   int // of the results
	pages   int
	amounts amounts
	notes   []string
	more    []incompleteDay // where to continue
	lost    bool            // there is more, but the API does not say where
}

// A row is an object of the API's: a bucket of time with a list of results, or a single result.
type row struct {
	object  json.RawMessage
	results [][]byte // nil of a single one
}

// count returns for how many results the row stands. A bucket without any is one itself.
func (r *row) count() int { return max(1, len(r.results)) }

// part returns the row with the results from one to before another, which are at least one.
func (r *row) part(from, to int) json.RawMessage {
	if to-from >= len(r.results) {
		return r.object
	}
	return rawjson.With(r.object, "results", slices.Concat([]byte("["), bytes.Join(r.results[from:to], []byte(",")), []byte("]")))
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
	call.ReportProgress(ctx, call.Progress{Done: float64(r.pages), Message: fmt.Sprintf("pages: %d, rows: %d", r.pages, len(r.rows))})
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
	for _, object := range body.Data {
		if r.query.money {
			if object, err = r.amounts.rewrite(nil, object, 0); err != nil {
				return "", r.badAnswer(err.Error())
			}
		}
		row := row{object: object}
		if list := rawjson.Member(object, "results"); len(list) > 0 && list[0] == '[' {
			err = rawjson.Array(list, func(result []byte) error {
				row.results = append(row.results, result)
				return nil
			})
		}
		if err != nil {
			return "", r.badAnswer(err.Error())
		}
		r.rows = append(r.rows, row)
		r.size += len(object)
		r.count += row.count()
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

// result returns n results of the report from offset on, in the API's form, with the total of all. What the tool adds comes first.
// Where the API goes on is said with the last results: they are to be read before.
func (r *report) result(offset, n int) (out reportResult) {
	out.Notes, out.Data = append(r.amounts.notes(), r.notes...), r.window(offset, offset+n)
	if r.query.money {
		out.TotalUSD = json.Number(decimalText(&r.amounts.total, 2))
	}
	next := offset + n
	if offset > 0 || next < r.count {
		out.Notes = append(out.Notes, fmt.Sprintf("data has %d of the %d results of these pages, after the first %d", n, r.count, min(offset, r.count)))
	}
	if next < r.count {
		out.NextOffset, out.HasMore = next, true
		return out
	}
	out.HasMore = r.lost || len(r.more) > 0
	if len(r.query.starts) > 1 {
		out.IncompleteDays = r.more
	}
	if len(r.more) > 0 && r.more[0].NextPage != "" {
		out.NextPage = &r.more[0].NextPage
	}
	return out
}

// window returns the rows with the results from one to before another.
func (r *report) window(from, to int) []json.RawMessage {
	rows, first := []json.RawMessage{}, 0
	for i := range r.rows {
		row := &r.rows[i]
		if low, high := max(from-first, 0), min(to-first, row.count()); low < high {
			rows = append(rows, row.part(low, high))
		}
		first += row.count()
	}
	return rows
}
