package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/tools/google/api"
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

func (s *toolset) listCalendars(ctx context.Context, in calendarsInput) (domain.ToolResult, error) {
	all, err := s.calendars(ctx)
	if err != nil {
		return domain.ToolResult{}, err
	}
	list := call.ListFrom(all, in.Offset)
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
			info := calendarInfo{line(c.Id), line(cmp.Or(c.SummaryOverride, c.Summary)), line(c.TimeZone), line(c.AccessRole), c.Primary}
			if all = append(all, info); c.Primary { // it comes first
				all = slices.Insert(all[:len(all)-1], 0, info)
			}
		}
		if page.NextPageToken == "" {
			break
		}
		call.PageToken(page.NextPageToken)
	}
	return all, nil
}

// isID reports whether text can only be the ID of a calendar.
func isID(text string) bool {
	return text == primary || strings.Contains(text, "@") && !strings.Contains(text, " ")
}

// pick returns the calendars that an argument names: by IDs or names with commas, or all. The user's list is asked for only if
// IDs are not enough.
func (s *toolset) pick(ctx context.Context, tool, argument, text string) (found []calendarInfo, err error) {
	names := slices.DeleteFunc(each(strings.Split(text, ","), strings.TrimSpace), func(name string) bool { return name == "" })
	if len(names) == 0 {
		names = []string{primary}
	}
	var known []calendarInfo
	if slices.ContainsFunc(names, func(name string) bool { return !isID(name) }) {
		if known, err = s.calendars(ctx); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(names); i++ {
		name, every := names[i], strings.EqualFold(names[i], "all")
		var matches []calendarInfo
		for _, c := range known {
			switch {
			case i == 0 && strings.EqualFold(c.Name, strings.TrimSpace(text)): // a name may have a comma
				matches, names = append(matches, c), nil
			case every || c.ID == name || c.Primary && name == primary || strings.EqualFold(c.Name, name):
				matches = append(matches, c)
			}
		}
		switch {
		case len(matches) == 0 && isID(name):
			matches = []calendarInfo{{ID: name, Name: name}}
		case len(matches) == 0:
			return nil, domain.InvalidArgument(tool, argument, fmt.Sprintf("names no calendar: %q; there are: %s", clip(name),
				clipList(each(known, func(c calendarInfo) string { return c.Name }))))
		case len(matches) > 1 && !every:
			return nil, domain.InvalidArgument(tool, argument, fmt.Sprintf("names several calendars: %q; use an ID: %s", clip(name),
				clipList(each(matches, func(c calendarInfo) string { return c.ID }))))
		}
		for _, c := range matches {
			if !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	return found, nil
}

// calendarID returns the ID of the one calendar that the argument calendarId names.
func (s *toolset) calendarID(ctx context.Context, tool, name string) (string, error) {
	found, err := s.pick(ctx, tool, "calendarId", name)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		return "", domain.InvalidArgument(tool, "calendarId", fmt.Sprintf("must name one calendar, and names %d", len(found)))
	}
	return found[0].ID, nil
}
