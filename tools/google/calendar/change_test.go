package calendar

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

const (
	series = `{"id":"series","summary":"Weekly","start":{"dateTime":"2026-03-02T09:00:00Z","timeZone":"Europe/London"},"end":{"dateTime":"2026-03-02T10:00:00Z","timeZone":"Europe/London"},"recurrence":["RRULE:FREQ=WEEKLY"]}`
	second = `{"id":"second","summary":"Weekly","start":{"dateTime":"2026-03-09T09:00:00Z","timeZone":"Europe/London"},"end":{"dateTime":"2026-03-09T10:00:00Z","timeZone":"Europe/London"},"recurringEventId":"series"}`
	gone   = `{"id":"gone","summary":"Old","status":"cancelled","start":{"date":"2026-03-02"},"end":{"date":"2026-03-03"}}`
)

// shown writes the body of a request.
func shown(body map[string]any) string {
	return strings.TrimPrefix(fmt.Sprint(body), "map")
}

func TestDelete(t *testing.T) {
	f, s := newFake(t, meeting, series, second, gone)
	tooltest.Run(t, bare(deleteName, s.deleteEvent), []tooltest.Case{
		{Name: "event", Args: `{"eventId":"meeting1","sendUpdates":"all"}`,
			Exact: "Event deleted successfully.\n  ID: meeting1\n  Summary: Planning\n  When: Mon 2 Mar 2026 09:00–10:30 (Europe/London)\n  Cancellations: mailed to ann@example.com"},
		{Name: "again", Args: `{"eventId":"meeting1"}`, Want: "The event was deleted already.\n  ID: meeting1"},
		{Name: "canceled", Args: `{"eventId":"gone"}`, Want: "The event was deleted already.", Check: func(t *testing.T, res domain.ToolResult) {
			if !results[deleteResult](t, res).Already {
				t.Error("not said in the structured content")
			}
		}},
		{Name: "series as one", Args: `{"eventId":"series"}`, Code: domain.CodeInvalidParams, Want: "scope must be all"},
		{Name: "unknown", Args: `{"eventId":"nope"}`, ErrorType: "not_found"},
		{Name: "all", Args: `{"eventId":"second","scope":"all"}`, Want: "ID: series"},
	})
	if sent := f.sent("DELETE"); len(sent) != 2 || sent[0].query.Get("sendUpdates") != "all" || sent[0].header.Get("If-Match") == "" || sent[1].path != "/calendars/primary/events/series" {
		t.Errorf("sent %v", sent)
	}
	f.answer = func(_ int, r request, w http.ResponseWriter) bool { // deleted by somebody else since it was read
		if r.method == "DELETE" {
			refuse(w, http.StatusGone)
		}
		return r.method == "DELETE"
	}
	tooltest.Run(t, bare(deleteName, s.deleteEvent), []tooltest.Case{{Name: "meanwhile", Args: `{"eventId":"second"}`, Want: "The event was deleted already."}})
}

func TestRespond(t *testing.T) {
	f, s := newFake(t, meeting, trip, gone)
	tooltest.Run(t, bare(respondName, s.respond), []tooltest.Case{
		{Name: "accept", Args: `{"eventId":"meeting1","response":"accepted","comment":"Late"}`, Wants: []string{"Response saved successfully.\n  ID: meeting1", "Note: The user's response is accepted."}},
		{Name: "not invited", Args: `{"eventId":"trip1","response":"accepted"}`, ErrorType: "not_found", Want: "not invited"},
		{Name: "deleted", Args: `{"eventId":"gone","response":"accepted"}`, ErrorType: "not_found", Want: "was deleted"},
		{Name: "perhaps", Args: `{"eventId":"meeting1","response":"maybe"}`, Code: domain.CodeInvalidParams, Want: "response must be one of"},
	})
	s.recipients = func(_ context.Context, addresses []string) error { return fmt.Errorf("no mail to %v", addresses) }
	tooltest.Run(t, bare(respondName, s.respond), []tooltest.Case{
		{Name: "no mail", Args: `{"eventId":"meeting1","response":"accepted","sendUpdates":"all"}`, ErrorType: "denied", Want: "no mail to [ann@example.com]"}})
	sent := f.sent("PATCH")
	if want := "[attendees:[map[comment:Late email:me@example.com responseStatus:accepted self:true]] attendeesOmitted:true]"; len(sent) != 1 || shown(sent[0].body) != want {
		t.Errorf("sent %v; want %s", sent, want)
	}
}

func TestCalendars(t *testing.T) {
	f, s := newFake(t, meeting)
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		switch {
		case r.path != "/users/me/calendarList":
			return false
		case r.query.Get("pageToken") == "":
			respond(w, map[string]any{"nextPageToken": "more", "items": []any{
				map[string]any{"id": "me@example.com", "summary": "me@example.com", "summaryOverride": "Me", "timeZone": "Europe/London", "accessRole": "owner", "primary": true}}})
		default:
			respond(w, map[string]any{"items": []any{
				map[string]any{"id": "team@example.com", "summary": "Team", "accessRole": "writer"},
				map[string]any{"id": "a@example.com", "summary": "Twice", "accessRole": "reader"},
				map[string]any{"id": "b@example.com", "summary": "twice", "accessRole": "reader"}}})
		}
		return true
	}
	tooltest.Run(t, bare(calendarsName, s.listCalendars), []tooltest.Case{{Name: "all", Args: `{}`,
		Exact: "Me (ID: me@example.com, owner, Europe/London, primary)\nTeam (ID: team@example.com, writer)\nTwice (ID: a@example.com, reader)\ntwice (ID: b@example.com, reader)"}})
	tooltest.Run(t, bare(ListName, s.list), []tooltest.Case{
		{Name: "by name", Args: `{"calendarId":"team"}`, Want: "ID: meeting1"},
		{Name: "unknown", Args: `{"calendarId":"Holidays"}`, Code: domain.CodeInvalidParams, Want: `calendarId names no calendar: "Holidays"; there are: Me, Team, Twice, twice`},
		{Name: "several", Args: `{"calendarId":"TWICE"}`, Code: domain.CodeInvalidParams, Want: "use an ID: a@example.com, b@example.com"},
	})
}
