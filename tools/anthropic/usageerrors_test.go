package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/anthropic"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestUsageErrors checks that what the API refuses with is told apart.
func TestUsageErrors(t *testing.T) {
	const args = `{"action":"cost","starting_at":"2026-01-01"}`
	html := "<html><body><h1>Secret gateway page</h1></body></html>"
	after := func(r fake.Reply, seconds string) fake.Reply {
		r.Header = map[string]string{"Retry-After": seconds}
		return r
	}
	soon := func(r fake.Reply) fake.Reply {
		r.Header = map[string]string{"Retry-After-Ms": "1"}
		return r
	}
	for _, c := range []struct {
		name      string
		reply     fake.Reply
		errorType string
		want      string
		requests  int
	}{
		{"400", fake.Error(400, "invalid_request_error", "ending_at: must be in the past"), "invalid_query",
			"Anthropic Admin API error: HTTP 400 — invalid_request_error: ending_at: must be in the past (request_id req_fake0123456789)", 1},
		{"400, no credit", fake.Error(400, "invalid_request_error", "Your credit balance is too low"), "quota_exceeded", "credit balance", 1},
		{"401", fake.Error(401, "authentication_error", "invalid x-api-key"), "bad_credentials",
			"HTTP 401 — authentication_error: invalid x-api-key", 1},
		{"402", fake.Error(402, "billing_error", "no money"), "quota_exceeded", "HTTP 402 — billing_error: no money", 1},
		{"403", fake.Error(403, "permission_error", "not an admin"), "bad_credentials", "HTTP 403 — permission_error: not an admin", 1},
		{"404", fake.Error(404, "not_found_error", "Not found"), "not_found", "HTTP 404 — not_found_error: Not found", 1},
		{"413", fake.Error(413, "request_too_large", "too much"), "too_large", "HTTP 413 — request_too_large", 1},
		{"429", after(fake.Error(429, "rate_limit_error", "slow down"), "3600"), "rate_limited",
			"HTTP 429 — rate_limit_error: slow down (request_id req_fake0123456789); it asks to wait 1h0m0s", 1},
		{"429, soon", soon(fake.Error(429, "rate_limit_error", "slow down")), "rate_limited", "HTTP 429", 3},
		{"500", soon(fake.Error(500, "api_error", "oops")), "http_status", "HTTP 500 — api_error: oops", 3},
		{"503", soon(fake.Reply{Status: 503, Body: html, Header: nil}), "overloaded",
			"HTTP 503 — Service Unavailable, in an answer that is not the API's own", 3},
		{"504", soon(fake.Error(504, "timeout_error", "late")), "timed_out", "HTTP 504 — timeout_error: late", 3},
		{"529", soon(fake.Error(529, "overloaded_error", "Overloaded")), "overloaded", "HTTP 529 — overloaded_error: Overloaded", 3},
		{"HTML", fake.Reply{Status: 418, Body: html}, "http_status", "HTTP 418 — I'm a teapot", 1},
		{"redirect", fake.Reply{Status: 302, Header: map[string]string{"Location": "https://example.com/"}}, "http_status", "HTTP 302 — Found", 1},
		{"a terminal", fake.Error(400, "invalid_request_error", "a\x1b[2Jb\nc"), "invalid_query", "a[2Jb c", 1},
		{"a long one", fake.Error(400, "invalid_request_error", strings.Repeat("é", 5000)), "invalid_query", "é… (request_id", 1},
		{"no JSON", fake.Reply{Body: html}, "bad_answer", "Error querying Anthropic Admin API: the answer is not a report", 1},
		{"null", fake.Reply{Body: `null`}, "bad_answer", "the answer is not a report", 1},
		{"an array", fake.Reply{Body: `[]`}, "bad_answer", "the answer is not a report", 1},
		{"data null", fake.Reply{Body: `{"data":null}`}, "bad_answer", "the answer is not a report", 1},
		{"data of null", fake.Reply{Body: `{"data":[null]}`}, "bad_answer", "the answer is not a report", 1},
		{"no data", fake.Reply{Body: `{"has_more":false}`}, "bad_answer", "the answer is not a report", 1},
		{"data of numbers", fake.Reply{Body: `{"data":[1]}`}, "bad_answer", "the answer is not a report", 1},
		{"broken off", fake.Reply{Header: map[string]string{"Content-Length": "100"}, Body: `{"data":`, Drop: true}, "unreachable",
			"Error querying Anthropic Admin API: the connection failed", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := new(fake.Server)
			api.Script(fake.CostPath, c.reply, c.reply, c.reply, c.reply)
			_, usage := tools(t, api)
			res := tooltest.Call(t, usage, args)
			text := tooltest.Text(res)
			if !res.IsError || res.ErrorType() != c.errorType || !strings.Contains(text, c.want) {
				t.Errorf("%s: %s\nwant %s: %s", res.ErrorType(), text, c.errorType, c.want)
			}
			shown, err := json.Marshal(res.Structured())
			if err != nil {
				t.Fatal(err)
			}
			for _, never := range []string{"Secret gateway", "<h1>", "example.com"} {
				if strings.Contains(text+string(shown), never) {
					t.Errorf("%s shows %q", text, never)
				}
			}
			if n := len(api.Requests()); n != c.requests {
				t.Errorf("%d requests; want %d", n, c.requests)
			}
		})
	}
}

func TestUsageUnreachable(t *testing.T) {
	_, usage := tools(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	res := tooltest.Call(t, usage, `{"action":"cost","starting_at":"2026-01-01"}`)
	if res.ErrorType() != "unreachable" || !strings.HasPrefix(tooltest.Text(res), "Error querying Anthropic Admin API: ") {
		t.Errorf("%s: %s", res.ErrorType(), tooltest.Text(res))
	}
}

// TestUsageStops checks that pages read before one that cannot be had are not
// lost, and that the answer says where to go on.
func TestUsageStops(t *testing.T) {
	page := func(next string) fake.Reply {
		return fake.Reply{Body: `{"data":[{"results":[{"currency":"USD","amount":"1"}]}],"has_more":true,"next_page":` + next + `,"kind":"k"}`}
	}
	refused := fake.Reply{Status: 429, Header: map[string]string{"Retry-After": "3600"}, Body: "{}"}
	for _, c := range []struct {
		name    string
		replies []fake.Reply
		next    string
		note    string
	}{
		{"refused", []fake.Reply{page(`"page_2"`), page(`"page_3"`), refused}, "page_3", "stopped after page 2: Anthropic Admin API error: HTTP 429"},
		{"bad answer", []fake.Reply{page(`"page_2"`), {Body: "{}"}}, "page_2",
			"stopped after page 1: Error querying Anthropic Admin API: the answer is not a report"},
		{"nowhere", []fake.Reply{page("null")}, "", "the API says that there is more, but not on which page"},
		{"a circle", []fake.Reply{page(`"page_2"`), page(`"page_2"`)}, "", "the API says that there is more, but not on which page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := new(fake.Server)
			api.Script(fake.CostPath, c.replies...)
			_, usage := tools(t, api)
			a := answerOf(t, tooltest.Call(t, usage, `{"action":"cost","starting_at":"2026-01-01","max_pages":5}`))
			next := ""
			if a.NextPage != nil {
				next = *a.NextPage
			}
			if !a.HasMore || next != c.next || len(a.Notes) != 1 || !strings.Contains(a.Notes[0], c.note) || len(a.Data) == 0 {
				t.Errorf("%+v, next page %q; want %q and %q", a, next, c.next, c.note)
			}
		})
	}
}

// TestUsageDaysStop checks that the days an answer lacks are named.
func TestUsageDaysStop(t *testing.T) {
	api := new(fake.Server)
	good := fake.Reply{Body: `{"data":[{"date":"2026-01-01T00:00:00Z"}],"has_more":false,"next_page":null}`}
	api.Script(fake.ClaudeCodePath, good, fake.Error(403, "permission_error", "no"))
	_, usage := tools(t, api)
	a := answerOf(t, tooltest.Call(t, usage, `{"action":"claude_code","starting_at":"2026-01-01","ending_at":"2026-01-03"}`))
	if len(a.Data) != 1 || !a.HasMore || a.NextPage != nil || len(a.IncompleteDays) != 2 ||
		a.IncompleteDays[0]["starting_at"] != "2026-01-02" || a.IncompleteDays[1]["starting_at"] != "2026-01-03" || len(a.Notes) != 1 {
		t.Errorf("%+v", a)
	}
}

// TestUsageTimeUp checks that pages read before the call's time was up are the
// answer.
func TestUsageTimeUp(t *testing.T) {
	first := fake.Reply{Body: `{"data":[{"results":[]}],"has_more":true,"next_page":"page_2"}`}
	for limit := 100 * time.Millisecond; ; limit *= 4 {
		api := new(fake.Server)
		api.Script(fake.UsagePath, first, fake.Reply{Body: `{"data":`, Hang: true})
		_, usage := tools(t, api)
		usage.Timeout = limit
		var heard []call.Progress
		res, err := tooltest.Executor(t, usage).Call(t.Context(), call.ExecuteToolCommand{
			Tool: usage.Name, Arguments: json.RawMessage(`{"action":"usage","starting_at":"2026-01-01","max_pages":9}`),
			Client: call.ProgressFunc(func(p call.Progress) { heard = append(heard, p) }),
		})
		if err != nil && domain.CodeOf(err) == domain.CodeTimeout && limit < 10*time.Second {
			continue // not even the first page came in time
		}
		a := answerOf(t, res)
		const note = "[stopped after page 1: the call timed out]"
		if err != nil || !a.HasMore || a.NextPage == nil || *a.NextPage != "page_2" || fmt.Sprint(a.Notes) != note {
			t.Errorf("%+v, error %v", a, err)
		}
		if len(heard) != 1 || heard[0].Message != "pages: 1, rows: 1" {
			t.Errorf("heard %+v", heard)
		}
		return
	}
}

// TestUsageCancel checks that cancelling is no half of an answer.
func TestUsageCancel(t *testing.T) {
	api := new(fake.Server)
	api.Script(fake.UsagePath, fake.Reply{Body: `{"data":[],"has_more":true,"next_page":"page_2"}`}, fake.Reply{Body: `{"data":`, Hang: true})
	_, usage := tools(t, api)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := tooltest.Executor(t, usage).Call(ctx, call.ExecuteToolCommand{
		Tool: usage.Name, Arguments: json.RawMessage(`{"action":"usage","starting_at":"2026-01-01","max_pages":9}`),
		Client: call.ProgressFunc(func(call.Progress) { cancel() }),
	})
	if domain.CodeOf(err) != domain.CodeExecutionFailed || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("error %v", err)
	}
}

// TestUsageStatusAlone checks that a status counts where the body is not the
// API's, as from a gateway in between.
func TestUsageStatusAlone(t *testing.T) {
	for status, want := range map[int]string{
		401: "bad_credentials", 402: "quota_exceeded", 403: "bad_credentials", 404: "not_found", 410: "not_found",
		413: "too_large", 429: "rate_limited", 400: "http_status", 405: "http_status", 500: "http_status", 503: "overloaded", 504: "timed_out", 529: "overloaded",
	} {
		api := new(fake.Server)
		refused := fake.Reply{Status: status, Header: map[string]string{"Retry-After-Ms": "1"}, Body: "<html>"}
		api.Script(fake.CostPath, refused, refused, refused)
		_, usage := tools(t, api)
		res := tooltest.Call(t, usage, `{"action":"cost","starting_at":"2026-01-01"}`)
		if res.ErrorType() != want || strings.Contains(tooltest.Text(res), "<") {
			t.Errorf("%d: %s: %s; want %s", status, res.ErrorType(), tooltest.Text(res), want)
		}
	}
}
