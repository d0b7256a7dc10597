//go:build linux

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

const fullTier = "tools: {google: {tier: full}}\n"

// calendarGround is a googleGround whose server is signed in to the calendar of an account.
type calendarGround struct {
	*googleGround
	box *box
}

func newCalendarGround(t *testing.T, section, settings string) *calendarGround {
	t.Helper()
	g := &calendarGround{googleGround: newGoogleGround(t, account{"own", os.Geteuid()}, section, settings)}
	g.box = g.serve()
	g.signInAs(alice)
	return g
}

// signInAs signs in to the calendar of an account.
func (g *calendarGround) signInAs(account string) {
	g.t.Helper()
	o := g.box.call("calendar_list_events", map[string]any{})
	if p := newVisitor(g.t).allows(g.address(o.text), account); !strings.Contains(p.text, account) {
		g.t.Fatalf("the page does not name the account: %s", p.text)
	}
}

// stored returns an event as Google has it in a calendar, in UTC.
func (g *calendarGround) stored(calendar, id string) (e fakeEvent) {
	g.t.Helper()
	files, err := filepath.Glob(filepath.Join(g.home, ".local/state/toolserver/.calendar-tokens/*"))
	must(g.t, err)
	var kept struct {
		Access string `json:"access_token"`
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		must(g.t, err)
		_ = json.Unmarshal(b, &kept) // or it is not the file
	}
	req, err := http.NewRequest(http.MethodGet, g.at.url+"/calendar/v3/calendars/"+url.PathEscape(calendar)+"/events/"+url.PathEscape(id)+"?timeZone=UTC", nil)
	must(g.t, err)
	req.Header.Set("Authorization", "Bearer "+kept.Access)
	res, err := http.DefaultClient.Do(req)
	must(g.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	must(g.t, err)
	if res.StatusCode != http.StatusOK {
		g.t.Fatalf("GET %s: %s: %s", id, res.Status, b)
	}
	must(g.t, json.Unmarshal(b, &e))
	return e
}

// fakeEvent is what tests look at of an event of Google's.
type fakeEvent struct {
	ID, Status, Summary, Location, Description string
	Start, End                                 struct{ Date, DateTime, TimeZone string }
	Recurrence                                 []string
	Attendees                                  []struct {
		Email, ResponseStatus, Comment string
		Self                           bool
	}
}

// writes returns how many requests have arrived that change something.
func (g *calendarGround) writes() (n int) {
	for _, r := range g.google.Requests() {
		if strings.HasPrefix(r.Path, "/calendar/") && r.Method != http.MethodGet && !strings.HasSuffix(r.Path, "/freeBusy") {
			n++
		}
	}
	return n
}

// events returns how many events the primary calendar has from 2026 to 2027.
func (g *calendarGround) events() []any {
	g.t.Helper()
	o := g.box.call("calendar_list_events", map[string]any{"timeMin": "2026-01-01", "timeMax": "2027-12-31", "maxResults": 250})
	if o.failed {
		g.t.Fatal(o)
	}
	return o.structure["events"].([]any)
}

// create creates an event, which must succeed.
func (g *calendarGround) create(args map[string]any) outcome {
	g.t.Helper()
	o := g.box.call("calendar_create_event", args)
	if o.failed || !strings.HasPrefix(o.text, "Event created successfully.\n  ID: ") {
		g.t.Fatalf("%v: %v", args, o)
	}
	return o
}

// shows reports parts that a text lacks.
func shows(t *testing.T, what string, o outcome, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(o.text, p) {
			t.Errorf("%s: %v; want %q", what, o, p)
		}
	}
}

// on is when an event is that tests do not care about.
func on(more ...any) map[string]any {
	args := map[string]any{"summary": "Review", "start": "2026-03-02T09:00", "end": "2026-03-02T10:00"}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return args
}

// TestGoogleCalendarInstants creates events with times in all notations and many zones, and reads at Google when they are.
func TestGoogleCalendarInstants(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	for _, test := range []struct{ start, end, zone, from, to string }{
		// The calendar's own zone.
		{"2026-01-15T09:00", "2026-01-15T10:00", "", "2026-01-15T09:00:00Z", "2026-01-15T10:00:00Z"},
		{"2026-07-01T09:00", "2026-07-01T10:00", "", "2026-07-01T08:00:00Z", "2026-07-01T09:00:00Z"},
		{"2026-07-01 09:00", "2026-07-01 09:45:30", "", "2026-07-01T08:00:00Z", "2026-07-01T08:45:30Z"},
		{"2026-07-01t09:00", " 2026-07-01T10:00 ", "", "2026-07-01T08:00:00Z", "2026-07-01T09:00:00Z"},
		// Offsets win over zones, and need no zone.
		{"2026-07-01T09:00:00Z", "2026-07-01T10:00:00z", "", "2026-07-01T09:00:00Z", "2026-07-01T10:00:00Z"},
		{"2026-07-01T09:00:00.000Z", "2026-07-01T10:00:00.999Z", "", "2026-07-01T09:00:00Z", "2026-07-01T10:00:00Z"},
		{"2026-04-02T11:35-07:00", "2026-04-02T12:35-07:00", "Europe/London", "2026-04-02T18:35:00Z", "2026-04-02T19:35:00Z"},
		{"2026-07-01T09:00:00+02:00", "2026-07-01T03:30:00-05:00", "", "2026-07-01T07:00:00Z", "2026-07-01T08:30:00Z"},
		{"2026-07-01T09:00+0530", "2026-07-01T10:00+0530", "America/New_York", "2026-07-01T03:30:00Z", "2026-07-01T04:30:00Z"},
		{"2026-07-01T00:00:00+14:00", "2026-07-01T00:00:00-12:00", "Pacific/Kiritimati", "2026-06-30T10:00:00Z", "2026-07-01T12:00:00Z"},
		{"2026-07-01T09:00+01:00", "2026-07-01T10:00", "Asia/Tokyo", "2026-07-01T08:00:00Z", ""}, // the end is before it
		{"2026-07-01T09:00+09:00", "2026-07-01T10:00", "Asia/Tokyo", "2026-07-01T00:00:00Z", "2026-07-01T01:00:00Z"},
		{"2026-07-01T09:00", "2026-07-01T10:00Z", "Europe/Paris", "2026-07-01T07:00:00Z", "2026-07-01T10:00:00Z"},
		// Zones whose offset is of half hours, quarters, or far.
		{"2026-07-01T09:00", "2026-07-01T10:00", "Asia/Kolkata", "2026-07-01T03:30:00Z", "2026-07-01T04:30:00Z"},
		{"2026-07-01T09:00", "2026-07-01T10:00", "asia/kathmandu", "2026-07-01T03:15:00Z", "2026-07-01T04:15:00Z"},
		{"2026-06-01T00:00", "2026-06-01T01:00", "Pacific/Chatham", "2026-05-31T11:15:00Z", "2026-05-31T12:15:00Z"},
		{"2026-01-01T00:00", "2026-01-01T01:00", "Pacific/Kiritimati", "2025-12-31T10:00:00Z", "2025-12-31T11:00:00Z"},
		{"2026-07-01T12:00", "2026-07-01T13:00", "America/St_Johns", "2026-07-01T14:30:00Z", "2026-07-01T15:30:00Z"},
		{"2026-01-01T23:00", "2026-01-02T01:00", "Pacific/Pago_Pago", "2026-01-02T10:00:00Z", "2026-01-02T12:00:00Z"},
		{"2026-01-01T00:00", "2026-01-01T01:00", "Etc/GMT+5", "2026-01-01T05:00:00Z", "2026-01-01T06:00:00Z"},
		{"2026-01-01T00:00", "2026-01-01T01:00", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"},
		{"2026-03-01T12:00", "2026-03-01T13:00", "Africa/Casablanca", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"}, // Ramadan
		{"2026-06-01T12:00", "2026-06-01T13:00", "Africa/Casablanca", "2026-06-01T11:00:00Z", "2026-06-01T12:00:00Z"},
		{"2026-07-01T09:00", "2026-07-01T10:00", "Europe/Dublin", "2026-07-01T08:00:00Z", "2026-07-01T09:00:00Z"}, // winter is the exception
		{"2026-07-01T12:00", "2026-07-01T13:00", "Asia/Tehran", "2026-07-01T08:30:00Z", "2026-07-01T09:30:00Z"},
		{"1960-01-01T12:00", "1960-01-01T13:00", "Africa/Monrovia", "1960-01-01T12:44:30Z", "1960-01-01T13:44:30Z"},
		{"2100-07-01T12:00", "2100-07-01T13:00", "Europe/London", "2100-07-01T11:00:00Z", "2100-07-01T12:00:00Z"},
		// Clocks go forward between the start and the end, or beside them.
		{"2026-03-29T00:30", "2026-03-29T02:30", "Europe/London", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		{"2026-03-29T00:59:59", "2026-03-29T02:00", "Europe/London", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"2026-03-08T01:30", "2026-03-08T03:00", "America/New_York", "2026-03-08T06:30:00Z", "2026-03-08T07:00:00Z"},
		{"2026-03-29T01:30+00:00", "2026-03-29T03:30+01:00", "Europe/London", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"},
		// Times that do not exist.
		{"2026-03-29T01:30", "2026-03-29T03:00", "Europe/London", "", ""},
		{"2026-03-08T02:00", "2026-03-08T03:00", "America/New_York", "", ""},
		{"2026-10-04T02:15", "2026-10-04T03:00", "Australia/Lord_Howe", "", ""},
		{"2026-09-06T00:30", "2026-09-06T02:00", "America/Santiago", "", ""},
		{"2026-03-29T00:30", "2026-03-29T02:00", "Asia/Beirut", "", ""},
		{"2026-03-29T02:30", "2026-03-29T04:00", "Antarctica/Troll", "", ""},
		{"2011-12-30T12:00", "2011-12-30T13:00", "Pacific/Apia", "", ""}, // a day that was left out
		{"2026-03-29T00:30", "2026-03-29T01:30", "Europe/London", "2026-03-29T00:30:00Z", ""},
		// Times that occur twice: the first is meant; an offset chooses.
		{"2026-10-25T00:30", "2026-10-25T01:30", "Europe/London", "2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z"},
		{"2026-11-01T01:30", "2026-11-01T03:00", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T08:00:00Z"},
		{"2026-11-01T01:30-05:00", "2026-11-01T03:00", "America/New_York", "2026-11-01T06:30:00Z", "2026-11-01T08:00:00Z"},
		{"2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00", "America/New_York", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
		{"2026-04-05T01:45", "2026-04-05T03:00", "Australia/Lord_Howe", "2026-04-04T14:45:00Z", "2026-04-04T16:30:00Z"},
		{"2026-04-04T23:30", "2026-04-05T01:00", "America/Santiago", "2026-04-05T02:30:00Z", "2026-04-05T05:00:00Z"},
		{"2026-10-25T01:30", "2026-10-25T02:30", "", "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z"},
	} {
		name := test.start + " " + test.end + " " + test.zone
		args := map[string]any{"summary": "x", "start": test.start, "end": test.end}
		if test.zone != "" {
			args["timeZone"] = test.zone
		}
		before := g.writes()
		o := g.box.call("calendar_create_event", args)
		if test.from == "" || test.to == "" {
			field := "start"
			if test.to == "" && test.from != "" {
				field = "end"
			}
			if o.errorType != "-32602" || !strings.Contains(o.text, field+": ") && !strings.Contains(o.text, field+" ") || g.writes() != before {
				t.Errorf("%s: %v; want an error about %s", name, o, field)
			}
			continue
		}
		if o.failed {
			t.Errorf("%s: %v", name, o)
			continue
		}
		id := o.structure["id"].(string)
		e := g.stored("primary", id)
		if e.Start.DateTime != test.from || e.End.DateTime != test.to {
			t.Errorf("%s: stored from %s to %s; want %s and %s", name, e.Start.DateTime, e.End.DateTime, test.from, test.to)
		}
		got := g.box.call("calendar_get_event", map[string]any{"eventId": id, "timeZone": "UTC"})
		shows(t, name, got, "\nStart: "+test.from, "\nEnd: "+test.to)
		for _, part := range []string{"start", "end"} { // what the answer shows is the same instant
			shown, err := time.Parse(time.RFC3339, o.structure[part].(map[string]any)["dateTime"].(string))
			if want := map[string]string{"start": test.from, "end": test.to}[part]; err != nil || shown.UTC().Format(time.RFC3339) != want {
				t.Errorf("%s: the answer shows %v, %v; want %s", name, shown, err, want)
			}
		}
	}
	// Which of two is said, and how to choose the other; an offset of another zone is said, too.
	twice := g.create(map[string]any{"summary": "x", "start": "2026-11-01T01:30", "end": "2026-11-01T03:00", "timeZone": "America/New_York"})
	shows(t, "fold", twice, "Note: 2026-11-01T01:30 occurs twice in America/New_York", "The second is 2026-11-01T01:30:00-05:00")
	other := g.create(map[string]any{"summary": "x", "start": "2026-04-02T11:35-07:00", "end": "2026-04-02T12:35-07:00", "timeZone": "Europe/London"})
	shows(t, "zone", other, "Start: 2026-04-02T19:35:00+01:00", "is 2026-04-02T19:35 in Europe/London")
	gap := g.box.call("calendar_create_event", map[string]any{"summary": "x", "start": "2026-03-29T01:30", "end": "2026-03-29T03:00"})
	shows(t, "gap", gap, "does not exist in Europe/London", "use 2026-03-29T00:59 or earlier, or 2026-03-29T02:00 or later")
}

// TestGoogleCalendarAllDay has last days for people, and days after at Google.
func TestGoogleCalendarAllDay(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	for _, test := range []struct{ start, end, after, duration string }{
		{"2026-03-02", "2026-03-02", "2026-03-03", "1 day"},
		{"2026-03-02", "2026-03-04", "2026-03-05", "3 days"},
		{"2026-03-28", "2026-03-29", "2026-03-30", "2 days"}, // 47 hours
		{"2026-12-31", "2027-01-01", "2027-01-02", "2 days"},
		{"2028-02-28", "2028-02-29", "2028-03-01", "2 days"},
	} {
		o := g.create(map[string]any{"summary": "Away", "start": test.start, "end": test.end, "timeZone": "Pacific/Auckland"})
		shows(t, test.start, o, "Start: "+test.start+"\n", "End: "+test.end+"\n", "(all day), "+test.duration)
		id := o.structure["id"].(string)
		if e := g.stored("primary", id); e.Start.Date != test.start || e.End.Date != test.after || e.Start.DateTime != "" || e.End.DateTime != "" {
			t.Errorf("%s: stored %+v", test.start, e)
		}
		shows(t, test.start, g.box.call("calendar_get_event", map[string]any{"eventId": id}), "\nStart: "+test.start, "\nEnd: "+test.end+"\n")
		listed := g.box.call("calendar_list_events", map[string]any{"timeMin": test.end, "timeMax": test.end})
		shows(t, test.start, listed, "Start: "+test.start, "End: "+test.end+"\n")
		if next := g.box.call("calendar_list_events", map[string]any{"timeMin": test.after, "timeMax": test.after}); strings.Contains(next.text, id) {
			t.Errorf("the day after: %v", next)
		}
	}
	// Another last day, other days, a time, and days again.
	id := g.create(map[string]any{"summary": "Away", "start": "2026-05-04", "end": "2026-05-05"}).structure["id"].(string)
	for _, step := range []struct {
		change     map[string]any
		start, end string
		text       []string
		problem    string
	}{
		{change: map[string]any{"end": "2026-05-06"}, start: "2026-05-04", end: "2026-05-07", text: []string{"End: 2026-05-06", "3 days"}},
		{change: map[string]any{"start": "2026-06-01"}, start: "2026-06-01", end: "2026-06-04", text: []string{"End: 2026-06-03"}},
		{change: map[string]any{"start": "2026-06-02T09:00"}, problem: "must both be given"},
		{change: map[string]any{"start": "2026-06-02T09:00", "end": "2026-06-02T10:00"}, start: "2026-06-02T08:00:00Z", end: "2026-06-02T09:00:00Z", text: []string{"1 h"}},
		{change: map[string]any{"start": "2026-06-02", "end": "2026-06-02"}, start: "2026-06-02", end: "2026-06-03", text: []string{"(all day), 1 day"}},
	} {
		step.change["eventId"] = id
		o := g.box.call("calendar_update_event", step.change)
		if step.problem != "" {
			shows(t, "update", o, step.problem)
			continue
		}
		shows(t, "update", o, step.text...)
		e := g.stored("primary", id)
		if e.Start.Date+e.Start.DateTime != step.start || e.End.Date+e.End.DateTime != step.end {
			t.Errorf("%v: %v; stored %+v", step.change, o, e)
		}
	}
}

// TestGoogleCalendarToday lists the day of the user: in the zone of the calendar or of the configuration, not in the server's.
func TestGoogleCalendarToday(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ calendar, section, argument, zone string }{
		{"Pacific/Auckland", "", "", "Pacific/Auckland"},
		{"America/Los_Angeles", "", "", "America/Los_Angeles"},
		{"America/Los_Angeles", "time_zone: Pacific/Kiritimati", "", "Pacific/Kiritimati"},
		{"Pacific/Auckland", "time_zone: europe/london", "Pacific/Pago_Pago", "Pacific/Pago_Pago"},
	} {
		t.Run(test.zone, func(t *testing.T) {
			t.Parallel()
			g := &calendarGround{googleGround: newGoogleGround(t, account{"own", os.Geteuid()}, test.section, "")}
			const carol = "carol@example.com"
			g.google.AddUser(fake.User{Email: carol, TimeZone: test.calendar, TestUser: true})
			g.box = g.open(setup{file: g.file, env: []string{"TZ=Asia/Tokyo"}})
			g.signInAs(carol)
			zone, err := time.LoadLocation(test.zone)
			must(t, err)
			day := func(t time.Time, days int) time.Time {
				return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, zone)
			}
			now := time.Now().In(zone)
			for days := -2; days <= 3; days++ {
				for _, at := range []string{"00:15", "23:30"} {
					start, err := time.ParseInLocation("2006-01-02 15:04", day(now, days).Format("2006-01-02 ")+at, zone)
					must(t, err)
					g.google.AddEvent(carol, "primary", `{"summary": "`+start.Format("01-02 15:04")+`", "start": {"dateTime": "`+start.Format(time.RFC3339)+
						`"}, "end": {"dateTime": "`+start.Add(15*time.Minute).Format(time.RFC3339)+`"}}`)
				}
			}
			args := map[string]any{}
			if test.argument != "" {
				args["timeZone"] = test.argument
			}
			o := g.box.call("calendar_list_events", args)
			after := time.Now().In(zone)
			from, _ := o.structure["timeMin"].(string)
			to, _ := o.structure["timeMax"].(string)
			today := now
			if from != day(now, 0).Format(time.RFC3339) { // midnight came meanwhile
				today = after
			}
			if o.structure["timeZone"] != test.zone || from != day(today, 0).Format(time.RFC3339) || to != day(today, 1).Format(time.RFC3339) {
				t.Errorf("%v; want the day of %v", o, today)
			}
			if n := strings.Count(o.text, "Summary: "); n != 2 {
				t.Errorf("%d events: %v", n, o)
			}
			shows(t, "today", o, "Summary: "+today.Format("01-02")+" 00:15", "Summary: "+today.Format("01-02")+" 23:30")
		})
	}
}

// TestGoogleCalendarPages has pages that are short, and empty.
func TestGoogleCalendarPages(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	g.google.PageLimit = func(page, size int) int { return []int{2, 0, 0, 1, 3, 0}[page%6] }
	var ids []string
	for i := range 20 {
		start := time.Date(2026, 3, 2, i, 0, 0, 0, time.UTC)
		ids = append(ids, g.google.AddEvent(alice, "primary", `{"summary": "x", "start": {"dateTime": "`+start.Format(time.RFC3339)+`"}, "end": {"dateTime": "`+
			start.Add(time.Hour).Format(time.RFC3339)+`"}}`))
	}
	for _, most := range []int{1, 5, 7, 20, 250} {
		var got []string
		args := map[string]any{"timeMin": "2026-03-01", "timeMax": "2026-03-04", "maxResults": most}
		for calls := 1; ; calls++ {
			o := g.box.call("calendar_list_events", args)
			events, ok := o.structure["events"].([]any)
			if !ok || len(events) > most || calls > 21 {
				t.Fatalf("%d: %v", most, o)
			}
			for _, e := range events {
				got = append(got, e.(map[string]any)["id"].(string))
			}
			next, more := o.structure["nextPageToken"].(string)
			if more != strings.Contains(o.text, "There are more events") {
				t.Errorf("%d: the text says otherwise than the data: %v", most, o)
			}
			if !more {
				break
			}
			if len(events) < most && len(events) < 20 {
				t.Errorf("%d: %d events, and there are more", most, len(events))
			}
			shows(t, "next", o, next)
			args["pageToken"] = next
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%d: %d events %q; want %q", most, len(got), got, ids)
		}
	}
	o := g.box.call("calendar_list_events", map[string]any{"timeMin": "2026-03-01", "pageToken": "forged"})
	if !o.failed || o.errorType != "invalid_query" {
		t.Errorf("a forged token: %v", o)
	}
}
