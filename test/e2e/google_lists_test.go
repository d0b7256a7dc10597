//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	fake "github.com/toolserver/toolserver/test/fakes/google"
)

// says has Google answer all requests to a path with a body.
func (g *googleGround) says(method, path string, body any) {
	g.t.Helper()
	b, err := json.Marshal(body)
	must(g.t, err)
	g.google.Fail(to(method, path), 1<<20, fake.Answer{Status: http.StatusOK, Body: string(b)})
}

// pagesOf reads a list to its end.
func (b *box) pagesOf(tool string, args map[string]any, most int) (texts []string, pages []map[string]any) {
	b.t.Helper()
	return listCall(func(args map[string]any) (string, map[string]any) {
		o := b.checked(tool, args)
		if o.failed {
			b.t.Fatalf("%s: %v", tool, o)
		}
		return o.text, o.structure
	}).pages(b.t, args, most)
}

// TestGoogleLists reads labels and calendars, as many as there can be: each page has the same in
// both forms, and all pages have all.
func TestGoogleLists(t *testing.T) {
	t.Parallel()
	const most = 5000
	for _, count := range []int{0, 1, 3000} {
		g := newGoogleGround(t, account{"own", os.Geteuid()}, "", fullTier+fmt.Sprintf("limits: {max_result_chars: %d}\n", most))
		b := g.serve()
		g.signIn(b, alice)
		labels, calendars := []map[string]any{}, []map[string]any{}
		var want []string
		for i := range count {
			name := fmt.Sprintf("name%04d%s", i, strings.Repeat("ü", i%20))
			want = append(want, name)
			labels = append(labels, map[string]any{"id": fmt.Sprintf("Label_%d", i), "name": name, "type": "user"})
			calendars = append(calendars, map[string]any{"id": fmt.Sprintf("c%d@example.com", i), "summary": name, "accessRole": "reader"})
		}
		g.says("GET", "/labels", map[string]any{"labels": labels})
		g.says("GET", "/calendarList", map[string]any{"items": calendars})
		for tool, list := range map[string]string{"gmail_labels": "labels", "calendar_list_calendars": "calendars"} {
			texts, pages := b.pagesOf(tool, map[string]any{}, most)
			if got := entriesOf(pages, list, "name"); !slices.Equal(got, want) {
				t.Errorf("%s: %d of %d entries", tool, len(got), count)
			}
			var said []string
			for _, text := range texts {
				for line := range strings.Lines(text) {
					name, _, _ := strings.Cut(line, " (ID: ")
					said = append(said, name)
				}
			}
			if count > 0 && !slices.Equal(said, want) || count == 0 && texts[0] != "[no "+list+"]" {
				t.Errorf("%s: %d of %d entries in the text: %.200s", tool, len(said), count, texts[0])
			}
			beyond := "[no " + list + " after the first 9,999]"
			if count > 0 {
				beyond = "[no " + list + " at offset 9,999: there are " + map[int]string{1: "1", 3000: "3,000"}[count] + "]"
			}
			if o := b.checked(tool, map[string]any{"offset": 9999}); o.failed || o.text != beyond {
				t.Errorf("%s beyond the end: %v", tool, o)
			}
			for offset, problem := range map[any]string{"x": "offset must be an integer", -1: "offset must be at least 0", 1.5: "offset must be an integer"} {
				if o := b.call(tool, map[string]any{"offset": offset}); o.errorType != "-32602" || !strings.Contains(o.text, problem) {
					t.Errorf("%s with offset %v: %v", tool, offset, o)
				}
			}
		}
	}
}

// TestGoogleLongEntry has a label with a name of 100,000 characters: the list shortens it, says
// so, and says how to read all of it.
func TestGoogleLongEntry(t *testing.T) {
	t.Parallel()
	g, b := newMailGround(t, fullTier)
	g.says("GET", "/labels", map[string]any{"labels": []map[string]any{
		{"id": "Label_1", "name": "first", "type": "user"}, {"id": "Label_2", "name": strings.Repeat("long", 25_000), "type": "user"}, {"id": "Label_3", "name": "third", "type": "user"},
	}})
	_, pages := b.pagesOf("gmail_labels", map[string]any{}, 40_000)
	if got := entriesOf(pages, "labels", "id"); !slices.Equal(got, []string{"Label_1", "Label_2", "Label_3"}) {
		t.Errorf("%q", got)
	}
	o := b.checked("gmail_labels", map[string]any{"offset": 1})
	id := largeID.FindStringSubmatch(o.text)[1]
	shows(t, "long", o, "longlong", "...", "the entry is too long: what has more than ", " bytes is cut; all of it: read_large_result(id=")
	if all := b.call("read_large_result", map[string]any{"id": id, "page": 2}); all.failed || !strings.Contains(all.text, "longlong") {
		t.Errorf("%v", all)
	}
}

// TestGoogleFreeBusyPages reads when calendars are busy 3,000 times.
func TestGoogleFreeBusyPages(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", fullTier)
	from := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	busy := []map[string]any{}
	for i := range 3000 {
		at := from.Add(time.Duration(i) * 20 * time.Minute)
		busy = append(busy, map[string]any{"start": at.Format(time.RFC3339), "end": at.Add(10 * time.Minute).Format(time.RFC3339)})
	}
	g.says("POST", "/freeBusy", map[string]any{"calendars": map[string]any{"primary": map[string]any{"busy": busy}, bob: map[string]any{"busy": []any{}}}})
	args := map[string]any{"timeMin": "2026-07-01", "timeMax": "2026-08-31", "timeZone": "UTC", "calendars": []string{"primary", bob}, "minutes": 10}
	texts, pages := g.box.pagesOf("calendar_free_busy", args, 40_000)
	text := strings.Join(texts, "\n")
	var slots []string
	calendars := map[string]bool{}
	for _, page := range pages {
		for _, c := range page["calendars"].([]any) {
			c := c.(map[string]any)
			calendars[c["id"].(string)] = true
			for _, s := range c["busy"].([]any) {
				slots = append(slots, s.(map[string]any)["when"].(string))
			}
		}
	}
	free := entriesOf(pages, "free", "when")
	if len(slots) != 3000 || len(free) != 3000 || len(calendars) != 2 || pages[0]["total"] != 6001.0 {
		t.Errorf("%d busy, %d free, of %v; total %v", len(slots), len(free), calendars, pages[0]["total"])
	}
	if n := strings.Count(text, "\n  Busy: "); n != 3000 || strings.Count(text, "not busy") != 1 {
		t.Errorf("%d busy in the text", n)
	}
	for _, when := range slices.Concat(slots, free) {
		if !strings.Contains(text, when) {
			t.Fatalf("%s is not in the text", when)
		}
	}
	args["offset"] = 7000
	shows(t, "beyond", g.box.checked("calendar_free_busy", args), "[no times at offset 7,000: there are 6,001]")
}

// TestGoogleAttendees reads an event with more attendees, and comments of theirs, than one answer
// has room for.
func TestGoogleAttendees(t *testing.T) {
	t.Parallel()
	g := newCalendarGround(t, "", "")
	attendees := []map[string]any{}
	var want []string
	for i := range 500 {
		email := fmt.Sprintf("person%03d@example.com", i)
		want = append(want, email)
		attendees = append(attendees, map[string]any{"email": email, "responseStatus": "declined", "comment": strings.Repeat("no ", i%300)})
	}
	id := g.google.AddEvent(alice, "primary", `{"summary": "All hands", "start": {"date": "2026-07-01"}, "end": {"date": "2026-07-02"}}`)
	g.says("GET", "/events/"+id, map[string]any{"id": id, "summary": "All hands", "start": map[string]any{"date": "2026-07-01"}, "end": map[string]any{"date": "2026-07-02"}, "attendees": attendees})
	texts, pages := g.box.pagesOf("calendar_get_event", map[string]any{"eventId": id}, 40_000)
	if got := entriesOf(pages, "attendees", "email"); !slices.Equal(got, want) || len(pages) < 2 {
		t.Errorf("%d attendees on %d pages", len(got), len(pages))
	}
	for i, text := range texts {
		if n := len(entriesOf(pages[i:i+1], "attendees", "email")); !strings.HasPrefix(text, "Summary: All hands\n") || strings.Count(text, "@example.com (declined)") != n {
			t.Errorf("page %d with %d attendees: %.200s", i, n, text)
		}
	}
	shows(t, "beyond", g.box.checked("calendar_get_event", map[string]any{"eventId": id, "offset": 500}), "Summary: All hands", "[no attendees at offset 500: there are 500]")
}
