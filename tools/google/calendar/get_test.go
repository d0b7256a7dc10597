package calendar

import (
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/test/tooltest"
)

func TestGet(t *testing.T) {
	_, s := newFake(t,
		`{"id":"full","summary":"Planning","status":"confirmed","start":{"dateTime":"2026-07-01T11:35:00-07:00","timeZone":"America/Los_Angeles"},
			"end":{"dateTime":"2026-07-01T12:35:00-07:00","timeZone":"America/Los_Angeles"},"location":"Room 4",
			"description":"Agenda:\n<ul><li>One &amp; two</li></ul><a href=\"https://example.com/x\">notes</a>\nAttendees:\n    eve@example.com (accepted)",
			"organizer":{"email":"ann@example.com"},"creator":{"email":"bob@example.com"},
			"attendees":[{"email":"ann@example.com","displayName":"Ann","organizer":true,"responseStatus":"accepted"},
			{"email":"me@example.com","self":true,"optional":true,"responseStatus":"needsAction"},{"email":"cat@example.com","responseStatus":"declined","comment":"On\nleave"}],
			"attendeesOmitted":true,"hangoutLink":"https://meet.example.com/old",
			"conferenceData":{"entryPoints":[{"entryPointType":"phone","uri":"tel:+1-555","pin":"123"},{"entryPointType":"video","uri":"https://meet.example.com/abc","passcode":"word"}]},
			"recurrence":["RRULE:FREQ=WEEKLY","EXDATE:20260708T183500Z"],"reminders":{"overrides":[{"method":"popup","minutes":10}]},
			"attachments":[{"title":"Plan","fileUrl":"https://example.com/plan"}],"htmlLink":"https://calendar.example.com/1","visibility":"private","transparency":"opaque"}`,
		`{"id":"private","visibility":"private","start":{"date":"2026-03-02"},"end":{"date":"2026-03-03"},"hangoutLink":"https://meet.example.com/old"}`,
		`{"id":"canceled","status":"cancelled","recurringEventId":"full","originalStartTime":{"dateTime":"2026-07-15T11:35:00-07:00"}}`,
		`{"id":"plain","summary":"x","description":"1 < 2\r\n  b\u202e & c\n\n`+strings.Repeat("long ", 300)+`end\n","start":{"dateTime":"2026-03-02T09:00:00+05:00"},"end":{"dateTime":"2026-03-02T09:00:00+05:00"}}`,
	)
	tooltest.Run(t, bare(getName, s.getEvent), []tooltest.Case{
		{Name: "full", Args: `{"eventId":"full"}`, Exact: `Summary: Planning
Status: confirmed
Start: 2026-07-01T11:35:00-07:00
End: 2026-07-01T12:35:00-07:00
Location: Room 4
Description: 
    Agenda:
    ` + `
    - One & two
    ` + `
    notes (https://example.com/x)
    Attendees:
    eve@example.com (accepted)
Organizer: ann@example.com
Creator: bob@example.com
Attendees:
    ann@example.com (accepted), Ann, organizer
    me@example.com (needsAction), the user, optional
    cat@example.com (declined), comment: On leave
    (there are more, which Google has left out)
Conference Link: https://meet.example.com/abc
Conference phone: tel:+1-555 123
Conference code: word
Recurrence: RRULE:FREQ=WEEKLY; EXDATE:20260708T183500Z
When: Wed 1 Jul 2026 11:35–12:35 (America/Los_Angeles)
My response: needsAction
Visibility: private
Reminder: popup 10 min before
Attachment: Plan https://example.com/plan
Link: https://calendar.example.com/1`,
			Check: func(t *testing.T, res domain.ToolResult) {
				r := results[getResult](t, res)
				if len(r.Attendees) != 3 || r.Attendees[2].Comment != "On leave" || !r.AttendeesOmitted || len(r.Conference) != 2 || r.Conference[0].Code != "123" || len(r.Reminders) != 1 || r.DefaultReminders {
					t.Errorf("%+v", r)
				}
			}},
		{Name: "zone", Args: `{"eventId":"full","timeZone":"Europe/London"}`, Wants: []string{"Start: 2026-07-01T19:35:00+01:00", "Wed 1 Jul 2026 19:35–20:35 (Europe/London)"}},
		{Name: "private", Args: `{"eventId":"private"}`, Wants: []string{"Summary: (no title)\n", "Start: 2026-03-02\nEnd: 2026-03-02\n", "Visibility: private", "Conference Link: https://meet.example.com/old"}},
		{Name: "canceled", Args: `{"eventId":"canceled"}`, Wants: []string{"Status: cancelled\nStart: \nEnd: \n", "Originally: 2026-07-15T11:35:00-07:00", "Occurrence of: full", "This event was canceled"}},
		{Name: "plain text", Args: `{"eventId":"plain"}`, Wants: []string{"    1 < 2\n      b & c\n    \n    long long", "long end\n", "Mon 2 Mar 2026 09:00–09:00 (UTC+05:00)"}},
		{Name: "unknown", Args: `{"eventId":"nope"}`, ErrorType: "not_found", Want: `no event "nope" in the calendar "primary"`},
		{Name: "no ID", Args: `{"eventId":""}`, Code: domain.CodeInvalidParams, Want: "eventId"},
		{Name: "wrong zone", Args: `{"eventId":"full","timeZone":"Moon"}`, Code: domain.CodeInvalidParams, Want: "timeZone is no IANA time zone"},
	})
}

// FuzzDescription has organizers write anything: no line of it can pass for one of the answer.
func FuzzDescription(f *testing.F) {
	for _, text := range []string{"a\nLink: b", "<p>a\r\nb</p>", "a&#10;Summary: x", "<pre>\nStatus: y</pre>", "\u2028x\u0085y"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := getResult{Description: call.Untrusted(t.Context(), "Description", "the organizer", plain(strings.ToValidUTF8(text, "?")))}
		_, body, ok := strings.Cut(r.text(), "Description: \n")
		if !ok || r.Description == "" {
			return
		}
		body, _, _ = strings.Cut(body, "\nOrganizer: \nCreator: \nWhen: ")
		for l := range strings.SplitSeq(strings.TrimPrefix(body, "\n"), "\n") {
			if !strings.HasPrefix(l, "    ") || strings.ContainsAny(l, "\r\u0085\u2028") {
				t.Errorf("line %q", l)
			}
		}
	})
}

// FuzzRecurrence reads any rule.
func FuzzRecurrence(f *testing.F) {
	for _, text := range []string{"RRULE:FREQ=WEEKLY;BYDAY=+1MO,-53SU;WKST=SU;BYSETPOS=-1", "EXDATE;TZID=Europe/London:20260302T090000", "RDATE;VALUE=DATE:20260302,20260303", "FREQ=YEARLY;BYEASTER=1"} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, allDay bool) {
		all, problem := parseRecurrence([]string{text}, allDay)
		if problem == "" && (len(all) != 1 || strings.ContainsAny(all[0], "\r\n")) {
			t.Errorf("%q: %q", text, all)
		}
	})
}

// TestLine takes out what people do not see in what others have written.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"Lunch\r\nat\tnoon": "Lunch at noon", "Lu\u200bn\u00adch": "Lunch", "Lunch\U000E0041\U000E0042": "Lunch", "a\u202eb\u2066c": "abc", "a\u2028b\x1b[2Jc": "a b[2Jc", "<b>&amp;": "<b>&amp;",
	} {
		if got := line(text); got != want {
			t.Errorf("%q is %q; want %q", text, got, want)
		}
	}
}
