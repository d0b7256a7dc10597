package calendar

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestCreate(t *testing.T) {
	for _, test := range []struct {
		name, args string
		start, end string // on the wire, with the zone
		text       []string
		reads      int // requests for the zone of the calendar
	}{
		{"local time", `{"start":"2026-03-02T14:30","end":"2026-03-02T15:15"}`, "2026-03-02T14:30:00Z Europe/London", "2026-03-02T15:15:00Z Europe/London",
			[]string{"  Start: 2026-03-02T14:30:00Z\n  End: 2026-03-02T15:15:00Z\n  Link: https://calendar.example.com/event?eid=",
				"  When: Mon 2 Mar 2026 14:30–15:15 (Europe/London), 45 min"}, 1},
		{"instant in another zone", `{"start":"2026-07-01T11:35-07:00","end":"2026-07-01T12:35-07:00","timeZone":"Europe/London"}`,
			"2026-07-01T19:35:00+01:00 Europe/London", "2026-07-01T20:35:00+01:00 Europe/London",
			[]string{"Wed 1 Jul 2026 19:35–20:35 (Europe/London), 1 h", "Note: 2026-07-01T11:35-07:00 is 2026-07-01T19:35 in Europe/London."}, 0},
		{"instants", `{"start":"2026-07-01T11:35:00-07:00","end":"2026-07-01T12:35:00-07:00"}`, "2026-07-01T18:35:00Z ", "2026-07-01T19:35:00Z ", nil, 0},
		{"instants of a recurring event", `{"start":"2026-07-01T11:35:00-07:00","end":"2026-07-01T12:35:00-07:00","recurrence":["FREQ=DAILY;COUNT=2"]}`,
			"2026-07-01T19:35:00+01:00 Europe/London", "2026-07-01T20:35:00+01:00 Europe/London", []string{"Recurrence: RRULE:FREQ=DAILY;COUNT=2"}, 1},
		{"a local end", `{"start":"2026-07-01T11:35Z","end":"2026-07-01T13:00"}`, "2026-07-01T12:35:00+01:00 Europe/London", "2026-07-01T13:00:00+01:00 Europe/London", nil, 1},
		{"one day", `{"start":"2028-02-29","end":"2028-02-29"}`, "2028-02-29", "2028-03-01", []string{"Start: 2028-02-29\n  End: 2028-02-29\n", "Tue 29 Feb 2028 (all day), 1 day"}, 0},
		{"days", `{"start":"2026-12-30","end":"2027-01-01"}`, "2026-12-30", "2027-01-02", []string{"End: 2027-01-01\n", "3 days"}, 0},
		{"twice", `{"start":"2026-10-25T01:30","end":"2026-10-25T02:30"}`, "2026-10-25T01:30:00+01:00 Europe/London", "2026-10-25T02:30:00Z Europe/London",
			[]string{"2 h", "Note: 2026-10-25T01:30 occurs twice in Europe/London, where clocks go back; the first is meant. The second is 2026-10-25T01:30:00Z."}, 1},
		{"the second", `{"start":"2026-10-25T01:30Z","end":"2026-10-25T02:30","timeZone":"europe/london"}`, "2026-10-25T01:30:00Z Europe/London", "2026-10-25T02:30:00Z Europe/London", []string{"1 h"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, s := newFake(t)
			text := tooltest.Text(tooltest.Call(t, bare(CreateName, s.create), `{"summary":"Talk",`+test.args[1:]))
			if len(test.start) > len(dateLayout) {
				test.reads++ // for what it overlaps
			}
			if len(f.sent("GET")) != test.reads ||
				len(f.sent("POST")) != 1 {
				t.Fatalf("%v", f.requests)
			}
			sent := f.sent("POST")[0]
			at := func(name string) string {
				m := sent.body[name].(map[string]any)
				if m["date"] != nil {
					return fmt.Sprint(m["date"])
				}
				return fmt.Sprint(m["dateTime"], " ") + strings.TrimPrefix(fmt.Sprint(m["timeZone"]), "<nil>")
			}
			if at("start") != test.start || at("end") != test.end || sent.query.Get("sendUpdates") != "none" {
				t.Errorf("sent %q to %q, %v; want %q to %q", at("start"), at("end"), sent.query, test.start, test.end)
			}
			for _, want := range append(test.text, "Event created successfully.\n  ID: "+fmt.Sprint(sent.body["id"])+"\n  Summary: Talk\n  Start: ") {
				if !strings.Contains(text, want) {
					t.Errorf("got %q\nwant %q", text, want)
				}
			}
		})
	}
}

// TestCreateInvalid has arguments that are rejected before anything is sent.
func TestCreateInvalid(t *testing.T) {
	f, s := newFake(t)
	long := strings.Repeat("a@example.com, ", 3)
	for i := range 201 {
		long += fmt.Sprintf("p%d@example.com,", i)
	}
	var cases []tooltest.Case
	for args, want := range map[string]string{
		`"start":"2026-03-02","end":"2026-03-02T10:00"`:                                             "end must be a date",
		`"start":"2026-03-02T10:00","end":"2026-03-02"`:                                             "end must be a time",
		`"start":"2026-03-02T10:00","end":"2026-03-02T09:00"`:                                       "end must be after start",
		`"start":"2026-03-02T10:00Z","end":"2026-03-02T10:30+01:00"`:                                "end must be after start",
		`"start":"2026-03-02","end":"2026-03-01"`:                                                   "end must not be before start",
		`"start":"2026-02-29","end":"2026-03-01"`:                                                   "start is no date or time that exists",
		`"start":"2026-03-29T01:30","end":"2026-03-29T03:00","timeZone":"Europe/London"`:            "start does not exist in Europe/London: clocks go forward from 2026-03-29T01:00",
		`"start":"2026-03-02T10:00","end":"2026-03-02T11:00","timeZone":"London"`:                   "did you mean Europe/London?",
		`"start":"2026-03-02","end":"2026-03-02","attendees":"ann@example.com, bob"`:                `attendees "ann@example.com, bob" is not an address`,
		`"start":"2026-03-02","end":"2026-03-02","attendees":"a@example.com\r\nBcc: b@example.com"`: `contains the control character U+000D`,
		`"start":"2026-03-02","end":"2026-03-02","attendees":"` + long + `"`:                        "attendees has 202 people",
		`"start":"2026-03-02","end":"2026-03-02","attendees":"eve@bad.example"`:                     "",
		`"start":"2026-03-02","end":"2026-03-02","sendUpdates":"some"`:                              "sendUpdates must be one of",
		`"start":"2026-03-02","end":"2026-03-02","eventId":"UPPER"`:                                 "eventId",
		`"start":"2026-03-02","end":"2026-03-02","eventId":"abc"`:                                   "eventId",
		`"start":"2026-03-02","end":"2026-03-02","recurrence":["DTSTART:20260302"]`:                 "recurrence has a line that is invalid",
		`"start":"2026-03-02","end":"2026-03-02","reminders":[{"minutes":40321}]`:                   "reminders[0].minutes",
		`"start":"2026-03-02","end":"2026-03-02","colour":"red"`:                                    "colour is not a known argument",
	} {
		c := tooltest.Case{Name: args[:min(len(args), 90)], Args: `{"summary":"x",` + args + `}`, Code: domain.CodeInvalidParams, Want: want}
		if want == "" {
			c.Code, c.ErrorType, c.Want = 0, "denied", "bad.example"
		}
		cases = append(cases, c)
	}
	cases = append(cases, tooltest.Case{Name: "no title", Args: `{"summary":"  ","start":"2026-03-02","end":"2026-03-02"}`, Code: domain.CodeInvalidParams, Want: "summary must not be empty"})
	s.recipients = func(_ context.Context, addresses []string) error {
		if strings.Contains(strings.Join(addresses, " "), "@bad.example") {
			return errors.New("people at bad.example must not be invited")
		}
		return nil
	}
	tooltest.Run(t, bare(CreateName, s.create), cases)
	if len(f.requests) != 0 {
		t.Errorf("sent %v", f.requests)
	}
}

// TestCreateInvites checks who is mailed, and that the answer says so.
func TestCreateInvites(t *testing.T) {
	for updates, want := range map[string]string{
		"none":         "nobody was mailed (sendUpdates: none): ann@example.com, bob@example.com",
		"all":          "mailed to ann@example.com, bob@example.com",
		"externalOnly": "mailed only to those who do not use Google Calendar, of ann@example.com, bob@example.com",
	} {
		f, s := newFake(t)
		args := `{"summary":"Talk","start":"2026-03-02","end":"2026-03-02","attendees":"Ann <ann@example.com>, bob@example.com, ANN@example.com,","sendUpdates":"` + updates + `"}`
		r := results[savedResult](t, tooltest.Call(t, bare(CreateName, s.create), args))
		sent := f.sent("POST")[0]
		if r.Invitations != want || sent.query.Get("sendUpdates") != updates || len(sent.body["attendees"].([]any)) != 2 || r.AttendeeCount != 2 {
			t.Errorf("%s: %q, sent %v %v", updates, r.Invitations, sent.query, sent.body)
		}
	}
}

func TestCreateDetails(t *testing.T) {
	f, s := newFake(t)
	s.zone = load(t, "Asia/Tokyo")
	f.answer = func(_ int, r request, w http.ResponseWriter) bool {
		if r.method == "POST" {
			request := r.body["conferenceData"].(map[string]any)["createRequest"].(map[string]any)
			request["status"] = map[string]any{"statusCode": "pending"}
			r.body["location"] = "Room 5" // what Google saves counts, not what was sent
		}
		return false
	}
	args := `{"summary":" Talk ","start":"2026-03-02T10:00","end":"2026-03-02T11:00","location":"Room 4","description":"<b>Hi</b>","addMeet":true,"eventId":"abc123",
		"visibility":"private","transparency":"transparent","recurrence":["rrule:freq=weekly;until=20260401T000000Z","EXDATE;TZID=Asia/Tokyo:20260309T100000"],
		"reminders":[{"minutes":0},{"method":"email","minutes":60}]}`
	r := results[savedResult](t, tooltest.Call(t, bare(CreateName, s.create), args))
	sent := f.sent("POST")[0]
	want := `map[conferenceData:map[createRequest:map[conferenceSolutionKey:map[type:hangoutsMeet] requestId:abc123 status:map[statusCode:pending]]] ` +
		`description:<b>Hi</b> end:map[dateTime:2026-03-02T11:00:00+09:00 timeZone:Asia/Tokyo] etag:"1" htmlLink:https://calendar.example.com/event?eid=abc123 id:abc123 ` +
		`location:Room 5 organizer:map[email:me@example.com self:true] recurrence:[RRULE:FREQ=WEEKLY;UNTIL=20260401T000000Z EXDATE;TZID=Asia/Tokyo:20260309T100000] ` +
		`reminders:map[overrides:[map[method:popup minutes:0] map[method:email minutes:60]] useDefault:false] start:map[dateTime:2026-03-02T10:00:00+09:00 timeZone:Asia/Tokyo] ` +
		`status:confirmed summary:Talk transparency:transparent visibility:private]`
	if got := fmt.Sprint(sent.body); got != want || sent.query.Get("conferenceDataVersion") != "1" {
		t.Errorf("sent %s\nwant %s; %v", got, want, sent.query)
	}
	if r.Location != "Room 5" || r.ConferenceStatus != "pending" || len(r.Recurrence) != 2 || r.Duration != "1 h" {
		t.Errorf("%+v", r)
	}
}

// TestCreateDry sends nothing.
func TestCreateDry(t *testing.T) {
	f, s := newFake(t)
	s.zone = load(t, "Asia/Tokyo")
	args := `{"summary":"Talk","start":"2026-03-02T10:00","end":"2026-03-02T11:00","attendees":"ann@example.com","sendUpdates":"all","dryRun":true}`
	res := tooltest.Call(t, bare(CreateName, s.create), args)
	text := tooltest.Text(res)
	if !results[savedResult](t, res).DryRun || !strings.HasPrefix(text, "Dry run: nothing was saved.") || !strings.Contains(text, "Mon 2 Mar 2026 10:00–11:00 (Asia/Tokyo), 1 h") ||
		!strings.Contains(text, "Invitations: with sendUpdates all, for ann@example.com") || len(f.requests) != 0 {
		t.Errorf("%s\n%v", text, f.requests)
	}
}

// TestCreateOnce has answers lost, and events that exist.
func TestCreateOnce(t *testing.T) {
	const day = `{"summary":"Talk","start":"2026-03-02","end":"2026-03-02"`
	cut := func(w http.ResponseWriter) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			c.Close()
		}
	}
	posts := 0
	for _, test := range []struct {
		name, args string
		answer     func(f *fake, r request, w http.ResponseWriter) bool // to the nth POST
		posts      int
		fail, want string
	}{
		{"lost answer", day + `}`, func(f *fake, r request, w http.ResponseWriter) bool {
			if posts == 1 {
				f.put(r.body)
				cut(w)
			}
			return posts == 1
		}, 2, "", "Event created successfully."},
		{"lost request", day + `}`, func(_ *fake, _ request, w http.ResponseWriter) bool {
			if posts == 1 {
				cut(w)
			}
			return posts == 1
		}, 2, "", "Event created successfully."},
		{"lost again", day + `,"eventId":"abc123"}`, func(_ *fake, _ request, w http.ResponseWriter) bool { cut(w); return true }, 2,
			"unreachable", "it is unknown whether the event was created; with eventId abc123 it is created at most once"},
		{"rejected", day + `}`, func(_ *fake, _ request, w http.ResponseWriter) bool { refuse(w, 400); return true }, 1, "invalid_query", "400"},
		{"exists", day + `,"eventId":"abc123"}`, func(f *fake, r request, _ http.ResponseWriter) bool { f.put(r.body); return false }, 1, "",
			"Note: An event with this ID, title and time existed already"},
		{"exists and differs", day + `,"eventId":"abc123"}`, func(f *fake, r request, _ http.ResponseWriter) bool {
			f.put(merge(r.body, map[string]any{"summary": "Other"}))
			return false
		}, 1, "already_exists", "the ID abc123 is that of another event (Other, confirmed)"},
		{"deleted", day + `,"eventId":"abc123"}`, func(f *fake, r request, _ http.ResponseWriter) bool {
			f.put(merge(r.body, map[string]any{"status": "cancelled"}))
			return false
		}, 1, "already_exists", "(Talk, cancelled)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, s := newFake(t)
			posts = 0
			f.answer = func(_ int, r request, w http.ResponseWriter) bool {
				if r.method != "POST" {
					return false
				}
				posts++
				return test.answer(f, r, w)
			}
			res := tooltest.Call(t, bare(CreateName, s.create), test.args)
			if text := tooltest.Text(res); !strings.Contains(text, test.want) || res.ErrorType() != test.fail {
				t.Errorf("%s: %s", res.ErrorType(), text)
			}
			sent := f.sent("POST")
			if len(sent) != test.posts || sent[0].body["id"] != sent[len(sent)-1].body["id"] || len(f.order) > 1 {
				t.Errorf("sent %v", sent)
			}
		})
	}
}

// TestCreateCanceled ends a call while its event may be created: the text has the ID to go on with.
func TestCreateCanceled(t *testing.T) {
	f, s := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.answer = func(_ int, _ request, w http.ResponseWriter) bool {
		cancel()
		return false
	}
	res, err := s.create(ctx, createInput{Summary: "Talk", Start: "2026-03-02", End: "2026-03-02", CalendarID: primary, SendUpdates: "none", EventID: "abc123"})
	if !errors.Is(err, context.Canceled) || !strings.Contains(tooltest.Text(res), "with eventId abc123 it is created at most once") || len(f.sent("POST")) != 1 {
		t.Errorf("%v, %v, %v", tooltest.Text(res), err, f.requests)
	}
}

func TestNewID(t *testing.T) {
	a, b := newID(), newID()
	if len(a) != 26 || a == b || strings.Trim(a, "0123456789abcdefghijklmnopqrstuv") != "" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestRecurrence(t *testing.T) {
	for text, want := range map[string]string{
		"RRULE:FREQ=DAILY":                         "RRULE:FREQ=DAILY",
		" freq=weekly;byday=mo,we;count=10 ":       "RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10",
		"RRULE:FREQ=MONTHLY;BYDAY=-1FR;INTERVAL=2": "RRULE:FREQ=MONTHLY;BYDAY=-1FR;INTERVAL=2",
		"RDATE:20260302T090000Z,20260303T090000Z":  "RDATE:20260302T090000Z,20260303T090000Z",
		"RDATE;VALUE=DATE:20260302":                "RDATE;VALUE=DATE:20260302",
		"rrule:FREQ=DAILY;UNTIL=20260401T000000Z":  "RRULE:FREQ=DAILY;UNTIL=20260401T000000Z",
		"":                                 "!must have lines",
		"every Monday":                     "!must have lines",
		"EXDATE:20260302":                  "!EXDATE only leaves out",
		"DTSTART:20260302":                 "!the line must be RRULE",
		"RRULE:FREQ=SOMETIMES":             "!undefined frequency",
		"RRULE:BYDAY=MO":                   "!FREQ is required",
		"RRULE:FREQ=DAILY;BYMONTH=13":      "!bymonth must be between",
		"RRULE:FREQ=DAILY;COUNT=0":         "!at least 1",
		"RRULE:FREQ=DAILY;INTERVAL=-1":     "!must be",
		"RRULE:FREQ=DAILY;COUNT=2;COUNT=3": "!stands twice",
		"RRULE:FREQ=DAILY;COUNT=2;UNTIL=20260401T000000Z": "!exclude each other",
		"RRULE:FREQ=DAILY;UNTIL=20260401T000000":          "!UNTIL must be a time in UTC",
		"RRULE:FREQ=DAILY;UNTIL=20260401":                 "!UNTIL must be a time in UTC",
		"RRULE:FREQ=DAILY;DTSTART=20260401":               "!no parts of a rule",
		"RRULE:FREQ=DAILY\nSUMMARY:x":                     "!the line must be RRULE",
		"EXDATE:tomorrow":                                 "!dates are written",
	} {
		all, problem := parseRecurrence([]string{text}, false)
		if want, bad := strings.CutPrefix(want, "!"); bad && !strings.Contains(problem, want) || !bad && (problem != "" || all[0] != want) {
			t.Errorf("%q: %q, %q; want %q", text, all, problem, want)
		}
	}
	if _, problem := parseRecurrence([]string{"RRULE:FREQ=DAILY;UNTIL=20260401T000000Z"}, true); !strings.Contains(problem, "must be a date") {
		t.Errorf("%q", problem)
	}
	if all, problem := parseRecurrence([]string{"RRULE:FREQ=DAILY;UNTIL=20260401"}, true); problem != "" || len(all) != 1 {
		t.Errorf("%q", problem)
	}
}
