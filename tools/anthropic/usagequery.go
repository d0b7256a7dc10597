package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
)

type usageInput struct {
	Action      string       `json:"action" enum:"usage|cost|claude_code"`
	StartingAt  string       `json:"starting_at" min:"1" max:"64"`
	EndingAt    string       `json:"ending_at,omitempty" max:"64"`
	BucketWidth string       `json:"bucket_width,omitempty" enum:"1m|1h|1d"`
	GroupBy     []string     `json:"group_by,omitempty" max:"9"`
	Limit       int          `json:"limit,omitempty" min:"1" max:"1440"`
	Page        string       `json:"page,omitempty" max:"4096"`
	MaxPages    int          `json:"max_pages" default:"1" min:"1" max:"100"`
	Offset      int          `json:"offset" default:"0" min:"0" max:"1000000"`
	Filters     usageFilters `json:"filters,omitempty"`
}

func (usageInput) Words() string { return arguments }

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

// usageQuery is what is asked of the API: the same of each start.
type usageQuery struct {
	action
	starts []string   // values of starting_at, one request each
	values url.Values // the rest of the query
	page   string     // of the first start
	pages  int        // most pages of each start
	beta   string     // the header anthropic-beta; may be empty
}

// betaSpeed is the header anthropic-beta without which the API knows no speeds.
const betaSpeed = "fast-mode-2026-02-01"

// query validates the arguments against what the report supports, so that nothing is sent that the API would reject. The
// error names the argument and what is allowed.
func (in usageInput) query() (usageQuery, error) {
	q := usageQuery{action: actions[in.Action], values: url.Values{}, page: in.Page, pages: in.MaxPages}
	return q, cmp.Or(q.rows(in), q.groups(in), q.filter(in), q.period(in))
}

func invalid(field, format string, args ...any) error {
	return domain.InvalidArgument(usageName, field, fmt.Sprintf(format, args...))
}

// rows sets the number of rows and the time each is of.
func (q *usageQuery) rows(in usageInput) error {
	width := cmp.Or(in.BucketWidth, "1d")
	most, ok := q.widths[width]
	if !ok {
		return invalid("bucket_width", "must be 1d, or left out, for action %s, not %s", in.Action, width)
	}
	if in.Limit > most {
		of := in.Action
		if len(q.widths) > 1 {
			of += " with bucket_width " + width
		}
		return invalid("limit", "must be at most %d for action %s, not %d", most, of, in.Limit)
	}
	if in.BucketWidth != "" && !q.days {
		q.values.Set("bucket_width", in.BucketWidth)
	}
	if in.Limit > 0 {
		q.values.Set("limit", strconv.Itoa(in.Limit))
	}
	return nil
}

// groups sets what rows are split by.
func (q *usageQuery) groups(in usageInput) error {
	for _, group := range in.GroupBy {
		if len(q.groupBy) == 0 {
			return invalid("group_by", "must be left out for action %s, whose rows are of one user each", in.Action)
		}
		if !slices.Contains(q.groupBy, group) {
			return invalid("group_by", "must be of %s for action %s, not %q", strings.Join(q.groupBy, ", "), in.Action, group)
		}
		if group == "speed" {
			q.beta = betaSpeed
		}
	}
	q.values["group_by[]"] = in.GroupBy
	return nil
}

// filter sets what the report is restricted to.
func (q *usageQuery) filter(in usageInput) error {
	var filters map[string][]string
	b, err := json.Marshal(in.Filters)
	if err := cmp.Or(err, json.Unmarshal(b, &filters)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if !q.filters {
			return invalid("filters."+name, "must be left out for action %s: only usage has filters", in.Action)
		}
		q.values[name+"[]"] = filters[name]
		if name == "speeds" {
			q.beta = betaSpeed
		}
	}
	return nil
}

// period sets the time the report is of.
func (q *usageQuery) period(in usageInput) error {
	const form = "must be a date and time as 2026-01-31T00:00:00Z or a date as 2026-01-31, not %q"
	start, ok := readTime(in.StartingAt)
	if !ok {
		return invalid("starting_at", form, in.StartingAt)
	}
	end, ok := readTime(cmp.Or(in.EndingAt, in.StartingAt))
	if !ok {
		return invalid("ending_at", form, in.EndingAt)
	}
	if !q.days {
		q.starts = []string{start.Format(time.RFC3339Nano)}
		if in.EndingAt == "" {
			return nil
		}
		if !end.After(start) {
			return invalid("ending_at", "must be after starting_at, %s, not %s", in.StartingAt, in.EndingAt)
		}
		q.values.Set("ending_at", end.Format(time.RFC3339Nano))
		return nil
	}
	const day = 24 * time.Hour
	start = start.Truncate(day)
	days := int(end.Truncate(day).Sub(start)/day) + 1
	if days < 1 {
		return invalid("ending_at", "must not be before starting_at, %s, not %s", in.StartingAt, in.EndingAt)
	}
	if days > maxReportDays {
		return invalid("ending_at", "must be within %d days of starting_at for action %s, both included; from %s to %s it is %d",
			maxReportDays, in.Action, in.StartingAt, in.EndingAt, days)
	}
	for n := range days {
		q.starts = append(q.starts, start.AddDate(0, 0, n).Format(time.DateOnly))
	}
	return nil
}

// readTime reads a time (RFC 3339), or a date as its first moment in UTC. The result is in UTC, as the API's days are.
func readTime(text string) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	return t.UTC(), err == nil && 0 <= t.UTC().Year() && t.UTC().Year() <= 9999
}
