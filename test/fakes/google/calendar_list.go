package google

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// span is the time that a list is about. Its bounds are exclusive; a zero one is none.
type span struct{ from, to time.Time }

// span returns the bounds in the parameters, which were checked.
func (c *call) span() (s span, refusal *Answer) {
	s.from, _ = time.Parse(time.RFC3339, c.query.Get("timeMin"))
	s.to, _ = time.Parse(time.RFC3339, c.query.Get("timeMax"))
	if !s.from.IsZero() && !s.to.IsZero() && !s.from.Before(s.to) {
		return s, emptyRange()
	}
	return s, nil
}

func (s span) has(e *event, zone *time.Location) bool {
	return (s.from.IsZero() || e.end.in(zone).After(s.from)) && (s.to.IsZero() || e.start.in(zone).Before(s.to))
}

// occurrences returns an event, or if single its instances, as far as they are in a span. Instances that differ are listed by
// themselves.
func (d *calendarData) occurrences(e *event, s span, single bool) (all []*event) {
	if e.rule == nil {
		if s.has(e, d.zone) {
			return []*event{e}
		}
		return nil
	}
	before := s.to
	if e.start.day && !before.IsZero() {
		before = before.AddDate(0, 0, 1)
	}
	for _, instance := range e.instances(before) {
		if !s.has(instance, d.zone) || d.stored(instance.id) != nil {
			continue
		}
		if !single {
			return []*event{e}
		}
		all = append(all, instance)
	}
	return all
}

func (c *call) listEvents() (any, *Answer) {
	entry, refusal := c.entry(c.path["calendarId"], "freeBusyReader")
	if refusal != nil {
		return nil, refusal
	}
	if c.query.Get("syncToken") != "" {
		return nil, &Answer{
			Status: http.StatusGone, Domain: "calendar", Reason: "fullSyncRequired", Message: "Sync token is no longer valid, a full sync is required.",
		}
	}
	single := c.flag("singleEvents")
	if c.query.Get("orderBy") == "startTime" && !single {
		return nil, &Answer{
			Status: http.StatusBadRequest, Reason: "badRequest", Location: "orderBy",
			Message: "The requested ordering is not available for the particular query.",
		}
	}
	s, refusal := c.span()
	if refusal != nil {
		return nil, refusal
	}
	var found []*event
	for _, e := range entry.events {
		shown := c.flag("showDeleted") || e.series != nil && !single // as exceptions of a series
		if e.cancelled() && !shown || e.series != nil && e.series.cancelled() || !c.wants(e) {
			continue
		}
		found = append(found, entry.occurrences(e, s, single)...)
	}
	switch c.query.Get("orderBy") {
	case "startTime":
		slices.SortStableFunc(found, func(a, b *event) int { return a.start.in(entry.zone).Compare(b.start.in(entry.zone)) })
	case "updated":
		slices.SortStableFunc(found, func(a, b *event) int { return a.updated.Compare(b.updated) })
	}
	return c.events(entry, found)
}

func (c *call) listInstances() (any, *Answer) {
	entry, e, _, refusal := c.one("reader")
	if refusal != nil {
		return nil, refusal
	}
	s, refusal := c.span()
	if refusal != nil {
		return nil, refusal
	}
	var found []*event
	if e.rule != nil {
		found = entry.occurrences(e, s, true)
	}
	for _, other := range entry.events {
		if other.series == e && (!other.cancelled() || c.flag("showDeleted")) && s.has(other, entry.zone) {
			found = append(found, other)
		}
	}
	return c.events(entry, found)
}

// events returns a page of events.
func (c *call) events(entry calendarEntry, found []*event) (any, *Answer) {
	zone, refusal := c.zone(entry)
	if refusal != nil {
		return nil, refusal
	}
	p, ok := c.f.turn(c.query.Get("pageToken"), c.pageKey())
	if !ok || p.offset > len(found) {
		return nil, invalid("invalid", "Invalid page token value.")
	}
	size := c.size(250, 2500)
	if c.f.PageLimit != nil {
		size = min(size, c.f.PageLimit(p.number, size))
	}
	answer := map[string]any{
		"kind": "calendar#events", "etag": `"1"`, "summary": entry.Summary, "timeZone": zone.String(), "accessRole": entry.role,
		"defaultReminders": defaultReminders(entry), "updated": stamp(c.f.o.Now()),
	}
	end := min(p.offset+size, len(found))
	if end < len(found) {
		answer["nextPageToken"] = c.f.nextPage(page{p.key, end, p.number + 1})
	} else {
		answer["nextSyncToken"] = "sync" + secret(8)
	}
	items := []any{}
	for _, e := range found[p.offset:end] {
		items = append(items, c.showEvent(entry, e, zone))
	}
	answer["items"] = items
	return answer, nil
}

// wants reports whether an event has what the parameters ask for.
func (c *call) wants(e *event) bool {
	if uid := c.query.Get("iCalUID"); uid != "" && uid != e.master().id+"@google.com" {
		return false
	}
	if types := c.query["eventTypes"]; len(types) > 0 && !slices.Contains(types, cmp.Or(text(e.data, "eventType"), "default")) {
		return false
	}
	if since, err := time.Parse(time.RFC3339, c.query.Get("updatedMin")); err == nil && e.updated.Before(since) {
		return false
	}
	searched := []string{text(e.data, "summary"), text(e.data, "description"), text(e.data, "location"), e.home.ID}
	for _, a := range e.attendees() {
		searched = append(searched, text(a, "email"), text(a, "displayName"))
	}
	all := strings.ToLower(strings.Join(searched, "\n"))
	for _, word := range strings.Fields(strings.ToLower(c.query.Get("q"))) {
		if !strings.Contains(all, strings.Trim(word, `"`)) {
			return false
		}
	}
	return true
}

// freeBusy answers when calendars are busy.
func (c *call) freeBusy() (any, *Answer) {
	from, errFrom := time.Parse(time.RFC3339, text(c.body, "timeMin"))
	to, errTo := time.Parse(time.RFC3339, text(c.body, "timeMax"))
	if errFrom != nil || errTo != nil {
		return nil, invalid("required", "Missing or invalid timeMin or timeMax.")
	}
	if !from.Before(to) {
		return nil, emptyRange()
	}
	zone, err := time.LoadLocation(text(c.body, "timeZone"))
	if err != nil {
		return nil, invalid("invalid", "Invalid time zone definition.")
	}
	items, _ := c.body["items"].([]any)
	if len(items) > 50 {
		return nil, &Answer{Status: http.StatusBadRequest, Reason: "tooManyCalendarsRequested", Message: "The number of calendars is too large."}
	}
	calendars := map[string]any{}
	for _, item := range items {
		asked, _ := item.(map[string]any)
		id := text(asked, "id")
		entry, refusal := c.entry(id, "freeBusyReader")
		if refusal != nil {
			calendars[id] = map[string]any{"errors": []any{map[string]any{"domain": "global", "reason": "notFound"}}, "busy": []any{}}
			continue
		}
		calendars[id] = map[string]any{"busy": entry.busy(span{from, to}, zone)}
	}
	return map[string]any{
		"kind": "calendar#freeBusy", "timeMin": from.In(zone).Format(time.RFC3339), "timeMax": to.In(zone).Format(time.RFC3339), "calendars": calendars,
	}, nil
}

// busy returns the times of a calendar's events, those that overlap as one.
func (d *calendarData) busy(s span, zone *time.Location) []any {
	var times []span
	for _, e := range d.events {
		me := pick(e.data, d.ID)
		if e.cancelled() || e.series != nil && e.series.cancelled() || text(e.data, "transparency") == "transparent" || text(me, "responseStatus") == "declined" {
			continue
		}
		for _, one := range d.occurrences(e, s, true) {
			from, to := one.start.in(d.zone), one.end.in(d.zone)
			if from.Before(s.from) {
				from = s.from
			}
			if to.After(s.to) {
				to = s.to
			}
			times = append(times, span{from, to})
		}
	}
	slices.SortFunc(times, func(a, b span) int { return a.from.Compare(b.from) })
	var merged []span
	for _, t := range times {
		if n := len(merged); n > 0 && !t.from.After(merged[n-1].to) {
			if t.to.After(merged[n-1].to) {
				merged[n-1].to = t.to
			}
			continue
		}
		merged = append(merged, t)
	}
	shown := []any{}
	for _, t := range merged {
		shown = append(shown, map[string]any{"start": t.from.In(zone).Format(time.RFC3339), "end": t.to.In(zone).Format(time.RFC3339)})
	}
	return shown
}
