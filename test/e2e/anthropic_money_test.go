package e2e

import (
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	anthropic "toolserver/test/fakes/anthropic"
)

// TestAnthropicMoney adds up amounts as an accountant does.
func TestAnthropicMoney(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	fake.Rows = func(path string, start time.Time, _ url.Values) (rows []string) {
		number := map[int]string{1: "0.4", 2: "-123.4567890123456789", 3: "99999999999999999999.99", 4: "1e-3", 5: "0"}[start.Day()]
		for range 1000 {
			if path == anthropic.CostPath {
				rows = append(rows, fmt.Sprintf(`{"currency":"USD","amount":%q,"z":1,"a":9007199254740993}`, number))
			} else {
				rows = append(rows, fmt.Sprintf(`{"actor":{},"model_breakdown":[{"estimated_cost":{"currency":"USD","amount":%s}},`+
					`{"estimated_cost":{"amount":%s,"currency":"USD"}}]}`, number, number))
			}
		}
		return rows
	}
	c, _ := openTools(t, usesAnthropic(serveAnthropic(t, fake))+"limits: {max_result_chars: 1000000}\n", keys...)
	for day, want := range map[int]struct{ each, total string }{
		1: {"0.004", "4.00"}, 2: {"-1.234567890123456789", "-1234.567890123456789"}, 3: {"999999999999999999.9999", "999999999999999999999.90"},
		4: {"0.00001", "0.01"}, 5: {"0", "0.00"},
	} {
		for _, action := range []string{"cost", "claude_code"} {
			args := arguments("action", action, "starting_at", fmt.Sprintf("2026-01-%02d", day))
			wantTotal := want.total
			if action == "cost" {
				args["limit"] = 1
			} else {
				args["limit"] = 1000
				r, _ := new(big.Rat).SetString(want.total)
				r.Mul(r, big.NewRat(2, 1))
				wantTotal = strings.TrimRight(r.FloatString(30), "0")
				for decimals := len(wantTotal) - 1 - strings.IndexByte(wantTotal, '.'); decimals < 2; decimals++ {
					wantTotal += "0"
				}
			}
			a := c.call("anthropic_usage", args)
			_, _, text := report(t, action, a)
			if got := total(t, text); got != wantTotal {
				t.Errorf("day %d, %s: the total is %s, want %s", day, action, got, wantTotal)
			}
			if !strings.Contains(text, `"amount_usd": `+want.each+"\n") && !strings.Contains(text, `"amount_usd": `+want.each+",\n") {
				t.Errorf("day %d, %s: rows are not of %s: %.500s", day, action, want.each, text)
			}
			if action == "cost" && !strings.Contains(text, "9007199254740993") {
				t.Errorf("other numbers are not kept: %.500s", text)
			}
		}
	}
	c.ping()
}

// TestAnthropicUsageErrors tells the ways apart in which the API refuses, and
// never shows a key.
func TestAnthropicUsageErrors(t *testing.T) {
	t.Parallel()
	fake := new(anthropic.Server)
	c := openAnthropic(t, fake)
	const wait = "120" // longer than is waited
	withHeader := func(r anthropic.Reply, name, value string) anthropic.Reply {
		r.Header = map[string]string{name: value}
		return r
	}
	noRetry := func(r anthropic.Reply) anthropic.Reply { return withHeader(r, "X-Should-Retry", "false") }
	for _, tt := range []struct {
		reply           anthropic.Reply
		errorType, want string
	}{
		{anthropic.Error(400, "invalid_request_error", "starting_at: too early"), "invalid_query",
			"HTTP 400 — invalid_request_error: starting_at: too early"},
		{anthropic.Error(401, "authentication_error", "invalid x-api-key "+anthropic.AdminKey), "bad_credentials", "HTTP 401"},
		{anthropic.Error(403, "permission_error", "not an admin"), "bad_credentials", "HTTP 403"},
		{anthropic.Error(402, "billing_error", "no money"), "quota_exceeded", "no money"},
		{anthropic.Error(404, "not_found_error", "Not found"), "not_found", "HTTP 404"},
		{withHeader(anthropic.Error(429, "rate_limit_error", "slow down"), "Retry-After", wait), "rate_limited", "it asks to wait 2m0s"},
		{withHeader(anthropic.Error(529, "overloaded_error", "Overloaded"), "Retry-After", wait), "overloaded", "HTTP 529"},
		{noRetry(anthropic.Error(500, "api_error", "oops")), "http_status", "HTTP 500"},
		{noRetry(anthropic.Reply{Status: 502, Body: "<html>bad gateway " + anthropic.AdminKey}), "http_status", "HTTP 502"},
		{anthropic.Reply{Status: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/"}}, "http_status", "HTTP 302"},
		{anthropic.Reply{Body: "<html>no report"}, "bad_answer", "not a report"},
		{anthropic.Reply{Body: `{"data":[1]}`}, "bad_answer", "not a report"},
		{anthropic.Reply{Body: `{"data":[`, Drop: true}, "unreachable", ""},
	} {
		before := len(fake.Requests())
		fake.Script(anthropic.CostPath, tt.reply)
		a := c.call("anthropic_usage", arguments("action", "cost", "starting_at", "2026-01-01"))
		wantFailure(t, tt.reply.Body, a, tt.errorType, tt.want)
		if whole := a.text() + fmt.Sprint(a.Result.StructuredContent); strings.Contains(whole, anthropic.AdminKey) ||
			strings.Contains(whole, "<html>") {
			t.Errorf("%d: shows what it should not: %s", tt.reply.Status, whole)
		}
		if n := len(fake.Requests()) - before; n != 1 {
			t.Errorf("%d: %d requests", tt.reply.Status, n)
		}
	}
	// What passes is tried again, as the API asks.
	for _, status := range []int{429, 500, 529} {
		before := len(fake.Requests())
		fake.Script(anthropic.CostPath, withHeader(anthropic.Error(status, "x_error", "later"), "Retry-After", "0"))
		report(t, "after a retry", c.call("anthropic_usage", arguments("action", "cost", "starting_at", "2026-01-01")))
		if n := len(fake.Requests()) - before; n != 2 {
			t.Errorf("%d: %d requests", status, n)
		}
	}
	// A page that cannot be had leaves those before it.
	fake.Script(anthropic.CostPath, anthropic.Reply{Body: `{"data":[{"amount":"100","currency":"USD"}],"has_more":true,"next_page":"page_Mg=="}`}, anthropic.Error(404, "not_found_error", "gone"))
	_, parsed, text := report(t, "half a report", c.call("anthropic_usage",
		arguments("action", "cost", "starting_at", "2026-01-01", "max_pages", 5)))
	if total(t, text) != "1.00" || parsed["has_more"] != true || parsed["next_page"] != "page_Mg==" ||
		!strings.Contains(fmt.Sprint(parsed["notes"]), "stopped after page 1") {
		t.Errorf("half a report: %s", text)
	}
	c.ping()
}
