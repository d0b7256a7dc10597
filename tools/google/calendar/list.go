package calendar

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/api"
)

type listInput struct {
	TimeMin    string `json:"timeMin,omitempty" max:"64"`
	TimeMax    string `json:"timeMax,omitempty" max:"64"`
	Query      string `json:"query,omitempty" max:"500"`
	MaxResults int    `json:"maxResults" default:"10" min:"1" max:"250"`
	CalendarID string `json:"calendarId" default:"primary" max:"20000" list:"true"`
	TimeZone   string `json:"timeZone,omitempty" max:"64"`
	PageToken  string `json:"pageToken,omitempty" max:"2000"`
}

func (listInput) Words() string { return arguments }

// listResult is the structured content of calendar_list_events.
type listResult struct {
	Events        []event  `json:"events" doc:"Events by start time, occurrences of recurring events one by one."`
	TimeZone      string   `json:"timeZone" doc:"The zone of the range and of the times."`
	TimeMin       string   `json:"timeMin,omitempty" doc:"Beginning of the range that was searched, if it has one: events that end after it."`
	TimeMax       string   `json:"timeMax,omitempty" doc:"End of the range, if it has one: events that begin before it."`
	NextPageToken string   `json:"nextPageToken,omitempty" doc:"The pageToken of a call that goes on from here; absent if there is no more."`
	Failed        []string `json:"failed,omitempty" doc:"Calendars that could not be read, and why."`

	names map[string]string `json:"-"` // of calendars, by their IDs
	more  bool              `json:"-"` // there are more events
}

// maxListChars is room for as many events as a call may ask for.
const maxListChars = 100_000

// maxPages bounds the requests of a call: pages may be short, and even empty.
const maxPages = 20

// listFields are what is asked of each event.
const listFields = "items(id,summary,start,end,location,status,organizer(email,displayName),attendees(self,responseStatus),recurringEventId," +
	"hangoutLink,conferenceData(entryPoints(entryPointType,uri)),htmlLink),nextPageToken,timeZone"

func (s *toolset) list(ctx context.Context, in listInput) (domain.ToolResult, error) {
	loc, err := s.named(ListName, in.TimeZone)
	r := timeRange{tool: ListName, min: in.TimeMin, max: in.TimeMax, open: strings.TrimSpace(in.Query) != ""}
	if err == nil {
		err = r.parse()
	}
	var calendars []calendarInfo
	if err == nil {
		calendars, err = s.pick(ctx, ListName, "calendarId", in.CalendarID)
	}
	local := r.low == nil && r.up == nil || r.low != nil && !r.low.offset || r.up != nil && !r.up.offset
	if err == nil && loc == nil && (local || len(calendars) > 1) {
		loc, err = s.zoneOf(ctx, calendars)
	}
	if err == nil {
		err = r.resolve(cmp.Or(loc, time.UTC), s.now())
	}
	if err != nil {
		return domain.ToolResult{}, err
	}
	found := make([]found, len(calendars))
	failed, err := api.Each(ctx, len(calendars), func(ctx context.Context, i int) (err error) {
		found[i], err = s.search(ctx, calendars[i].ID, in, r, loc)
		return err
	})
	if err != nil {
		return domain.ToolResult{}, err
	}
	loc = cmp.Or(loc, found[0].zone)
	res := listResult{Events: []event{}, TimeZone: loc.String(), names: map[string]string{}}
	if r.from != nil {
		res.TimeMin = wire(r.from.In(loc))
	}
	if r.to != nil {
		res.TimeMax = wire(r.to.In(loc))
	}
	for i, c := range calendars {
		if res.names[c.ID] = c.Name; failed[i] != nil {
			res.Failed = append(res.Failed, c.Name+": "+httpcall.Explain(failed[i]).Message)
		}
		res.Events, res.NextPageToken, res.more = append(res.Events, found[i].events...), found[i].next, res.more || found[i].next != ""
	}
	if len(calendars) > 1 { // whose pages end at different times
		slices.SortStableFunc(res.Events, func(a, b event) int { return cmp.Compare(a.Start.String(), b.Start.String()) }) // of one zone
		res.NextPageToken, res.more = "", res.more || len(res.Events) > in.MaxResults
		res.Events = res.Events[:min(len(res.Events), in.MaxResults)]
	}
	return res.list(ctx)
}

// found is what a search of one calendar has found.
type found struct {
	events []event
	next   string // the token of the page that follows
	zone   *time.Location
}

// search returns the events of one calendar. Without a zone, its own is in the answer.
func (s *toolset) search(ctx context.Context, calendarID string, in listInput, r timeRange, loc *time.Location) (f found, err error) {
	call := s.service().Events.List(calendarID).SingleEvents(true).OrderBy("startTime").Fields(listFields).Context(ctx)
	if loc != nil {
		call.TimeZone(loc.String())
	}
	if r.from != nil {
		call.TimeMin(wire(*r.from))
	}
	if r.to != nil {
		call.TimeMax(wire(*r.to))
	}
	if q := strings.TrimSpace(in.Query); q != "" {
		call.Q(q)
	}
	f.next, f.zone = in.PageToken, loc
	for range maxPages {
		if f.next != "" {
			call.PageToken(f.next)
		}
		page, err := api.Read(ctx, s.client, call.MaxResults(int64(in.MaxResults-len(f.events))).Do)
		if err != nil {
			return f, noCalendar(err, calendarID)
		}
		if f.zone == nil {
			if f.zone, err = answered(page.TimeZone); err != nil {
				return f, err
			}
		}
		for _, e := range page.Items {
			f.events = append(f.events, describe(e, calendarID, f.zone))
		}
		if f.next = page.NextPageToken; f.next == "" || len(f.events) >= in.MaxResults {
			break
		}
	}
	return f, nil
}

// list returns as many events as fit, as text and as data. A token cannot go on in the middle
// of a page, so fewer are to be asked for if some do not fit.
func (r *listResult) list(ctx context.Context) (domain.ToolResult, error) {
	return call.List[event]{
		Entries: r.Events,
		Text:    func(events []event) string { return r.with(events).text() },
		Results: func(events []event, _ int) any { return r.with(events) },
		Next: func(next int) string {
			return fmt.Sprintf("call again with maxResults=%d, and go on with the pageToken of that answer", next)
		},
	}.Result(ctx)
}

// with returns the result with the first of its events, and with all of them its token.
func (r listResult) with(events []event) *listResult {
	if len(events) < len(r.Events) {
		r.NextPageToken = ""
	}
	r.Events = events
	return &r
}

func (r *listResult) text() string {
	var b strings.Builder
	for _, e := range r.Events {
		var f facts
		f.add("", "ID", e.ID)
		f.add("  ", "Summary", e.Summary)
		f.add("  ", "Start", e.Start.String())
		f.add("  ", "End", e.End.String())
		f.add("  ", "Location", e.Location)
		f.add("  ", "Status", e.Status)
		f.add("  ", "Organizer", e.Organizer)
		f.add("  ", "When", e.When)
		f.some("  ", "My response", e.MyResponse)
		f.some("  ", "Conference Link", e.ConferenceLink)
		f.some("  ", "Occurrence of", e.RecurringEventID)
		if len(r.names) > 1 {
			f.add("  ", "Calendar", r.names[e.CalendarID])
		}
		b.WriteString(f.String() + "\n\n")
	}
	if len(r.Events) == 0 {
		b.WriteString("No events found.\n\n")
	}
	switch {
	case r.TimeMin == "":
		fmt.Fprintf(&b, "Range: until %s (%s).", r.TimeMax, r.TimeZone)
	case r.TimeMax == "":
		fmt.Fprintf(&b, "Range: from %s (%s).", r.TimeMin, r.TimeZone)
	default:
		fmt.Fprintf(&b, "Range: %s to %s (%s).", r.TimeMin, r.TimeMax, r.TimeZone)
	}
	switch {
	case r.NextPageToken != "":
		fmt.Fprintf(&b, " There are more events: call again with the same arguments and pageToken %s.", r.NextPageToken)
	case r.more && len(r.names) > 1:
		b.WriteString(" There are more events: call again with timeMin after the last one, or a larger maxResults.")
	}
	if r.Failed != nil {
		fmt.Fprintf(&b, "\nNot read: %s.", strings.Join(r.Failed, "; "))
	}
	return b.String()
}

// timeRange is what a search is bounded by.
type timeRange struct {
	tool     string
	min, max string // arguments; may be empty
	low, up  *stamp
	open     bool       // without a bound, it is everything from today on
	from, to *time.Time // nil if there is no bound
}

// parse reads the arguments.
func (r *timeRange) parse() (err error) {
	if r.low, err = stampOf(r.tool, "timeMin", r.min); err == nil {
		r.up, err = stampOf(r.tool, "timeMax", r.max)
	}
	return err
}

// resolve sets the instants of the range in loc: without a bound those of today, or of everything from today on.
func (r *timeRange) resolve(loc *time.Location, now time.Time) error {
	if r.low == nil && r.up == nil {
		day := &stamp{date: true, at: today(now, loc)}
		if r.low = day; !r.open {
			r.up = day
		}
	}
	if r.low != nil {
		r.from = new(r.low.bound(loc, false))
	}
	if r.up != nil {
		r.to = new(r.up.bound(loc, true))
	}
	if r.from != nil && r.to != nil && !r.from.Before(*r.to) {
		return domain.InvalidArgument(r.tool, "timeMax", fmt.Sprintf("must be after timeMin: it is %s, and timeMin is %s", wire(*r.to), wire(*r.from)))
	}
	return nil
}
