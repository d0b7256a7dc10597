package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

type updateInput struct {
	target          `json:",inline"`
	Summary         *string  `json:"summary,omitempty" min:"1" max:"1000"`
	Start           string   `json:"start,omitempty" max:"64"`
	End             string   `json:"end,omitempty" max:"64"`
	TimeZone        string   `json:"timeZone,omitempty" max:"64"`
	Description     *string  `json:"description,omitempty" max:"8192"`
	Location        *string  `json:"location,omitempty" max:"1024"`
	AddAttendees    string   `json:"addAttendees,omitempty" max:"65000" list:"true"`
	RemoveAttendees string   `json:"removeAttendees,omitempty" max:"65000" list:"true"`
	Recurrence      []string `json:"recurrence,omitempty" max:"50"`
	Visibility      string   `json:"visibility,omitempty" enum:"default|public|private|confidential"`
	Transparency    string   `json:"transparency,omitempty" enum:"opaque|transparent"`
}

func (updateInput) Words() string { return arguments }

func (s *toolset) update(ctx context.Context, in updateInput) (domain.ToolResult, error) {
	loc, err := s.named(updateName, in.TimeZone)
	if err != nil {
		return domain.ToolResult{}, err
	}
	c := change{toolset: s, in: in, loc: loc}
	if err := c.parse(); err != nil {
		return domain.ToolResult{}, err
	}
	e, calendarID, err := s.find(ctx, updateName, in.target)
	if err == nil {
		err = canceled(e)
	}
	var p split
	if err == nil && in.Scope == "following" {
		if p, err = s.split(ctx, updateName, calendarID, e); err == nil && p.first() {
			e, c.in.EventID = p.master, p.master.Id
		}
	}
	var saved *gcal.Event
	if err == nil && p.master != nil && !p.first() {
		saved, err = c.follow(ctx, calendarID, p)
	} else if err == nil {
		if err = c.apply(ctx, e, calendarID); err == nil {
			saved, err = s.patch(ctx, calendarID, e, &c.changes, in.SendUpdates)
		}
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	r := savedOf(saved, calendarID, loc, in.SendUpdates, c.notes)
	r.Invitations = mailed(in.SendUpdates, slices.Concat(r.Attendees, addresses(c.fewer))) // who is removed is mailed, too
	if c.start != nil || c.end != nil {
		r.overlapping(ctx, s, saved, loc)
	}
	return r.result("Event updated successfully."), nil
}

// change is what a call changes.
type change struct {
	*toolset
	in          updateInput
	loc         *time.Location // that the call or the configuration names; may be nil
	start, end  *stamp
	more, fewer []*gcal.EventAttendee
	bare        bool // nothing but timeZone is given
	changes     gcal.Event
	notes       []string
}

// parse reads the arguments, as far as that takes no event.
func (c *change) parse() (err error) {
	if c.start, err = stampOf(updateName, "start", c.in.Start); err == nil {
		c.end, err = stampOf(updateName, "end", c.in.End)
	}
	if err != nil {
		return err
	}
	var problem string
	if c.more, problem = parsePeople(c.in.AddAttendees); problem != "" {
		return domain.InvalidArgument(updateName, "addAttendees", problem)
	}
	if c.fewer, problem = parsePeople(c.in.RemoveAttendees); problem != "" {
		return domain.InvalidArgument(updateName, "removeAttendees", problem)
	}
	p := &c.changes
	p.Visibility, p.Transparency = c.in.Visibility, c.in.Transparency
	for _, one := range []struct {
		name string
		text *string
		to   *string
	}{{"Summary", c.in.Summary, &p.Summary}, {"Description", c.in.Description, &p.Description}, {"Location", c.in.Location, &p.Location}} {
		if one.text != nil {
			*one.to = *one.text
			p.ForceSendFields = append(p.ForceSendFields, one.name)
		}
	}
	c.bare = p.Visibility == "" && p.Transparency == "" && len(p.ForceSendFields)+len(c.more)+len(c.fewer)+len(c.in.Recurrence) == 0 &&
		c.start == nil && c.end == nil
	if c.bare && c.in.TimeZone == "" {
		return domain.InvalidArgument(updateName, "", "nothing to change is given")
	}
	return nil
}

// apply completes the changes for an event.
func (c *change) apply(ctx context.Context, e *gcal.Event, calendarID string) error {
	allDay := e.Start != nil && e.Start.Date != ""
	own := zoneIn(e)
	if c.bare && allDay {
		return domain.InvalidArgument(updateName, "timeZone", "changes nothing of an all-day event")
	}
	if c.start != nil || c.end != nil || c.bare || c.in.TimeZone != "" && !allDay && (own == nil || own.String() != c.loc.String()) {
		if err := c.move(ctx, e, calendarID); err != nil {
			return err
		}
		allDay = c.changes.Start.Date != ""
	}
	if len(c.in.Recurrence) > 0 {
		if e.RecurringEventId != "" {
			return domain.InvalidArgument(updateName, "recurrence", "is that of all occurrences: use scope all")
		}
		lines, problem := parseRecurrence(c.in.Recurrence, allDay)
		if problem != "" {
			return domain.InvalidArgument(updateName, "recurrence", problem)
		}
		c.changes.Recurrence = lines
	}
	if err := c.invite(ctx, e); err != nil {
		return err
	}
	return c.admitMail(ctx, c.in.SendUpdates, e.Attendees)
}

// move sets the new time of an event.
func (c *change) move(ctx context.Context, e *gcal.Event, calendarID string) error {
	if c.in.Scope == "all" && e.Id != c.in.EventID && cmp.Or(c.start, c.end) != nil {
		return domain.InvalidArgument(updateName, "start", fmt.Sprintf(
			"and end are those of the first occurrence with scope all; to move them all use eventId %s, and its first date", line(e.Id)))
	}
	own := zoneIn(e)
	loc := cmp.Or(c.loc, own)
	if loc == nil {
		var err error
		if loc, err = c.zoneOf(ctx, []calendarInfo{{ID: calendarID}}); err != nil {
			return err
		}
	}
	c.loc = loc
	old, ok := spanOf(e, loc)
	start, end := c.start, c.end
	given := cmp.Or(start, end, &stamp{}) // the zone alone
	if (start == nil || end == nil) && (!ok || given.date != old.allDay) {
		return domain.InvalidArgument(updateName, "start", "and end must both be given where an event becomes all-day or gets times")
	}
	if start == nil {
		start = &stamp{date: old.allDay, offset: !old.allDay, at: old.start.UTC()}
	}
	if end == nil {
		at := start.at
		if !start.date {
			first, _, problem := start.in(loc)
			if problem != "" {
				return domain.InvalidArgument(updateName, "start", problem)
			}
			at = first.UTC()
		}
		end = &stamp{date: old.allDay, offset: !old.allDay, at: at.Add(old.end.Sub(old.start))}
	}
	p, err := parseSpan(updateName, *start, *end, loc)
	if err != nil {
		return err
	}
	saved := p
	if c.in.TimeZone == "" && own != nil && !p.allDay { // occurrences of a series go on in its zone
		saved.start, saved.end = p.start.In(own), p.end.In(own)
	}
	c.changes.Start, c.changes.End = saved.wire()
	if ok && p.allDay != old.allDay {
		stale := []string{"Date"}
		if p.allDay {
			stale = []string{"DateTime", "TimeZone"}
		}
		c.changes.Start.NullFields, c.changes.End.NullFields = stale, stale
	}
	if c.notes = p.notes; c.start == nil && c.end == nil {
		c.notes = append(c.notes, fmt.Sprintf("Only the zone was changed: it is still at %s. For another time give start, too.", wire(p.start)))
	}
	return nil
}

// zoneIn returns the zone that an event is in, nil if it is all day or has none.
func zoneIn(e *gcal.Event) *time.Location {
	if e.Start == nil || e.Start.TimeZone == "" {
		return nil
	}
	loc, err := time.LoadLocation(e.Start.TimeZone)
	if err != nil {
		return nil
	}
	return loc
}

// invite sets the new attendees of an event: Google takes them all, with their responses.
func (c *change) invite(ctx context.Context, e *gcal.Event) error {
	if len(c.more)+len(c.fewer) == 0 {
		return nil
	}
	if e.AttendeesOmitted {
		return &httpcall.Failure{Type: "too_large", Message: "the event has more attendees than Google returns, so that they cannot be changed here",
			Hint: "Change them in Google Calendar."}
	}
	is := func(a *gcal.EventAttendee) func(*gcal.EventAttendee) bool {
		return func(b *gcal.EventAttendee) bool { return strings.EqualFold(a.Email, b.Email) }
	}
	all := slices.Clone(e.Attendees)
	for _, a := range c.fewer {
		if !slices.ContainsFunc(all, is(a)) {
			return domain.InvalidArgument(updateName, "removeAttendees", fmt.Sprintf("has %s, who is not invited", line(a.Email)))
		}
		all = slices.DeleteFunc(all, is(a))
	}
	for _, a := range c.more {
		if !slices.ContainsFunc(all, is(a)) {
			all = append(all, a)
		}
	}
	if len(all) > maxPeople {
		return domain.InvalidArgument(updateName, "addAttendees", fmt.Sprintf("makes %d people; an event has at most %d", len(all), maxPeople))
	}
	c.changes.Attendees = all
	c.changes.ForceSendFields = append(c.changes.ForceSendFields, "Attendees")
	return c.admit(ctx, addresses(c.more))
}
