package calendar

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestUpdate(t *testing.T) {
	for _, test := range []struct {
		name, args string
		path, sent string // of the request that changes the event
		want       []string
	}{
		{"title", `{"eventId":"meeting1","summary":"New"}`, "meeting1", `[summary:New]`,
			[]string{"Event updated successfully.\n  ID: meeting1\n  Summary: New\n  Start: 2026-03-02T09:00:00Z", "nobody was mailed (sendUpdates: none): ann@example.com"}},
		{"nothing left", `{"eventId":"meeting1","description":"","location":""}`, "meeting1", `[description: location:]`, nil},
		{"start keeps the length", `{"eventId":"meeting1","start":"2026-03-29T00:30"}`, "meeting1",
			`[end:map[dateTime:2026-03-29T03:00:00+01:00 timeZone:Europe/London] start:map[dateTime:2026-03-29T00:30:00Z timeZone:Europe/London]]`, []string{"1 h 30 min"}},
		{"instant", `{"eventId":"meeting1","start":"2026-07-01T11:35-07:00","sendUpdates":"all"}`, "meeting1",
			`[end:map[dateTime:2026-07-01T21:05:00+01:00 timeZone:Europe/London] start:map[dateTime:2026-07-01T19:35:00+01:00 timeZone:Europe/London]]`,
			[]string{"Invitations: mailed to ann@example.com", "is 2026-07-01T19:35 in Europe/London"}},
		{"end", `{"eventId":"meeting1","end":"2026-03-02T09:15"}`, "meeting1",
			`[end:map[dateTime:2026-03-02T09:15:00Z timeZone:Europe/London] start:map[dateTime:2026-03-02T09:00:00Z timeZone:Europe/London]]`, []string{"15 min"}},
		{"zone", `{"eventId":"meeting1","start":"2026-03-02T09:00","end":"2026-03-02T10:00","timeZone":"Asia/Tokyo"}`, "meeting1",
			`[end:map[dateTime:2026-03-02T10:00:00+09:00 timeZone:Asia/Tokyo] start:map[dateTime:2026-03-02T09:00:00+09:00 timeZone:Asia/Tokyo]]`, []string{"(Asia/Tokyo)"}},
		{"zone alone", `{"eventId":"series","scope":"all","timeZone":"Europe/Berlin"}`, "series",
			`[end:map[dateTime:2026-03-02T11:00:00+01:00 timeZone:Europe/Berlin] start:map[dateTime:2026-03-02T10:00:00+01:00 timeZone:Europe/Berlin]]`,
			[]string{"Note: Only the zone was changed: it is still at 2026-03-02T10:00:00+01:00. For another time give start, too."}},
		{"zone alone by an occurrence", `{"eventId":"second","scope":"all","timeZone":"UTC"}`, "series",
			`[end:map[dateTime:2026-03-02T10:00:00Z timeZone:UTC] start:map[dateTime:2026-03-02T09:00:00Z timeZone:UTC]]`, nil},
		{"zone as it is", `{"eventId":"meeting1","summary":"New","timeZone":"Europe/London"}`, "meeting1", `[summary:New]`, nil},
		{"days", `{"eventId":"trip1","start":"2026-03-10"}`, "trip1", `[end:map[date:2026-03-13] start:map[date:2026-03-10]]`, []string{"End: 2026-03-12"}},
		{"last day", `{"eventId":"trip1","end":"2026-03-02"}`, "trip1", `[end:map[date:2026-03-03] start:map[date:2026-03-02]]`, []string{"1 day"}},
		{"to all-day", `{"eventId":"meeting1","start":"2026-03-10","end":"2026-03-10"}`, "meeting1",
			`[end:map[date:2026-03-11 dateTime:<nil> timeZone:<nil>] start:map[date:2026-03-10 dateTime:<nil> timeZone:<nil>]]`, []string{"Tue 10 Mar 2026 (all day)"}},
		{"to times", `{"eventId":"trip1","start":"2026-03-10T09:00","end":"2026-03-10T10:00"}`, "trip1",
			`[end:map[date:<nil> dateTime:2026-03-10T10:00:00Z timeZone:Europe/London] start:map[date:<nil> dateTime:2026-03-10T09:00:00Z timeZone:Europe/London]]`, nil},
		{"people", `{"eventId":"meeting1","addAttendees":"cat@example.com, ANN@example.com","removeAttendees":"me@example.com"}`, "meeting1",
			`[attendees:[map[email:ann@example.com organizer:true responseStatus:accepted] map[email:cat@example.com]]]`, []string{"cat@example.com"}},
		{"nobody", `{"eventId":"meeting1","removeAttendees":"me@example.com,ann@example.com","sendUpdates":"all"}`, "meeting1", `[attendees:[]]`,
			[]string{"Invitations: mailed to me@example.com, ann@example.com"}},
		{"occurrence", `{"eventId":"second","summary":"New"}`, "second", `[summary:New]`, nil},
		{"all of an occurrence", `{"eventId":"second","scope":"all","summary":"New"}`, "series", `[summary:New]`, []string{"Recurrence: RRULE:FREQ=WEEKLY"}},
		{"series", `{"eventId":"series","scope":"all","start":"2026-03-03T09:00","recurrence":["FREQ=DAILY;COUNT=3"]}`, "series",
			`[end:map[dateTime:2026-03-03T10:00:00Z timeZone:Europe/London] recurrence:[RRULE:FREQ=DAILY;COUNT=3] start:map[dateTime:2026-03-03T09:00:00Z timeZone:Europe/London]]`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, s := newFake(t, meeting, trip, series, second)
			etag := f.events[test.path]["etag"]
			text := tooltest.Text(tooltest.Call(t, bare(updateName, s.update), test.args))
			sent := f.sent("PATCH")
			if len(sent) != 1 || sent[0].path != "/calendars/primary/events/"+test.path || shown(sent[0].body) != test.sent || sent[0].header.Get("If-Match") != etag {
				t.Fatalf("sent %v; want %s to %s", sent, test.sent, test.path)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("got %q\nwant %q", text, want)
				}
			}
		})
	}
}

func TestUpdateRefused(t *testing.T) {
	f, s := newFake(t, meeting, trip, series, second, gone, strings.Replace(strings.Replace(meeting, "meeting1", "large", 1), `"summary"`, `"attendeesOmitted":true,"summary"`, 1))
	s.recipients = func(_ context.Context, addresses []string) error {
		if slices.Contains(addresses, "eve@bad.example") || slices.Contains(addresses, "ann@example.com") {
			return errors.New("not allowed")
		}
		return nil
	}
	invalid := func(name, args, want string) tooltest.Case {
		return tooltest.Case{Name: name, Args: args, Code: domain.CodeInvalidParams, Want: want}
	}
	tooltest.Run(t, bare(updateName, s.update), []tooltest.Case{
		invalid("nothing", `{"eventId":"meeting1"}`, "nothing to change is given"),
		invalid("zone of days", `{"eventId":"trip1","timeZone":"UTC"}`, "timeZone changes nothing of an all-day event"),
		invalid("half", `{"eventId":"meeting1","start":"2026-03-10"}`, "start and end must both be given"),
		invalid("other half", `{"eventId":"trip1","end":"2026-03-10T10:00"}`, "start and end must both be given"),
		invalid("backwards", `{"eventId":"meeting1","end":"2026-03-02T08:00"}`, "end must be after start"),
		invalid("no time", `{"eventId":"meeting1","start":"2026-03-29T01:30"}`, "start does not exist in Europe/London"),
		invalid("series as one", `{"eventId":"series","summary":"x"}`, "scope must be all"),
		invalid("time of all by one", `{"eventId":"second","scope":"all","start":"2026-03-09T10:00"}`, "use eventId series"),
		invalid("recurrence of one", `{"eventId":"second","recurrence":["FREQ=DAILY"]}`, "use scope all"),
		invalid("not invited", `{"eventId":"meeting1","removeAttendees":"zoe@example.com"}`, "zoe@example.com, who is not invited"),
		invalid("no address", `{"eventId":"meeting1","addAttendees":"zoe"}`, `addAttendees "zoe" is not an address`),
		{Name: "not allowed", Args: `{"eventId":"trip1","addAttendees":"eve@bad.example"}`, ErrorType: "denied", Want: "not allowed"},
		{Name: "mail not allowed", Args: `{"eventId":"meeting1","summary":"x","sendUpdates":"all"}`, ErrorType: "denied", Want: "not allowed"},
		{Name: "large", Args: `{"eventId":"large","addAttendees":"zoe@example.com"}`, ErrorType: "too_large", Want: "more attendees than Google returns"},
		{Name: "deleted", Args: `{"eventId":"gone","summary":"x"}`, ErrorType: "not_found", Want: `the event "gone" was deleted`},
		{Name: "unknown", Args: `{"eventId":"nope","summary":"x"}`, ErrorType: "not_found", Want: `no event "nope"`},
	})
	if sent := f.sent("PATCH"); len(sent) != 0 {
		t.Errorf("sent %v", sent)
	}
	status := http.StatusPreconditionFailed
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		if r.method == "PATCH" {
			refuse(w, status)
		}
		return r.method == "PATCH"
	}
	tooltest.Run(t, bare(updateName, s.update), []tooltest.Case{{Name: "changed", Args: `{"eventId":"trip1","summary":"x"}`, ErrorType: "conflict", Want: "nothing was saved"}})
	status = http.StatusServiceUnavailable
	tooltest.Run(t, bare(updateName, s.update), []tooltest.Case{{Name: "overloaded", Args: `{"eventId":"trip1","summary":"x"}`, ErrorType: "overloaded", Want: "it is unknown whether the event was changed"}})
	if sent := f.sent("PATCH"); len(sent) != 2 {
		t.Errorf("sent %v", sent)
	}
}
