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

// TestUsageRoom reads reports that are too long for an answer: each answer has the total of all, and those that follow have the
// rest, once. A day of the second report is too long by itself.
func TestUsageRoom(t *testing.T) {
	for _, c := range []struct {
		name, args string
		rows       func(start time.Time) []string
		results    int
		total      string
	}{
		{"claude_code", `"action":"claude_code","starting_at":"2026-01-01","limit":1000`, func(start time.Time) []string {
			return numberedRows(1000, `{"actor":{"email_address":"%d@example.com"},"model_breakdown":[{"estimated_cost":{"currency":"USD","amount":"0.4"}}]}`)
		}, 1000, "4.00"},
		{"cost", `"action":"cost","starting_at":"2026-01-01","ending_at":"2026-01-04"`, func(start time.Time) []string {
			if start.Day() == 2 {
				return nil
			}
			return numberedRows(400, `{"description":"%d","currency":"USD","amount":"0.5","workspace_id":"wrkspc_0123456789abcdefghijklmn"}`)
		}, 801, "4.00"},
	} {
		api := &fake.Server{Rows: func(_ string, start time.Time, _ url.Values) []string { return c.rows(start) }}
		_, usage := tools(t, api)
		seen := map[string]bool{}
		calls, offset := 0, 0
		for more := true; more; calls++ {
			res := tooltest.Call(t, usage, fmt.Sprintf(`{%s,"offset":%d}`, c.args, offset))
			tooltest.Verify(t, usage, res)
			text := tooltest.Text(res)
			b, err := json.Marshal(res.Structured())
			_, parsed, ok := strings.Cut(text, ":\n")
			var out struct {
				Total json.Number `json:"total_usd"`
				Next  int         `json:"next_offset"`
				More  bool        `json:"has_more"`
				Data  []struct {
					Start string `json:"starting_at"`
					Actor struct {
						Email string `json:"email_address"`
					}
					Results []struct{ Description string }
				}
			}
			if err != nil || !ok || json.Unmarshal([]byte(parsed), &out) != nil || len(text) > domain.DefaultMaxResultChars || compact(t, parsed) != string(b) {
				t.Fatalf("%s: %d characters: %.300s", c.name, len(text), text)
			}
			if out.Total.String() != c.total {
				t.Errorf("%s: total %s from %d on", c.name, out.Total, offset)
			}
			once := func(result string) {
				if seen[result] {
					t.Errorf("%s: %s comes twice", c.name, result)
				}
				seen[result] = true
			}
			for _, row := range out.Data {
				if len(row.Results) == 0 {
					once(row.Start + row.Actor.Email)
				}
				for _, result := range row.Results {
					once(row.Start + " " + result.Description)
				}
			}
			if more = out.Next > 0; more != out.More || more && out.Next <= offset {
				t.Fatalf("%s: next_offset %d after %d, has_more %t", c.name, out.Next, offset, out.More)
			}
			offset = out.Next
		}
		if n := len(api.Requests()); calls < 3 || len(seen) != c.results || n != 1 {
			t.Errorf("%s: %d results in %d calls and %d requests, want %d", c.name, len(seen), calls, n, c.results)
		}
	}
}

// numberedRows returns rows with their numbers.
func numberedRows(n int, format string) (rows []string) {
	for i := range n {
		rows = append(rows, fmt.Sprintf(format, i))
	}
	return rows
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var v json.RawMessage
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
