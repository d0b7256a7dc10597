package anthropic

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rules are what the reference says of a report's query.
type rules struct {
	widths  map[string]width
	single  []string            // parameters besides starting_at, limit and page
	groups  []string            // values of group_by[]
	filters map[string][]string // parameters ending in [], with their values; nil for any
	days    bool                // of single days, with pages of rows rather than buckets
}

// width is a bucket width, with how many buckets of it a page has.
type width struct {
	time           time.Duration
	limit, maximum int
}

var (
	day     = width{24 * time.Hour, 7, 31}
	reports = map[string]rules{
		UsagePath: {
			widths: map[string]width{"1m": {time.Minute, 60, 1440}, "1h": {time.Hour, 24, 168}, "1d": day},
			single: []string{"ending_at", "bucket_width"},
			groups: []string{"account_id", "api_key_id", "context_window", "inference_geo", "model",
				"service_account_id", "service_tier", "speed", "workspace_id"},
			filters: map[string][]string{
				"account_ids": nil, "api_key_ids": nil, "workspace_ids": nil, "models": nil, "service_account_ids": nil,
				"service_tiers":  {"standard", "batch", "priority", "priority_on_demand", "flex", "flex_discount"},
				"context_window": {"0-200k", "200k-1M"}, "inference_geos": {"global", "us", "not_available"}, "speeds": {"standard", "fast"},
			},
		},
		CostPath: {
			widths: map[string]width{"1d": day},
			single: []string{"ending_at", "bucket_width"},
			groups: []string{"workspace_id", "description"},
		},
		ClaudeCodePath: {widths: map[string]width{"1d": {24 * time.Hour, 20, 1000}}, days: true},
	}
)

// reportQuery is a query that keeps to the rules.
type reportQuery struct {
	width      width
	start, end time.Time
	limit      int
	page       string // decoded
}

// report answers a request of the Admin API.
func (s *Server) report(req Request) Reply {
	r := reports[req.Path]
	q, refused := r.read(req)
	if refused != nil {
		return *refused
	}
	rows := s.Rows
	if rows == nil {
		rows = defaultRows
	}
	if r.days {
		return q.records(rows(req.Path, q.start, req.Query))
	}
	return q.buckets(func(start time.Time) []string { return rows(req.Path, start, req.Query) })
}

// read holds a query to the rules.
func (r rules) read(req Request) (q reportQuery, refused *Reply) {
	for name, values := range req.Query {
		if refused := r.parameter(name, values, req.Header.Get("Anthropic-Beta")); refused != nil {
			return q, refused
		}
	}
	name := req.Query.Get("bucket_width")
	if name == "" {
		name = "1d"
	}
	var ok bool
	if q.width, ok = r.widths[name]; !ok {
		return q, invalid("bucket_width: Input should be one of the widths of this report")
	}
	q.limit = q.width.limit
	if text := req.Query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > q.width.maximum {
			return q, invalid("limit: Input should be between 1 and %d", q.width.maximum)
		}
		q.limit = limit
	}
	page, err := decodePage(req.Query.Get("page"))
	if err != nil {
		return q, invalid("page: Invalid page token")
	}
	q.page = page
	return q, r.period(&q, req.Query)
}

// parameter checks one parameter of a query.
func (r rules) parameter(name string, values []string, beta string) *Reply {
	list, isList := strings.CutSuffix(name, "[]")
	if !isList {
		if !slices.Contains(append([]string{"starting_at", "limit", "page"}, r.single...), name) {
			return invalid("%s: Extra inputs are not permitted", name)
		}
		if len(values) != 1 || values[0] == "" {
			return invalid("%s: Input should be one value", name)
		}
		return nil
	}
	allowed, known := r.filters[list]
	if list == "group_by" {
		allowed, known = r.groups, len(r.groups) > 0
	}
	if !known {
		return invalid("%s: Extra inputs are not permitted", name)
	}
	for _, value := range values {
		if value == "" || allowed != nil && !slices.Contains(allowed, value) {
			return invalid("%s: Input should be one of %s, not %q", name, strings.Join(allowed, ", "), value)
		}
	}
	if (list == "speeds" || list == "group_by" && slices.Contains(values, "speed")) && beta != "fast-mode-2026-02-01" {
		return invalid("%s: speed requires the fast-mode-2026-02-01 beta header", name)
	}
	return nil
}

// period reads which time the report is of.
func (r rules) period(q *reportQuery, query url.Values) *Reply {
	form, word := time.RFC3339, "datetime"
	if r.days {
		form, word = time.DateOnly, "date in the format YYYY-MM-DD"
	}
	start, err := time.Parse(form, query.Get("starting_at"))
	if err != nil {
		return invalid("starting_at: Input should be a valid %s", word)
	}
	q.start = start.UTC().Truncate(q.width.time)
	q.end = q.start.Add(time.Duration(q.width.limit) * q.width.time) // there is no today in a fake
	if text := query.Get("ending_at"); text != "" {
		if q.end, err = time.Parse(form, text); err != nil {
			return invalid("ending_at: Input should be a valid %s", word)
		}
		if !q.end.After(start) {
			return invalid("ending_at: must be after starting_at")
		}
	}
	return nil
}

// buckets returns a page of buckets.
func (q reportQuery) buckets(rows func(time.Time) []string) Reply {
	start := q.start
	if q.page != "" {
		from, err := time.Parse(time.RFC3339, q.page)
		if err != nil || from.Before(q.start) || !from.Before(q.end) {
			return *invalid("page: Invalid page token")
		}
		start = from
	}
	var data []string
	for ; start.Before(q.end) && len(data) < q.limit; start = start.Add(q.width.time) {
		data = append(data, fmt.Sprintf(`{"starting_at":%q,"ending_at":%q,"results":[%s]}`,
			start.Format(time.RFC3339), start.Add(q.width.time).Format(time.RFC3339), strings.Join(rows(start), ",")))
	}
	next := ""
	if start.Before(q.end) {
		next = start.Format(time.RFC3339)
	}
	return pageOf(data, next)
}

// records returns a page of the rows of a day.
func (q reportQuery) records(rows []string) Reply {
	from := 0
	if q.page != "" {
		var err error
		if from, err = strconv.Atoi(q.page); err != nil || from < 1 || from >= len(rows) {
			return *invalid("page: Invalid page token")
		}
	}
	to := min(from+q.limit, len(rows))
	next := ""
	if to < len(rows) {
		next = strconv.Itoa(to)
	}
	return pageOf(rows[from:to], next)
}

func pageOf(data []string, next string) Reply {
	token := "null"
	if next != "" {
		token = `"page_` + base64.StdEncoding.EncodeToString([]byte(next)) + `"`
	}
	return Reply{Body: fmt.Sprintf(`{"data":[%s],"has_more":%t,"next_page":%s}`, strings.Join(data, ","), next != "", token)}
}

func decodePage(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	text, ok := strings.CutPrefix(token, "page_")
	if !ok {
		return "", fmt.Errorf("page token %q", token)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return string(b), err
}

// defaultRows are rows as the reference shows them.
func defaultRows(path string, start time.Time, _ url.Values) []string {
	switch path {
	case UsagePath:
		return []string{`{"uncached_input_tokens":1500,"cache_creation":{"ephemeral_1h_input_tokens":1000,"ephemeral_5m_input_tokens":500},` +
			`"cache_read_input_tokens":200,"output_tokens":500,"server_tool_use":{"web_search_requests":10},"api_key_id":null,"workspace_id":null,` +
			`"model":null,"service_tier":null,"context_window":null}`}
	case CostPath:
		return []string{`{"currency":"USD","amount":"123.78912","workspace_id":null,"description":null,"cost_type":null,"context_window":null,` +
			`"model":null,"service_tier":null,"token_type":null}`}
	}
	return []string{fmt.Sprintf(`{"date":%q,"actor":{"type":"user_actor","email_address":"ada@example.com"},`+
		`"organization_id":"00000000-0000-0000-0000-000000000000","customer_type":"api","terminal_type":"vscode",`+
		`"core_metrics":{"num_sessions":5,"lines_of_code":{"added":1543,"removed":892},`+
		`"commits_by_claude_code":12,"pull_requests_by_claude_code":2},"tool_actions":{"edit_tool":{"accepted":45,"rejected":5}},`+
		`"model_breakdown":[{"model":"claude-opus-5-5","tokens":{"input":100000,"output":35000,"cache_read":10000,"cache_creation":5000},`+
		`"estimated_cost":{"currency":"USD","amount":186}}]}`, start.Format(time.RFC3339))}
}
