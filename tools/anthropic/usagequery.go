package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolserver/domain"
)

type usageInput struct {
	Action      string       `json:"action" enum:"usage|cost|claude_code" doc:"Report to read."`
	StartingAt  string       `json:"starting_at" min:"1" max:"64" doc:"Start, as RFC 3339 or YYYY-MM-DD in UTC; for claude_code the day."`
	EndingAt    string       `json:"ending_at,omitempty" max:"64" doc:"End, exclusive; for claude_code the last day, at most 31 in all."`
	BucketWidth string       `json:"bucket_width,omitempty" enum:"1m|1h|1d" doc:"Time per row; default 1d, the only value for cost and claude_code."`
	GroupBy     []string     `json:"group_by,omitempty" max:"9" doc:"Fields to group by, such as model or workspace_id; for cost: workspace_id, description."`
	Limit       int          `json:"limit,omitempty" min:"1" max:"1440" doc:"Maximum number of rows per page: 31 for 1d, 168 for 1h, 1440 for 1m, 1000 for claude_code."`
	Page        string       `json:"page,omitempty" max:"4096" doc:"Page to continue from: next_page of an earlier answer."`
	MaxPages    int          `json:"max_pages" default:"1" min:"1" max:"100" doc:"Maximum number of pages to fetch and combine; for claude_code per day."`
	Filters     usageFilters `json:"filters,omitempty" doc:"Filters for a usage report."`
}

// usageFilters are the filters of the usage report, as the API names them.
type usageFilters struct {
	AccountIDs        []string `json:"account_ids,omitempty" max:"100" doc:"Ids of accounts."`
	APIKeyIDs         []string `json:"api_key_ids,omitempty" max:"100" doc:"Ids of API keys."`
	ContextWindow     []string `json:"context_window,omitempty" max:"100" doc:"Context windows: 0-200k, 200k-1M."`
	InferenceGeos     []string `json:"inference_geos,omitempty" max:"100" doc:"Where the model ran: global, us, not_available."`
	Models            []string `json:"models,omitempty" max:"100" doc:"Names of models."`
	ServiceAccountIDs []string `json:"service_account_ids,omitempty" max:"100" doc:"Ids of service accounts."`
	ServiceTiers      []string `json:"service_tiers,omitempty" max:"100" doc:"Service tiers, such as standard, batch, priority."`
	Speeds            []string `json:"speeds,omitempty" max:"100" doc:"Speeds, such as fast."`
	WorkspaceIDs      []string `json:"workspace_ids,omitempty" max:"100" doc:"Ids of workspaces."`
}

// action is what the API has for one value of the parameter action.
type action struct {
	label   string // the first line of the answer
	path    string
	widths  map[string]int // the most rows of a page for each bucket width
	groupBy []string
	filters bool
	money   bool // there are amounts in it
	days    bool // it is of whole days, one a request
}

// actions are the reports, with the limits the API's reference states.
var actions = map[string]action{
	"usage": {
		label: "Token Usage Report", path: "/v1/organizations/usage_report/messages",
		widths: map[string]int{"1m": 1440, "1h": 168, "1d": 31},
		groupBy: []string{"account_id", "api_key_id", "context_window", "inference_geo", "model",
			"service_account_id", "service_tier", "speed", "workspace_id"},
		filters: true,
	},
	"cost": {
		label: "Cost Report", path: "/v1/organizations/cost_report",
		widths: map[string]int{"1d": 31}, groupBy: []string{"workspace_id", "description"}, money: true,
	},
	"claude_code": {
		label: "Claude Code Usage Report", path: "/v1/organizations/usage_report/claude_code",
		widths: map[string]int{"1d": 1000}, money: true, days: true,
	},
}

// maxDays is how many days of Claude Code one call may ask for, each of which is
// a request.
const maxDays = 31

// usageQuery is what is asked of the API: the same of each start.
type usageQuery struct {
	action
	starts []string   // values of starting_at, one request each
	values url.Values // the rest of the query
	page   string     // of the first start
	pages  int        // most pages of each start
	beta   string     // the header anthropic-beta; may be empty
}

// query checks the arguments against what the report has, so that nothing is sent
// that the API would refuse. The error names the argument and what is allowed.
func (in usageInput) query() (usageQuery, error) {
	q := usageQuery{action: actions[in.Action], values: url.Values{}, page: in.Page, pages: in.MaxPages}
	for _, step := range []func(usageInput) (field, problem string){q.rows, q.groups, q.filter, q.period} {
		if field, problem := step(in); problem != "" {
			return q, domain.InvalidArgument(usageName, field, problem)
		}
	}
	return q, nil
}

// rows takes up how many rows there are to be, and of what time. Like the other
// steps it says which argument is wrong, and what would be right.
func (q *usageQuery) rows(in usageInput) (field, problem string) {
	width := in.BucketWidth
	if width == "" {
		width = "1d"
	}
	most, ok := q.widths[width]
	if !ok {
		return "bucket_width", fmt.Sprintf("must be 1d, or left out, for action %s, not %s", in.Action, width)
	}
	if in.Limit > most {
		return "limit", fmt.Sprintf("must be at most %d for action %s%s, not %d", most, in.Action, ofWidth(q, width), in.Limit)
	}
	if in.BucketWidth != "" && !q.days {
		q.values.Set("bucket_width", in.BucketWidth)
	}
	if in.Limit > 0 {
		q.values.Set("limit", strconv.Itoa(in.Limit))
	}
	return "", ""
}

// groups takes up what rows are split by.
func (q *usageQuery) groups(in usageInput) (field, problem string) {
	for _, group := range in.GroupBy {
		if len(q.groupBy) == 0 {
			return "group_by", fmt.Sprintf("must be left out for action %s, whose rows are of one user each", in.Action)
		}
		if !slices.Contains(q.groupBy, group) {
			return "group_by", fmt.Sprintf("must be of %s for action %s, not %q", strings.Join(q.groupBy, ", "), in.Action, group)
		}
		if group == "speed" {
			q.beta = betaSpeed
		}
	}
	q.values["group_by[]"] = in.GroupBy
	return "", ""
}

// filter takes up what the report is restricted to.
func (q *usageQuery) filter(in usageInput) (field, problem string) {
	var filters map[string][]string
	b, err := json.Marshal(in.Filters)
	if err == nil {
		err = json.Unmarshal(b, &filters)
	}
	if err != nil {
		return "filters", err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if !q.filters {
			return "filters." + name, fmt.Sprintf("must be left out for action %s: only usage has filters", in.Action)
		}
		q.values[name+"[]"] = filters[name]
		if name == "speeds" {
			q.beta = betaSpeed
		}
	}
	return "", ""
}

// betaSpeed is the header anthropic-beta without which the API knows no speeds.
const betaSpeed = "fast-mode-2026-02-01"

// ofWidth names the bucket width where the limit depends on it.
func ofWidth(q *usageQuery, width string) string {
	if len(q.widths) == 1 {
		return ""
	}
	return " with bucket_width " + width
}

// period takes up what time the report is of.
func (q *usageQuery) period(in usageInput) (field, problem string) {
	const form = "must be a date and time as 2026-01-31T00:00:00Z or a date as 2026-01-31, not %q"
	starting, ending := in.StartingAt, in.EndingAt
	start, ok := readTime(starting)
	if !ok {
		return "starting_at", fmt.Sprintf(form, starting)
	}
	end := start
	if ending != "" {
		if end, ok = readTime(ending); !ok {
			return "ending_at", fmt.Sprintf(form, ending)
		}
	}
	if q.days {
		return q.eachDay(start, end, in)
	}
	q.starts = []string{start.Format(time.RFC3339Nano)}
	if ending == "" {
		return "", ""
	}
	if !end.After(start) {
		return "ending_at", fmt.Sprintf("must be after starting_at, %s, not %s", starting, ending)
	}
	q.values.Set("ending_at", end.Format(time.RFC3339Nano))
	return "", ""
}

// eachDay takes up the days from that of start to that of end.
func (q *usageQuery) eachDay(start, end time.Time, in usageInput) (field, problem string) {
	day, last := start.Truncate(24*time.Hour), end.Truncate(24*time.Hour)
	if last.Before(day) {
		return "ending_at", fmt.Sprintf("must not be before starting_at, %s, not %s", in.StartingAt, in.EndingAt)
	}
	if days := int(last.Sub(day)/(24*time.Hour)) + 1; days > maxDays {
		return "ending_at", fmt.Sprintf("must be within %d days of starting_at for action %s, both included; from %s to %s it is %d",
			maxDays, in.Action, in.StartingAt, in.EndingAt, days)
	}
	for ; !day.After(last); day = day.AddDate(0, 0, 1) {
		q.starts = append(q.starts, day.Format(time.DateOnly))
	}
	return "", ""
}

// readTime reads a time (RFC 3339), or a date as its first moment in UTC. The
// result is in UTC, as the API's days are.
func readTime(text string) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	return t.UTC(), err == nil && 0 <= t.UTC().Year() && t.UTC().Year() <= 9999
}
