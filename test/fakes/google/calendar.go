package google

import (
	"cmp"
	"net/http"
	"slices"
	"time"
)

// Calendar is a calendar in the list of a user.
type Calendar struct {
	ID          string // one is made up if it is empty; that of another user's calendar shares it
	Summary     string
	Description string
	TimeZone    string
	Role        string // freeBusyReader, reader, writer or owner; owner if it is empty
}

type calendarData struct {
	Calendar
	zone   *time.Location
	events []*event // as they were added
}

// calendarEntry is a calendar in a user's list.
type calendarEntry struct {
	*calendarData
	role string
}

// roles are ordered by what they allow.
var roles = []string{"freeBusyReader", "reader", "writerWithoutPrivateAccess", "writer", "owner"}

func (e calendarEntry) atLeast(role string) bool {
	return slices.Index(roles, e.role) >= slices.Index(roles, role)
}

func (f *Fake) calendarHandlers() {
	for id, handle := range map[string]func(*call) (any, *Answer){
		"calendarList.list": (*call).listCalendars, "calendarList.get": (*call).getCalendarEntry, "calendars.get": (*call).getCalendar,
		"settings.list": (*call).listSettings, "settings.get": (*call).getSetting, "freebusy.query": (*call).freeBusy,
		"events.list": (*call).listEvents, "events.instances": (*call).listInstances, "events.get": (*call).getEvent,
		"events.insert": (*call).insertEvent, "events.patch": (*call).changeEvent, "events.update": (*call).changeEvent,
		"events.delete": (*call).deleteEvent,
	} {
		f.handlers["calendar."+id] = handle
	}
}

// AddCalendar adds a calendar to the list of a user and returns its ID. It panics if there is no such user or time zone.
func (f *Fake) AddCalendar(email string, c Calendar) (id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addCalendar(f.mustUser(email), c)
}

func (f *Fake) addCalendar(u *user, c Calendar) string {
	c.ID = cmp.Or(c.ID, secret(16)+"@group.calendar.google.com")
	data := f.calendars[c.ID]
	if data == nil {
		zone, err := time.LoadLocation(cmp.Or(c.TimeZone, u.TimeZone))
		if err != nil {
			panic(err)
		}
		c.TimeZone = zone.String()
		data = &calendarData{Calendar: c, zone: zone}
		f.calendars[c.ID] = data
	}
	u.calendars = append(u.calendars, calendarEntry{data, cmp.Or(c.Role, "owner")})
	return c.ID
}

// entry returns the calendar that a request is about, if its user has at least a role in it.
func (c *call) entry(id, role string) (calendarEntry, *Answer) {
	for i, e := range c.user.calendars {
		if e.ID != id && (id != "primary" || i > 0) {
			continue
		}
		if !e.atLeast(role) {
			return e, &Answer{
				Status: http.StatusForbidden, Domain: "calendar", Reason: "requiredAccessLevel",
				Message: "You need to have " + role + " access to this calendar.",
			}
		}
		return e, nil
	}
	missing := NotFound("calendar")
	return calendarEntry{}, &missing
}

func (c *call) showEntry(e calendarEntry) map[string]any {
	shown := map[string]any{
		"kind": "calendar#calendarListEntry", "etag": `"1"`, "id": e.ID, "summary": e.Summary, "timeZone": e.TimeZone, "accessRole": e.role,
		"colorId": "14", "backgroundColor": "#9fe1e7", "foregroundColor": "#000000", "selected": true, "defaultReminders": defaultReminders(e),
		"conferenceProperties": map[string]any{"allowedConferenceSolutionTypes": []string{"hangoutsMeet"}},
	}
	if e.Description != "" {
		shown["description"] = e.Description
	}
	if e.ID == c.user.Email {
		shown["primary"] = true
	}
	return shown
}

func defaultReminders(e calendarEntry) []any {
	if e.role != "owner" {
		return []any{}
	}
	return []any{map[string]any{"method": "popup", "minutes": 10}}
}

func (c *call) listCalendars() (any, *Answer) {
	var all []calendarEntry
	for _, e := range c.user.calendars {
		if role := c.query.Get("minAccessRole"); role == "" || e.atLeast(role) {
			all = append(all, e)
		}
	}
	p, ok := c.f.turn(c.query.Get("pageToken"), c.pageKey())
	if !ok {
		return nil, invalid("invalid", "Invalid page token value.")
	}
	answer := map[string]any{"kind": "calendar#calendarList", "etag": `"1"`}
	end := min(p.offset+c.size(100, 250), len(all))
	if end < len(all) {
		answer["nextPageToken"] = c.f.nextPage(page{p.key, end, p.number + 1})
	} else {
		answer["nextSyncToken"] = "sync"
	}
	items := []any{}
	for _, e := range all[p.offset:end] {
		items = append(items, c.showEntry(e))
	}
	answer["items"] = items
	return answer, nil
}

func (c *call) getCalendarEntry() (any, *Answer) {
	e, refusal := c.entry(c.path["calendarId"], "freeBusyReader")
	if refusal != nil {
		return nil, refusal
	}
	return c.showEntry(e), nil
}

func (c *call) getCalendar() (any, *Answer) {
	e, refusal := c.entry(c.path["calendarId"], "freeBusyReader")
	if refusal != nil {
		return nil, refusal
	}
	shown := map[string]any{"kind": "calendar#calendar", "etag": `"1"`, "id": e.ID, "summary": e.Summary, "timeZone": e.TimeZone}
	if e.Description != "" {
		shown["description"] = e.Description
	}
	return shown, nil
}

// settings are those of a user, by their IDs.
func (c *call) settings() map[string]string {
	return map[string]string{
		"timezone": c.user.TimeZone, "locale": "en", "weekStart": "0", "format24HourTime": "false", "dateFieldOrder": "MDY",
		"defaultEventLength": "60",
	}
}

func setting(id, value string) map[string]any {
	return map[string]any{"kind": "calendar#setting", "etag": `"1"`, "id": id, "value": value}
}

func (c *call) listSettings() (any, *Answer) {
	items := []any{}
	for id, value := range c.settings() {
		items = append(items, setting(id, value))
	}
	return map[string]any{"kind": "calendar#settings", "etag": `"1"`, "items": items, "nextSyncToken": "sync"}, nil
}

func (c *call) getSetting() (any, *Answer) {
	value, ok := c.settings()[c.path["setting"]]
	if !ok {
		missing := NotFound("calendar")
		return nil, &missing
	}
	return setting(c.path["setting"], value), nil
}
