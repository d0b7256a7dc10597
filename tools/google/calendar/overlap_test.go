package calendar

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/test/tooltest"
)

// busy returns an event of 2 March 2026.
func busy(id, from, to, more string) string {
	return `{"id":"` + id + `","summary":"` + id + `","start":{"dateTime":"2026-03-02T` + from + `Z"},"end":{"dateTime":"2026-03-02T` + to + `Z"}` + more + `}`
}

// TestOverlaps has events at the time of a new one.
func TestOverlaps(t *testing.T) {
	f, s := newFake(t, busy("dentist", "10:00:00", "10:30:00", ""), busy("early", "08:00:00", "09:30:00", ""), busy("late", "10:45:00", "11:00:00", ""),
		busy("free", "10:00:00", "10:30:00", `,"transparency":"transparent"`), busy("declined", "10:00:00", "10:30:00", `,"attendees":[{"self":true,"email":"me@example.com","responseStatus":"declined"}]`),
		`{"id":"fair","summary":"fair","start":{"date":"2026-03-01"},"end":{"date":"2026-03-03"}}`, `{"id":"tomorrow","summary":"tomorrow","start":{"date":"2026-03-03"},"end":{"date":"2026-03-04"}}`)
	for args, want := range map[string]string{
		`"start":"2026-03-02T09:30","end":"2026-03-02T10:45"`:                                     "dentist, Mon 2 Mar 2026 10:00–10:30 (Europe/London), fair, Sun 1 Mar 2026 – Mon 2 Mar 2026 (all day)",
		`"start":"2026-03-02T19:15+09:00","end":"2026-03-02T19:20+09:00","timeZone":"Asia/Tokyo"`: "dentist, Mon 2 Mar 2026 19:00–19:30 (Asia/Tokyo), fair, Sun 1 Mar 2026 – Mon 2 Mar 2026 (all day)",
		`"start":"2026-03-03","end":"2026-03-03"`:                                                 "",
		`"start":"2026-03-02T09:30","end":"2026-03-02T10:45","transparency":"transparent"`:        "",
		`"start":"2026-03-04T09:30","end":"2026-03-04T10:45","recurrence":"FREQ=DAILY"`:           "",
	} {
		f.order = f.order[:7] // without those of other rows
		res := tooltest.Call(t, bare(CreateName, s.create), `{"summary":"New",`+args+`}`)
		text, r := tooltest.Text(res), results[savedResult](t, res)
		if got := strings.Join(r.Overlaps, ", "); got != want || strings.Contains(text, "\n  Overlaps: "+want) != (want != "") || !strings.HasPrefix(text, "Event created successfully.") {
			t.Errorf("%s: %q; want %q\n%s", args, got, want, text)
		}
	}
	f.order = f.order[:7]
	text := tooltest.Text(tooltest.Call(t, bare(updateName, s.update), `{"eventId":"late","start":"2026-03-02T10:15","end":"2026-03-02T10:30","timeZone":"Europe/London"}`))
	if !strings.Contains(text, "Overlaps: dentist, Mon 2 Mar 2026 10:00–10:30 (Europe/London), fair") || strings.Contains(text, "late,") {
		t.Error(text)
	}
	f.requests = nil
	if text := tooltest.Text(tooltest.Call(t, bare(updateName, s.update), `{"eventId":"late","location":"Room 4"}`)); strings.Contains(text, "Overlaps") || len(f.requests) != 2 {
		t.Error(text)
	}
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		if r.query.Get("timeMin") != "" {
			refuse(w, http.StatusServiceUnavailable)
		}
		return r.query.Get("timeMin") != ""
	}
	f.requests = nil
	text = tooltest.Text(tooltest.Call(t, bare(CreateName, s.create), `{"summary":"New","start":"2026-03-02T10:15Z","end":"2026-03-02T10:30Z"}`))
	if !strings.HasPrefix(text, "Event created successfully.") || !strings.Contains(text, "Note: Whether it overlaps other events could not be checked.") || len(f.requests) != 2 {
		t.Errorf("%s\n%d requests", text, len(f.requests))
	}
}
