package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/rawjson"
	"toolserver/tools/httpcall"
)

// reports reads the reports of the Admin API.
type reports struct{ service }

// Bounds of a report.
const (
	pageTimeout    = 30 * time.Second
	maxPageBytes   = 16 << 20
	maxReportBytes = 32 << 20 // of all pages together
)

// report is the pages of an answer, put together.
type report struct {
	query   usageQuery
	data    []byte // elements of the array data, with commas between them
	rows    int
	pages   int
	others  []member // members of the last page besides data and those about paging
	amounts amounts
	notes   []string
	more    []incompleteDay // where to go on
	lost    bool            // there is more, but the API does not say where
}

// fetch reads what q asks for. If a page after the first cannot be had, the
// report is what came before it and says so: the caller can go on from there.
// An error is about the first page, or that of a caller who gave up.
func (r reports) fetch(ctx context.Context, q usageQuery) (*report, error) {
	out := &report{query: q}
	page := q.page
	for i, start := range q.starts {
		rest, err := r.fetchFrom(ctx, out, start, page)
		if rest != nil {
			out.more = append(out.more, *rest)
		}
		if err != nil {
			if out.pages == 0 || context.Cause(ctx) == context.Canceled {
				return nil, err
			}
			out.stopped(ctx, r.explain(err).Message, q.starts[i+1:])
			return out, nil
		}
		page = "" // it belongs to the first
	}
	return out, nil
}

// stopped says why the report ends here, and which days it lacks.
func (r *report) stopped(ctx context.Context, reason string, missing []string) {
	if ctx.Err() != nil {
		reason = "the time of the call is up"
	}
	r.notes = append(r.notes, fmt.Sprintf("stopped after page %d: %s", r.pages, reason))
	for _, day := range missing {
		r.more = append(r.more, incompleteDay{StartingAt: day})
	}
}

// fetchFrom reads the pages of one start into out. It returns where to go on, or
// nil if nothing is left.
func (r reports) fetchFrom(ctx context.Context, out *report, start, page string) (*incompleteDay, error) {
	for range out.query.pages {
		if len(out.data) > maxReportBytes {
			return &incompleteDay{start, page}, &httpcall.TooLargeError{Max: maxReportBytes}
		}
		next, err := r.fetchPage(ctx, out, start, page)
		if err != nil {
			return &incompleteDay{start, page}, err
		}
		if next == "" {
			return nil, nil
		}
		page = next
	}
	return &incompleteDay{start, page}, nil
}

// fetchPage reads one page into out and returns the token of the next, empty if
// there is none.
func (r reports) fetchPage(ctx context.Context, out *report, start, page string) (next string, err error) {
	query := url.Values{"starting_at": {start}}
	maps.Copy(query, out.query.values)
	if page != "" {
		query.Set("page", page)
	}
	header := maps.Clone(acceptJSON)
	if out.query.beta != "" {
		header["Anthropic-Beta"] = out.query.beta
	}
	request := httpcall.Request{URL: r.URL(out.query.path, query), Header: header}
	err = r.within(pageTimeout, maxPageBytes).Do(ctx, request, func(res *httpcall.Response) error {
		if next, err = out.add([]byte(strings.ToValidUTF8(string(res.Body), "\uFFFD")), page); err != nil {
			return r.badAnswer(err.Error())
		}
		return nil
	})
	if err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	domain.ReportProgress(ctx, domain.Progress{Done: float64(out.pages), Message: fmt.Sprintf("pages: %d, rows: %d", out.pages, out.rows)})
	return next, nil
}

// add takes up an answer, that to the token asked, and returns the token of the
// next page. An answer that is no report changes nothing.
func (r *report) add(answer []byte, asked string) (next string, err error) {
	var data []byte
	var others []member
	more := false
	err = rawjson.Object(answer, func(name, value []byte) error {
		switch string(name) {
		case "data":
			data = value
		case "has_more":
			more = string(value) == "true"
		case "next_page":
			next, _ = rawjson.String(value) // null is none
		case "total_usd", "notes", "incomplete_days": // ours
		default:
			others = append(others, member{string(name), value})
		}
		return nil
	})
	if err != nil || rawjson.Array(data, isObject) != nil {
		return "", errors.New("the answer is not a report, JSON with an array data of objects")
	}
	if err := r.addRows(data); err != nil {
		return "", err
	}
	r.others = others
	r.pages++
	switch {
	case !more:
		return "", nil
	case next == "" || next == asked:
		r.lost = true
		r.notes = append(r.notes, "the API says that there is more, but not on which page")
		return "", nil
	}
	return next, nil
}

func isObject(value []byte) error {
	if value[0] != '{' {
		return errors.New("not an object")
	}
	return nil
}

func (r *report) addRows(data []byte) error {
	return rawjson.Array(data, func(row []byte) (err error) {
		if len(r.data) > 0 {
			r.data = append(r.data, ',')
		}
		r.rows++
		if !r.query.money {
			r.data = append(r.data, row...)
			return nil
		}
		r.data, err = r.amounts.rewrite(r.data, row, 0)
		return err
	})
}

// json returns the report in the API's form: data, whatever else there is, and
// has_more and next_page last, as page takes it. What the tool adds comes first,
// where a long answer is not cut: the total, notes, and the days it lacks.
func (r *report) json() (json.RawMessage, error) {
	b := []byte{'{'}
	if r.query.money {
		b = append(append(append(b, `"total_usd":`...), decimalText(&r.amounts.total, 2)...), ',')
	}
	if notes := append(r.amounts.notes(), r.notes...); len(notes) > 0 {
		list, err := json.Marshal(notes)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, `"notes":`...), list...), ',')
	}
	if len(r.more) > 0 && len(r.query.starts) > 1 {
		list, err := json.Marshal(r.more)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, `"incomplete_days":`...), list...), ',')
	}
	b = append(append(append(b, `"data":[`...), r.data...), ']')
	for _, m := range r.others {
		b = append(append(rawjson.AppendString(append(b, ','), m.name), ':'), m.value...)
	}
	b = append(b, fmt.Sprintf(`,"has_more":%t,"next_page":`, r.lost || len(r.more) > 0)...)
	if len(r.more) == 0 || r.more[0].NextPage == "" {
		return append(b, "null}"...), nil
	}
	return append(rawjson.AppendString(b, r.more[0].NextPage), '}'), nil
}
