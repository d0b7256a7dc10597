package calendar

import (
	"context"
	"fmt"
	"net/http"

	gcal "google.golang.org/api/calendar/v3"
	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/api"
)

// target is which event a call changes.
type target struct {
	EventID     string `json:"eventId" min:"1" max:"1024" also:"id" doc:"ID of the event, from calendar_list_events."`
	CalendarID  string `json:"calendarId" default:"primary" max:"1024" doc:"ID or name of the calendar that the event is in; primary is the user's own."`
	Scope       string `json:"scope" default:"this" enum:"this|following|all" doc:"Of a recurring event: this occurrence, it and those that follow, or all."`
	SendUpdates string `json:"sendUpdates" default:"none" enum:"none|all|externalOnly" doc:"Who is mailed about the change: nobody, all attendees, or those who do not use Google Calendar."`
}

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
