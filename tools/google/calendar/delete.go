package calendar

import (
	"context"
	"net/http"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
)

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
	res := domain.Text(f.String())
	res.Results = r
	return res, nil
}
