package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"toolserver/domain"
)

const (
	usageName    = "anthropic_usage"
	usageTimeout = 5 * time.Minute
)

// usageResult is the structured content. Its type parameters are what the schema calls a number and a row, or the same as
// JSON with every digit.
type usageResult[Number, Row any] struct {
	TotalUSD       Number          `json:"total_usd,omitempty" doc:"Sum of every amount_usd in data, exact; of cost and claude_code."`
	Notes          []string        `json:"notes,omitempty" doc:"Differences from what was requested."`
	IncompleteDays []incompleteDay `json:"incomplete_days,omitempty" doc:"Days of claude_code that are not wholly in data."`
	Data           []Row           `json:"data" doc:"Rows as the API gives them, but amount_usd (exact dollars) for amount (cents)."`
	HasMore        bool            `json:"has_more" doc:"There is more: call again with page set to next_page."`
}

// reportResult is a usageResult as it is sent.
type reportResult struct {
	usageResult[json.Number, json.RawMessage]
	NextPage *string `json:"next_page"` // null if there is none
}

// incompleteDay is a day to call again for.
type incompleteDay struct {
	StartingAt string `json:"starting_at" doc:"The day."`
	NextPage   string `json:"next_page,omitempty" doc:"Page to continue from, absent if nothing of the day is in data."`
}

func usage(s service) domain.Tool {
	return domain.Define(domain.Tool{
		Name: usageName, Title: "Read Anthropic usage and cost", Category: category,
		Description: "Read a report on the organization's use of Anthropic: " +
			"tokens (usage), cost in US dollars (cost), or Claude Code activity by user and day (claude_code). Returns a label and JSON. Amounts are exact; total_usd is the sum over the returned pages. " +
			"If has_more is true, call again with page=next_page.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Timeout:     usageTimeout, Output: domain.OutputOf[usageResult[float64, map[string]any]](),
		Uses:    domain.Fetches,
		Ability: "report what an organization uses of Anthropic's models and what that costs",
	}, s.usage)
}

func (s service) usage(ctx context.Context, in usageInput) (domain.ToolResult, error) {
	q, err := in.query()
	if err != nil {
		return domain.ToolResult{}, err
	}
	report := report{service: s, query: q, rows: []json.RawMessage{}}
	if err := report.fetch(ctx); err != nil {
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		return s.failure(err, ""), nil
	}
	return domain.List[json.RawMessage]{
		Entries: report.rows,
		Text: func(rows []json.RawMessage) string {
			var text bytes.Buffer
			text.WriteString(q.label + ":\n")
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			_ = encoder.Encode(report.result(rows)) // of JSON that was read; into memory
			return strings.TrimSuffix(text.String(), "\n")
		},
		Results: func(rows []json.RawMessage, _ int) any { return report.result(rows) },
		Next:    report.further,
	}.Result(ctx)
}
