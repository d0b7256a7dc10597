package google

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is an event, or an instance of one that differs from the others.
type event struct {
	id       string
	data     map[string]any // what clients have set
	home     *calendarData  // its organizer's
	creator  string
	start    when
	end      when
	rule     *rule // nil if it does not repeat
	series   *event
	original when // of an instance: when it was to start
	created  time.Time
	updated  time.Time
	sequence int
	pending  bool // its conference is not ready
}

// Invitation is what became of the attendees of an event after a change.
type Invitation struct {
	Method      string // insert, patch, update or delete
	SendUpdates string // all, externalOnly or none
	Mailed      []string
}

// Invitations returns the changes of events with attendees, by the IDs of the events.
func (f *Fake) Invitations() map[string][]Invitation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.invitations)
}

// AddEvent adds an event, as JSON of the API, to a calendar of a user, "primary" or an ID, and returns its ID. It panics if
// Google would refuse it.
func (f *Fake) AddEvent(email, calendar, text string) (id string) {
	var body map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&body); err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &call{f: f, user: f.mustUser(email), body: body}
	entry, refusal := c.entry(calendar, "freeBusyReader")
	if refusal == nil {
		var e *event
		if e, refusal = c.newEvent(entry, true); refusal == nil {
			return e.id
		}
	}
	panic("the event is refused: " + refusal.Message)
}

// derived are properties that clients do not set.
var derived = []string{
	"kind", "etag", "id", "htmlLink", "created", "updated", "creator", "organizer", "iCalUID", "sequence", "hangoutLink", "recurringEventId",
	"originalStartTime", "locked", "attendeesOmitted", "privateCopy",
}

var eventID = regexp.MustCompile(`^[a-v0-9]{5,}$`)

func (c *call) insertEvent() (any, *Answer) {
	entry, refusal := c.entry(c.path["calendarId"], "writer")
	if refusal != nil {
		return nil, refusal
	}
	e, refusal := c.newEvent(entry, c.query.Get("conferenceDataVersion") == "1")
	if refusal != nil {
		return nil, refusal
	}
	c.invite(e, "insert")
	return c.showEvent(entry, e, entry.zone), nil
}

// newEvent adds the event in the body.
func (c *call) newEvent(entry calendarEntry, conference bool) (*event, *Answer) {
	f := c.f
	e := &event{id: text(c.body, "id"), home: entry.calendarData, creator: c.user.Email, created: f.o.Now()}
	switch {
	case e.id == "":
		e.id = secret(13)
	case !eventID.MatchString(e.id) || len(e.id) > 1024:
		return nil, invalid("invalid", "Invalid resource id value.")
	case entry.stored(e.id) != nil:
		return nil, &Answer{Status: http.StatusConflict, Reason: "duplicate", Message: "The requested identifier already exists."}
	}
	if refusal := c.set(e, maps.Clone(c.body), conference); refusal != nil {
		return nil, refusal
	}
	entry.events = append(entry.events, e)
	f.share(e)
	return e, nil
}

// set gives an event other data, if they keep to the rules.
func (c *call) set(e *event, data map[string]any, conference bool) *Answer {
	for _, name := range derived {
		delete(data, name)
	}
	lines := texts(data, "recurrence")
	start, refusal := parseWhen(object(data, "start"), "start", len(lines) > 0)
	if refusal != nil {
		return refusal
	}
	end, refusal := parseWhen(object(data, "end"), "end", len(lines) > 0)
	switch {
	case refusal != nil:
		return refusal
	case start.day != end.day:
		return invalid("invalid", "The start and end times must either both be date or both be dateTime.")
	case !end.at.After(start.at):
		return emptyRange()
	}
	var repeats *rule
	if len(lines) > 0 {
		var err error
		if repeats, err = parseRecurrence(lines, e.home.location(start.zone)); err != nil {
			return invalid("invalid", "Invalid recurrence rule.")
		}
	}
	if refusal := checkEvent(data); refusal != nil {
		return refusal
	}
	if !conference {
		delete(data, "conferenceData") // which Google ignores
		if old := e.data["conferenceData"]; old != nil {
			data["conferenceData"] = old
		}
	} else if refusal := e.confer(data, c.f.o.MeetPending); refusal != nil {
		return refusal
	}
	if e.data != nil && (start != e.start || end != e.end) {
		e.sequence++
	}
	e.data, e.start, e.end, e.rule = data, start, end, repeats
	now := c.f.o.Now()
	if !now.After(e.updated) {
		now = e.updated.Add(time.Millisecond)
	}
	e.updated = now
	return nil
}

// location returns a time zone, the calendar's if the name is empty.
func (d *calendarData) location(name string) *time.Location {
	if zone, err := time.LoadLocation(name); name != "" && err == nil {
		return zone
	}
	return d.zone
}

// checkEvent checks what the schema of an event does not say, and completes the attendees.
func checkEvent(data map[string]any) *Answer {
	for name, allowed := range map[string]string{
		"status": "confirmed tentative cancelled", "visibility": "default public private confidential", "transparency": "opaque transparent",
	} {
		if v := text(data, name); v != "" && !slices.Contains(strings.Fields(allowed), v) {
			return invalid("invalid", "Invalid value for: "+name)
		}
	}
	attendees, _ := data["attendees"].([]any)
	for _, item := range attendees {
		a, _ := item.(map[string]any)
		address, err := mail.ParseAddress(text(a, "email"))
		if err != nil || address.Name != "" {
			return invalid("invalid", "Invalid attendee email.")
		}
		if text(a, "responseStatus") == "" {
			a["responseStatus"] = "needsAction"
		}
		if !slices.Contains([]string{"needsAction", "declined", "tentative", "accepted"}, text(a, "responseStatus")) {
			return invalid("invalid", "Invalid attendee response status.")
		}
	}
	reminders := object(data, "reminders")
	overrides, _ := reminders["overrides"].([]any)
	switch {
	case len(overrides) > 5:
		return invalid("invalid", "Too many override reminders: the maximum is 5.")
	case len(overrides) > 0 && reminders["useDefault"] == true:
		return &Answer{
			Status: http.StatusBadRequest, Domain: "calendar", Reason: "cannotUseDefaultRemindersAndSpecifyOverride",
			Message: "Cannot specify both default reminders and overrides at the same time.",
		}
	}
	for _, item := range overrides {
		o, _ := item.(map[string]any)
		n, isNumber := o["minutes"].(json.Number)
		minutes, err := n.Int64()
		if !isNumber || err != nil || minutes < 0 || minutes > 40320 || text(o, "method") != "email" && text(o, "method") != "popup" {
			return invalid("invalid", "Invalid reminder.")
		}
	}
	return nil
}

// confer answers a request for a conference.
func (e *event) confer(data map[string]any, pending bool) *Answer {
	request := object(object(data, "conferenceData"), "createRequest")
	if request == nil {
		return nil
	}
	if text(request, "requestId") == "" || text(object(request, "conferenceSolutionKey"), "type") != "hangoutsMeet" {
		return invalid("invalid", "Invalid conference type value.")
	}
	e.pending = pending
	data["conferenceData"] = map[string]any{"createRequest": map[string]any{
		"requestId": request["requestId"], "conferenceSolutionKey": request["conferenceSolutionKey"],
	}}
	return nil
}

// conference returns the data of a conference that Google made.
func (e *event) conference(shown map[string]any) {
	data := object(e.data, "conferenceData")
	request := maps.Clone(object(data, "createRequest"))
	if request == nil {
		return
	}
	if e.pending {
		request["status"] = map[string]any{"statusCode": "pending"}
		shown["conferenceData"] = map[string]any{"createRequest": request}
		return
	}
	request["status"] = map[string]any{"statusCode": "success"}
	code := "abc-" + e.id[:4] + "-xyz"
	shown["hangoutLink"] = "https://meet.google.com/" + code
	shown["conferenceData"] = map[string]any{
		"createRequest": request, "conferenceId": code,
		"conferenceSolution": map[string]any{
			"key": map[string]any{"type": "hangoutsMeet"}, "name": "Google Meet", "iconUri": "https://fonts.gstatic.com/meet.png",
		},
		"entryPoints": []any{
			map[string]any{"entryPointType": "video", "uri": "https://meet.google.com/" + code, "label": "meet.google.com/" + code},
			map[string]any{"entryPointType": "phone", "uri": "tel:+1-555-010-0199", "label": "+1 555-010-0199", "pin": "123456789", "regionCode": "US"},
		},
	}
}

func (e *event) attendees() (all []map[string]any) {
	items, _ := e.data["attendees"].([]any)
	for _, item := range items {
		if a, ok := item.(map[string]any); ok {
			all = append(all, a)
		}
	}
	return all
}

func (e *event) cancelled() bool { return text(e.data, "status") == "cancelled" }

func (e *event) etag() string { return fmt.Sprintf(`"%d"`, 2*e.updated.UnixMilli()) }

// showEvent returns an event as it is in a calendar, in a time zone.
func (c *call) showEvent(entry calendarEntry, e *event, zone *time.Location) map[string]any {
	shown := map[string]any{
		"kind": "calendar#event", "etag": e.etag(), "id": e.id, "status": "confirmed", "eventType": "default",
		"created": stamp(e.created), "updated": stamp(e.updated), "sequence": e.sequence, "iCalUID": e.master().id + "@google.com",
		"start": e.start.show(zone, entry.TimeZone), "end": e.end.show(zone, entry.TimeZone),
		"htmlLink": "https://www.google.com/calendar/event?eid=" + base64.RawURLEncoding.EncodeToString([]byte(e.id+" "+entry.ID)),
		"creator":  person(e.creator, entry), "organizer": person(e.home.ID, entry), "reminders": map[string]any{"useDefault": true},
	}
	if e.series != nil {
		shown["recurringEventId"], shown["originalStartTime"] = e.series.id, e.original.show(zone, entry.TimeZone)
	}
	if e.cancelled() && e.series != nil {
		return map[string]any{
			"kind": "calendar#event", "etag": e.etag(), "id": e.id, "status": "cancelled", "recurringEventId": e.series.id,
			"originalStartTime": shown["originalStartTime"],
		}
	}
	if entry.role == "freeBusyReader" || !entry.atLeast("writer") && text(e.data, "visibility") == "private" {
		for _, name := range []string{"creator", "organizer", "reminders", "htmlLink", "created"} {
			delete(shown, name)
		}
		shown["visibility"] = "private"
		return shown
	}
	for name, v := range e.data {
		if name != "start" && name != "end" && name != "attendees" {
			shown[name] = v
		}
	}
	e.conference(shown)
	most := len(e.attendees())
	if n := c.query.Get("maxAttendees"); n != "" {
		_, _ = fmt.Sscan(n, &most) // was checked
	}
	var attendees []any
	for _, a := range e.attendees() {
		a = maps.Clone(a)
		if text(a, "email") == entry.ID {
			a["self"] = true
		}
		if text(a, "email") == e.home.ID {
			a["organizer"] = true
		}
		if len(attendees) < most || a["self"] == true {
			attendees = append(attendees, a)
		}
	}
	if attendees != nil {
		shown["attendees"] = attendees
	}
	if len(attendees) < len(e.attendees()) {
		shown["attendeesOmitted"] = true
	}
	return shown
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func person(email string, entry calendarEntry) map[string]any {
	p := map[string]any{"email": email}
	if email == entry.ID {
		p["self"] = true
	}
	return p
}

// master returns the event that an instance is of.
func (e *event) master() *event {
	if e.series != nil {
		return e.series
	}
	return e
}

// stored returns an event by its ID, nil if there is none.
func (d *calendarData) stored(id string) *event {
	for _, e := range d.events {
		if e.id == id {
			return e
		}
	}
	return nil
}

// find returns an event, or an instance of one that repeats.
func (c *call) find(entry calendarEntry, id string) (*event, *Answer) {
	if e := entry.stored(id); e != nil {
		return e, nil
	}
	if i := strings.LastIndexByte(id, '_'); i > 0 {
		if e := entry.stored(id[:i]); e != nil && e.rule != nil && !e.cancelled() {
			for _, instance := range e.instances(time.Time{}) {
				if instance.id == id {
					return instance, nil
				}
			}
		}
	}
	missing := NotFound("calendar")
	return nil, &missing
}

// instances returns the occurrences of an event that repeats which start before a time, if it is not zero.
func (e *event) instances(before time.Time) (all []*event) {
	for _, start := range e.rule.instants(e.start, e.home.location(e.start.zone), before) {
		one := *e
		one.id, one.series, one.rule, one.original = e.id+"_"+start.id(), e, nil, start
		one.data = maps.Clone(e.data)
		delete(one.data, "recurrence")
		one.start, one.end = start, e.end
		one.end.at = start.at.Add(e.end.at.Sub(e.start.at))
		all = append(all, &one)
	}
	return all
}

func (c *call) getEvent() (any, *Answer) {
	entry, e, zone, refusal := c.one("freeBusyReader")
	if refusal != nil {
		return nil, refusal
	}
	e.pending = false
	return c.showEvent(entry, e, zone), nil
}

// one returns the event that a request is about.
func (c *call) one(role string) (entry calendarEntry, e *event, zone *time.Location, refusal *Answer) {
	if entry, refusal = c.entry(c.path["calendarId"], role); refusal != nil {
		return entry, nil, nil, refusal
	}
	if zone, refusal = c.zone(entry); refusal != nil {
		return entry, nil, nil, refusal
	}
	e, refusal = c.find(entry, c.path["eventId"])
	if refusal == nil && c.header.Get("If-Match") != "" && c.header.Get("If-Match") != e.etag() {
		refusal = &Answer{Status: http.StatusPreconditionFailed, Reason: "conditionNotMet", Message: "Precondition Failed"}
	}
	return entry, e, zone, refusal
}

// zone returns the time zone to answer in.
func (c *call) zone(entry calendarEntry) (*time.Location, *Answer) {
	name := c.query.Get("timeZone")
	if name == "" {
		return entry.zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &Answer{Status: http.StatusBadRequest, Reason: "invalid", Message: "Invalid time zone definition.", Location: "timeZone"}
	}
	return zone, nil
}
