//go:build linux

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// foreignAnswer has what any request to Google may be answered with.
const foreignAnswer = `{"id":"m1","threadId":"t1","labelIds":["INBOX"],"internalDate":"1780000000000","snippet":"s","sizeEstimate":10,"raw":"aGk=",
"messages":[{"id":"m1","threadId":"t1"}],"nextPageToken":"","resultSizeEstimate":1,"emailAddress":"alice@example.com",
"payload":{"mimeType":"multipart/mixed","headers":[{"name":"From","value":"a@x.example"}],"body":{"size":2,"data":"aGk="},"parts":[{"partId":"0","mimeType":"text/plain","headers":[{"name":"X","value":"y"}],"body":{"data":"aGk="}}]},
"labels":[{"id":"L","name":"n","type":"user"}],"message":{"id":"m1","threadId":"t1"},
"sendAs":[{"sendAsEmail":"alice@example.com"}],"timeZone":"UTC","summary":"S","status":"confirmed","description":"d",
"start":{"dateTime":"2026-03-02T09:00:00Z"},"end":{"dateTime":"2026-03-02T10:00:00Z"},"organizer":{"email":"a@x.example"},"attendees":[{"email":"b@x.example","responseStatus":"accepted","self":true}],
"recurrence":["RRULE:FREQ=DAILY"],"reminders":{"useDefault":false,"overrides":[{"method":"popup","minutes":5}]},"conferenceData":{"entryPoints":[{"entryPointType":"video","uri":"https://x.example"}]},
"attachments":[{"title":"t","fileUrl":"u"}],"items":[{"id":"e1","summary":"S","start":{"date":"2026-03-02"},"end":{"date":"2026-03-03"},"accessRole":"owner"}],
"calendars":{"primary":{"busy":[{"start":"2026-03-02T09:00:00Z","end":"2026-03-02T10:00:00Z"}],"errors":[{"reason":"notFound"}]}}}`

var foreignKinds = []string{`null`, `""`, `0`, `-1`, `1e400`, `true`, `[]`, `{}`, `[null]`, `{"x":{"y":[null]}}`, `[[{}]]`}

// mutants returns a JSON text with each of its members in turn replaced by each of the kinds.
func mutants(t *testing.T, text string) (all []string) {
	t.Helper()
	var whole any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	var walk func(v any, put func(any))
	walk = func(v any, put func(any)) {
		for _, kind := range foreignKinds {
			put(json.RawMessage(kind))
			b, err := json.Marshal(whole)
			if err == nil {
				all = append(all, string(b))
			}
		}
		put(v)
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(member, func(other any) { v[name] = other })
			}
		case []any:
			for i, member := range v {
				walk(member, func(other any) { v[i] = other })
			}
		}
	}
	for name, member := range whole.(map[string]any) {
		walk(member, func(other any) { whole.(map[string]any)[name] = other })
	}
	return all
}

// TestGoogleForeignAnswers has Google, or what lies between, answer anything: no tool panics, and what is no answer at all is an error.
func TestGoogleForeignAnswers(t *testing.T) {
	t.Parallel()
	tools := map[string]map[string]any{
		"gmail_search": {"query": "x"}, "gmail_read": {"messageId": "m1"}, "gmail_read_thread": {"threadId": "t1"}, "gmail_labels": {},
		"gmail_modify_labels": {"messageIds": []string{"m1"}, "add": []string{"STARRED"}}, "gmail_send": {"to": bob, "subject": "s", "body": "b"},
		"gmail_draft":          {"to": bob, "subject": "s", "body": "b", "replyToMessageId": "m1"},
		"calendar_list_events": {"timeMin": "2026-03-01", "timeMax": "2026-03-05"}, "calendar_get_event": {"eventId": "m1"},
		"calendar_create_event": on("timeZone", "UTC"), "calendar_update_event": {"eventId": "m1", "summary": "T"}, "calendar_respond_event": {"eventId": "m1", "response": "accepted"},
		"calendar_free_busy": {"timeMin": "2026-03-01", "timeMax": "2026-03-05"}, "calendar_list_calendars": {},
	}
	g, b := newMailGround(t, fullTier)
	(&calendarGround{g, b}).signInAs(alice)
	var now atomic.Int64
	answered := func(body string, calls func(tool string, o outcome)) {
		id := now.Add(1)
		g.google.Fail(func(r *http.Request) bool {
			return now.Load() == id && !strings.HasPrefix(r.URL.Path, "/token") && r.URL.Path != "/revoke"
		}, 1_000_000, fake.Answer{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body})
		for tool, args := range tools {
			o := b.call(tool, args)
			if strings.Contains(o.text, "panic") || strings.Contains(o.text, "nil pointer") {
				t.Errorf("%s: %.200s: %v", tool, body, o)
			}
			if calls != nil {
				calls(tool, o)
			}
		}
	}
	for _, body := range []string{`null`, `[]`, `"x"`, `0`, `true`, `[null]`, "<html>Sign in</html>", `{"id":`, "\xff\xfe"} {
		answered(body, func(tool string, o outcome) {
			if !o.failed {
				t.Errorf("%s: %.100s is no error: %v", tool, body, o)
			}
			if (tool == "gmail_send" || tool == "calendar_create_event") && !strings.Contains(o.text, "known") {
				t.Errorf("%s: %.100s: it does not say that it is unknown: %v", tool, body, o)
			}
		})
	}
	list := mutants(t, foreignAnswer)
	for i, body := range list {
		if i%3 != 0 { // a part of them, in another order each time
			continue
		}
		answered(body, nil)
	}
}
