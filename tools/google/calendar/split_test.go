package calendar

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestDivide divides series, across changes of the clocks too.
func TestDivide(t *testing.T) {
	for _, test := range []struct {
		name, lines       string
		first, at, to     string // local times in London, or dates
		deleted           string
		before, after     string
		beginsBesidesRule bool
	}{
		{"without an end", "RRULE:FREQ=WEEKLY;BYDAY=MO", "2026-03-02T09:00", "2026-03-30T09:00", "2026-03-30T09:00", "",
			"RRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20260330T075959Z", "RRULE:FREQ=WEEKLY;BYDAY=MO", false},
		{"count", "RRULE:FREQ=WEEKLY;COUNT=10", "2026-03-02T09:00", "2026-03-30T09:00", "2026-03-30T11:00", "",
			"RRULE:FREQ=WEEKLY;UNTIL=20260330T075959Z", "RRULE:FREQ=WEEKLY;COUNT=6", false},
		{"until", "RRULE:FREQ=DAILY;UNTIL=20260401T080000Z;INTERVAL=2", "2026-03-02T09:00", "2026-03-04T09:00", "2026-03-04T09:00", "",
			"RRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20260304T085959Z", "RRULE:FREQ=DAILY;UNTIL=20260401T080000Z;INTERVAL=2", false},
		{"days", "RRULE:FREQ=DAILY;COUNT=5", "2026-03-02", "2026-03-04", "2026-03-04", "2026-03-03 2026-03-05",
			"RRULE:FREQ=DAILY;UNTIL=20260303", "RRULE:FREQ=DAILY;COUNT=3 EXDATE;VALUE=DATE:20260305", false},
		{"deleted ones move with it", "RRULE:FREQ=WEEKLY", "2026-03-02T09:00", "2026-03-09T09:00", "2026-03-10T10:30", "2026-03-02T09:00 2026-03-16T09:00 2026-03-30T09:00",
			"RRULE:FREQ=WEEKLY;UNTIL=20260309T085959Z", "RRULE:FREQ=WEEKLY EXDATE:20260317T103000Z,20260331T093000Z", false},
		{"exceptions", "EXDATE;TZID=Europe/London:20260303T090000,20260331T090000 RRULE:FREQ=DAILY", "2026-03-02T09:00", "2026-03-30T09:00", "2026-03-30T09:00", "",
			"EXDATE;TZID=Europe/London:20260303T090000,20260331T090000 RRULE:FREQ=DAILY;UNTIL=20260330T075959Z", "RRULE:FREQ=DAILY EXDATE:20260331T080000Z", false},
		{"to another weekday", "RRULE:FREQ=WEEKLY;BYDAY=MO", "2026-03-02T09:00", "2026-03-09T09:00", "2026-03-10T09:00", "",
			"RRULE:FREQ=WEEKLY;BYDAY=MO;UNTIL=20260309T085959Z", "RRULE:FREQ=WEEKLY;BYDAY=MO", true},
	} {
		at := func(text string) span {
			s, problem := parseStamp(text)
			if problem != "" {
				t.Fatal(problem)
			}
			if s.date {
				return span{allDay: true, start: s.at, end: s.at}
			}
			start, _, _ := s.in(load(t, "Europe/London"))
			return span{start: start, end: start.Add(time.Hour)}
		}
		p := split{master: &gcal.Event{Recurrence: strings.Fields(test.lines)}, whole: at(test.first), at: at(test.at)}
		var deleted []time.Time
		for _, text := range strings.Fields(test.deleted) {
			deleted = append(deleted, at(text).start)
		}
		before, after, begins := p.recurrence(at(test.to), deleted)
		if got := strings.Join(before, " "); got != test.before {
			t.Errorf("%s: ends as %s; want %s", test.name, got, test.before)
		}
		if got := strings.Join(after, " "); got != test.after || begins == test.beginsBesidesRule {
			t.Errorf("%s: goes on as %s, %v; want %s", test.name, got, begins, test.after)
		}
	}
}

const (
	third   = `{"id":"third","summary":"Weekly","start":{"dateTime":"2026-03-16T09:00:00Z","timeZone":"Europe/London"},"end":{"dateTime":"2026-03-16T10:00:00Z","timeZone":"Europe/London"},"recurringEventId":"series","originalStartTime":{"dateTime":"2026-03-16T09:00:00Z","timeZone":"Europe/London"}}`
	firstOf = `{"id":"first","summary":"Weekly","start":{"dateTime":"2026-03-02T09:00:00Z","timeZone":"Europe/London"},"end":{"dateTime":"2026-03-02T10:00:00Z","timeZone":"Europe/London"},"recurringEventId":"series","originalStartTime":{"dateTime":"2026-03-02T09:00:00Z","timeZone":"Europe/London"}}`
)

// TestFollowing changes and deletes an occurrence and those that follow.
func TestFollowing(t *testing.T) {
	whole := strings.Replace(strings.Replace(series, `"RRULE:FREQ=WEEKLY"`, `"RRULE:FREQ=WEEKLY;COUNT=10"`, 1), `"summary"`,
		`"iCalUID":"series@google.com","location":"Room 4","reminders":{"useDefault":false,"overrides":[{"method":"popup","minutes":0}]},"attendees":[{"email":"ann@example.com"}],"summary"`, 1)
	exception := func(id, status, day string) string {
		return fmt.Sprintf(`{"id":%q,"status":%q,"recurringEventId":"series","originalStartTime":{"dateTime":"%sT09:00:00Z"}}`, id, status, day)
	}
	setUp := func() (*fake, *toolset) {
		f, s := newFake(t, whole, firstOf, third, exception("x1", "cancelled", "2026-03-09"), exception("x2", "cancelled", "2026-03-23"), exception("x3", "confirmed", "2026-03-23"))
		return f, s
	}
	f, s := setUp()
	text := tooltest.Text(tooltest.Call(t, bare(updateName, s.update), `{"eventId":"third","scope":"following","start":"2026-03-16T11:00","summary":"Later","sendUpdates":"all"}`))
	posts, patches := f.sent("POST"), f.sent("PATCH")
	if len(posts) != 1 || len(patches) != 1 {
		t.Fatalf("%v\n%s", f.requests, text)
	}
	made := posts[0].body
	delete(made, "etag")
	id := made["id"]
	if got, want := strings.TrimSpace(fmt.Sprintln(made["start"], made["end"], made["recurrence"], made["summary"], made["location"], made["attendees"], made["reminders"])),
		"map[dateTime:2026-03-16T11:00:00Z timeZone:Europe/London] map[dateTime:2026-03-16T12:00:00Z timeZone:Europe/London] [RRULE:FREQ=WEEKLY;COUNT=8 EXDATE:20260323T110000Z] "+
			"Later Room 4 [map[email:ann@example.com]] map[overrides:[map[method:popup minutes:0]] useDefault:false]"; got != want {
		t.Errorf("made %s\nwant %s", got, want)
	}
	if made["iCalUID"] != nil || id == "series" || posts[0].query.Get("sendUpdates") != "all" {
		t.Errorf("%v", made)
	}
	if got := shown(patches[0].body); got != "[recurrence:[RRULE:FREQ=WEEKLY;UNTIL=20260316T085959Z]]" || patches[0].path != "/calendars/primary/events/series" || patches[0].header.Get("If-Match") == "" {
		t.Errorf("%s to %s", got, patches[0].path)
	}
	for _, want := range []string{"Event updated successfully.\n  ID: " + fmt.Sprint(id), "Note: The series series ends before 2026-03-16; this is a new one.",
		"Note: Occurrences that had been changed by themselves are like the others now: 2026-03-16, 2026-03-23."} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s\nwant %s", text, want)
		}
	}

	f, s = setUp()
	tooltest.Run(t, bare(updateName, s.update), []tooltest.Case{
		{Name: "of the first", Args: `{"eventId":"first","scope":"following","summary":"All","start":"2026-03-02T10:00"}`, Want: "ID: series"},
		{Name: "not recurring", Args: `{"eventId":"series","scope":"following","summary":"x"}`, Code: domain.CodeInvalidParams, Want: "scope following requires the eventId of an occurrence"},
	})
	if len(f.sent("POST")) != 0 || len(f.sent("PATCH")) != 1 {
		t.Errorf("%v", f.requests)
	}
	f, s = setUp()
	tooltest.Run(t, bare(deleteName, s.deleteEvent), []tooltest.Case{
		{Name: "delete", Args: `{"eventId":"third","scope":"following"}`, Want: "Event deleted successfully.\n  ID: third\n  Summary: Weekly\n  When: Mon 16 Mar 2026 09:00–10:00 (Europe/London), and those that follow"},
		{Name: "delete from the first", Args: `{"eventId":"first","scope":"following"}`, Want: "Event deleted successfully."},
	})
	if gone, ended := f.sent("DELETE"), f.sent("PATCH"); len(gone) != 1 || gone[0].path != "/calendars/primary/events/series" || len(ended) != 1 || shown(ended[0].body) != "[recurrence:[RRULE:FREQ=WEEKLY;UNTIL=20260316T085959Z]]" {
		t.Errorf("%v", f.requests)
	}
	tooltest.Run(t, bare(respondName, s.respond), []tooltest.Case{{Name: "respond", Args: `{"eventId":"third","scope":"following","response":"accepted"}`, Code: domain.CodeInvalidParams, Want: "scope must be this or all"}})
}

// TestFollowingFails has the second step fail, and the first.
func TestFollowingFails(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers map[string]int // by method
		want    string
		methods []string
	}{
		{"not made", map[string]int{"POST": 403}, "the old series is as it was, and the new one was not made for certain: ", []string{"POST"}},
		{"not ended", map[string]int{"PATCH": 412}, "nothing was changed, as the old series could not be ended and the new one was deleted again: ", []string{"POST", "PATCH", "DELETE"}},
		{"neither ended nor undone", map[string]int{"PATCH": 412, "DELETE": 403}, "the new series exists, and it is not certain that the old one ends before it: ", []string{"POST", "PATCH", "DELETE"}},
		{"unknown", map[string]int{"PATCH": 503}, "the new series exists, and it is not certain that the old one ends before it: ", []string{"POST", "PATCH"}},
	} {
		f, s := newFake(t, series, third)
		f.answer = func(_ int, r request, w http.ResponseWriter) bool {
			status := test.answers[r.method]
			if status != 0 {
				refuse(w, status)
			}
			return status != 0
		}
		res := tooltest.Call(t, bare(updateName, s.update), `{"eventId":"third","scope":"following","summary":"New"}`)
		var methods []string
		for _, r := range f.requests {
			if r.method != "GET" {
				methods = append(methods, r.method)
			}
		}
		if text := tooltest.Text(res); !res.IsError || !strings.Contains(text, test.want) || !slices.Equal(methods, test.methods) {
			t.Errorf("%s: %v\n%s", test.name, methods, text)
		}
	}
	_, s := newFake(t, strings.Replace(series, `"summary"`, `"organizer":{"email":"ann@example.com"},"summary"`, 1), third)
	tooltest.Run(t, bare(updateName, s.update), []tooltest.Case{{Name: "of somebody else", Args: `{"eventId":"third","scope":"following","summary":"x"}`, ErrorType: "denied", Want: "somebody else organizes it"}})
}
