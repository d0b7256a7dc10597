package google

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// own are the properties of an event that a guest may change: they are the guest's.
var own = []string{"attendees", "reminders", "colorId", "transparency"}

// changeEvent answers patch, which merges, and update, which replaces.
func (c *call) changeEvent() (any, *Answer) {
	entry, e, zone, refusal := c.one("writer")
	if refusal != nil {
		return nil, refusal
	}
	patch := c.method.HTTPMethod == http.MethodPatch
	data := maps.Clone(c.body)
	if patch {
		data = merge(e.data, c.body)
	}
	if entry.calendarData != e.home {
		if data, refusal = c.asGuest(entry, e, patch); refusal != nil {
			return nil, refusal
		}
	}
	target := e
	if e.series != nil && entry.stored(e.id) == nil { // the instance begins to differ from the others
		copied := *e
		target = &copied
		delete(data, "recurrence")
		if patch && c.body["start"] == nil {
			data["start"] = e.start.show(zone, entry.TimeZone)
		}
		if patch && c.body["end"] == nil {
			data["end"] = e.end.show(zone, entry.TimeZone)
		}
	}
	if refusal := c.set(target, data, c.query.Get("conferenceDataVersion") == "1"); refusal != nil {
		return nil, refusal
	}
	if target != e {
		c.f.store(target)
	}
	if target.series == nil {
		c.f.share(target)
		c.f.reset(target)
	}
	c.invite(target, strings.TrimPrefix(c.method.ID, "calendar.events."))
	return c.showEvent(entry, target, zone), nil
}

// reset drops the instances that differ and are no occurrences of their series any more.
func (f *Fake) reset(series *event) {
	var occurs []when
	if series.rule != nil {
		occurs = series.rule.instants(series.start, series.home.location(series.start.zone), time.Time{})
	}
	for _, d := range f.calendars {
		d.events = slices.DeleteFunc(d.events, func(e *event) bool {
			return e.series == series && !slices.ContainsFunc(occurs, func(w when) bool { return w.id() == e.original.id() })
		})
	}
}

// share puts an event into the calendars of its guests and takes it out of those of people who are no longer guests.
func (f *Fake) share(e *event) {
	for id, d := range f.calendars {
		switch guest, has := pick(e.data, id) != nil, d.stored(e.id) != nil; {
		case d == e.home || guest == has:
		case guest:
			d.events = append(d.events, e)
		default:
			d.events = slices.DeleteFunc(d.events, func(other *event) bool { return other == e })
		}
	}
}

// store adds an instance that differs from the others to the calendars that its series is in.
func (f *Fake) store(instance *event) {
	for _, d := range f.calendars {
		if d.stored(instance.series.id) != nil {
			d.events = append(d.events, instance)
		}
	}
}

// merge returns data changed as a patch says: null removes, objects are merged, lists are replaced.
func merge(data, patch map[string]any) map[string]any {
	merged := maps.Clone(data)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, v := range patch {
		switch o, isObject := v.(map[string]any); {
		case v == nil:
			delete(merged, name)
		case isObject:
			merged[name] = merge(object(data, name), o)
		default:
			merged[name] = v
		}
	}
	return merged
}

// asGuest returns the data of an event that is changed in the calendar of a guest: only what is the guest's.
func (c *call) asGuest(entry calendarEntry, e *event, patch bool) (map[string]any, *Answer) {
	data := maps.Clone(e.data)
	for name, v := range c.body {
		if slices.Contains(own, name) && name != "attendees" {
			data[name] = v
		} else if patch && name != "attendees" && !slices.Contains(derived, name) {
			return nil, &Answer{
				Status: http.StatusForbidden, Domain: "calendar", Reason: "forbiddenForNonOrganizer",
				Message: "Shared properties can only be changed by the organizer of the event.",
			}
		}
	}
	var attendees []any
	for _, a := range e.attendees() {
		if text(a, "email") == entry.ID {
			a = merge(a, pick(c.body, entry.ID))
		}
		attendees = append(attendees, a)
	}
	if attendees != nil {
		data["attendees"] = attendees
	}
	return data, nil
}

// pick returns the attendee of a body with an address, nil if there is none.
func pick(body map[string]any, email string) map[string]any {
	for _, a := range (&event{data: body}).attendees() {
		if strings.EqualFold(text(a, "email"), email) {
			return a
		}
	}
	return nil
}

func (c *call) deleteEvent() (any, *Answer) {
	entry, e, _, refusal := c.one("writer")
	if refusal != nil {
		return nil, refusal
	}
	if e.cancelled() {
		return nil, &Answer{Status: http.StatusGone, Reason: "deleted", Message: "Resource has been deleted"}
	}
	if entry.calendarData != e.home { // it leaves the guest's calendar, and the organizer sees that
		entry.events = slices.DeleteFunc(entry.events, func(other *event) bool { return other == e })
		if a := pick(e.data, entry.ID); a != nil {
			a["responseStatus"] = "declined"
		}
		c.invite(e, "delete")
		return nil, nil
	}
	target := e
	if e.series != nil && entry.stored(e.id) == nil {
		copied := *e
		target = &copied
		c.f.store(target)
	}
	target.data = maps.Clone(target.data)
	target.data["status"] = "cancelled"
	target.updated = c.f.o.Now()
	c.invite(target, "delete")
	return nil, nil
}

// invite notes who got a mail about a change: nobody, unless the request says so.
func (c *call) invite(e *event, method string) {
	mode := c.query.Get("sendUpdates")
	if mode == "" {
		mode = "none"
		if c.flag("sendNotifications") {
			mode = "all"
		}
	}
	if len(e.attendees()) == 0 && mode == "none" {
		return
	}
	note := Invitation{Method: method, SendUpdates: mode}
	for _, a := range e.attendees() {
		email := text(a, "email")
		outside := c.f.users[email] == nil
		if email != c.user.Email && (mode == "all" || mode == "externalOnly" && outside) {
			note.Mailed = append(note.Mailed, email)
		}
	}
	c.f.invitations[e.id] = append(c.f.invitations[e.id], note)
}
