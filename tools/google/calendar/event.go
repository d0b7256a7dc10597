package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/tools/google/api"
)

// event is an event as structured content has it.
type event struct {
	ID               string `json:"id" doc:"ID of the event; each occurrence of a recurring event has its own."`
	CalendarID       string `json:"calendarId" doc:"The calendar that was asked."`
	Summary          string `json:"summary" doc:"Title."`
	When             string `json:"when" doc:"Start and end for people, with the weekday and the zone."`
	Start            moment `json:"start" doc:"When the event begins."`
	End              moment `json:"end" doc:"When it ends; of an all-day event the last day, not the day after."`
	AllDay           bool   `json:"allDay" doc:"Whether the event has dates and no times."`
	Location         string `json:"location,omitempty" doc:"Where it is."`
	Status           string `json:"status,omitempty" doc:"confirmed, tentative or cancelled."`
	Organizer        string `json:"organizer,omitempty" doc:"E-mail address of the organizer."`
	AttendeeCount    int    `json:"attendeeCount" doc:"How many people and rooms are invited, as far as it is known."`
	MyResponse       string `json:"myResponse,omitempty" doc:"The user's response: accepted, declined, tentative or needsAction."`
	RecurringEventID string `json:"recurringEventId,omitempty" doc:"Of an occurrence: the ID of the recurring event."`
	ConferenceLink   string `json:"conferenceLink,omitempty" doc:"Address of the video conference."`
	HTMLLink         string `json:"htmlLink,omitempty" doc:"Address of the event in Google Calendar."`
}

// moment is one end of an event.
type moment struct {
	DateTime string `json:"dateTime,omitempty" doc:"RFC 3339 time with an offset, unless the event is all day."`
	Date     string `json:"date,omitempty" doc:"Date, if the event is all day."`
	TimeZone string `json:"timeZone,omitempty" doc:"The zone that the time is shown in, unless only its offset is known."`
}

// describe returns an event with its times in loc, or in the event's own zone if loc is nil.
func describe(e *gcal.Event, calendarID string, loc *time.Location) event {
	d := event{
		ID: e.Id, CalendarID: calendarID, Summary: cmp.Or(line(e.Summary), "(no title)"), When: "unknown", Location: line(e.Location), Status: line(e.Status),
		AttendeeCount: len(e.Attendees), RecurringEventID: e.RecurringEventId, ConferenceLink: conference(e), HTMLLink: line(e.HtmlLink),
	}
	if e.Organizer != nil {
		d.Organizer = line(cmp.Or(e.Organizer.Email, e.Organizer.DisplayName))
	}
	for _, a := range e.Attendees {
		if a.Self {
			d.MyResponse = line(a.ResponseStatus)
		}
	}
	if p, ok := spanOf(e, loc); ok {
		d.When, d.AllDay = p.String(), p.allDay
		d.Start, d.End = momentOf(p.start, p.allDay), momentOf(p.end, p.allDay)
	}
	return d
}

func momentOf(t time.Time, date bool) moment {
	if date {
		return moment{Date: t.Format(dateLayout)}
	}
	return moment{DateTime: wire(t), TimeZone: t.Location().String()}
}

// String writes the end of an event as text.
func (m moment) String() string { return cmp.Or(m.DateTime, m.Date) }

// spanOf returns when an event is, in loc or else in its own zone. What remains of a canceled occurrence may have no time.
func spanOf(e *gcal.Event, loc *time.Location) (p span, ok bool) {
	if e.Start == nil || e.End == nil {
		return p, false
	}
	if e.Start.Date != "" {
		start, err := time.Parse(dateLayout, e.Start.Date)
		end, err2 := time.Parse(dateLayout, e.End.Date)
		if err != nil || err2 != nil {
			return p, false
		}
		if end = end.AddDate(0, 0, -1); end.Before(start) {
			end = start
		}
		return span{allDay: true, start: start, end: end}, true
	}
	start, err := time.Parse(time.RFC3339, e.Start.DateTime)
	end, err2 := time.Parse(time.RFC3339, e.End.DateTime)
	if err != nil || err2 != nil {
		return p, false
	}
	if loc == nil {
		_, offset := start.Zone()
		loc = time.FixedZone("", offset)
		if own, err := time.LoadLocation(e.Start.TimeZone); err == nil && e.Start.TimeZone != "" && e.Start.TimeZone != "Local" {
			loc = own
		}
	}
	return span{start: start.In(loc), end: end.In(loc)}, true
}

// conference returns the address of the video conference of an event, "" if it has none.
func conference(e *gcal.Event) string {
	if e.ConferenceData != nil {
		for _, p := range e.ConferenceData.EntryPoints {
			if p.EntryPointType == "video" {
				return line(p.Uri)
			}
		}
	}
	return line(e.HangoutLink)
}

// maxLine bounds a line of what other people wrote, in characters.
const maxLine = 1000

// line returns a text of other people on one line, so that it cannot pass for lines of the answer.
func line(s string) string {
	s = html.PlainLine(s)
	if r := []rune(s); len(r) > maxLine {
		s = string(r[:maxLine]) + "..."
	}
	return s
}

// each returns what f makes of the elements of a list.
func each[T, U any](list []T, f func(T) U) (all []U) {
	for _, v := range list {
		all = append(all, f(v))
	}
	return all
}

// facts are the lines of an answer about an event.
type facts struct{ strings.Builder }

// add writes a fact, even if its value is empty.
func (f *facts) add(indent, name, value string) {
	if f.Len() > 0 {
		f.WriteByte('\n')
	}
	fmt.Fprintf(f, "%s%s: %s", indent, name, value)
}

// some is add for a value that is not empty.
func (f *facts) some(indent, name, value string) {
	if value != "" {
		f.add(indent, name, value)
	}
}

// overlapping notes which other events of the calendar keep the user busy during an event that has times, with one request.
func (r *savedResult) overlapping(ctx context.Context, s *toolset, e *gcal.Event, loc *time.Location) {
	p, ok := spanOf(e, loc)
	if !ok || p.allDay || e.Transparency == "transparent" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // it is not what the call is for
	defer cancel()
	list, err := api.Write(ctx, s.client, s.service().Events.List(r.CalendarID).SingleEvents(true).OrderBy("startTime").MaxResults(50).
		TimeMin(wire(p.start)).TimeMax(wire(p.end)).Context(ctx).
		Fields("items(id,recurringEventId,summary,start,end,transparency,attendees(self,responseStatus))").Do)
	if err != nil {
		r.Notes = append(r.Notes, "Whether it overlaps other events could not be checked.")
		return
	}
	for _, other := range list.Items {
		at, ok := spanOf(other, p.start.Location())
		declined := slices.ContainsFunc(other.Attendees, func(a *gcal.EventAttendee) bool { return a.Self && a.ResponseStatus == "declined" })
		if ok && !declined && other.Transparency != "transparent" && e.Id != other.Id && e.Id != other.RecurringEventId {
			r.Overlaps = append(r.Overlaps, describe(other, r.CalendarID, p.start.Location()).Summary+", "+at.String())
		}
	}
}
