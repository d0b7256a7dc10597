package calendar

import (
	"fmt"
	"testing"

	"github.com/toolserver/toolserver/test/tooltest"
)

// TestForms gives every list in the forms in which people and models write lists.
func TestForms(t *testing.T) {
	for name, test := range map[string]struct {
		tool  string
		forms []string
		want  string
	}{
		"attendees": {"create", []string{
			`"a@x.org, Bo <b@x.org>"`, `["a@x.org","Bo <b@x.org>"]`, `["a@x.org, Bo <b@x.org>"]`, `"[\"a@x.org\", \"Bo <b@x.org>\"]"`,
			`[{"email":"a@x.org"},{"email":"b@x.org","displayName":"Bo"}]`, `["a@x.org",{"address":"b@x.org","name":"Bo"}]`,
			`"[{\"email\":\"a@x.org\"},{\"email\":\"b@x.org\",\"name\":\"Bo\"}]"`,
		}, "[map[email:a@x.org] map[displayName:Bo email:b@x.org]]"},
		"guests":      {"create", []string{`[{"email":"a@x.org","optional":true}]`, `{"email":"a@x.org","optional":true}`}, "[map[email:a@x.org optional:true]]"},
		"recurrence":  {"create", []string{`"RRULE:FREQ=DAILY;COUNT=3"`, `"FREQ=DAILY;COUNT=3"`, `["rrule:freq=daily;count=3"]`, `"[\"RRULE:FREQ=DAILY;COUNT=3\"]"`, `"RRULE:FREQ=DAILY;COUNT=3\n"`}, "[RRULE:FREQ=DAILY;COUNT=3]"},
		"recurrence ": {"create", []string{`"RRULE:FREQ=DAILY\nEXDATE:20260303T090000Z"`, `["FREQ=DAILY","EXDATE:20260303T090000Z"]`}, "[RRULE:FREQ=DAILY EXDATE:20260303T090000Z]"},
		"reminders": {"create", []string{
			`{"minutes":10}`, `[{"minutes":10}]`, `[{"method":"popup","minutes":"10"}]`, `"[{\"minutes\":10}]"`, `["{\"minutes\":10}"]`,
		}, "map[overrides:[map[method:popup minutes:10]] useDefault:false]"},
		"addAttendees":    {"update", []string{`["b@x.org"]`, `[{"email":"b@x.org"}]`, `"b@x.org"`, `"[\"b@x.org\"]"`}, "[map[email:a@x.org] map[email:b@x.org]]"},
		"removeAttendees": {"update", []string{`["a@x.org"]`, `[{"email":"a@x.org"}]`, `"a@x.org"`}, "[]"},
		"recurrence  ":    {"update", []string{`"RRULE:FREQ=DAILY"`, `["FREQ=DAILY"]`}, "[RRULE:FREQ=DAILY]"},
	} {
		for _, form := range test.forms {
			f, s := newFake(t, `{"id":"one","start":{"dateTime":"2026-03-02T09:00:00Z","timeZone":"UTC"},"end":{"dateTime":"2026-03-02T10:00:00Z","timeZone":"UTC"},"attendees":[{"email":"a@x.org"}]}`)
			argument := name
			for argument[len(argument)-1] == ' ' {
				argument = argument[:len(argument)-1]
			}
			tool, method, args := bare(CreateName, s.create), "POST", `{"summary":"Talk","start":"2026-03-02T09:00:00Z","end":"2026-03-02T10:00:00Z","timeZone":"UTC",%q:%s}`
			if test.tool == "update" {
				tool, method, args = bare(updateName, s.update), "PATCH", `{"eventId":"one",%q:%s}`
			}
			tooltest.Call(t, tool, fmt.Sprintf(args, argument, form))
			sent := f.sent(method)
			field := map[string]string{"guests": "attendees", "addAttendees": "attendees", "removeAttendees": "attendees"}[argument]
			if field == "" {
				field = argument
			}
			if len(sent) != 1 || fmt.Sprint(sent[0].body[field]) != test.want {
				t.Errorf("%s %s: sent %v; want %s", argument, form, sent, test.want)
			}
		}
	}
}
