package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
)

// TestAnthropicUsageRoom reads a report of a thousand rows: each answer is whole in both forms and has the exact total, and
// next_offset leads to the rest.
func TestAnthropicUsageRoom(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf(`{"date":"2026-01-01T00:00:00Z","actor":{"type":"user_actor","email_address":"user%d@example.com"},`+
			`"model_breakdown":[{"model":"claude-opus-5-5","estimated_cost":{"currency":"USD","amount":"0.4"}}]}`, i))
	}
	c := openAnthropic(t, &anthropic.Server{Rows: func(string, time.Time, url.Values) []string { return rows }})
	got, offset := 0, 0
	for n := 0; ; n++ {
		_, parsed, text := report(t, fmt.Sprintf("offset %d", offset), c.call("anthropic_usage", arguments("action", "claude_code", "starting_at", "2026-01-01", "limit", 1000, "offset", offset)))
		data, _ := parsed["data"].([]any)
		if total(t, text) != "4.00" || len(text) > 40_000 || len(data) == 0 {
			t.Fatalf("from %d on: total %s, %d characters, %d rows", offset, total(t, text), len(text), len(data))
		}
		if first, _ := json.Marshal(data[0]); !strings.Contains(string(first), fmt.Sprintf("user%d@", got)) {
			t.Fatalf("from %d on: the first is %s", offset, first)
		}
		got += len(data)
		next, more := parsed["next_offset"].(float64)
		if more != (parsed["has_more"] == true) || n > 20 {
			t.Fatalf("next_offset %v, has_more %v", parsed["next_offset"], parsed["has_more"])
		}
		if !more {
			break
		}
		offset = int(next)
	}
	if got != 1000 {
		t.Errorf("%d rows", got)
	}
	c.ping()
}

// TestAnthropicNewest asks at the newest version of the API, with its fields; a temperature, which that does not have, at the last
// one that has it. A refusal says why.
func TestAnthropicNewest(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	c := openAnthropic(t, fake)
	last := func() anthropic.Request { all := fake.Requests(); return all[len(all)-1] }
	for _, tt := range []struct {
		args                map[string]any
		says, version, body string
	}{
		{arguments("message", "m"), "You said: m", "2026-10-21", `"stream":true`},
		{arguments("message", "m", "effort", "low"), "You said: m", "2026-10-21", `"output_config":{"effort":"low"}`},
		{arguments("message", "m", "temperature", 0.2, "model", "claude-haiku-4-5"), "You said: m", "2023-06-01", `"temperature":0.2`},
		{arguments("message", "m", "temperature", 0.2), "`temperature` is deprecated for this model", "2023-06-01", `"temperature":0.2`},
	} {
		a := c.call("claude_conversation", tt.args)
		if r := last(); !strings.Contains(a.text(), tt.says) || r.Header.Get("Anthropic-Version") != tt.version || !strings.Contains(string(r.Body), tt.body) {
			t.Errorf("%v: %s, %s %s", tt.args, a.text(), r.Header.Get("Anthropic-Version"), r.Body)
		}
	}
	if a := c.call("claude_conversation", arguments("message", "m", "effort", "most")); a.Error == nil {
		t.Errorf("an effort there is not: %s", a.text())
	}
	fake.Say(anthropic.Turn{StopReason: "refusal", Category: "cyber", Explained: "It could help an attack."})
	if a := c.talk("m"); a.text() != "[The model refused to go on (stop_reason refusal, category cyber): It could help an attack.]" {
		t.Errorf("a refusal: %s", a.text())
	}
	c.ping()
}
