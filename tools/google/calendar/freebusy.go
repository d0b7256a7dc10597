package calendar

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/tools/google/api"
)

type freeBusyInput struct {
	Calendars    string `json:"calendars,omitempty" max:"20000" list:"true"`
	TimeMin      string `json:"timeMin" min:"1" max:"64"`
	TimeMax      string `json:"timeMax" min:"1" max:"64"`
	TimeZone     string `json:"timeZone,omitempty" max:"64"`
	Minutes      int    `json:"minutes" default:"30" min:"5" max:"1440"`
	WorkingHours string `json:"workingHours" default:"00:00-24:00" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]:[0-5][0-9]|2[0-3]:[0-5][0-9]|24:00)$"`
	Offset       int    `json:"offset" default:"0" min:"0" max:"1000000"`
}

func (freeBusyInput) Words() string { return arguments }

// freeBusyResult is the structured content of calendar_free_busy.
type freeBusyResult struct {
	Calendars []busyCalendar `json:"calendars" doc:"When each calendar is busy."`
	Free      []slot         `json:"free" doc:"When all calendars that could be read are free, within the working hours."`
	Complete  bool           `json:"complete" doc:"Whether all calendars could be read."`
	TimeZone  string         `json:"timeZone" doc:"The zone of the range and of the times."`
	TimeMin   string         `json:"timeMin" doc:"Beginning of the range."`
	TimeMax   string         `json:"timeMax" doc:"End of the range."`
	Total     int            `json:"total" doc:"How many busy and free times there are altogether; what has none counts as one."`
	Next      int            `json:"next_offset,omitempty" doc:"Absent at the end."`
}

type busyCalendar struct {
	ID    string `json:"id" doc:"ID of the calendar."`
	Busy  []slot `json:"busy" doc:"When it is busy."`
	Error string `json:"error,omitempty" doc:"Why it could not be read."`
}

type slot struct {
	Start string `json:"start" doc:"RFC 3339 time."`
	End   string `json:"end" doc:"RFC 3339 time."`
	When  string `json:"when" doc:"Both for people."`
}

// maxRange bounds what is looked up at once.
const maxRange = 93 * 24 * time.Hour

func (s *toolset) freeBusy(ctx context.Context, in freeBusyInput) (domain.ToolResult, error) {
	loc, err := s.named(freeBusyName, in.TimeZone)
	if err != nil {
		return domain.ToolResult{}, err
	}
	r := timeRange{tool: freeBusyName, min: in.TimeMin, max: in.TimeMax}
	if err = r.parse(); err == nil && (r.low == nil || r.up == nil) {
		err = domain.InvalidArgument(freeBusyName, "timeMin", "and timeMax must both be given")
	}
	if from, to, _ := strings.Cut(in.WorkingHours, "-"); err == nil && from >= to {
		err = domain.InvalidArgument(freeBusyName, "workingHours", "must end after they begin")
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	q := &gcal.FreeBusyRequest{CalendarExpansionMax: 50}
	calendars, err := s.pick(ctx, freeBusyName, "calendars", in.Calendars)
	if err != nil {
		return domain.ToolResult{}, err
	}
	for _, c := range calendars {
		q.Items = append(q.Items, &gcal.FreeBusyRequestItem{Id: c.ID})
	}
	if loc == nil {
		if loc, err = s.zoneOf(ctx, []calendarInfo{{ID: primary}}); err != nil {
			return domain.ToolResult{}, err
		}
	}
	if err := r.resolve(loc, s.now()); err != nil {
		return domain.ToolResult{}, err
	}
	if r.to.Sub(*r.from) > maxRange {
		return domain.ToolResult{}, domain.InvalidArgument(freeBusyName, "timeMax", "must be at most 93 days after timeMin")
	}
	q.TimeMin, q.TimeMax, q.TimeZone = wire(*r.from), wire(*r.to), loc.String()
	answer, err := api.Read(ctx, s.client, s.service().Freebusy.Query(q).Context(ctx).Do)
	if err != nil {
		return domain.ToolResult{}, err
	}
	res := freeBusyResult{Complete: true, TimeZone: q.TimeZone, TimeMin: q.TimeMin, TimeMax: q.TimeMax, Free: []slot{}}
	var busy []span
	for _, item := range q.Items {
		c, spans := busyOf(item.Id, answer.Calendars, loc)
		res.Calendars = append(res.Calendars, c)
		res.Complete = res.Complete && c.Error == ""
		busy = append(busy, spans...)
	}
	for _, work := range workingHours(*r.from, *r.to, in.WorkingHours, loc) {
		for _, p := range free(work, busy) {
			if p.end.Sub(p.start) >= time.Duration(in.Minutes)*time.Minute {
				res.Free = append(res.Free, slotOf(p))
			}
		}
	}
	return res.list(in).Result(ctx)
}

// busyOf returns when a calendar is busy, as Google has answered.
func busyOf(id string, answered map[string]gcal.FreeBusyCalendar, loc *time.Location) (c busyCalendar, spans []span) {
	c = busyCalendar{ID: line(id), Busy: []slot{}}
	found, ok := answered[id]
	switch {
	case !ok:
		c.Error = "no answer"
	case len(found.Errors) > 0:
		c.Error = strings.Join(each(found.Errors, func(e *gcal.Error) string {
			if e.Reason == "notFound" {
				return "it does not exist, or is not shared with the user"
			}
			return line(e.Reason)
		}), ", ")
	}
	for _, b := range found.Busy {
		e := &gcal.Event{Start: &gcal.EventDateTime{DateTime: b.Start}, End: &gcal.EventDateTime{DateTime: b.End}}
		if p, ok := spanOf(e, loc); ok {
			c.Busy, spans = append(c.Busy, slotOf(p)), append(spans, p)
		}
	}
	return c, spans
}

func slotOf(p span) slot { return slot{wire(p.start), wire(p.end), p.String()} }

// workingHours returns the hours of each day between two times.
func workingHours(from, to time.Time, hours string, loc *time.Location) (all []span) {
	first, last, _ := strings.Cut(hours, "-")
	for day := today(from, loc); (stamp{at: day}).bound(loc, false).Before(to); day = day.AddDate(0, 0, 1) {
		p := span{start: clock(day, first).bound(loc, false), end: clock(day, last).bound(loc, true)}
		p = p.within(from, to)
		if n := len(all); n > 0 && !p.start.After(all[n-1].end) && p.end.After(p.start) {
			all[n-1].end = p.end // through the night
		} else if p.end.After(p.start) {
			all = append(all, p)
		}
	}
	return all
}

// within returns the part of a span that is between two times, which may be none.
func (p span) within(from, to time.Time) span {
	if p.start.Before(from) {
		p.start = from
	}
	if p.end.After(to) {
		p.end = to
	}
	return p
}

// clock returns a time of a day, such as 09:00.
func clock(day time.Time, text string) stamp {
	var h, m int
	_, _ = fmt.Sscanf(text, "%d:%d", &h, &m) // the schema has checked it
	return stamp{at: day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)}
}

// free returns what remains of a span without others.
func free(p span, busy []span) (all []span) {
	slices.SortFunc(busy, func(a, b span) int { return a.start.Compare(b.start) })
	for _, b := range busy {
		if before := p.within(p.start, b.start); before.end.After(before.start) {
			all = append(all, before)
		}
		p = p.within(b.end, p.end)
	}
	if p.end.After(p.start) {
		all = append(all, p)
	}
	return all
}

// with returns the result with some of its times, each of which is a calendar with at most one; the free ones are of none.
func (r freeBusyResult) with(times []busyCalendar, next int) *freeBusyResult {
	r.Calendars, r.Free, r.Next = []busyCalendar{}, []slot{}, next
	for _, t := range times {
		last := len(r.Calendars) - 1
		switch {
		case t.ID == "":
			r.Free = append(r.Free, t.Busy...)
		case last >= 0 && r.Calendars[last].ID == t.ID:
			r.Calendars[last].Busy = append(r.Calendars[last].Busy, t.Busy...)
		default:
			r.Calendars = append(r.Calendars, t)
		}
	}
	return &r
}

// list returns what was looked up as text and as data.
func (r *freeBusyResult) list(in freeBusyInput) call.List[busyCalendar] {
	var all []busyCalendar
	for _, c := range append(slices.Clone(r.Calendars), busyCalendar{Busy: r.Free}) {
		if len(c.Busy) == 0 {
			all = append(all, c)
		}
		for one := range slices.Chunk(c.Busy, 1) {
			all = append(all, busyCalendar{c.ID, one, c.Error})
		}
	}
	r.Total = len(all)
	list := call.ListFrom(all, in.Offset)
	list.None = "no times"
	list.Text = func(times []busyCalendar) string {
		if len(times) == 0 {
			return ""
		}
		return r.with(times, 0).text(in, times[len(times)-1].ID == "")
	}
	list.Results = func(times []busyCalendar, next int) any { return r.with(times, next) }
	return list
}

// text writes the times, with the free ones if they are reached.
func (r *freeBusyResult) text(in freeBusyInput, free bool) string {
	var f facts
	for _, c := range r.Calendars {
		f.add("", "Calendar", c.ID)
		f.some("  ", "Error", c.Error)
		for _, b := range c.Busy {
			f.add("  ", "Busy", b.When)
		}
		if len(c.Busy) == 0 && c.Error == "" {
			f.WriteString("\n  not busy")
		}
	}
	if free {
		if f.Len() > 0 {
			f.WriteByte('\n')
		}
		fmt.Fprintf(&f, "Free for at least %d min, %s:", in.Minutes, in.WorkingHours)
		for _, s := range r.Free {
			f.WriteString("\n  " + s.When)
		}
		if len(r.Free) == 0 {
			f.WriteString(" never")
		}
	}
	if !r.Complete {
		f.WriteString("\nSome calendars could not be read: these people may be busy.")
	}
	fmt.Fprintf(&f, "\nRange: %s to %s (%s).", r.TimeMin, r.TimeMax, r.TimeZone)
	return f.String()
}
