//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// TestGoogleCalendarSeveral lists several calendars in one call, of which one cannot be read, and searches without a range.
func TestGoogleCalendarSeveral(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	team := g.google.AddCalendar(alice, fake.Calendar{Summary: "Team, Berlin", TimeZone: "Europe/Berlin"})
	broken := g.google.AddCalendar(alice, fake.Calendar{Summary: "Broken"})
	g.google.Fail(func(r *http.Request) bool { return strings.Contains(r.URL.Path, broken) }, 1000, fake.NotFound("calendar"))
	day := map[string]any{"timeMin": "2026-03-02", "timeMax": "2026-03-02"}
	for _, e := range []map[string]any{on("summary", "Late", "start", "2026-03-02T15:00", "end", "2026-03-02T16:00"), on("summary", "Middle", "calendarId", team),
		on("summary", "Early", "start", "2026-03-02T08:30", "end", "2026-03-02T08:40"), on("summary", "Day", "calendarId", "Team, Berlin", "start", "2026-03-02", "end", "2026-03-02")} {
		g.create(e)
	}
	for _, form := range []any{"all", []string{"all"}, "alice@example.com," + team + "," + broken, []string{"primary", "team, berlin", "BROKEN"}[0:1], `["primary","all"]`} {
		args := map[string]any{"calendarId": form, "timeMin": day["timeMin"], "timeMax": day["timeMax"]}
		o := g.box.checked("calendar_list_events", args)
		var titles []string
		for _, e := range o.structure["events"].([]any) {
			titles = append(titles, e.(map[string]any)["summary"].(string))
		}
		want := []string{"Day", "Middle", "Early", "Late"} // 09:00 in Berlin is 08:00
		if f, ok := form.([]string); ok && f[0] == "primary" {
			want = []string{"Early", "Late"}
		} else {
			shows(t, fmt.Sprint(form), o, "\nNot read: ", "there is no calendar", "Calendar: ")
		}
		if o.failed || !slices.Equal(titles, want) {
			t.Errorf("%v: %q; want %q\n%v", form, titles, want, o)
		}
	}
	soon := time.Now().UTC().AddDate(0, 0, 20).Format("2006-01-02")
	g.create(on("summary", "Dentist", "start", soon, "end", soon))
	o := g.box.call("calendar_list_events", map[string]any{"query": "dentist"})
	shows(t, "query", o, "Summary: Dentist", "Range: from "+time.Now().In(zoneOf(t, "Europe/London")).Format("2006-01-02")+"T00:00:00")
}

// TestGoogleCalendarNamesDenied has a person keep the list of calendars to themselves.
func TestGoogleCalendarNamesDenied(t *testing.T) {
	t.Parallel()
	g := &calendarGround{googleGround: newGoogleGround(t, account{"own", os.Geteuid()}, "", "")}
	g.box = g.serve()
	newVisitor(t).allows(g.address(g.box.call("calendar_list_events", map[string]any{}).text), alice, "https://www.googleapis.com/auth/calendar.events")
	if o := g.box.call("calendar_list_events", map[string]any{}); o.failed {
		t.Error(o)
	}
	o := g.box.call("calendar_list_events", map[string]any{"calendarId": "all"})
	shows(t, "all", o, "Error listing calendar events", "permission")
	if !o.failed {
		t.Error(o)
	}
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	must(t, err)
	return loc
}

// TestGoogleCalendarPeople gives attendees in the forms that models write, and has events overlap.
func TestGoogleCalendarPeople(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	for _, form := range []any{"bob@example.com, Cat <cat@x.org> (optional)", []string{"bob@example.com", "Cat <cat@x.org> (optional)"},
		[]any{map[string]any{"email": bob}, map[string]any{"email": "cat@x.org", "displayName": "Cat", "optional": true}}, `[{"email":"bob@example.com"},{"email":"cat@x.org","name":"Cat","optional":true}]`} {
		id := eventID(g.create(on("attendees", form)))
		shows(t, fmt.Sprint(form), g.box.call("calendar_get_event", map[string]any{"eventId": id}), bob, "cat@x.org", "optional")
	}
	o := g.create(on("summary", "Dentist", "start", "2026-03-02T09:30", "end", "2026-03-02T11:00"))
	shows(t, "overlap", o, "\n  Overlaps: Review, Mon 2 Mar 2026 09:00–10:00 (Europe/London), Review")
	if n := len(o.structure["overlaps"].([]any)); n != 4 {
		t.Errorf("%d: %v", n, o)
	}
}

// TestGoogleCalendarFollowing changes and deletes an occurrence and those that follow, across a change of the clocks.
func TestGoogleCalendarFollowing(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	series := eventID(g.create(on("summary", "Standup", "location", "Room 1", "attendees", bob, "recurrence", "FREQ=DAILY;COUNT=8", "start", "2026-03-26T09:00", "end", "2026-03-26T09:15")))
	occurrences := func() (all []map[string]any, starts string) {
		for _, e := range g.events() {
			e := e.(map[string]any)
			all = append(all, e)
			starts += strings.TrimPrefix(e["start"].(map[string]any)["dateTime"].(string), "2026-") + " " + e["summary"].(string) + "\n"
		}
		return all, starts
	}
	all, _ := occurrences()
	id := func(i int) string { return all[i]["id"].(string) }
	g.box.call("calendar_delete_event", map[string]any{"eventId": id(1)})
	g.box.call("calendar_delete_event", map[string]any{"eventId": id(6)})
	g.box.call("calendar_update_event", map[string]any{"eventId": id(5), "summary": "Special"})
	o := g.box.checked("calendar_update_event", map[string]any{"eventId": id(3), "scope": "following", "start": "2026-03-29T10:00", "summary": "Later"})
	shows(t, "update", o, "Event updated successfully.", "The series "+series+" ends before 2026-03-29; this is a new one.", "are like the others now: 2026-03-31.", "COUNT=5")
	all, starts := occurrences()
	if want := "03-26T09:00:00Z Standup\n03-28T09:00:00Z Standup\n03-29T10:00:00+01:00 Later\n03-30T10:00:00+01:00 Later\n03-31T10:00:00+01:00 Later\n04-02T10:00:00+01:00 Later\n"; starts != want {
		t.Errorf("%s\nwant %s", starts, want)
	}
	if e := g.stored("primary", eventID(o)); e.Location != "Room 1" || len(e.Attendees) != 1 || e.Attendees[0].Email != bob || e.Start.TimeZone != "Europe/London" {
		t.Errorf("stored %+v", e)
	}
	shows(t, "delete", g.box.checked("calendar_delete_event", map[string]any{"eventId": id(4), "scope": "following"}), "Event deleted successfully.", "and those that follow")
	if _, starts = occurrences(); !strings.HasSuffix(starts, "03-30T10:00:00+01:00 Later\n") || strings.Count(starts, "\n") != 4 {
		t.Error(starts)
	}
	g.google.Fail(requesting(http.MethodPatch, series), 1, fake.Answer{Status: http.StatusServiceUnavailable, Reason: "backendError", Message: "Backend Error"})
	o = g.box.call("calendar_update_event", map[string]any{"eventId": id(1), "scope": "following", "summary": "Third"})
	shows(t, "half", o, "the new series exists, and it is not certain that the old one ends before it", series)
	o = g.box.checked("calendar_update_event", map[string]any{"eventId": series, "scope": "all", "timeZone": "Europe/Berlin"})
	shows(t, "zone", o, "Only the zone was changed: it is still at 2026-03-26T10:00:00+01:00.")
	if e := g.stored("primary", series); e.Start.TimeZone != "Europe/Berlin" || e.Start.DateTime != "2026-03-26T09:00:00Z" {
		t.Errorf("stored %+v", e)
	}
}

// TestGoogleCredentialsFile signs in with the file that the console offers, which tools cannot read.
func TestGoogleCredentialsFile(t *testing.T) {
	t.Parallel()
	g := &calendarGround{googleGround: newGoogleGround(t, account{"own", os.Geteuid()}, "", "")}
	file := filepath.Join(g.dir, "client_secret_1.json")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `{"installed":{"client_id":"test-client","client_secret":%q,"redirect_uris":["http://localhost"]}}`, googleSecret), 0o600))
	g.configure(g.file, opened(g.at)+fmt.Sprintf("google: {credentials_file: client_secret_1.json, base_url: '%s'}\n", g.at.url))
	g.box = g.serve()
	g.signInAs(alice)
	g.create(on())
	if o := g.box.call("read_file", map[string]any{"path": file}); !o.failed || strings.Contains(o.text, googleSecret) {
		t.Errorf("%v", o)
	}
	if o := g.box.call("bash", map[string]any{"command": "cat " + file}); strings.Contains(o.text, googleSecret) {
		t.Errorf("%v", o)
	}
	must(t, os.WriteFile(file, []byte(`{"type":"service_account","private_key":"x"}`), 0o600))
	if text, code := g.command("check"); code == 0 || !strings.Contains(text, "google.credentials_file: is the key of a service account") {
		t.Errorf("%d: %s", code, text)
	}
}
