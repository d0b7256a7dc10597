package calendar

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/api"
)

// target is which event a call changes.
type target struct {
	EventID     string `json:"eventId" min:"1" max:"1024"`
	CalendarID  string `json:"calendarId" default:"primary" max:"1024"`
	Scope       string `json:"scope" default:"this" enum:"this|following|all"`
	SendUpdates string `json:"sendUpdates" default:"none" enum:"none|all|externalOnly"`
}

func (target) Words() string { return arguments }

// find returns the event of a target, and its calendar. An occurrence stands for all only if scope says so.
func (s *toolset) find(ctx context.Context, tool string, t target) (e *gcal.Event, calendarID string, err error) {
	if calendarID, err = s.calendarID(ctx, tool, t.CalendarID); err != nil {
		return nil, "", err
	}
	if e, err = s.get(ctx, calendarID, t.EventID, nil); err != nil {
		return nil, "", err
	}
	switch {
	case t.Scope == "all" && e.RecurringEventId != "":
		e, err = s.get(ctx, calendarID, e.RecurringEventId, nil)
	case t.Scope == "this" && len(e.Recurrence) > 0:
		return nil, "", domain.InvalidArgument(tool, "scope", "must be all: eventId is that of a recurring event; each occurrence has an ID of its own in "+ListName)
	}
	return e, calendarID, err
}

// canceled is the failure of a change to an event that was deleted.
func canceled(e *gcal.Event) error {
	if e.Status != "cancelled" {
		return nil
	}
	return &httpcall.Failure{Type: "not_found", Message: fmt.Sprintf("the event %q was deleted", clip(e.Id)), Hint: "Use another event, or create one."}
}

// admitMail asks the policy about people who are mailed about a change.
func (s *toolset) admitMail(ctx context.Context, sendUpdates string, people []*gcal.EventAttendee) error {
	if sendUpdates == "none" {
		return nil
	}
	return s.admit(ctx, addresses(people))
}

// patch changes an event, unless it has changed since it was read.
func (s *toolset) patch(ctx context.Context, calendarID string, read, changes *gcal.Event, sendUpdates string) (*gcal.Event, error) {
	call := s.service().Events.Patch(calendarID, read.Id, changes).SendUpdates(sendUpdates).Context(ctx)
	call.Header().Set("If-Match", read.Etag)
	e, err := api.Write(ctx, s.client, call.Do)
	return e, notChanged(err, calendarID, read.Id)
}

// remove deletes an event, unless it has changed since it was read.
func (s *toolset) remove(ctx context.Context, calendarID string, read *gcal.Event, sendUpdates string) error {
	call := s.service().Events.Delete(calendarID, read.Id).SendUpdates(sendUpdates).Context(ctx)
	call.Header().Set("If-Match", read.Etag)
	_, err := api.Write(ctx, s.client, func(o ...googleapi.CallOption) (struct{}, error) { return struct{}{}, call.Do(o...) })
	return notChanged(err, calendarID, read.Id)
}

// notChanged returns why an event was not changed.
func notChanged(err error, calendarID, id string) error {
	status := statusOf(err)
	switch {
	case status == http.StatusPreconditionFailed:
		return &httpcall.Failure{Type: "conflict", Status: status, Message: "somebody else changed the event during the call, and nothing was saved",
			Hint: "Look at it with " + getName + ", and call again."}
	case api.Unknown(err):
		f := *httpcall.Explain(err)
		f.Message += "; it is unknown whether the event was changed"
		f.Hint = "Look at it with " + getName + " before another call."
		return &f
	}
	return noEvent(err, calendarID, id)
}

type deleteInput struct {
	target `json:",inline"`
}

// deleteResult is the structured content of calendar_delete_event.
type deleteResult struct {
	ID          string `json:"id" doc:"ID of the event."`
	Summary     string `json:"summary" doc:"Title."`
	When        string `json:"when" doc:"Start and end for people."`
	Already     bool   `json:"alreadyDeleted" doc:"Whether it was deleted before."`
	Invitations string `json:"invitations,omitempty" doc:"Who was mailed, for people."`
	SendUpdates string `json:"sendUpdates" doc:"Who Google was asked to mail: none, all or externalOnly."`
}

func (s *toolset) deleteEvent(ctx context.Context, in deleteInput) (domain.ToolResult, error) {
	e, calendarID, err := s.find(ctx, deleteName, in.target)
	if err == nil {
		err = s.admitMail(ctx, in.SendUpdates, e.Attendees)
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	d := describe(e, calendarID, s.zone)
	r := deleteResult{ID: d.ID, Summary: d.Summary, When: d.When, SendUpdates: in.SendUpdates, Already: e.Status == "cancelled"}
	if !r.Already {
		end := func() error { return s.remove(ctx, calendarID, e, in.SendUpdates) }
		if in.Scope == "following" {
			p, err := s.split(ctx, deleteName, calendarID, e)
			if err != nil {
				return domain.ToolResult{}, err
			}
			if e, r.When = p.master, r.When+", and those that follow"; !p.first() {
				before, _, _ := p.recurrence(p.at, nil)
				end = func() error {
					_, err := s.patch(ctx, calendarID, e, &gcal.Event{Recurrence: before}, in.SendUpdates)
					return err
				}
			}
		}
		if err := end(); statusOf(err) == http.StatusGone {
			r.Already = true
		} else if err != nil {
			return domain.ToolResult{}, err
		}
	}
	var f facts
	if r.Already {
		f.WriteString("The event was deleted already.")
	} else {
		f.WriteString("Event deleted successfully.")
		r.Invitations = mailed(in.SendUpdates, addresses(e.Attendees))
	}
	f.add("  ", "ID", r.ID)
	f.add("  ", "Summary", r.Summary)
	f.add("  ", "When", r.When)
	f.some("  ", "Cancellations", r.Invitations)
	return domain.Answer(f.String(), r), nil
}

type respondInput struct {
	target   `json:",inline"`
	Response string `json:"response" enum:"accepted|declined|tentative" doc:"The user's response."`
	Comment  string `json:"comment,omitempty" max:"1000" doc:"Comment that the organizer and the other attendees see with it."`
}

func (s *toolset) respond(ctx context.Context, in respondInput) (domain.ToolResult, error) {
	e, calendarID, err := s.find(ctx, respondName, in.target)
	if err == nil && in.Scope == "following" {
		err = domain.InvalidArgument(respondName, "scope", "must be this or all")
	}
	if err == nil {
		err = canceled(e)
	}
	if err == nil && e.Organizer != nil {
		err = s.admitMail(ctx, in.SendUpdates, []*gcal.EventAttendee{{Email: e.Organizer.Email}})
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	at := slices.IndexFunc(e.Attendees, func(a *gcal.EventAttendee) bool { return a.Self })
	if at < 0 {
		return domain.ToolResult{}, &httpcall.Failure{Type: "not_found", Message: "the user is not invited to this event",
			Hint: "Use an event that shows a response of the user."}
	}
	self := *e.Attendees[at]
	self.ResponseStatus = in.Response
	if in.Comment != "" {
		self.Comment = in.Comment
	}
	// Others are left out, so that nothing is said about them.
	saved, err := s.patch(ctx, calendarID, e, &gcal.Event{Attendees: []*gcal.EventAttendee{&self}, AttendeesOmitted: true}, in.SendUpdates)
	if err != nil {
		return domain.ToolResult{}, err
	}
	r := savedOf(saved, calendarID, s.zone, in.SendUpdates, nil)
	r.Notes = append(r.Notes, "The user's response is "+r.MyResponse+".")
	return r.result("Response saved successfully."), nil
}
