// Package calendar provides the tools for the user's Google Calendar.
//
// A time with an offset is that instant, whatever zone it is shown in. The last day of an all-day event is meant and shown as
// such; Google's API names the day after. Nobody is mailed unless a call says so, and each answer says who was.
package calendar

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/schema"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/google/api"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

// Options are what the configuration says of the calendar tools.
type Options struct {
	// Zone is that of times without an offset, and that times are shown in; nil for the calendar's own.
	Zone *time.Location
	// Recipients rejects addresses of people who must not be invited; nil allows all.
	Recipients func(ctx context.Context, addresses []string) error
}

const (
	ListName   = "calendar_list_events"  // whose hosts and state the others use
	CreateName = "calendar_create_event" // whose recipients are those of all tools that invite
	getName    = "calendar_get_event"

	updateName    = "calendar_update_event"
	deleteName    = "calendar_delete_event"
	respondName   = "calendar_respond_event"
	freeBusyName  = "calendar_free_busy"
	calendarsName = "calendar_list_calendars"

	grants      = ".calendar-tokens" // the directory of the state that all of them use
	mails       = "gmail_send"       // whose lists of recipients hold for invitations, too
	callTimeout = time.Minute
	primary     = "primary" // the ID of the user's own calendar
)

const scopePrefix = "https://www.googleapis.com/auth/calendar"

// The scopes of requests, of which any is enough; the first is the least.
const (
	reading  = ".events.readonly .events .events.owned .readonly ."
	writing  = ".events .events.owned ."
	busyness = ".freebusy .events.freebusy .readonly ."
	listing  = ".calendarlist.readonly .calendarlist .readonly ."
)

// scopes returns scopes without what they have in common.
func scopes(endings string) []string {
	return each(strings.Fields(endings), func(ending string) string { return strings.TrimSuffix(scopePrefix+ending, ".") })
}

//go:embed words.txt
var words string

// Family returns the tools of the category. To know what they declare takes no client.
func Family(c *api.Client, o Options) api.Family {
	return (&toolset{client: c, service: func() *gcal.Service { return c.Calendar() }, recipients: o.Recipients, zone: o.Zone, now: time.Now}).family()
}

func (s *toolset) family() api.Family {
	of := func(t domain.Tool, full bool, enough, failing string, define func(api.Need, domain.Tool) domain.Tool) api.Tool {
		need := api.Need{Service: signin.Calendar, Scopes: scopes(enough), Failing: failing}
		return api.Tool{
			Owner: sandbox.Owner{Tool: t.Name, Fetches: ListName, Through: t.Name != ListName, Keeps: grants, Mails: mails},
			Full:  full, Scopes: need.Scopes, Make: func(sandbox.Capabilities) domain.Tool { return define(need, t) },
		}
	}
	reads := domain.Annotations{ReadOnly: true, Idempotent: true, OpenWorld: true}
	changes := domain.Annotations{Destructive: true, Idempotent: true, OpenWorld: true}
	all := []api.Tool{
		of(domain.Tool{Name: ListName, Target: []string{"calendarId", "query", "timeMin", "timeMax"}, Annotations: reads, Output: schema.OutputOf[listResult](),
			MaxResultChars: maxListChars, View: "calendar"}, // 250 events are 80,000 characters as text, and twice that as data
			false, reading, "Error listing calendar events", runs(s, s.list)),
		of(domain.Tool{Name: CreateName, Target: []string{"calendarId", "eventId", "attendees", "dryRun"},
			Annotations: domain.Annotations{OpenWorld: true}, Final: true, Output: schema.OutputOf[savedResult](),
			Timeout: 2 * callTimeout, Explain: s.explain}, // an attempt, and another if its outcome is unknown
			false, writing, "Error creating calendar event", runs(s, s.create)),
		of(domain.Tool{Name: getName, Target: []string{"calendarId", "eventId"}, Annotations: reads, Output: schema.OutputOf[getResult]()},
			false, reading, "Error getting calendar event", runs(s, s.getEvent)),
		of(domain.Tool{Name: updateName, Target: []string{"calendarId", "eventId", "scope", "addAttendees", "removeAttendees"},
			Annotations: domain.Annotations{Destructive: true, OpenWorld: true}, Final: true, Output: schema.OutputOf[savedResult](), Explain: s.explain},
			true, writing, "Error updating calendar event", runs(s, s.update)),
		of(domain.Tool{Name: deleteName, Target: []string{"calendarId", "eventId", "scope"}, Annotations: changes, Final: true,
			Output: schema.OutputOf[deleteResult]()},
			true, writing, "Error deleting calendar event", runs(s, s.deleteEvent)),
		of(domain.Tool{Name: respondName, Target: []string{"calendarId", "eventId", "scope", "response"}, Annotations: changes,
			Final: true, Output: schema.OutputOf[savedResult]()},
			true, writing, "Error responding to invitation", runs(s, s.respond)),
		of(domain.Tool{Name: freeBusyName, Target: []string{"calendars"}, Annotations: reads, Output: schema.OutputOf[freeBusyResult]()},
			true, busyness, "Error looking up free time", runs(s, s.freeBusy)),
		of(domain.Tool{Name: calendarsName, Annotations: reads, Output: schema.OutputOf[calendarsResult]()},
			true, listing, "Error listing calendars", runs(s, s.listCalendars)),
	}
	all[0].Also = scopes(listing)[:1] // for the names of calendars
	return api.Family{Service: signin.Calendar, Category: declare.Category{Name: "calendar", Heading: "Calendar"}, Tools: all}
}

// runs returns what completes the declaration of a tool that run carries out.
func runs[In any](s *toolset, run func(context.Context, In) (domain.ToolResult, error)) func(api.Need, domain.Tool) domain.Tool {
	return func(need api.Need, t domain.Tool) domain.Tool {
		t.Timeout = cmp.Or(t.Timeout, callTimeout)
		return api.Define(s.client, need, api.Described(words, t), run)
	}
}

// toolset is what the tools share.
type toolset struct {
	client     *api.Client
	service    func() *gcal.Service
	recipients func(ctx context.Context, addresses []string) error
	zone       *time.Location // nil for that of the calendar
	now        func() time.Time
}

// named returns the zone that the argument timeZone or else the configuration names, nil if none does.
func (s *toolset) named(tool, name string) (*time.Location, error) {
	if name == "" {
		return s.zone, nil
	}
	loc, err := Zone(name)
	if err != nil {
		return nil, domain.InvalidArgument(tool, "timeZone", err.Error())
	}
	return loc, nil
}

// zoneOf returns the zone that calendars are shown in: that of the first or, unless it is known, of several the user's.
func (s *toolset) zoneOf(ctx context.Context, calendars []calendarInfo) (*time.Location, error) {
	id := calendars[0].ID
	if calendars[0].TimeZone != "" {
		return answered(calendars[0].TimeZone)
	} else if len(calendars) > 1 {
		id = primary
	}
	list, err := api.Read(ctx, s.client, s.service().Events.List(id).MaxResults(1).Fields("timeZone").Context(ctx).Do)
	if err != nil {
		return nil, noCalendar(err, id)
	}
	return answered(list.TimeZone)
}

// answered returns the zone that Google calls a calendar's.
func answered(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, &httpcall.Failure{Type: "bad_answer", Message: fmt.Sprintf("the calendar's time zone %q is unknown", clip(name)),
			Hint: "Call again with timeZone."}
	}
	return loc, nil
}

// statusOf returns the HTTP status that is why a request failed, 0 if there is none.
func statusOf(err error) int {
	if f, ok := errors.AsType[*httpcall.Failure](err); ok {
		return f.Status
	}
	return 0
}

// noCalendar returns err, in the terms of the calendar if Google says that there is none.
func noCalendar(err error, calendarID string) error {
	return missing(err, fmt.Sprintf("calendar %q", clip(calendarID)), "Use the ID of another calendar, such as primary.")
}

// noEvent is noCalendar of an event.
func noEvent(err error, calendarID, id string) error {
	return missing(err, fmt.Sprintf("event %q in the calendar %q", clip(id), clip(calendarID)), "Use an ID from "+ListName+" with the same calendarId.")
}

func missing(err error, what, hint string) error {
	if status := statusOf(err); status == http.StatusNotFound || status == http.StatusGone {
		return &httpcall.Failure{Type: "not_found", Status: status, Message: "there is no " + what + ", or the account may not see it", Hint: hint}
	}
	return err
}

// get reads an event, whose times are shown in loc if it is not nil.
func (s *toolset) get(ctx context.Context, calendarID, id string, loc *time.Location) (*gcal.Event, error) {
	call := s.service().Events.Get(calendarID, id).Context(ctx)
	if loc != nil {
		call.TimeZone(loc.String())
	}
	e, err := api.Read(ctx, s.client, call.Do)
	return e, noEvent(err, calendarID, id)
}
