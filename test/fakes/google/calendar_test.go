package google_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/test/fakes/google"
)

// at returns a time on the 23rd of November, in the zone of alice: "09:00".
func at(clock string) *calendar.EventDateTime {
	return &calendar.EventDateTime{DateTime: "2026-11-23T" + clock + ":00+01:00"}
}

func summaries(list *calendar.Events) (all []string) {
	for _, e := range list.Items {
		all = append(all, e.Summary)
	}
	return all
}

func TestEventsInsert(t *testing.T) {
	w := newWorld(t, google.Options{})
	events := w.calendar(alice, calendar.CalendarEventsScope).Events
	given := &calendar.Event{
		Id: "abcde", Summary: "Plan", Start: &calendar.EventDateTime{DateTime: "2026-11-23T11:35:00-07:00", TimeZone: "Europe/London"}, End: at("20:35"),
		Attendees: []*calendar.EventAttendee{{Email: bob}, {Email: alice, ResponseStatus: "accepted"}, {Email: "x@example.com", Optional: true}},
	}
	e := must[*calendar.Event](t)(events.Insert("primary", given).SendUpdates("externalOnly").Do())
	if e.Start.DateTime != "2026-11-23T19:35:00+01:00" || e.Start.TimeZone != "Europe/London" || e.End.TimeZone != "Europe/Berlin" {
		t.Errorf("got %+v to %+v", e.Start, e.End)
	}
	if e.Id != "abcde" || e.Attendees[0].ResponseStatus != "needsAction" || !e.Attendees[1].Self || !e.Attendees[1].Organizer || !e.Organizer.Self ||
		e.Creator.Email != alice || e.HtmlLink == "" || e.ICalUID != "abcde@google.com" || e.Etag == "" || e.Created == "" || e.Status != "confirmed" {
		t.Errorf("got %+v", e)
	}
	if got := w.fake.Invitations()["abcde"]; len(got) != 1 || got[0].SendUpdates != "externalOnly" || !slices.Equal(got[0].Mailed, []string{"x@example.com"}) {
		t.Errorf("invited %+v", got)
	}
	_, err := events.Insert("primary", given).Do()
	refused(t, err, 409, "duplicate")
	given.Id = ""
	silent := must[*calendar.Event](t)(events.Insert("primary", given).Do())
	if got := w.fake.Invitations()[silent.Id]; got[0].SendUpdates != "none" || got[0].Mailed != nil {
		t.Errorf("invited %+v", got)
	}

	day := func(s string) *calendar.EventDateTime { return &calendar.EventDateTime{Date: s} }
	for name, test := range map[string]struct {
		event  calendar.Event
		status int
		reason string
	}{
		"no offset":        {calendar.Event{Start: &calendar.EventDateTime{DateTime: "2026-11-23T09:00:00"}, End: at("10:00")}, 400, "required"},
		"no end":           {calendar.Event{Start: at("09:00")}, 400, "required"},
		"both":             {calendar.Event{Start: &calendar.EventDateTime{DateTime: "2026-11-23T09:00:00Z", Date: "2026-11-23"}, End: at("10:00")}, 400, "invalid"},
		"mixed":            {calendar.Event{Start: day("2026-11-23"), End: at("10:00")}, 400, "invalid"},
		"empty":            {calendar.Event{Start: at("10:00"), End: at("10:00")}, 400, "timeRangeEmpty"},
		"inclusive end":    {calendar.Event{Start: day("2026-11-23"), End: day("2026-11-23")}, 400, "timeRangeEmpty"},
		"unknown zone":     {calendar.Event{Start: &calendar.EventDateTime{DateTime: "2026-11-23T09:00:00", TimeZone: "CET5"}, End: at("10:00")}, 400, "invalid"},
		"no such day":      {calendar.Event{Start: day("2026-02-30"), End: day("2026-03-03")}, 400, "invalid"},
		"repeats, no zone": {calendar.Event{Start: at("09:00"), End: at("10:00"), Recurrence: []string{"RRULE:FREQ=DAILY"}}, 400, "required"},
		"bad rule":         {calendar.Event{Start: day("2026-11-23"), End: day("2026-11-24"), Recurrence: []string{"RRULE:FREQ=OFTEN"}}, 400, "invalid"},
		"short ID":         {calendar.Event{Id: "abcd", Start: at("09:00"), End: at("10:00")}, 400, "invalid"},
		"letters of ID":    {calendar.Event{Id: "wxyz1", Start: at("09:00"), End: at("10:00")}, 400, "invalid"},
		"attendee":         {calendar.Event{Start: at("09:00"), End: at("10:00"), Attendees: []*calendar.EventAttendee{{Email: "Bob"}}}, 400, "invalid"},
		"reminders": {calendar.Event{Start: at("09:00"), End: at("10:00"), Reminders: &calendar.EventReminders{
			ForceSendFields: []string{"UseDefault"}, Overrides: slices.Repeat([]*calendar.EventReminder{{Method: "popup", Minutes: 5}}, 6)}}, 400, "invalid"},
		"visibility": {calendar.Event{Start: at("09:00"), End: at("10:00"), Visibility: "secret"}, 400, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := events.Insert("primary", &test.event).Do()
			refused(t, err, test.status, test.reason)
		})
	}
	reader := w.fake.AddCalendar(alice, google.Calendar{Summary: "Team", Role: "reader"})
	_, err = events.Insert(reader, &calendar.Event{Start: at("09:00"), End: at("10:00")}).Do()
	refused(t, err, 403, "requiredAccessLevel")
	_, err = events.Insert("nobody@example.com", &calendar.Event{Start: at("09:00"), End: at("10:00")}).Do()
	refused(t, err, 404, "notFound")
	_, err = w.calendar(alice, calendar.CalendarReadonlyScope).Events.Insert("primary", given).Do()
	refused(t, err, 403, "insufficientPermissions")
}

func TestConference(t *testing.T) {
	w := newWorld(t, google.Options{MeetPending: true})
	events := w.calendar(alice, calendar.CalendarEventsScope).Events
	meet := &calendar.Event{Start: at("09:00"), End: at("10:00"), ConferenceData: &calendar.ConferenceData{CreateRequest: &calendar.CreateConferenceRequest{
		RequestId: "1", ConferenceSolutionKey: &calendar.ConferenceSolutionKey{Type: "hangoutsMeet"},
	}}}
	if e := must[*calendar.Event](t)(events.Insert("primary", meet).Do()); e.ConferenceData != nil {
		t.Error("a conference without conferenceDataVersion")
	}
	e := must[*calendar.Event](t)(events.Insert("primary", meet).ConferenceDataVersion(1).Do())
	if e.ConferenceData.CreateRequest.Status.StatusCode != "pending" || e.HangoutLink != "" {
		t.Errorf("got %+v", e.ConferenceData.CreateRequest)
	}
	e = must[*calendar.Event](t)(events.Get("primary", e.Id).Do())
	if e.HangoutLink == "" || e.ConferenceData.EntryPoints[0].Uri != e.HangoutLink {
		t.Errorf("got %+v", e.ConferenceData)
	}
}

func TestEventsList(t *testing.T) {
	w := newWorld(t, google.Options{})
	service := w.calendar(alice, calendar.CalendarReadonlyScope)
	add := func(text string) string { return w.fake.AddEvent(alice, "primary", text) }
	add(`{"summary":"late","location":"Mill","start":{"dateTime":"2026-11-23T15:00:00+01:00"},"end":{"dateTime":"2026-11-23T16:00:00+01:00"}}`)
	add(`{"summary":"early","attendees":[{"email":"carol@example.com"}],"start":{"dateTime":"2026-11-23T09:00:00+01:00"},"end":{"dateTime":"2026-11-23T10:00:00+01:00"}}`)
	add(`{"summary":"day","start":{"date":"2026-11-23"},"end":{"date":"2026-11-24"}}`)
	add(`{"summary":"daily","recurrence":["RRULE:FREQ=DAILY;COUNT=3"],"start":{"dateTime":"2026-11-22T12:00:00","timeZone":"Europe/Berlin"},"end":{"dateTime":"2026-11-22T12:30:00","timeZone":"Europe/Berlin"}}`)
	list := func() *calendar.EventsListCall {
		return service.Events.List("primary").TimeMin("2026-11-23T00:00:00+01:00").TimeMax("2026-11-24T00:00:00+01:00")
	}
	sorted := must[*calendar.Events](t)(list().SingleEvents(true).OrderBy("startTime").TimeZone("UTC").Do())
	if got := strings.Join(summaries(sorted), " "); got != "day early daily late" {
		t.Errorf("got %s", got)
	}
	if sorted.Summary != alice || sorted.TimeZone != "UTC" || sorted.AccessRole != "owner" || sorted.Items[1].Start.DateTime != "2026-11-23T08:00:00Z" ||
		sorted.Items[0].Start.Date != "2026-11-23" || !strings.HasSuffix(sorted.Items[2].Id, "_20261123T110000Z") {
		t.Errorf("got %+v, %+v", sorted, sorted.Items[1].Start)
	}
	if got := must[*calendar.Events](t)(list().Do()); len(got.Items) != 4 || got.Items[3].Recurrence == nil || got.TimeZone != "Europe/Berlin" {
		t.Errorf("got %v", summaries(got))
	}
	// Bounds are exclusive.
	if got := must[*calendar.Events](t)(service.Events.List("primary").TimeMin("2026-11-23T10:00:00+01:00").TimeMax("2026-11-23T12:00:00+01:00").SingleEvents(true).Do()); fmt.Sprint(summaries(got)) != "[day]" {
		t.Errorf("got %v", summaries(got))
	}
	for q, want := range map[string]string{"mill": "[late]", "carol": "[early]", "nothing": "[]"} {
		if got := must[*calendar.Events](t)(list().Q(q).Do()); fmt.Sprint(summaries(got)) != want {
			t.Errorf("%s: got %v", q, summaries(got))
		}
	}
	for name, test := range map[string]struct {
		call   *calendar.EventsListCall
		status int
		reason string
	}{
		"no offset":       {service.Events.List("primary").TimeMin("2026-11-23T00:00:00"), 400, "badRequest"},
		"a day":           {service.Events.List("primary").TimeMax("2026-11-23"), 400, "badRequest"},
		"empty":           {list().TimeMin("2026-11-24T00:00:00+01:00"), 400, "timeRangeEmpty"},
		"order":           {list().OrderBy("startTime"), 400, "badRequest"},
		"zone":            {list().TimeZone("Nowhere/City"), 400, "invalid"},
		"page":            {list().PageToken("x"), 400, "invalid"},
		"sync token":      {service.Events.List("primary").SyncToken("x"), 410, "fullSyncRequired"},
		"not my calendar": {service.Events.List(bob), 404, "notFound"},
	} {
		_, err := test.call.Do()
		t.Run(name, func(t *testing.T) { refused(t, err, test.status, test.reason) })
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, google.Options{})
	w.fake.PageLimit = func(page, size int) int { return []int{2, 0, size}[min(page, 2)] }
	for i := range 5 {
		w.fake.AddEvent(alice, "primary", fmt.Sprintf(`{"summary":"%d","start":{"date":"2026-11-23"},"end":{"date":"2026-11-24"}}`, i))
	}
	var sizes []int
	err := w.calendar(alice, calendar.CalendarEventsReadonlyScope).Events.List("primary").MaxResults(2).Pages(t.Context(), func(page *calendar.Events) error {
		sizes = append(sizes, len(page.Items))
		return nil
	})
	if err != nil || !slices.Equal(sizes, []int{2, 0, 2, 1}) {
		t.Errorf("got pages of %v: %v", sizes, err)
	}
}

func TestEventsChange(t *testing.T) {
	clock := now
	w := newWorld(t, google.Options{Now: func() time.Time { return clock }})
	events := w.calendar(alice, calendar.CalendarEventsScope).Events
	e := must[*calendar.Event](t)(events.Insert("primary", &calendar.Event{
		Summary: "Plan", Location: "Mill", Start: at("09:00"), End: at("10:00"), Attendees: []*calendar.EventAttendee{{Email: alice}, {Email: bob}},
	}).Do())
	clock = clock.Add(time.Minute)
	moved := must[*calendar.Event](t)(events.Patch("primary", e.Id, &calendar.Event{Start: at("08:00")}).SendUpdates("all").Do())
	if moved.Summary != "Plan" || moved.Sequence != 1 || moved.Start.DateTime != "2026-11-23T08:00:00+01:00" || moved.Etag == e.Etag {
		t.Errorf("got %+v", moved)
	}
	if got := w.fake.Invitations()[e.Id]; !slices.Equal(got[1].Mailed, []string{bob}) || got[1].Method != "patch" {
		t.Errorf("invited %+v", got)
	}
	_, err := events.Patch("primary", e.Id, &calendar.Event{Start: &calendar.EventDateTime{Date: "2026-11-23"}}).Do()
	refused(t, err, 400, "invalid") // has a dateTime, too
	change := events.Patch("primary", e.Id, &calendar.Event{Summary: "x"})
	change.Header().Set("If-Match", e.Etag)
	_, err = change.Do()
	refused(t, err, 412, "conditionNotMet")

	guest := w.calendar(bob, calendar.CalendarEventsScope).Events
	_, err = guest.Patch("primary", e.Id, &calendar.Event{Summary: "Mine"}).Do()
	refused(t, err, 403, "forbiddenForNonOrganizer")
	yes := must[*calendar.Event](t)(guest.Patch("primary", e.Id, &calendar.Event{Attendees: []*calendar.EventAttendee{{Email: bob, ResponseStatus: "accepted"}}}).Do())
	if yes.Start.DateTime != "2026-11-23T02:00:00-05:00" || len(yes.Attendees) != 2 || !yes.Attendees[1].Self || yes.Organizer.Self {
		t.Errorf("got %+v", yes)
	}
	if got := must[*calendar.Event](t)(events.Get("primary", e.Id).Do()); got.Attendees[1].ResponseStatus != "accepted" || got.Attendees[0].ResponseStatus != "needsAction" {
		t.Errorf("got %+v", got.Attendees[1])
	}
	replaced := must[*calendar.Event](t)(events.Update("primary", e.Id, &calendar.Event{Summary: "New", Start: at("08:00"), End: at("10:00")}).Do())
	if replaced.Location != "" || replaced.Attendees != nil || replaced.Summary != "New" || replaced.ICalUID != e.ICalUID {
		t.Errorf("got %+v", replaced)
	}
	_, err = guest.Get("primary", e.Id).Do()
	refused(t, err, 404, "notFound") // is no guest any more
	if err := events.Delete("primary", e.Id).Do(); err != nil {
		t.Error(err)
	}
	refused(t, events.Delete("primary", e.Id).Do(), 410, "deleted")
	if got := must[*calendar.Event](t)(events.Get("primary", e.Id).Do()); got.Status != "cancelled" {
		t.Errorf("got %+v", got)
	}
	if got := must[*calendar.Events](t)(events.List("primary").Do()); len(got.Items) != 0 {
		t.Errorf("got %v", summaries(got))
	}
	_, err = events.Get("primary", "nothing").Do()
	if e := refused(t, err, 404, "notFound"); strings.Contains(e.Body, `"status"`) {
		t.Errorf("Calendar has the old style: %s", e.Body)
	}
}

func TestRecurrence(t *testing.T) {
	w := newWorld(t, google.Options{})
	events := w.calendar(alice, calendar.CalendarEventsScope).Events
	starts := func(rule string) string {
		id := w.fake.AddEvent(alice, "primary", `{"recurrence":["RRULE:`+rule+`","EXDATE;TZID=Europe/Berlin:20261025T090000"],
			"start":{"dateTime":"2026-10-23T09:00:00","timeZone":"Europe/Berlin"},"end":{"dateTime":"2026-10-23T10:00:00","timeZone":"Europe/Berlin"}}`)
		var all []string
		for _, e := range must[*calendar.Events](t)(events.Instances("primary", id).Do()).Items {
			all = append(all, strings.TrimSuffix(e.Start.DateTime[5:], ":00:00+0"))
		}
		return strings.Join(all, " ")
	}
	const summer, winter = "T09:00:00+02:00", "T09:00:00+01:00" // the clocks change on the 25th
	for rule, want := range map[string]string{
		"FREQ=DAILY;COUNT=4":                  "10-23" + summer + " 10-24" + summer + " 10-26" + winter,
		"FREQ=DAILY;UNTIL=20261024":           "10-23" + summer + " 10-24" + summer,
		"FREQ=WEEKLY;COUNT=2":                 "10-23" + summer + " 10-30" + winter,
		"FREQ=WEEKLY;INTERVAL=2;COUNT=2":      "10-23" + summer + " 11-06" + winter,
		"FREQ=WEEKLY;BYDAY=MO,FR;COUNT=3":     "10-23" + summer + " 10-26" + winter + " 10-30" + winter,
		"FREQ=MONTHLY;UNTIL=20261123T080000Z": "10-23" + summer + " 11-23" + winter,
		"FREQ=YEARLY;COUNT=2":                 "10-23" + summer + " 10-23" + summer,
	} {
		if got := starts(rule); got != want {
			t.Errorf("%s: got %s, want %s", rule, got, want)
		}
	}
	id := w.fake.AddEvent(alice, "primary", `{"summary":"Walk","recurrence":["RRULE:FREQ=DAILY;COUNT=3"],"start":{"date":"2027-01-01"},"end":{"date":"2027-01-02"}}`)
	if err := events.Delete("primary", id+"_20270101").Do(); err != nil {
		t.Fatal(err)
	}
	other := must[*calendar.Event](t)(events.Patch("primary", id+"_20270102", &calendar.Event{Summary: "Run"}).Do())
	if other.RecurringEventId != id || other.OriginalStartTime.Date != "2027-01-02" || other.Start.Date != "2027-01-02" || other.Recurrence != nil {
		t.Errorf("got %+v", other)
	}
	list := must[*calendar.Events](t)(events.List("primary").TimeMin("2027-01-01T00:00:00Z").SingleEvents(true).OrderBy("startTime").Do())
	if got := fmt.Sprint(summaries(list)); !strings.HasPrefix(got, "[Run Walk") {
		t.Errorf("got %s", got)
	}
}

func TestCalendars(t *testing.T) {
	w := newWorld(t, google.Options{})
	service := w.calendar(alice, calendar.CalendarReadonlyScope)
	team := w.fake.AddCalendar(alice, google.Calendar{Summary: "Team", TimeZone: "Asia/Tokyo", Role: "reader"})
	w.fake.AddCalendar(alice, google.Calendar{ID: bob, Role: "freeBusyReader"})
	w.fake.AddEvent(alice, team, `{"summary":"Secret","visibility":"private","start":{"date":"2026-11-23"},"end":{"date":"2026-11-24"}}`)
	w.fake.AddEvent(bob, "primary", `{"summary":"Doctor","start":{"dateTime":"2026-11-23T09:00:00Z"},"end":{"dateTime":"2026-11-23T10:00:00Z"}}`)
	w.fake.AddEvent(bob, "primary", `{"summary":"More","start":{"dateTime":"2026-11-23T09:30:00Z"},"end":{"dateTime":"2026-11-23T11:00:00Z"}}`)
	w.fake.AddEvent(bob, "primary", `{"summary":"Birthday","transparency":"transparent","start":{"date":"2026-11-23"},"end":{"date":"2026-11-24"}}`)
	list := must[*calendar.CalendarList](t)(service.CalendarList.List().Do())
	if len(list.Items) != 3 || !list.Items[0].Primary || list.Items[0].Summary != alice || list.Items[1].AccessRole != "reader" || list.Items[1].TimeZone != "Asia/Tokyo" {
		t.Errorf("got %+v", list.Items)
	}
	if got := must[*calendar.CalendarList](t)(service.CalendarList.List().MinAccessRole("writer").Do()); len(got.Items) != 1 {
		t.Errorf("got %d calendars", len(got.Items))
	}
	first := must[*calendar.CalendarList](t)(service.CalendarList.List().MaxResults(2).Do())
	if rest := must[*calendar.CalendarList](t)(service.CalendarList.List().MaxResults(2).PageToken(first.NextPageToken).Do()); len(rest.Items) != 1 {
		t.Errorf("got %d calendars", len(rest.Items))
	}
	if got := must[*calendar.CalendarListEntry](t)(service.CalendarList.Get("primary").Do()); got.Id != alice {
		t.Errorf("got %+v", got)
	}
	if got := must[*calendar.Calendar](t)(service.Calendars.Get(team).Do()); got.Summary != "Team" {
		t.Errorf("got %+v", got)
	}
	for _, id := range []string{team, bob} {
		if got := must[*calendar.Events](t)(service.Events.List(id).Do()); got.Items[0].Summary != "" || got.Items[0].Visibility != "private" {
			t.Errorf("got %+v", got.Items[0])
		}
	}
	if got := must[*calendar.Setting](t)(service.Settings.Get("timezone").Do()); got.Value != "Europe/Berlin" {
		t.Errorf("got %+v", got)
	}
	if got := must[*calendar.Settings](t)(service.Settings.List().Do()); len(got.Items) < 3 {
		t.Errorf("got %+v", got)
	}
	_, err := service.Settings.Get("nothing").Do()
	refused(t, err, 404, "notFound")

	ask := &calendar.FreeBusyRequest{TimeMin: "2026-11-23T00:00:00Z", TimeMax: "2026-11-24T00:00:00Z", Items: []*calendar.FreeBusyRequestItem{{Id: bob}, {Id: "x@example.com"}}}
	busy := must[*calendar.FreeBusyResponse](t)(service.Freebusy.Query(ask).Do())
	if b := busy.Calendars[bob].Busy; len(b) != 1 || b[0].Start != "2026-11-23T09:00:00Z" || b[0].End != "2026-11-23T11:00:00Z" || busy.Calendars["x@example.com"].Errors[0].Reason != "notFound" {
		t.Errorf("got %+v", busy.Calendars)
	}
	ask.TimeMax = ask.TimeMin
	_, err = service.Freebusy.Query(ask).Do()
	refused(t, err, 400, "timeRangeEmpty")
	_, err = service.Events.List(bob).Do(googleapi.QueryParameter("key", "x"))
	if err != nil {
		t.Error(err)
	}
}
