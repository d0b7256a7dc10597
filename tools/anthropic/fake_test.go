package anthropic_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"
)

// TestFakeRefuses checks that the fake minds the rules, without which the other
// tests would prove little.
func TestFakeRefuses(t *testing.T) {
	api := new(fake.Server)
	message := func(body string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, fake.MessagesPath, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Api-Key", fake.APIKey)
		return r
	}
	report := func(path, query string) *http.Request {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, path+"?"+values.Encode(), nil)
		r.Header.Set("X-Api-Key", fake.AdminKey)
		return r
	}
	with := func(r *http.Request, name, value string) *http.Request {
		r.Header.Set(name, value)
		return r
	}
	const good = `{"model":"claude-sonnet-5-5","max_tokens":1,"messages":[{"role":"user","content":"m"}]}`
	for _, c := range []struct {
		name   string
		req    *http.Request
		status int
		want   string
	}{
		{"good message", message(good), 200, "You said: m"},
		{"good usage", report(fake.UsagePath, "starting_at=2026-01-01T00:00:00Z&group_by[]=model&group_by[]=workspace_id"), 200, `"has_more":false`},
		{"ambient token", with(message(good), "Authorization", "Bearer t"), 400, "Authorization"},
		{"no key", with(message(good), "X-Api-Key", ""), 401, "authentication_error"},
		{"admin key for messages", with(message(good), "X-Api-Key", fake.AdminKey), 401, "authentication_error"},
		{"key for reports", with(report(fake.CostPath, "starting_at=2026-01-01T00:00:00Z"), "X-Api-Key", fake.APIKey), 401, "authentication_error"},
		{"version", with(message(good), "Anthropic-Version", "1999-01-01"), 400, "anthropic-version"},
		{"content type", with(message(good), "Content-Type", "text/plain"), 400, "content-type"},
		{"extra field", message(`{"prompt":"p"}`), 400, "prompt"},
		{"no max_tokens", message(`{"model":"m","messages":[{"role":"user","content":"m"}]}`), 400, "max_tokens"},
		{"assistant first", message(`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"m"}]}`), 400, "first message"},
		{"blank", message(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":" "}]}`), 400, "non-whitespace"},
		{"unknown model", message(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"m"}]}`), 404, "model: m"},
		{"group_by without brackets", report(fake.UsagePath, "starting_at=2026-01-01T00:00:00Z&group_by=model"), 400, "group_by"},
		{"group of another report", report(fake.CostPath, "starting_at=2026-01-01T00:00:00Z&group_by[]=model"), 400, "group_by"},
		{"date only", report(fake.UsagePath, "starting_at=2026-01-01"), 400, "starting_at"},
		{"time for a day", report(fake.ClaudeCodePath, "starting_at=2026-01-01T00:00:00Z"), 400, "starting_at"},
		{"end of a day", report(fake.ClaudeCodePath, "starting_at=2026-01-01&ending_at=2026-01-02"), 400, "ending_at"},
		{"cost by the hour", report(fake.CostPath, "starting_at=2026-01-01T00:00:00Z&bucket_width=1h"), 400, "bucket_width"},
		{"limit", report(fake.UsagePath, "starting_at=2026-01-01T00:00:00Z&limit=32"), 400, "limit"},
		{"page", report(fake.UsagePath, "starting_at=2026-01-01T00:00:00Z&page=2"), 400, "page"},
		{"speed without its header", report(fake.UsagePath, "starting_at=2026-01-01T00:00:00Z&group_by[]=speed"), 400, "beta header"},
		{"path", report("/v1/organizations/usage", ""), 404, "not_found_error"},
		{"method", with(httptest.NewRequest(http.MethodGet, fake.MessagesPath, nil), "X-Api-Key", fake.APIKey), 400, "content-type"},
	} {
		if c.req.Header.Get("Anthropic-Version") == "" {
			c.req.Header.Set("Anthropic-Version", "2023-06-01")
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, c.req)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s; want %d and %q", c.name, w.Code, w.Body, c.status, c.want)
		}
	}
}
