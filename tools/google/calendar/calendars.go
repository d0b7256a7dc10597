package calendar

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"toolserver/domain"
	"toolserver/tools/google/api"
)

type calendarsInput struct {
	Offset int `json:"offset" default:"0" min:"0" max:"1000000" doc:"Calendars to skip, to read on."`
}

// calendarsResult is the structured content of calendar_list_calendars.
type calendarsResult struct {
	Calendars  []calendarInfo `json:"calendars" doc:"The calendars of the user's list."`
	Total      int            `json:"total" doc:"How many there are altogether."`
	NextOffset int            `json:"next_offset,omitempty" doc:"Absent at the end."`
}

type calendarInfo struct {
	ID       string `json:"id" doc:"The calendarId of other tools."`
	Name     string `json:"name" doc:"Name, which other tools take as calendarId, too."`
	TimeZone string `json:"timeZone,omitempty" doc:"IANA time zone."`
	Access   string `json:"access" doc:"What the user may do: owner, writer, reader or freeBusyReader."`
	Primary  bool   `json:"primary,omitempty" doc:"Whether it is the user's own calendar."`
}

func calendarsTool() domain.Tool {
	return domain.Tool{
		Name:        calendarsName,
		Title:       "List calendars",
		Description: "List the calendars in the user's Google Calendar with their IDs, names, time zones, and what the user may do. Other calendar tools take an ID or a name as calendarId.",
		Category:    category,
		Annotations: domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Output:      domain.OutputOf[calendarsResult](),
		Timeout:     callTimeout,
		Ability:     "list the user's calendars",
	}
}

func (s *toolset) listCalendars(ctx context.Context, in calendarsInput) (domain.ToolResult, error) {
	all, err := s.calendars(ctx)
	if err != nil {
		return domain.ToolResult{}, err
	}
	list := domain.ListFrom(all, in.Offset)
	list.None = "no calendars"
	list.Text = func(calendars []calendarInfo) string {
		return strings.Join(each(calendars, calendarInfo.String), "\n")
	}
	list.Results = func(calendars []calendarInfo, next int) any { return calendarsResult{calendars, len(all), next} }
	return list.Result(ctx)
}

// String writes the calendar on a line.
func (c calendarInfo) String() string {
	text := fmt.Sprintf("%s (ID: %s, %s", c.Name, c.ID, c.Access)
	if c.TimeZone != "" {
		text += ", " + c.TimeZone
	}
	if c.Primary {
		text += ", primary"
	}
	return text + ")"
}

// calendars returns the calendars of the user's list.
func (s *toolset) calendars(ctx context.Context) ([]calendarInfo, error) {
	all := []calendarInfo{}
	call := s.service().CalendarList.List().MaxResults(250).Context(ctx).
		Fields("items(id,summary,summaryOverride,timeZone,accessRole,primary),nextPageToken")
	for range maxPages {
		page, err := api.Read(ctx, s.client, call.Do)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Items {
			all = append(all, calendarInfo{line(c.Id), line(cmp.Or(c.SummaryOverride, c.Summary)), line(c.TimeZone), line(c.AccessRole), c.Primary})
		}
		if page.NextPageToken == "" {
			break
		}
		call.PageToken(page.NextPageToken)
	}
	return all, nil
}
