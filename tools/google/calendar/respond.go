package calendar

import (
	"context"
	"slices"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

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
		return domain.ToolResult{}, &httpcall.Failure{Type: "not_found", Message: "the user is not invited to this event", Hint: "Use an event that shows a response of the user."}
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
