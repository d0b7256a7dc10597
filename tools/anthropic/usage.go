package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/domain/share"
)

const (
	usageName    = "anthropic_usage"
	usageTimeout = 5 * time.Minute
)

// usageResult is the structured content. Its type parameters are what the schema calls a number and a row, or the same as
// JSON with every digit.
type usageResult[Number, Row any] struct {
	TotalUSD       Number          `json:"total_usd,omitempty" doc:"Sum of every amount_usd in the pages, exact; of cost and claude_code."`
	Notes          []string        `json:"notes,omitempty" doc:"Differences from what was requested."`
	IncompleteDays []incompleteDay `json:"incomplete_days,omitempty" doc:"Days of claude_code that are not wholly in data."`
	Data           []Row           `json:"data" doc:"Rows as the API gives them, but amount_usd (exact dollars) for amount (cents)."`
	NextOffset     int             `json:"next_offset,omitempty" doc:"The answer is too long: call again with this offset for the rest of its pages."`
	HasMore        bool            `json:"has_more" doc:"There is more: call again with page set to next_page, unless there is next_offset."`
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

// usageReader is what anthropic_usage works with. It keeps reports that are too long for an answer, so that the calls that go on with
// them see one state, and the API is not asked again.
type usageReader struct {
	service
	kept share.Store[string, *report]
}

// Bounds of the reports that are kept.
const (
	maxKeptReports = 32
	maxKeptBytes   = 64 << 20
	reportTTL      = 10 * time.Minute
)

func usage(s service) domain.Tool {
	u := &usageReader{service: s, kept: share.Store[string, *report]{MaxEntries: maxKeptReports, MaxSize: maxKeptBytes, MaxAge: reportTTL, Renew: true}}
	return domain.Define(domain.Tool{
		Name: usageName, Title: "Read Anthropic usage and cost", Target: []string{"action", "starting_at", "ending_at"},
		Description: "Read a report on the organization's use of Anthropic: " +
			"tokens (usage), cost in US dollars (cost), or Claude Code activity by user and day (claude_code). " +
			"Returns a label and JSON. Amounts are exact; total_usd is the sum over the returned pages. " +
			"If has_more is true, call again with offset=next_offset or else page=next_page.",
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Timeout:     usageTimeout, Output: schema.OutputOf[usageResult[float64, map[string]any]](),
		View: "usage", Ability: "report what an organization uses of Anthropic's models and what that costs",
	}, u.usage)
}

func (u *usageReader) usage(ctx context.Context, in usageInput) (domain.ToolResult, error) {
	q, err := in.query()
	if err != nil {
		return domain.ToolResult{}, err
	}
	principal, offset := call.SessionOf(ctx).Principal.ID, in.Offset
	in.Offset = 0
	key, err := json.Marshal(in)
	if err != nil {
		return domain.ToolResult{}, err
	}
	found, ok := u.kept.Get(principal, string(key))
	if offset == 0 || !ok {
		found = &report{service: u.service, query: q}
		if err := found.fetch(ctx); err != nil {
			if ctx.Err() != nil {
				return domain.ToolResult{}, ctx.Err()
			}
			return u.failure(err, ""), nil
		}
	}
	result, err := found.answer(offset, call.ListRoom(ctx))
	if answer, _ := result.Results.(reportResult); answer.NextOffset > 0 {
		u.kept.Put(principal, string(key), found, int64(found.size))
	}
	return result, err
}

// answer returns as many results of the report as room characters have space for, from offset on. Text and structured content
// have the same, and the total of all.
func (r *report) answer(offset, room int) (domain.ToolResult, error) {
	for n := max(r.count-offset, 0); ; {
		structured := r.result(offset, n)
		var text bytes.Buffer
		text.WriteString(r.query.label + ":\n")
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(structured); err != nil {
			return domain.ToolResult{}, err
		}
		if size := utf8.RuneCount(text.Bytes()); size > room && n > 1 {
			n = max(1, n*room/size)
			continue
		}
		return domain.Answer(strings.TrimSuffix(text.String(), "\n"), structured), nil
	}
}
