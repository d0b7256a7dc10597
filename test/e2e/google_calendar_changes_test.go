//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// requesting matches requests to Calendar of a method, whose path ends so.
func requesting(method, end string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.HasPrefix(r.URL.Path, "/calendar/") && strings.HasSuffix(r.URL.Path, end)
	}
}

// eventID returns the ID in an outcome.
func eventID(o outcome) string {
	id, _ := o.structure["id"].(string)
	return id
}

// TestGoogleCalendarCreateOnce has answers get lost: there is one event, and the call succeeds.
func TestGoogleCalendarCreateOnce(t *testing.T) {
	t.Parallel()
	unavailable := fake.BackendError()
	done := unavailable
	done.After = true
	for name, answers := range map[string][]fake.Answer{
		"the connection ends after it":          {{After: true, Drop: true}},
		"the connection ends before it":         {{Drop: true}},
		"503 after it":                          {done},
		"503 before it":                         {unavailable},
		"503, then the connection ends":         {unavailable, {After: true, Drop: true}},
		"the connection ends, then 503 at last": {{After: true, Drop: true}, unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newCalendarGround(t, "", "")
			for _, a := range answers {
				g.google.Fail(requesting(http.MethodPost, "/events"), 1, a)
			}
			o := g.create(on("attendees", bob, "sendUpdates", "all"))
			if all := g.events(); len(all) != 1 || all[0].(map[string]any)["id"] != eventID(o) {
				t.Errorf("%v; events %v", o, all)
			}
			if n := len(g.google.Invitations()[eventID(o)]); n != 1 {
				t.Errorf("invited %d times", n)
			}
			if n := g.writes(); n != len(answers)+1 {
				t.Errorf("%d requests", n)
			}
		})
	}
	t.Run("called again", func(t *testing.T) {
		t.Parallel()
		g := newCalendarGround(t, "", fullTier)
		first := g.create(on("eventId", "meeting2026"))
		again := g.create(on("eventId", "meeting2026"))
		shows(t, "again", again, "existed already", "ID: meeting2026")
		if strings.Contains(first.text, "existed") || len(g.events()) != 1 {
			t.Errorf("%v, %v", first, g.events())
		}
		for _, other := range []map[string]any{
			on("eventId", "meeting2026", "summary", "Other"), on("eventId", "meeting2026", "end", "2026-03-02T11:00"),
		} {
			if o := g.box.call("calendar_create_event", other); !o.failed || o.errorType != "already_exists" {
				t.Errorf("%v: %v", other, o)
			}
		}
		if o := g.box.call("calendar_delete_event", map[string]any{"eventId": "meeting2026"}); o.failed {
			t.Error(o)
		}
		if o := g.box.call("calendar_create_event", on("eventId", "meeting2026")); !o.failed || o.errorType != "already_exists" {
			t.Errorf("deleted: %v", o)
		}
	})
}

// TestGoogleCalendarUnknown has no attempt answered: the error says how to go on, and going on makes one event.
func TestGoogleCalendarUnknown(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	lost := fake.BackendError()
	lost.After, lost.Header = true, http.Header{"Retry-After": {"600"}} // which no call waits for
	g.google.Fail(requesting(http.MethodPost, "/events"), 1, lost)
	o := g.box.call("calendar_create_event", on())
	shows(t, "unknown", o, "Error creating calendar event: HTTP 503 from Google Calendar", "it is unknown whether the event was created", "Call again with the same arguments and eventId ")
	_, rest, _ := strings.Cut(o.text, "same arguments and eventId ")
	id, _, _ := strings.Cut(rest, ".")
	if !o.failed || strings.Contains(o.text, "successfully") {
		t.Errorf("%v", o)
	}
	shows(t, "again", g.create(on("eventId", id)), "ID: "+id, "existed already")
	if all := g.events(); len(all) != 1 {
		t.Errorf("events %v", all)
	}
}

// TestGoogleCalendarCancel cancels calls in flight, which end, and leave nothing.
func TestGoogleCalendarCancel(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	hold := make(chan struct{})
	defer close(hold)
	g.google.Fail(requesting(http.MethodPost, "/events"), 1, fake.Answer{Hold: hold})
	p := g.box.begin("calendar_create_event", on())
	eventually(t, "the event is sent", func() bool { return g.writes() == 1 })
	p.cancel()
	<-p.over
	if p.err == nil {
		t.Errorf("canceled: %+v", p.answer)
	}
	if all := g.events(); len(all) != 0 {
		t.Errorf("events %v", all)
	}
	g.create(on())
}

// TestGoogleCalendarInvitations mails people only if a call says so, and the answer says who.
func TestGoogleCalendarInvitations(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	const outside = "dora@outside.test"
	mailed := func(id string) []string {
		all := g.google.Invitations()[id]
		if len(all) == 0 {
			return []string{"no change"}
		}
		return all[len(all)-1].Mailed
	}
	people := "Bob <" + bob + ">, " + outside + ", BOB@example.com"
	for _, test := range []struct {
		updates string
		mailed  []string
		text    string
	}{
		{"", nil, "Invitations: nobody was mailed (sendUpdates: none): bob@example.com, dora@outside.test"},
		{"none", nil, "Invitations: nobody was mailed (sendUpdates: none): bob@example.com, dora@outside.test"},
		{"all", []string{bob, outside}, "Invitations: mailed to bob@example.com, dora@outside.test"},
		{"externalOnly", []string{outside}, "Invitations: mailed only to those who do not use Google Calendar, of bob@example.com, dora@outside.test"},
	} {
		args := on("attendees", people)
		if test.updates != "" {
			args["sendUpdates"] = test.updates
		}
		o := g.create(args)
		id := eventID(o)
		shows(t, "create "+test.updates, o, test.text)
		if got := mailed(id); !slices.Equal(got, test.mailed) {
			t.Errorf("create %q: mailed %q", test.updates, got)
		}
		change := map[string]any{"eventId": id, "location": "Room 1", "removeAttendees": outside, "addAttendees": "erin@outside.test"}
		remove := map[string]any{"eventId": id}
		if test.updates != "" {
			change["sendUpdates"], remove["sendUpdates"] = test.updates, test.updates
		}
		o = g.box.call("calendar_update_event", change)
		if o.failed {
			t.Fatal(o)
		}
		if got := mailed(id); slices.Contains(got, "erin@outside.test") != (test.mailed != nil) || slices.Contains(got, bob) != (test.updates == "all") {
			t.Errorf("update %q: mailed %q: %v", test.updates, got, o)
		}
		o = g.box.call("calendar_delete_event", remove)
		shows(t, "delete "+test.updates, o, "Event deleted successfully.", "Cancellations: ")
		if got := mailed(id); len(got) != len(test.mailed) {
			t.Errorf("delete %q: mailed %q: %v", test.updates, got, o)
		}
	}
	if o := g.create(on()); strings.Contains(o.text, "Invitations") {
		t.Errorf("without attendees: %v", o)
	}
}

// TestGoogleCalendarDryRun saves nothing.
func TestGoogleCalendarDryRun(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	o := g.box.checked("calendar_create_event", on("dryRun", true, "attendees", bob, "sendUpdates", "all", "timeZone", "America/New_York", "addMeet", true,
		"recurrence", []string{"RRULE:FREQ=WEEKLY;COUNT=3"}, "location", "Room 1"))
	shows(t, "dry run", o, "Dry run: nothing was saved.", "Start: 2026-03-02T09:00:00-05:00", "1 h", "Room 1", "RRULE:FREQ=WEEKLY;COUNT=3", bob)
	if o.failed || o.structure["dryRun"] != true || o.structure["id"] != "" || g.writes() != 0 || len(g.google.Invitations()) != 0 || strings.Contains(o.text, "mailed to") ||
		!strings.Contains(o.text, "Conference Link: would be created\n") {
		t.Errorf("%v, %d writes", o, g.writes())
	}
}

// TestGoogleCalendarInvalid has arguments that are wrong: the error names the one, and nothing is changed.
func TestGoogleCalendarInvalid(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	id := g.google.AddEvent(alice, "primary", `{"summary": "x", "start": {"dateTime": "2026-03-02T09:00:00Z"}, "end": {"dateTime": "2026-03-02T10:00:00Z"}}`)
	series := g.google.AddEvent(alice, "primary", `{"summary": "x", "recurrence": ["RRULE:FREQ=DAILY;COUNT=3"], "start": {"dateTime": "2026-03-02T09:00:00Z", "timeZone": "UTC"}, "end": {"dateTime": "2026-03-02T10:00:00Z", "timeZone": "UTC"}}`)
	for _, test := range []struct {
		tool, field, text string
		args              map[string]any
	}{
		{"create_event", "timeZone", "did you mean Europe/London?", on("timeZone", "Europe/Lodon")},
		{"create_event", "timeZone", "did you mean America/New_York?", on("timeZone", "New York")},
		{"create_event", "timeZone", "no IANA time zone", on("timeZone", "EST5EDT4")},
		{"create_event", "timeZone", `"Pacific Time"; use the zone of a city`, on("timeZone", "Pacific Time")},
		{"create_event", "timeZone", "no IANA time zone", on("timeZone", "Local")},
		{"create_event", "timeZone", "no IANA time zone", on("timeZone", "../../etc/passwd")},
		{"create_event", "end", "must be after start", on("end", "2026-03-02T08:00")},
		{"create_event", "end", "must be after start", on("end", "2026-03-02T09:00")},
		{"create_event", "end", "must not be before start", on("start", "2026-03-02", "end", "2026-03-01")},
		{"create_event", "end", "either all day or not", on("start", "2026-03-02")},
		{"create_event", "end", "either all day or not", on("end", "2026-03-02")},
		{"create_event", "start", "no date or time", on("start", "tomorrow at 9")},
		{"create_event", "start", "no date or time that exists", on("start", "2026-02-30")},
		{"create_event", "start", "no date or time that exists", on("start", "2026-03-02T25:00")},
		{"create_event", "start", "no date or time", on("start", "02/03/2026")},
		{"create_event", "start", "1900", on("start", "0001-01-01", "end", "2026-03-02")},
		{"create_event", "summary", "empty", on("summary", " ")},
		{"create_event", "attendees", `"bob"`, on("attendees", "bob")},
		{"create_event", "attendees", `x y@example.com`, on("attendees", bob+", x y@example.com")},
		{"create_event", "attendees", "", on("attendees", bob+"\r\nBcc: eve@outside.test")},
		{"create_event", "recurrence", "FREQ=SOMETIMES", on("recurrence", []string{"RRULE:FREQ=SOMETIMES"})},
		{"create_event", "recurrence", "COUNT and UNTIL", on("recurrence", []string{"RRULE:FREQ=DAILY;COUNT=2;UNTIL=20260401T000000Z"})},
		{"create_event", "recurrence", "arguments of their own", on("recurrence", []string{"DTSTART:20260302T090000Z"})},
		{"create_event", "recurrence", "EXDATE only", on("recurrence", []string{"EXDATE:20260302T090000Z"})},
		{"create_event", "calendarId", "there are: alice@example.com", on("calendarId", "Team")},
		{"create_event", "eventId", "", on("eventId", "Not-Valid")},
		{"create_event", "reminders", "", on("reminders", []any{map[string]any{"method": "popup", "minutes": 50000}})},
		{"create_event", "sendUpdates", "", on("sendUpdates", "everybody")},
		{"create_event", "user", "", on("user", alice)},
		{"list_events", "timeMax", "must be after timeMin", map[string]any{"timeMin": "2026-03-02", "timeMax": "2026-03-01"}},
		{"list_events", "timeMin", "no date or time", map[string]any{"timeMin": "yesterday"}},
		{"list_events", "timeZone", "no IANA time zone", map[string]any{"timeZone": "Mars/Olympus"}},
		{"list_events", "maxResults", "", map[string]any{"maxResults": 251}},
		{"get_event", "timeZone", "no IANA time zone", map[string]any{"eventId": id, "timeZone": "CET/x"}},
		{"get_event", "eventId", "", map[string]any{}},
		{"update_event", "", "nothing to change", map[string]any{"eventId": id}},
		{"update_event", "end", "must be after start", map[string]any{"eventId": id, "end": "2026-03-02T08:00"}},
		{"update_event", "start", "must both be given", map[string]any{"eventId": id, "start": "2026-03-02"}},
		{"update_event", "removeAttendees", "not invited", map[string]any{"eventId": id, "removeAttendees": bob}},
		{"update_event", "scope", "must be all", map[string]any{"eventId": series, "location": "x"}},
		{"delete_event", "scope", "must be all", map[string]any{"eventId": series}},
		{"respond_event", "response", "", map[string]any{"eventId": id, "response": "maybe"}},
		{"free_busy", "timeMax", "93 days", map[string]any{"timeMin": "2026-01-01", "timeMax": "2026-12-31"}},
		{"free_busy", "workingHours", "", map[string]any{"timeMin": "2026-01-01", "timeMax": "2026-01-02", "workingHours": "17:00-09:00"}},
	} {
		o := g.box.call("calendar_"+test.tool, test.args)
		if o.errorType != "-32602" || !strings.Contains(o.text, test.field) || !strings.Contains(o.text, test.text) || strings.Contains(o.text, "\n") {
			t.Errorf("%s %v: %v; want %s and %q", test.tool, test.args, o, test.field, test.text)
		}
	}
	if o := g.box.call("calendar_create_event", on("calendarId", "nobody@example.com")); o.errorType != "not_found" {
		t.Errorf("unknown calendar: %v", o)
	} else {
		shows(t, "unknown calendar", o, `there is no calendar "nobody@example.com"`)
	}
	if n := g.writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// TestGoogleCalendarConflict has somebody change an event between the read and the write of a call.
func TestGoogleCalendarConflict(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	id := eventID(g.create(on()))
	for tool, args := range map[string]map[string]any{
		"calendar_update_event": {"eventId": id, "summary": "Mine", "location": "Here"}, "calendar_delete_event": {"eventId": id},
	} {
		method := map[string]string{"calendar_update_event": http.MethodPatch, "calendar_delete_event": http.MethodDelete}[tool]
		hold := make(chan struct{})
		g.google.Fail(requesting(method, id), 1, fake.Answer{Hold: hold})
		before := g.writes()
		p := g.box.begin(tool, args)
		eventually(t, "the change is sent", func() bool { return g.writes() > before })
		if o := g.box.call("calendar_update_event", map[string]any{"eventId": id, "summary": "Theirs " + method}); o.failed {
			t.Fatal(o)
		}
		close(hold)
		o := g.box.finish(p)
		shows(t, tool, o, "somebody else changed the event during the call, and nothing was saved", "calendar_get_event")
		if o.errorType != "conflict" {
			t.Errorf("%s: %v", tool, o)
		}
		if e := g.stored("primary", id); e.Summary != "Theirs "+method || e.Location != "" || e.Status != "confirmed" {
			t.Errorf("%s: %+v", tool, e)
		}
	}
}

// TestGoogleCalendarChanges updates and deletes events, and occurrences of one that is repeated.
func TestGoogleCalendarChanges(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	id := eventID(g.create(on("description", "Bring figures.", "location", "Room 1", "attendees", bob)))
	o := g.box.checked("calendar_update_event", map[string]any{"eventId": id, "start": "2026-03-02T14:00-05:00", "location": "", "summary": "Review 2"})
	shows(t, "update", o, "Event updated successfully.", "Summary: Review 2", "Start: 2026-03-02T19:00:00Z", "End: 2026-03-02T20:00:00Z")
	e := g.stored("primary", id)
	if e.Start.DateTime != "2026-03-02T19:00:00Z" || e.End.DateTime != "2026-03-02T20:00:00Z" || e.Location != "" || e.Description != "Bring figures." || len(e.Attendees) != 1 {
		t.Errorf("stored %+v", e)
	}
	if o := g.box.checked("calendar_delete_event", map[string]any{"eventId": id}); o.failed || o.structure["alreadyDeleted"] != false {
		t.Errorf("delete: %v", o)
	}
	again := g.box.call("calendar_delete_event", map[string]any{"eventId": id})
	shows(t, "again", again, "The event was deleted already.")
	if again.failed || again.structure["alreadyDeleted"] != true {
		t.Errorf("again: %v", again)
	}
	for _, args := range []map[string]any{{"eventId": id, "summary": "x"}, {"eventId": "nothinglikethis", "summary": "x"}} {
		if o := g.box.call("calendar_update_event", args); o.errorType != "not_found" {
			t.Errorf("update of %v: %v", args, o)
		}
	}
	if o := g.box.call("calendar_delete_event", map[string]any{"eventId": "nothinglikethis"}); o.errorType != "not_found" {
		t.Errorf("delete of nothing: %v", o)
	}
	// One occurrence, then all.
	series := eventID(g.create(on("summary", "Standup", "recurrence", []string{"RRULE:FREQ=DAILY;COUNT=4"}, "start", "2026-03-27T09:00", "end", "2026-03-27T09:15")))
	all := g.events()
	if len(all) != 4 {
		t.Fatalf("events %v", all)
	}
	var starts []string
	for _, e := range all {
		starts = append(starts, e.(map[string]any)["start"].(map[string]any)["dateTime"].(string))
	}
	if want := []string{"2026-03-27T09:00:00Z", "2026-03-28T09:00:00Z", "2026-03-29T09:00:00+01:00", "2026-03-30T09:00:00+01:00"}; !slices.Equal(starts, want) {
		t.Errorf("occurrences %q", starts)
	}
	second := all[1].(map[string]any)["id"].(string)
	if o := g.box.call("calendar_update_event", map[string]any{"eventId": second, "summary": "Late", "start": "2026-03-28T10:00"}); o.failed {
		t.Error(o)
	}
	if o := g.box.call("calendar_delete_event", map[string]any{"eventId": all[0].(map[string]any)["id"]}); o.failed {
		t.Error(o)
	}
	text := g.box.call("calendar_list_events", map[string]any{"timeMin": "2026-03-27", "timeMax": "2026-03-30"})
	shows(t, "occurrences", text, "Summary: Late\n  Start: 2026-03-28T10:00:00Z\n  End: 2026-03-28T10:15:00Z", "Occurrence of: "+series)
	if n := strings.Count(text.text, "Summary: "); n != 3 {
		t.Errorf("%d: %v", n, text)
	}
	if o := g.box.call("calendar_delete_event", map[string]any{"eventId": second, "scope": "all"}); o.failed || len(g.events()) != 0 {
		t.Errorf("%v; events %v", o, g.events())
	}
}

// TestGoogleCalendarRespond responds to an invitation of bob's.
func TestGoogleCalendarRespond(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	id := g.google.AddEvent(bob, "primary", `{"summary": "Party", "start": {"dateTime": "2026-03-02T19:00:00Z"}, "end": {"dateTime": "2026-03-02T23:00:00Z"},
		"attendees": [{"email": "bob@example.com", "responseStatus": "accepted"}, {"email": "alice@example.com"}, {"email": "carol@example.com", "responseStatus": "declined"}]}`)
	shows(t, "list", g.box.call("calendar_list_events", map[string]any{"timeMin": "2026-03-02", "timeMax": "2026-03-02"}), "Organizer: "+bob, "My response: needsAction")
	for i, response := range []string{"accepted", "tentative", "declined"} {
		args := map[string]any{"eventId": id, "response": response, "comment": "As I said."}
		if i == 1 {
			args["sendUpdates"] = "all"
		}
		o := g.box.checked("calendar_respond_event", args)
		shows(t, response, o, "Response saved successfully.", "The user's response is "+response)
		e := g.stored("primary", id)
		got := ""
		for _, a := range e.Attendees {
			got += a.Email + " " + a.ResponseStatus + " " + a.Comment + "; "
		}
		if want := "bob@example.com accepted ; alice@example.com " + response + " As I said.; carol@example.com declined ; "; got != want {
			t.Errorf("%s: %s; want %s", response, got, want)
		}
		all := g.google.Invitations()[id]
		if last := all[len(all)-1]; slices.Contains(last.Mailed, bob) != (i == 1) {
			t.Errorf("%s: mailed %q: %v", response, last.Mailed, o)
		}
	}
	if o := g.box.call("calendar_update_event", map[string]any{"eventId": id, "summary": "Mine"}); o.errorType != "denied" {
		t.Errorf("the event of another: %v", o)
	} else {
		shows(t, "the event of another", o, "Have the organizer change it.")
	}
	own := eventID(g.create(on()))
	if o := g.box.call("calendar_respond_event", map[string]any{"eventId": own, "response": "accepted"}); o.errorType != "not_found" {
		t.Errorf("not invited: %v", o)
	} else {
		shows(t, "not invited", o, "the user is not invited")
	}
}

// TestGoogleCalendarFreeBusy finds when two people are free.
func TestGoogleCalendarFreeBusy(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	g.google.AddCalendar(alice, fake.Calendar{ID: bob, Role: "freeBusyReader"})
	add := func(email, from, to, more string) {
		g.google.AddEvent(email, "primary", fmt.Sprintf(`{"summary": "secret", "start": {"dateTime": "2026-07-01T%s:00+01:00"}, "end": {"dateTime": "2026-07-01T%s:00+01:00"}%s}`, from, to, more))
	}
	add(alice, "09:00", "10:00", "")
	add(alice, "13:00", "14:00", `, "transparency": "transparent"`)
	add(bob, "09:30", "11:00", "")
	add(bob, "16:00", "18:00", "")
	args := map[string]any{"timeMin": "2026-07-01", "timeMax": "2026-07-01", "workingHours": "09:00-17:00", "calendars": []string{"primary", bob}}
	o := g.box.checked("calendar_free_busy", args)
	shows(t, "free", o, "Busy: Wed 1 Jul 2026 09:00–10:00 (Europe/London)", "Wed 1 Jul 2026 11:00–16:00 (Europe/London)")
	if free := o.structure["free"].([]any); len(free) != 1 || o.structure["complete"] != true || strings.Contains(o.text, "secret") {
		t.Errorf("%v", o)
	}
	args["timeZone"], args["workingHours"] = "America/New_York", "00:00-24:00"
	args["timeMax"] = "2026-07-01T12:00"
	o = g.box.checked("calendar_free_busy", args)
	shows(t, "New York", o, "Busy: Wed 1 Jul 2026 04:00–05:00 (America/New_York)", "Wed 1 Jul 2026 00:00–04:00 (America/New_York)", "Wed 1 Jul 2026 06:00–11:00 (America/New_York)")
	args["calendars"] = []string{"Nobody"}
	shows(t, "no name", g.box.call("calendar_free_busy", args), `calendars names no calendar: "Nobody"; there are: alice@example.com`)
	args["calendars"] = []string{"nobody@example.com"}
	o = g.box.checked("calendar_free_busy", args)
	shows(t, "nobody", o, "Some calendars could not be read", "Error: it does not exist, or is not shared with the user")
	if o.structure["complete"] != false {
		t.Errorf("%v", o)
	}
}

// TestGoogleCalendarCalendars names calendars by ID and by name, and writes where the user may.
func TestGoogleCalendarCalendars(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	team := g.google.AddCalendar(alice, fake.Calendar{Summary: "Team", TimeZone: "America/New_York"})
	read := g.google.AddCalendar(alice, fake.Calendar{Summary: "Holidays", Role: "reader"})
	twins := []string{g.google.AddCalendar(alice, fake.Calendar{Summary: "Twin"}), g.google.AddCalendar(alice, fake.Calendar{Summary: "twin"})}
	shows(t, "calendars", g.box.checked("calendar_list_calendars", map[string]any{}), "alice@example.com (ID: "+alice+", owner, Europe/London, primary)",
		"Team (ID: "+team+", owner, America/New_York)", "Holidays (ID: "+read+", reader, Europe/London)")
	o := g.create(on("calendarId", "team")) // in the calendar's zone
	shows(t, "by name", o, "Start: 2026-03-02T09:00:00-05:00")
	if e := g.stored(team, eventID(o)); e.Start.DateTime != "2026-03-02T14:00:00Z" || o.structure["calendarId"] != team {
		t.Errorf("%v: stored %+v", o, e)
	}
	shows(t, "by ID", g.box.call("calendar_list_events", map[string]any{"calendarId": team, "timeMin": "2026-03-02", "timeMax": "2026-03-02"}), eventID(o), "(America/New_York)")
	shows(t, "get by name", g.box.call("calendar_get_event", map[string]any{"calendarId": "TEAM", "eventId": eventID(o)}), "Summary: Review")
	o = g.box.call("calendar_create_event", on("calendarId", "Twin"))
	shows(t, "two", o, "names several calendars", twins[0], twins[1])
	o = g.box.call("calendar_create_event", on("calendarId", "Holidays"))
	shows(t, "reader", o, "Error creating calendar event: ", "You need to have writer access to this calendar. Use another calendar, or have its owner grant this access.")
	if o.errorType != "denied" || !strings.HasSuffix(o.text, ".") || strings.Contains(o.text, "\n") {
		t.Errorf("reader: %v", o)
	}
	if o := g.box.call("calendar_list_events", map[string]any{"calendarId": "Holidays"}); o.failed {
		t.Errorf("reader lists: %v", o)
	}
	// The tools of everybody take names, too.
	core := newCalendarGround(t, "", "")
	o = core.box.call("calendar_create_event", on("calendarId", "Team"))
	shows(t, "core", o, `calendarId names no calendar: "Team"; there are: alice@example.com`)
}

// TestGoogleCalendarRecipients holds invitations to the lists of whom may be mailed.
func TestGoogleCalendarRecipients(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", `tools: {google: {tier: full}, gmail_send: {allowed_recipients: ["@example.com"], denied_recipients: ["all@example.com"]}}`+"\n")
	id := eventID(g.create(on("attendees", bob)))
	before := g.writes()
	for name, o := range map[string]outcome{
		"create":  g.box.call("calendar_create_event", on("attendees", bob+", eve@outside.test")),
		"dry run": g.box.call("calendar_create_event", on("attendees", "eve@outside.test", "dryRun", true)),
		"update":  g.box.call("calendar_update_event", map[string]any{"eventId": id, "addAttendees": "eve@outside.test"}),
	} {
		if o.errorType != "denied" {
			t.Errorf("%s: %v", name, o)
		}
		shows(t, name, o, "eve@outside.test", "tools.gmail_send.allowed_recipients")
	}
	o := g.box.call("calendar_create_event", on("attendees", "all@example.com", "sendUpdates", "all"))
	shows(t, "denied", o, "all@example.com", "tools.gmail_send.denied_recipients")
	if n := g.writes(); n != before {
		t.Errorf("%d writes", n-before)
	}
}

// TestGoogleCalendarSeriesZone moves a series with times in the zone of the configuration: it goes on in its own zone.
func TestGoogleCalendarSeriesZone(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "time_zone: Europe/London", fullTier)
	for _, test := range []struct{ start, zone, offset, kept string }{
		{"2026-03-05T15:00", "", "2026-03-05T15:00:00Z", "America/New_York"},
		{"2026-03-05T15:00Z", "", "2026-03-05T15:00:00Z", "America/New_York"},
		{"2026-03-05T15:00", "Asia/Tokyo", "2026-03-05T06:00:00Z", "Asia/Tokyo"},
	} {
		o := g.create(on("timeZone", "America/New_York", "recurrence", []string{"RRULE:FREQ=WEEKLY;COUNT=3"}))
		args := map[string]any{"eventId": eventID(o), "scope": "all", "start": test.start}
		if test.zone != "" {
			args["timeZone"] = test.zone
		}
		o = g.box.call("calendar_update_event", args)
		e := g.stored("primary", eventID(o))
		if e.Start.DateTime != test.offset || e.Start.TimeZone != test.kept || e.End.TimeZone != test.kept {
			t.Errorf("%v: %v; stored %+v", test, o, e)
		}
		shown := test.zone
		if shown == "" {
			shown = "Europe/London"
		}
		shows(t, test.start, o, "15:00–16:00 ("+shown+")")
	}
}
