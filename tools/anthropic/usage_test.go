package anthropic_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestUsageReports compares whole answers: labels, order of keys, digits.
func TestUsageReports(t *testing.T) {
	api := &fake.Server{Rows: func(path string, start time.Time, _ url.Values) []string {
		switch path {
		case fake.UsagePath:
			return []string{`{"uncached_input_tokens":9007199254740993,"model":null,"server_tool_use":{"web_search_requests":10}}`}
		case fake.CostPath:
			return []string{`{"currency":"USD","amount":"123.78912","workspace_id":null}`}
		}
		return []string{`{"date":"` + start.Format(time.RFC3339) + `","model_breakdown":[{"model":"m","estimated_cost":{"currency":"USD","amount":186}}]}`}
	}}
	_, usage := tools(t, api)
	tooltest.Run(t, usage, []tooltest.Case{
		{Name: "usage", Args: `{"action":"usage","starting_at":"2026-01-31","ending_at":"2026-01-31T01:00:00Z","bucket_width":"1h"}`,
			Exact: `Token Usage Report:
{
  "data": [
    {
      "starting_at": "2026-01-31T00:00:00Z",
      "ending_at": "2026-01-31T01:00:00Z",
      "results": [
        {
          "uncached_input_tokens": 9007199254740993,
          "model": null,
          "server_tool_use": {
            "web_search_requests": 10
          }
        }
      ]
    }
  ],
  "has_more": false,
  "next_page": null
}`},
		{Name: "cost", Args: `{"action":"cost","starting_at":"2026-01-30","ending_at":"2026-02-01","limit":1}`, Exact: `Cost Report:
{
  "total_usd": 1.2378912,
  "data": [
    {
      "starting_at": "2026-01-30T00:00:00Z",
      "ending_at": "2026-01-31T00:00:00Z",
      "results": [
        {
          "currency": "USD",
          "amount_usd": 1.2378912,
          "workspace_id": null
        }
      ]
    }
  ],
  "has_more": true,
  "next_page": "page_MjAyNi0wMS0zMVQwMDowMDowMFo="
}`, Check: sameStructured},
		{Name: "claude_code", Args: `{"action":"claude_code","starting_at":"2026-01-31T22:00:00-03:00"}`, Exact: `Claude Code Usage Report:
{
  "total_usd": 1.86,
  "data": [
    {
      "date": "2026-02-01T00:00:00Z",
      "model_breakdown": [
        {
          "model": "m",
          "estimated_cost": {
            "currency": "USD",
            "amount_usd": 1.86
          }
        }
      ]
    }
  ],
  "has_more": false,
  "next_page": null
}`, Check: sameStructured},
	})
}

// sameStructured checks that structured content says what the text does, to the
// last digit.
func sameStructured(t *testing.T, res domain.ToolResult) {
	t.Helper()
	b, err := json.Marshal(res.Structured())
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(tooltest.Text(res), "\n")
	var want strings.Builder
	for _, token := range strings.Split(text, "\n") {
		want.WriteString(strings.Replace(strings.TrimLeft(token, " "), `": `, `":`, 1))
	}
	if string(b) != want.String() {
		t.Errorf("structured content is\n%s\nbut the text says\n%s", b, want.String())
	}
}

// TestUsageQueries checks what each call asks the API for.
func TestUsageQueries(t *testing.T) {
	for _, c := range []struct{ name, args, path, want string }{
		{"least", `{"action":"usage","starting_at":"2026-01-01"}`, fake.UsagePath, "starting_at=2026-01-01T00:00:00Z"},
		{"seed", `{"action":"usage","starting_at":"2026-01-01T00:00:00Z","ending_at":"2026-01-02T00:00:00Z","bucket_width":"1m",` +
			`"group_by":["model","workspace_id"],"limit":1440}`, fake.UsagePath, "bucket_width=1m&ending_at=2026-01-02T00:00:00Z&group_by[]=model&group_by[]=workspace_id&limit=1440&starting_at=2026-01-01T00:00:00Z"},
		{"offset", `{"action":"usage","starting_at":"2026-01-01t01:00:00.5+02:00"}`, fake.UsagePath, "starting_at=2025-12-31T23:00:00.5Z"},
		{"filters", `{"action":"usage","starting_at":"2026-01-01","filters":{"models":["a","b"],"account_ids":["c"],"api_key_ids":["d"],` +
			`"workspace_ids":["e"],"service_tiers":["batch"],"context_window":["0-200k"],"inference_geos":["us"],"service_account_ids":["f"]}}`,
			fake.UsagePath, "account_ids[]=c&api_key_ids[]=d&context_window[]=0-200k&inference_geos[]=us&" +
				"models[]=a&models[]=b&service_account_ids[]=f&service_tiers[]=batch&starting_at=2026-01-01T00:00:00Z&workspace_ids[]=e"},
		{"speeds", `{"action":"usage","starting_at":"2026-01-01","filters":{"speeds":["fast"]}}`,
			fake.UsagePath, "speeds[]=fast&starting_at=2026-01-01T00:00:00Z"},
		{"speed", `{"action":"usage","starting_at":"2026-01-01","group_by":["speed"]}`,
			fake.UsagePath, "group_by[]=speed&starting_at=2026-01-01T00:00:00Z"},
		{"cost", `{"action":"cost","starting_at":"2026-01-01","bucket_width":"1d","group_by":["description"],"limit":31}`, fake.CostPath,
			"bucket_width=1d&group_by[]=description&limit=31&starting_at=2026-01-01T00:00:00Z"},
		{"claude_code", `{"action":"claude_code","starting_at":"2026-01-01T12:00:00Z","ending_at":"2026-01-01","bucket_width":"1d","limit":1000}`,
			fake.ClaudeCodePath, "limit=1000&starting_at=2026-01-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := new(fake.Server)
			_, usage := tools(t, api)
			if res := tooltest.Call(t, usage, c.args); res.IsError {
				t.Fatal(tooltest.Text(res))
			}
			requests := api.Requests()
			got, err := url.QueryUnescape(requests[0].Query.Encode())
			if err != nil || len(requests) != 1 || requests[0].Path != c.path || got != c.want {
				t.Errorf("%d requests, %s?%s, error %v\nwant %s?%s", len(requests), requests[0].Path, got, err, c.path, c.want)
			}
		})
	}
}

// TestUsageArguments checks that what the API would refuse is refused here, with
// the argument's name and what is right, and nothing is sent.
func TestUsageArguments(t *testing.T) {
	api := new(fake.Server)
	_, usage := tools(t, api)
	var cases []tooltest.Case
	for _, c := range []struct{ name, args, want string }{
		{"no action", `{"starting_at":"2026-01-01"}`, "action"},
		{"unknown action", `{"action":"costs","starting_at":"2026-01-01"}`, "must be one of usage, cost, claude_code"},
		{"no start", `{"action":"usage"}`, "starting_at"},
		{"bad start", `{"action":"usage","starting_at":"yesterday"}`,
			`starting_at must be a date and time as 2026-01-31T00:00:00Z or a date as 2026-01-31, not "yesterday"`},
		{"no such day", `{"action":"usage","starting_at":"2026-02-30"}`, "starting_at must be"},
		{"no seconds", `{"action":"usage","starting_at":"2026-01-01T00:00Z"}`, "starting_at must be"},
		{"no zone", `{"action":"cost","starting_at":"2026-01-01T00:00:00"}`, "starting_at must be"},
		{"bad end", `{"action":"claude_code","starting_at":"2026-01-01","ending_at":"01/02/2026"}`, "ending_at must be"},
		{"end before start", `{"action":"usage","starting_at":"2026-01-02","ending_at":"2026-01-01"}`,
			"ending_at must be after starting_at, 2026-01-02, not 2026-01-01"},
		{"end is start", `{"action":"cost","starting_at":"2026-01-02","ending_at":"2026-01-02"}`, "ending_at must be after"},
		{"last day before first", `{"action":"claude_code","starting_at":"2026-01-02","ending_at":"2026-01-01"}`, "ending_at must not be before"},
		{"too many days", `{"action":"claude_code","starting_at":"2026-01-01","ending_at":"2026-02-01"}`,
			"ending_at must be within 31 days of starting_at for action claude_code, both included; from 2026-01-01 to 2026-02-01 it is 32"},
		{"cost by the hour", `{"action":"cost","starting_at":"2026-01-01","bucket_width":"1h"}`,
			"bucket_width must be 1d, or left out, for action cost, not 1h"},
		{"claude_code by the minute", `{"action":"claude_code","starting_at":"2026-01-01","bucket_width":"1m"}`,
			"bucket_width must be 1d, or left out, for action claude_code"},
		{"unknown width", `{"action":"usage","starting_at":"2026-01-01","bucket_width":"1w"}`, "bucket_width must be one of 1m, 1h, 1d"},
		{"group of usage for cost", `{"action":"cost","starting_at":"2026-01-01","group_by":["workspace_id","model"]}`,
			`group_by must be of workspace_id, description for action cost, not "model"`},
		{"group of cost for usage", `{"action":"usage","starting_at":"2026-01-01","group_by":["description"]}`,
			"group_by must be of account_id, api_key_id"},
		{"group for claude_code", `{"action":"claude_code","starting_at":"2026-01-01","group_by":["model"]}`,
			"group_by must be left out for action claude_code"},
		{"limit 0", `{"action":"usage","starting_at":"2026-01-01","limit":0}`, "limit must be at least 1"},
		{"limit of days", `{"action":"usage","starting_at":"2026-01-01","limit":32}`,
			"limit must be at most 31 for action usage with bucket_width 1d, not 32"},
		{"limit of hours", `{"action":"usage","starting_at":"2026-01-01","bucket_width":"1h","limit":169}`,
			"at most 168 for action usage with bucket_width 1h"},
		{"limit of minutes", `{"action":"usage","starting_at":"2026-01-01","bucket_width":"1m","limit":1441}`, "limit must be at most 1440"},
		{"limit of cost", `{"action":"cost","starting_at":"2026-01-01","limit":32}`, "limit must be at most 31 for action cost, not 32"},
		{"limit of claude_code", `{"action":"claude_code","starting_at":"2026-01-01","limit":1001}`,
			"limit must be at most 1000 for action claude_code"},
		{"filter for cost", `{"action":"cost","starting_at":"2026-01-01","filters":{"models":["m"]}}`,
			"filters.models must be left out for action cost: only usage has filters"},
		{"filter for claude_code", `{"action":"claude_code","starting_at":"2026-01-01","filters":{"workspace_ids":["m"]}}`,
			"filters.workspace_ids must be left out"},
		{"unknown filter", `{"action":"usage","starting_at":"2026-01-01","filters":{"model":["m"]}}`, "filters.model"},
		{"filter of the wrong type", `{"action":"usage","starting_at":"2026-01-01","filters":{"models":5}}`, "filters.models"},
		{"too many pages", `{"action":"usage","starting_at":"2026-01-01","max_pages":101}`, "max_pages must be at most 100"},
	} {
		cases = append(cases, tooltest.Case{Name: c.name, Args: c.args, Want: c.want, Code: domain.CodeInvalidParams})
	}
	tooltest.Run(t, usage, cases)
	if n := len(api.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
