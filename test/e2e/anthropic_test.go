package e2e

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	anthropic "github.com/toolserver/toolserver/test/fakes/anthropic"
)

// serveAnthropic serves the fake of Anthropic's API.
func serveAnthropic(t *testing.T, fake *anthropic.Server) (base string) {
	t.Helper()
	s := httptest.NewServer(fake)
	t.Cleanup(s.Close)
	return s.URL
}

// usesAnthropic is the configuration that has a server use the API at base, with
// further options.
func usesAnthropic(base string, options ...string) string {
	options = append([]string{fmt.Sprintf("base_url: %q", base)}, options...)
	return privateHosts(base) + "anthropic: {" + strings.Join(options, ", ") + "}\n"
}

// keys are those of the fake, in the environment.
var keys = []string{"TOOLSERVER_ANTHROPIC_API_KEY=" + anthropic.APIKey, "ANTHROPIC_ADMIN_API_KEY=" + anthropic.AdminKey}

// openAnthropic starts a server that uses a fake.
func openAnthropic(t *testing.T, fake *anthropic.Server) *toolClient {
	t.Helper()
	c, _ := openTools(t, usesAnthropic(serveAnthropic(t, fake)), keys...)
	return c
}

// report returns the label and the JSON of a report, whose text and structured
// content must agree.
func report(t *testing.T, what string, a answer) (label string, parsed map[string]any, text string) {
	t.Helper()
	label, text, ok := strings.Cut(a.text(), ":\n")
	if a.failed() || !ok {
		t.Fatalf("%s: %+v %.1000s", what, a.Error, a.text())
	}
	if err := json.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatalf("%s: %v in %.500s", what, err, text)
	}
	if !reflect.DeepEqual(parsed, a.Result.StructuredContent) {
		t.Errorf("%s: the text has %v, the structured content %v", what, parsed, a.Result.StructuredContent)
	}
	return label, parsed, text
}

// total returns the total as it is written.
func total(t *testing.T, text string) string {
	t.Helper()
	var r struct {
		Total json.Number `json:"total_usd"`
	}
	must(t, json.Unmarshal([]byte(text), &r))
	return r.Total.String()
}

// arguments are pairs of names and values.
func arguments(pairs ...any) map[string]any {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	return args
}

// TestAnthropicUsage reads the three reports, over all their pages.
func TestAnthropicUsage(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	c := openAnthropic(t, fake)
	const first, last = "2026-01-01", "2026-01-15"
	for _, tt := range []struct {
		name  string
		args  map[string]any
		label string
		rows  int
		more  bool
		total string
		query []string // of the requests, as far as they are checked
	}{
		{"usage", arguments("action", "usage", "starting_at", first), "Token Usage Report", 7, false, "",
			[]string{"starting_at=2026-01-01T00:00:00Z"}},
		{"usage, a page", arguments("action", "usage", "starting_at", first, "ending_at", last), "Token Usage Report", 7, true, "",
			[]string{"ending_at=2026-01-15T00:00:00Z"}},
		{"usage, all pages", arguments("action", "usage", "starting_at", first, "ending_at", last, "max_pages", 9, "limit", 5),
			"Token Usage Report", 14, false, "",
			[]string{"limit=5", "page=page_", "page=page_"}},
		{"usage by the hour", arguments("action", "usage", "starting_at", "2026-01-01T00:00:00+02:00", "ending_at", "2026-01-01T10:00:00Z",
			"bucket_width", "1h", "limit", 168,
			"group_by", []string{"model", "workspace_id"}, "filters", map[string]any{"models": []string{"claude-sonnet-5-5"},
				"service_tiers": []string{"batch", "standard"}}),
			"Token Usage Report", 12, false, "", []string{"bucket_width=1h&ending_at=2026-01-01T10:00:00Z&group_by[]=model&group_by[]=workspace_id&limit=168" +
				"&models[]=claude-sonnet-5-5&service_tiers[]=batch&service_tiers[]=standard&starting_at=2025-12-31T22:00:00Z"}},
		{"speeds", arguments("action", "usage", "starting_at", first, "group_by", []string{"speed"}), "Token Usage Report", 7, false, "",
			[]string{"group_by[]=speed"}},
		{"cost", arguments("action", "cost", "starting_at", first, "ending_at", "2026-01-08", "group_by",
			[]string{"description", "workspace_id"}), "Cost Report", 7, false, "8.6652384",
			[]string{"group_by[]=description&group_by[]=workspace_id"}},
		{"cost, all pages", arguments("action", "cost", "starting_at", first, "ending_at", last, "max_pages", 100, "limit", 1), "Cost Report", 14,
			false, "17.3304768",
			[]string{"limit=1", "page=page_", "page=page_"}},
		{"claude_code", arguments("action", "claude_code", "starting_at", first), "Claude Code Usage Report", 1, false, "1.86",
			[]string{"starting_at=2026-01-01"}},
		{"claude_code, a month", arguments("action", "claude_code", "starting_at", first, "ending_at", "2026-01-31"), "Claude Code Usage Report",
			31, false, "57.66",
			[]string{"starting_at=2026-01-01", "starting_at=2026-01-02", "starting_at=2026-01-03"}},
		{"claude_code, by time", arguments("action", "claude_code", "starting_at", "2026-02-27T23:00:00-03:00", "ending_at",
			"2026-03-01T12:00:00Z"), "Claude Code Usage Report", 2, false, "3.72",
			[]string{"starting_at=2026-02-28", "starting_at=2026-03-01"}},
	} {
		before := len(fake.Requests())
		label, parsed, text := report(t, tt.name, c.call("anthropic_usage", tt.args))
		rows, _ := parsed["data"].([]any)
		if label != tt.label || len(rows) != tt.rows || parsed["has_more"] != tt.more || total(t, text) != tt.total {
			t.Errorf("%s: %q, %d rows, more %v, total %s", tt.name, label, len(rows), parsed["has_more"], total(t, text))
		}
		if strings.Contains(text, `"amount"`) {
			t.Errorf("%s: there are amounts in cents: %.500s", tt.name, text)
		}
		asked := fake.Requests()[before:]
		for i, want := range tt.query {
			got, _ := url.QueryUnescape(asked[min(i, len(asked)-1)].Query.Encode())
			if len(asked) <= i || !strings.Contains(got, want) {
				t.Errorf("%s: request %d of %d is %s, want %s", tt.name, i, len(asked), got, want)
			}
		}
	}
	// What is left of a report is where it says.
	_, parsed, _ := report(t, "first page", c.call("anthropic_usage", arguments("action", "cost", "starting_at", first, "ending_at", last,
		"limit", 10)))
	_, rest, _ := report(t, "the rest", c.call("anthropic_usage", arguments("action", "cost", "starting_at", first, "ending_at", last, "limit",
		10, "page", parsed["next_page"])))
	if all := append(parsed["data"].([]any), rest["data"].([]any)...); len(all) != 14 || rest["has_more"] != false ||
		rest["next_page"] != nil {
		t.Errorf("%d rows, then more %v, %v", len(all), rest["has_more"], rest["next_page"])
	}
	c.ping()
}
