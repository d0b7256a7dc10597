package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// usageAnswer is the structured content.
type usageAnswer struct {
	Data           []map[string]any    `json:"data"`
	Total          json.Number         `json:"total_usd"`
	Notes          []string            `json:"notes"`
	IncompleteDays []map[string]string `json:"incomplete_days"`
	HasMore        bool                `json:"has_more"`
	NextPage       *string             `json:"next_page"`
}

func answerOf(t *testing.T, res domain.ToolResult) (a usageAnswer) {
	t.Helper()
	if res.IsError {
		t.Fatal(tooltest.Text(res))
	}
	_, text, _ := strings.Cut(tooltest.Text(res), "\n")
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

// TestUsageTotal is money that rounding each row would lose. The answer is long
// and comes in pages, so the total has to be in the first.
func TestUsageTotal(t *testing.T) {
	_, usage := tools(t, &fake.Server{Rows: func(string, time.Time, url.Values) []string {
		rows := make([]string, 100)
		for i := range rows {
			rows[i] = `{"currency":"USD","amount":"0.4"}`
		}
		return rows
	}})
	const args = `{"action":"cost","starting_at":"2026-01-01","ending_at":"2026-01-11","limit":4,"max_pages":100}`
	text := tooltest.Text(tooltest.Call(t, usage, args))
	if !strings.HasPrefix(text, "Cost Report:\n{\n  \"total_usd\": 4.00,\n") || !strings.Contains(text, `"amount_usd": 0.004`) {
		t.Errorf("%.200s", text)
	}
}

// TestUsagePages goes through a report by page and max_pages, and must see each
// bucket once.
func TestUsagePages(t *testing.T) {
	api := new(fake.Server)
	_, usage := tools(t, api)
	var seen []any
	page := ""
	for range 10 {
		a := answerOf(t, tooltest.Call(t, usage, fmt.Sprintf(
			`{"action":"usage","starting_at":"2026-01-01","ending_at":"2026-01-11","limit":2,"max_pages":2,"page":%q}`, page)))
		for _, bucket := range a.Data {
			seen = append(seen, bucket["starting_at"])
		}
		if a.HasMore != (a.NextPage != nil) {
			t.Errorf("has_more %v, next_page %v", a.HasMore, a.NextPage)
		}
		if page = ""; a.HasMore {
			page = *a.NextPage
			continue
		}
		break
	}
	if len(seen) != 10 || seen[0] != "2026-01-01T00:00:00Z" || seen[9] != "2026-01-10T00:00:00Z" || len(api.Requests()) != 5 {
		t.Errorf("saw %v with %d requests", seen, len(api.Requests()))
	}
}

// TestUsageDays asks for several days of Claude Code, which the API has only one
// by one.
func TestUsageDays(t *testing.T) {
	api := &fake.Server{Rows: func(_ string, start time.Time, _ url.Values) []string {
		rows := make([]string, start.Day()) // as many as its number
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"date":%q,"model_breakdown":[{"estimated_cost":{"currency":"USD","amount":1.5}}]}`, start.Format(time.RFC3339))
		}
		return rows
	}}
	_, usage := tools(t, api)
	args := `{"action":"claude_code","starting_at":"2026-01-01","ending_at":"2026-01-04T23:59:59Z","limit":2,"max_pages":%d}`
	whole := answerOf(t, tooltest.Call(t, usage, fmt.Sprintf(args, 2)))
	if len(whole.Data) != 10 || whole.Total != "0.15" || whole.HasMore || whole.IncompleteDays != nil || whole.Data[9]["date"] != "2026-01-04T00:00:00Z" {
		t.Errorf("%+v", whole)
	}
	part := answerOf(t, tooltest.Call(t, usage, fmt.Sprintf(args, 1)))
	if len(part.Data) != 7 || !part.HasMore || len(part.IncompleteDays) != 2 || part.IncompleteDays[1]["starting_at"] != "2026-01-04" {
		t.Fatalf("%+v", part)
	}
	args = fmt.Sprintf(`{"action":"claude_code","starting_at":"2026-01-03","limit":2,"page":%q}`, part.IncompleteDays[0]["next_page"])
	rest := answerOf(t, tooltest.Call(t, usage, args))
	if len(rest.Data) != 1 || rest.HasMore {
		t.Errorf("%+v", rest)
	}
	args = fmt.Sprintf(`{"action":"claude_code","starting_at":"2026-01-03","ending_at":"2026-01-04","page":%q}`, part.IncompleteDays[0]["next_page"])
	days := answerOf(t, tooltest.Call(t, usage, args)) // the page is that of the first day alone
	if len(days.Data) != 5 || days.HasMore {
		t.Errorf("%+v", days)
	}
}

// TestUsageOddPages holds pages that are merged to their order, whatever is in
// them.
func TestUsageOddPages(t *testing.T) {
	api := new(fake.Server)
	api.Script(fake.CostPath,
		fake.Reply{Body: `{"next_page":"page_2","extra":1,"has_more":true,"data":[{"a":"x"}]}`},
		fake.Reply{Body: "{\"data\" : [ {\"b\":\"\xff<\",\"currency\":\"EUR\",\"amount\":\"5\"} ], \"total_usd\":7, \"extra\":{\"n\":12345678901234567890}}"})
	_, usage := tools(t, api)
	tooltest.Run(t, usage, []tooltest.Case{{Name: "merged", Args: `{"action":"cost","starting_at":"2026-01-01","max_pages":2}`, Exact: `Cost Report:
{
  "total_usd": 0.00,
  "notes": [
    "amounts in another currency than USD (1, such as \"EUR\") are as the API gave them and not in total_usd"
  ],
  "data": [
    {
      "a": "x"
    },
    {
      "b": "�<",
      "currency": "EUR",
      "amount": "5"
    }
  ],
  "has_more": false,
  "next_page": null
}`}})
}
