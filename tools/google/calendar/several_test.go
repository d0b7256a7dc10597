package calendar

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

// several has the fake have three calendars with events of their own, of which one cannot be read.
func several(f *fake) {
	at := func(id, calendar, start, end string) map[string]any {
		return map[string]any{"id": id, "summary": id + " of " + calendar, "status": "confirmed", "start": map[string]any{"dateTime": start}, "end": map[string]any{"dateTime": end}}
	}
	events := map[string][]any{
		"me@example.com":   {at("m1", "Me", "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"), at("m2", "Me", "2026-03-02T15:00:00+01:00", "2026-03-02T16:00:00+01:00")},
		"team@example.com": {map[string]any{"id": "t1", "summary": "Day", "status": "confirmed", "start": map[string]any{"date": "2026-03-02"}, "end": map[string]any{"date": "2026-03-03"}}, at("t2", "Team", "2026-03-02T14:30:00+01:00", "2026-03-02T14:45:00+01:00")},
	}
	events[primary] = events["me@example.com"]
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		id := strings.Split(r.path, "/")[2]
		switch {
		case r.path == "/users/me/calendarList":
			respond(w, map[string]any{"items": []any{
				map[string]any{"id": "me@example.com", "summary": "Me", "timeZone": "Europe/London", "accessRole": "owner", "primary": true},
				map[string]any{"id": "team@example.com", "summary": "Team, Berlin", "timeZone": "Europe/Berlin", "accessRole": "reader"},
				map[string]any{"id": "broken@example.com", "summary": "Broken", "timeZone": "UTC", "accessRole": "reader"}}})
		case events[id] == nil:
			refuse(w, http.StatusForbidden)
		default:
			most := 0
			_, _ = fmt.Sscan(r.query.Get("maxResults"), &most)
			answer := map[string]any{"timeZone": "Europe/London", "items": events[id][:min(most, len(events[id]))]}
			if most < len(events[id]) {
				answer["nextPageToken"] = "more"
			}
			respond(w, answer)
		}
		return true
	}
}

// TestListSeveral lists several calendars at once, in every form that names them.
func TestListSeveral(t *testing.T) {
	f, s := newFake(t)
	several(f)
	list := func(args string) (listResult, string, []request) {
		f.requests = nil
		res := tooltest.Call(t, bare(ListName, s.list), args)
		return results[listResult](t, res), tooltest.Text(res), f.requests
	}
	for args, requests := range map[string]int{
		`{"calendarId":"all"}`:   4, // the list and each
		`{"calendarId":["ALL"]}`: 4,
		`{"calendarId":"me@example.com, team@example.com,broken@example.com"}`:         4, // the zone and each
		`{"calendarId":["Me","team@example.com","broken"]}`:                            4,
		`{"calendars":"[\"primary\",\"team@example.com\",\"Broken\"]"}`:                4,
		`{"calendarIds":["all","me@example.com"],"timeZone":"Europe/London"}`:          4,
		`{"calendarId":"primary,broken@example.com,team@example.com","timeZone":"GB"}`: 3,
	} {
		r, text, sent := list(args)
		if ids := each(r.Events, func(e event) string { return e.ID }); !slices.Equal(ids, []string{"t1", "m1", "t2", "m2"}) || len(sent) != requests {
			t.Errorf("%s: %v in %d requests; want %d", args, ids, len(sent), requests)
		}
		if len(r.Failed) != 1 || !strings.HasPrefix(strings.ToLower(r.Failed[0]), "broken") || !strings.Contains(text, "\nNot read: "+r.Failed[0]) || r.NextPageToken != "" {
			t.Errorf("%s: failed %q, next %q:\n%s", args, r.Failed, r.NextPageToken, text)
		}
	}
	if _, text, _ := list(`{"calendarId":"all"}`); strings.Count(text, "\n  Calendar: ") != 4 || !strings.Contains(text, "Summary: t2 of Team") || !strings.Contains(text, "\n  Calendar: Team, Berlin\n") {
		t.Error(text)
	}
	if _, text, sent := list(`{"calendarId":"team, berlin"}`); len(sent) != 2 || strings.Contains(text, "Calendar:") || !strings.Contains(text, "(Europe/Berlin).") {
		t.Errorf("%v\n%s", sent, text)
	}
	if r, text, _ := list(`{"calendarId":"all","maxResults":3}`); len(r.Events) != 3 || r.Events[2].ID != "t2" || !strings.Contains(text, "There are more events: call again with timeMin after the last one") {
		t.Errorf("%s", text)
	}
	tooltest.Run(t, bare(ListName, s.list), []tooltest.Case{
		{Name: "all fail", Args: `{"calendarId":"broken,broken@example.com"}`, ErrorType: "denied"},
		{Name: "unknown", Args: `{"calendarId":["Me","Holidays"]}`, Code: domain.CodeInvalidParams, Want: `calendarId names no calendar: "Holidays"; there are: Me, Team, Berlin, Broken`},
	})
	tooltest.Run(t, bare(CreateName, s.create), []tooltest.Case{
		{Name: "one only", Args: `{"summary":"Talk","start":"2026-03-02","end":"2026-03-02","calendarId":"all"}`, Code: domain.CodeInvalidParams, Want: "calendarId must name one calendar, and names 3"}})
}

// TestZoneRequests counts the requests: the zone is asked for only where the range depends on it.
func TestZoneRequests(t *testing.T) {
	f, s := newFake(t, meeting)
	for args, want := range map[string]int{
		`{"timeMin":"2026-03-02T00:00:00Z"}`:                                       1,
		`{"timeMin":"2026-03-02T00:00:00Z","timeMax":"2026-03-09T00:00:00+01:00"}`: 1,
		`{"timeMin":"2026-03-02","timeZone":"UTC"}`:                                1,
		`{"timeMin":"2026-03-02"}`:                                                 2,
		`{"timeMin":"2026-03-02T00:00:00Z","timeMax":"2026-03-09"}`:                2,
		`{}`: 2,
	} {
		f.requests = nil
		res := tooltest.Call(t, bare(ListName, s.list), args)
		r := results[listResult](t, res)
		if len(f.requests) != want || r.TimeZone != "Europe/London" && r.TimeZone != "UTC" || r.Events[0].Start.TimeZone != r.TimeZone {
			t.Errorf("%s: %d requests, want %d; zone %s", args, len(f.requests), want, r.TimeZone)
		}
	}
	f.requests = nil
	tooltest.Run(t, bare(ListName, s.list), []tooltest.Case{
		{Name: "query from today on", Args: `{"query":"dentist"}`, Want: "Range: from 2026-03-02T00:00:00Z (Europe/London)."},
		{Name: "query of a day", Args: `{"query":"dentist","timeMin":"2026-03-03","timeMax":"2026-03-03"}`, Want: "Range: 2026-03-03T00:00:00Z to 2026-03-04T00:00:00Z (Europe/London)."},
	})
	if q := f.requests[1].query; q.Get("timeMax") != "" || q.Get("q") != "dentist" {
		t.Errorf("%v", q)
	}
}
