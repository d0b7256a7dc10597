package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"toolserver/domain"
)

const (
	usageName    = "anthropic_usage"
	usageTimeout = 5 * time.Minute
)

// usageResult is the schema of the structured content. Rows are as the API gives
// them, except amounts.
type usageResult struct {
	TotalUSD       float64          `json:"total_usd,omitempty" doc:"Sum of every amount_usd in data, exact; of cost and claude_code."`
	Notes          []string         `json:"notes,omitempty" doc:"Differences from what was requested."`
	IncompleteDays []incompleteDay  `json:"incomplete_days,omitempty" doc:"Days of claude_code that are not wholly in data."`
	Data           []map[string]any `json:"data" doc:"Rows as the API gives them, but amount_usd (exact dollars) for amount (cents)."`
	HasMore        bool             `json:"has_more" doc:"There is more: call again with page set to next_page."`
}

// incompleteDay is a day to call again for.
type incompleteDay struct {
	StartingAt string `json:"starting_at" doc:"The day."`
	NextPage   string `json:"next_page,omitempty" doc:"Page to go on with, absent if nothing of the day is in data."`
}

func usage(r reports) domain.Tool {
	return domain.Define(domain.Tool{
		Name: usageName, Title: "Read Anthropic usage and cost", Category: category,
		Description: "Read a report on the organization's use of Anthropic: " +
			"tokens (usage), cost in US dollars (cost), or Claude Code activity by user and day (claude_code). Returns a label and JSON. Amounts are exact; total_usd is the sum over the returned pages. " +
			"If has_more is true, call again with page=next_page.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Timeout:     usageTimeout, Output: domain.OutputOf[usageResult](),
		Uses:    domain.Fetches,
		Ability: "report what an organization uses of Anthropic's models and what that costs",
	}, r.run)
}

func (r reports) run(ctx context.Context, in usageInput) (domain.ToolResult, error) {
	q, err := in.query()
	if err != nil {
		return domain.ToolResult{}, err
	}
	report, err := r.fetch(ctx, q)
	if err != nil {
		if ctx.Err() != nil {
			return domain.ToolResult{}, ctx.Err()
		}
		return r.failure(err, ""), nil
	}
	structured, err := report.json()
	if err != nil {
		return domain.ToolResult{}, err
	}
	var text bytes.Buffer
	text.WriteString(q.label + ":\n")
	if err := json.Indent(&text, structured, "", "  "); err != nil {
		return domain.ToolResult{}, err
	}
	result := domain.Text(text.String())
	result.Results = structured
	return result, nil
}
