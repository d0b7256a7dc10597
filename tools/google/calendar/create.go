package calendar

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/api"
)

type createInput struct {
	Summary      string     `json:"summary" min:"1" max:"1000"`
	Start        string     `json:"start" min:"1" max:"64"`
	End          string     `json:"end" min:"1" max:"64"`
	Description  string     `json:"description,omitempty" max:"8192"`
	Location     string     `json:"location,omitempty" max:"1024"`
	Attendees    string     `json:"attendees,omitempty" max:"65000" list:"true"`
	CalendarID   string     `json:"calendarId" default:"primary" max:"1024"`
	TimeZone     string     `json:"timeZone,omitempty" max:"64"`
	Recurrence   []string   `json:"recurrence,omitempty" max:"50"`
	SendUpdates  string     `json:"sendUpdates" default:"none" enum:"none|all|externalOnly"`
	Reminders    []reminder `json:"reminders,omitempty" max:"5"`
	AddMeet      bool       `json:"addMeet" default:"false"`
	Visibility   string     `json:"visibility" default:"default" enum:"default|public|private|confidential"`
	Transparency string     `json:"transparency" default:"opaque" enum:"opaque|transparent"`
	EventID      string     `json:"eventId,omitempty" min:"5" max:"1024" pattern:"^[a-v0-9]+$"`
	DryRun       bool       `json:"dryRun" default:"false"`
}

func (createInput) Words() string { return arguments }

type reminder struct {
	Method  string `json:"method" default:"popup" enum:"popup|email" doc:"How the user is reminded."`
	Minutes int64  `json:"minutes" min:"0" max:"40320" doc:"Minutes before the start."`
}

// savedResult is the structured content of the tools that save an event.
type savedResult struct {
	event            `json:",inline"`
	Duration         string   `json:"duration,omitempty" doc:"How long it is, for people."`
	Recurrence       []string `json:"recurrence,omitempty" doc:"When it is repeated, as lines of RFC 5545."`
	Attendees        []string `json:"attendees,omitempty" doc:"E-mail addresses of the other people who are invited."`
	Invitations      string   `json:"invitations,omitempty" doc:"Who was mailed, for people."`
	SendUpdates      string   `json:"sendUpdates" doc:"Who Google was asked to mail: none, all or externalOnly."`
	ConferenceStatus string   `json:"conferenceStatus,omitempty" doc:"Of a conference that was asked for: pending, success or failure."`
	Overlaps         []string `json:"overlaps,omitempty" doc:"Other events of the calendar at that time; of a recurring event, at that of the first occurrence."`
	Notes            []string `json:"notes,omitempty" doc:"What else is to be known, such as that a local time occurs twice."`
	DryRun           bool     `json:"dryRun" doc:"Whether nothing was saved."`
}

func (s *toolset) create(ctx context.Context, in createInput) (domain.ToolResult, error) {
	e, p, calendarID, err := s.newEvent(ctx, in)
	if err != nil {
		return domain.ToolResult{}, err
	}
	if in.DryRun {
		e.Id = in.EventID // a random one would be another in the call that saves the event
		res := savedOf(e, calendarID, p.zone(), in.SendUpdates, p.notes)
		res.DryRun = true
		return res.result("Dry run: nothing was saved. The event would be:"), nil
	}
	made, existed, err := s.insert(ctx, calendarID, e, in)
	if ctx.Err() != nil {
		return domain.Text(unknownOutcome(e.Id)), ctx.Err() // the executor keeps the text
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	if existed && in.EventID != "" {
		if made.Status == "cancelled" || !alike(made, e) {
			return domain.ToolResult{}, &httpcall.Failure{Type: "already_exists",
				Message: fmt.Sprintf("the ID %s is that of another event (%s, %s)", in.EventID, describe(made, calendarID, nil).Summary, line(made.Status)),
				Hint:    "Leave eventId out, or use another: even a deleted event keeps its ID."}
		}
		p.notes = append(p.notes, "An event with this ID, title and time existed already: it was not created again, and nobody was mailed again.")
	}
	res := savedOf(made, calendarID, p.zone(), in.SendUpdates, p.notes)
	res.overlapping(ctx, s, made, p.zone())
	return res.result("Event created successfully."), nil
}

// newEvent returns the event of a call, its time and its calendar.
func (s *toolset) newEvent(ctx context.Context, in createInput) (e *gcal.Event, p span, calendarID string, err error) {
	bad := func(field, problem string) (*gcal.Event, span, string, error) {
		return nil, span{}, "", domain.InvalidArgument(CreateName, field, problem)
	}
	start, problem := parseStamp(in.Start)
	if problem != "" {
		return bad("start", problem)
	}
	end, problem := parseStamp(in.End)
	if problem != "" {
		return bad("end", problem)
	}
	recurrence, problem := parseRecurrence(in.Recurrence, start.date)
	if problem != "" {
		return bad("recurrence", problem)
	}
	people, problem := parsePeople(in.Attendees)
	if problem != "" {
		return bad("attendees", problem)
	}
	if strings.TrimSpace(in.Summary) == "" {
		return bad("summary", "must not be empty")
	}
	loc, err := s.named(CreateName, in.TimeZone)
	if err == nil {
		calendarID, err = s.calendarID(ctx, CreateName, in.CalendarID)
	}
	if err == nil {
		err = s.admit(ctx, addresses(people))
	}
	if err == nil {
		p, err = s.span(ctx, CreateName, calendarID, start, end, loc, len(recurrence) > 0)
	}
	if err != nil {
		return nil, p, "", err
	}
	e = &gcal.Event{
		Id: in.EventID, Summary: strings.TrimSpace(in.Summary), Description: in.Description, Location: in.Location,
		Attendees: people, Recurrence: recurrence, Visibility: in.Visibility, Transparency: in.Transparency,
	}
	e.Start, e.End = p.wire()
	if e.Id == "" {
		e.Id = newID()
	}
	if in.Reminders != nil {
		e.Reminders = &gcal.EventReminders{ForceSendFields: []string{"UseDefault"}}
		for _, r := range in.Reminders {
			e.Reminders.Overrides = append(e.Reminders.Overrides, &gcal.EventReminder{Method: r.Method, Minutes: r.Minutes, ForceSendFields: []string{"Minutes"}})
		}
	}
	if in.AddMeet {
		e.ConferenceData = &gcal.ConferenceData{CreateRequest: &gcal.CreateConferenceRequest{
			RequestId: e.Id, ConferenceSolutionKey: &gcal.ConferenceSolutionKey{Type: "hangoutsMeet"},
		}}
	}
	return e, p, calendarID, nil
}

// span returns the time from start to end, in loc or else in the zone of the calendar, which is asked for only if it matters.
func (s *toolset) span(ctx context.Context, tool, calendarID string, start, end stamp, loc *time.Location, repeated bool) (span, error) {
	instants := start.offset && end.offset
	if loc == nil {
		// What is wrong in every zone is found without asking.
		if start.offset == end.offset {
			if p, err := parseSpan(tool, start, end, time.UTC); err != nil {
				return p, err
			}
		}
		loc = time.FixedZone("", 0)
		if !start.date && (!instants || repeated) {
			var err error
			if loc, err = s.zoneOf(ctx, []calendarInfo{{ID: calendarID}}); err != nil {
				return span{}, err
			}
		}
	}
	return parseSpan(tool, start, end, loc)
}

// wire returns the span as Google takes it: of an all-day event, the end is the day after the last.
func (p span) wire() (start, end *gcal.EventDateTime) {
	if p.allDay {
		return &gcal.EventDateTime{Date: p.start.Format(dateLayout)}, &gcal.EventDateTime{Date: p.end.AddDate(0, 0, 1).Format(dateLayout)}
	}
	at := func(t time.Time) *gcal.EventDateTime {
		return &gcal.EventDateTime{DateTime: wire(t), TimeZone: t.Location().String()}
	}
	return at(p.start), at(p.end)
}

// newID returns a random ID in the alphabet of Google's, base32hex.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// insert creates an event. Its ID makes that safe to repeat: the second time Google says that the event exists, and it is read.
func (s *toolset) insert(ctx context.Context, calendarID string, e *gcal.Event, in createInput) (made *gcal.Event, existed bool, err error) {
	call := s.service().Events.Insert(calendarID, e).SendUpdates(in.SendUpdates).Context(ctx)
	if in.AddMeet {
		call.ConferenceDataVersion(1)
	}
	if e.Attachments != nil { // of a series that is divided
		call.SupportsAttachments(true)
	}
	made, err = api.Read(ctx, s.client, call.Do) // with its ID, it is created once
	unknown := api.Unknown(err)
	if statusOf(err) == http.StatusConflict {
		existed = true
		made, err = s.get(ctx, calendarID, e.Id, nil)
		unknown = err != nil
	}
	if unknown {
		f := *httpcall.Explain(err)
		f.Message, f.Hint = f.Message+"; "+unknownOutcome(e.Id), "Call again with the same arguments and eventId "+e.Id+"."
		return nil, existed, &f
	}
	return made, existed, noCalendar(err, calendarID)
}

// unknownOutcome says how to go on after a call whose event may exist.
func unknownOutcome(id string) string {
	return fmt.Sprintf("it is unknown whether the event was created; with eventId %s it is created at most once", id)
}

// alike reports whether two events have the same title and time.
func alike(a, b *gcal.Event) bool {
	one, ok := spanOf(a, time.UTC)
	other, ok2 := spanOf(b, time.UTC)
	return ok && ok2 && a.Summary == b.Summary && one.allDay == other.allDay && one.start.Equal(other.start) && one.end.Equal(other.end)
}

// zone returns the zone that the span is in, nil if it has none.
func (p span) zone() *time.Location {
	if p.allDay || p.start.Location().String() == "" {
		return nil
	}
	return p.start.Location()
}

// savedOf returns what was saved, as Google has returned it, with its time in loc or else in its own zone.
func savedOf(e *gcal.Event, calendarID string, loc *time.Location, sendUpdates string, notes []string) *savedResult {
	r := &savedResult{event: describe(e, calendarID, loc), Recurrence: e.Recurrence, Attendees: addresses(e.Attendees), SendUpdates: sendUpdates, Notes: notes}
	if saved, ok := spanOf(e, loc); ok {
		r.Duration = saved.length()
	}
	r.Invitations = mailed(sendUpdates, r.Attendees)
	if e.ConferenceData != nil && e.ConferenceData.CreateRequest != nil {
		r.ConferenceStatus = "pending"
		if status := e.ConferenceData.CreateRequest.Status; status != nil {
			r.ConferenceStatus = line(status.StatusCode)
		}
	}
	return r
}

// result returns what was saved as text and as data.
func (r *savedResult) result(head string) domain.ToolResult {
	var f facts
	f.WriteString(head)
	f.add("  ", "ID", r.ID)
	f.add("  ", "Summary", r.Summary)
	f.add("  ", "Start", r.Start.String())
	f.add("  ", "End", r.End.String())
	f.add("  ", "Link", r.HTMLLink)
	f.add("  ", "When", r.When+", "+r.Duration)
	f.some("  ", "Location", r.Location)
	f.some("  ", "Recurrence", strings.Join(r.Recurrence, "; "))
	conference := r.ConferenceLink
	if r.DryRun && r.ConferenceStatus != "" {
		conference = "would be created"
	} else if conference == "" && r.ConferenceStatus == "pending" {
		conference = "is being created; calendar_get_event shows its link in a moment"
	} else if conference == "" && r.ConferenceStatus != "" {
		conference = "could not be created (" + r.ConferenceStatus + ")"
	}
	f.some("  ", "Conference Link", conference)
	if r.DryRun && r.Invitations != "" {
		r.Invitations = "with sendUpdates " + r.SendUpdates + ", for " + clipList(r.Attendees)
	}
	f.some("  ", "Invitations", r.Invitations)
	f.some("  ", "Overlaps", clipList(r.Overlaps))
	for _, note := range r.Notes {
		f.add("  ", "Note", note)
	}
	res := domain.Text(f.String())
	res.Results, res.Made = r, map[string][]string{"id": {r.ID}}
	return res
}
