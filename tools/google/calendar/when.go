package calendar

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // machines without zoneinfo: containers from scratch, and Windows

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/nearest"
)

// A stamp is a date or a time as a caller writes it.
type stamp struct {
	text   string
	date   bool
	offset bool      // whether the text has one; it is an instant then
	east   int       // the offset, in seconds
	at     time.Time // the instant; without an offset the date and clock, in UTC
}

// Years that are accepted. Nothing else is an appointment, and offsets before had seconds, which RFC 3339 cannot write.
const (
	minYear = 1900
	maxYear = 2199
)

const dateLayout = "2006-01-02"

// whenForms ends messages about a stamp that cannot be read.
const whenForms = "write a date (2026-03-02), a local time (2026-03-02T14:30) or a time with an offset (2026-03-02T14:30:00+01:00)"

// parseStamp reads a date, a local time or a time with an offset. The problem follows the name of the argument; it is empty if
// there is none.
func parseStamp(text string) (s stamp, problem string) {
	s.text = strings.TrimSpace(text)
	text = strings.ToUpper(s.text)
	if len(text) > len(dateLayout) && text[len(dateLayout)] == ' ' {
		text = text[:len(dateLayout)] + "T" + text[len(dateLayout)+1:]
	}
	var why error
	for _, layout := range []string{
		dateLayout, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700",
	} {
		at, err := time.Parse(layout, text)
		if err != nil {
			if strings.Contains(err.Error(), "out of range") {
				why = err
			}
			continue
		}
		if y := at.Year(); y < minYear || y > maxYear {
			return s, fmt.Sprintf("must be in a year from %d to %d", minYear, maxYear)
		}
		s.date, s.offset = layout == dateLayout, strings.Contains(layout, "Z07")
		s.at = at.Truncate(time.Second)
		if s.offset {
			_, s.east = at.Zone()
			s.at = s.at.UTC()
		}
		return s, ""
	}
	if why != nil {
		return s, fmt.Sprintf("is no date or time that exists: %q", clip(s.text))
	}
	return s, fmt.Sprintf("is no date or time: %q; %s", clip(s.text), whenForms)
}

// stampOf reads an argument, which may be empty.
func stampOf(tool, field, text string) (*stamp, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	s, problem := parseStamp(text)
	if problem != "" {
		return nil, domain.InvalidArgument(tool, field, problem)
	}
	return &s, nil
}

// clip shortens a text for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "..."
	}
	return s
}

// instants returns when the clocks in loc show a date and time, which wall has in UTC: once, twice when clocks go back, or not
// at all when they go forward. Then from and to are what they show before and after, in UTC like wall, and at is when.
func instants(wall time.Time, loc *time.Location) (all []time.Time, from, to, at time.Time) {
	const reach = 26 * time.Hour // more than any offset, and than any change of one
	last := wall.Add(2 * reach)
	for t := wall.Add(-reach); t.Before(last); {
		_, offset := t.In(loc).Zone()
		_, end := t.In(loc).ZoneBounds()
		candidate := wall.Add(-time.Duration(offset) * time.Second).In(loc)
		if _, real := candidate.Zone(); real == offset && !slices.ContainsFunc(all, candidate.Equal) {
			all = append(all, candidate)
		}
		if end.IsZero() {
			break
		}
		_, next := end.In(loc).Zone()
		before, after := end.Add(time.Duration(offset)*time.Second).UTC(), end.Add(time.Duration(next)*time.Second).UTC()
		if !wall.Before(before) && wall.Before(after) {
			from, to, at = before, after, end.In(loc)
		}
		t = end
	}
	return all, from, to, at
}

// in returns the instant of a stamp that is not a date, as clocks in loc show it. Of a time that occurs twice it is the first,
// and note says so, as it does if the stamp has the offset of another zone. A problem is as in [parseStamp].
func (s stamp) in(loc *time.Location) (at time.Time, note, problem string) {
	if s.offset {
		at = s.at.In(loc)
		if _, own := at.Zone(); own != s.east && s.east != 0 && loc.String() != "" {
			note = fmt.Sprintf("%s is %s in %s.", s.text, wallText(at), loc)
		}
		return at, note, ""
	}
	all, from, to, _ := instants(s.at, loc)
	switch len(all) {
	case 0:
		return at, "", fmt.Sprintf("does not exist in %s: clocks go forward from %s to %s; use %s or earlier, or %s or later", loc,
			wallText(from), wallText(to), wallText(from.Add(-time.Minute)), wallText(to))
	case 1:
		return all[0], "", ""
	}
	return all[0], fmt.Sprintf("%s occurs twice in %s, where clocks go back; the first is meant. The second is %s.",
		wallText(s.at), loc, wire(all[len(all)-1])), ""
}

func wallText(t time.Time) string {
	if t.Second() != 0 {
		return t.Format("2006-01-02T15:04:05")
	}
	return t.Format("2006-01-02T15:04")
}

// bound returns the instant of a stamp that bounds a search: of a date the beginning of the day, or its end if upper is set.
// A time that does not exist is when clocks go forward; of one that occurs twice, both are in the range.
func (s stamp) bound(loc *time.Location, upper bool) time.Time {
	switch {
	case s.offset:
		return s.at.In(loc)
	case s.date && upper:
		return dayEnd(s.at, loc)
	}
	all, _, _, at := instants(s.at, loc)
	switch {
	case len(all) == 0:
		return at
	case upper:
		return all[len(all)-1]
	}
	return all[0]
}

// dayEnd returns when a date is over in loc. Clocks that go back over midnight return to the date once more.
func dayEnd(date time.Time, loc *time.Location) time.Time {
	next := date.AddDate(0, 0, 1)
	all, _, _, at := instants(next, loc)
	if len(all) == 0 {
		return at
	}
	end := all[0]
	for _, t := range all[1:] {
		if t.Add(-time.Second).Day() != next.Day() {
			end = t
		}
	}
	return end
}

// today returns the date at an instant in loc, as midnight in UTC.
func today(now time.Time, loc *time.Location) time.Time {
	y, m, d := now.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// wire writes an instant as RFC 3339, which has no seconds in offsets.
func wire(t time.Time) string {
	if _, offset := t.Zone(); offset%60 != 0 {
		t = t.UTC()
	}
	return t.Format(time.RFC3339)
}

//go:embed zones.txt
var zoneNames string

// Zone returns a time zone by its IANA name, in any case. What else a machine has in its files is none: some count leap
// seconds, and one is the machine's own. The error is a problem as in [parseStamp].
func Zone(name string) (*time.Location, error) {
	known := strings.Fields(zoneNames)
	if at := slices.IndexFunc(known, func(z string) bool { return strings.EqualFold(z, name) }); at >= 0 {
		loc, err := time.LoadLocation(known[at])
		if err != nil {
			return nil, fmt.Errorf("cannot be loaded: %w", err)
		}
		return loc, nil
	}
	advice := "; use the zone of a city, such as Europe/London"
	if near := nearestZone(name, known); near != "" {
		advice = "; did you mean " + near + "?"
	}
	return nil, fmt.Errorf("is no IANA time zone: %q%s", clip(name), advice)
}

// nearestZone returns the zone that was probably meant: one in a city of that name, or one that is spelled alike.
func nearestZone(name string, known []string) string {
	name = strings.ReplaceAll(name, " ", "_")
	cities := make([]string, len(known))
	for i, z := range known {
		if region, city, ok := strings.Cut(z, "/"); ok && region != "Etc" {
			cities[i] = city[strings.LastIndexByte(city, '/')+1:]
		}
	}
	city := name[strings.LastIndexByte(name, '/')+1:]
	if at := slices.IndexFunc(cities, func(c string) bool { return city != "" && strings.EqualFold(c, city) }); at >= 0 {
		return known[at]
	}
	if near, ok := nearest.Word(name, known); ok && strings.Contains(near, "/") && strings.Contains(name, "/") { // Pacific Time is not Pacific/Niue
		return near
	}
	if near, ok := nearest.Word(city, cities); ok {
		return known[slices.Index(cities, near)]
	}
	return ""
}

// A span is when an event is: from one instant to another, or all day from one date to another, the last.
type span struct {
	allDay     bool
	start, end time.Time // in the zone that they are shown in; of dates midnight in UTC
	notes      []string  // about times that could be understood otherwise
}

// parseSpan returns the time from start to end, whose clocks are those of loc.
func parseSpan(tool string, start, end stamp, loc *time.Location) (p span, err error) {
	p = span{allDay: start.date, start: start.at, end: end.at}
	switch {
	case start.date && !end.date:
		return p, domain.InvalidArgument(tool, "end", "must be a date as start is, or start a time: an event is either all day or not")
	case end.date && !start.date:
		return p, domain.InvalidArgument(tool, "end", "must be a time as start is, or start a date: an event is either all day or not")
	case start.date && end.at.Before(start.at):
		return p, domain.InvalidArgument(tool, "end", "must not be before start; it is the last day of the event")
	case start.date:
		return p, nil
	}
	for _, one := range []struct {
		field string
		from  stamp
		to    *time.Time
	}{{"start", start, &p.start}, {"end", end, &p.end}} {
		at, note, problem := one.from.in(loc)
		if problem != "" {
			return p, domain.InvalidArgument(tool, one.field, problem)
		}
		if *one.to = at; note != "" {
			p.notes = append(p.notes, note)
		}
	}
	if !p.end.After(p.start) {
		from, to := wire(p.start), wire(p.end)
		if start.offset == end.offset && start.text != "" && end.text != "" {
			from, to = start.text, end.text
		}
		return p, domain.InvalidArgument(tool, "end", fmt.Sprintf("must be after start: it is %s, and start is %s", to, from))
	}
	return p, nil
}

// String writes the span for people: Mon 2 Mar 2026 09:00–10:00 (Europe/London).
func (p span) String() string {
	const day = "Mon 2 Jan 2006"
	first, last := p.start.Format(day), p.end.Format(day)
	switch {
	case p.allDay && first == last:
		return first + " (all day)"
	case p.allDay:
		return first + " – " + last + " (all day)"
	}
	from, to, name := p.start.Format("15:04"), p.end.Format("15:04"), p.start.Location().String()
	if name == "" {
		name = p.start.Format("UTC-07:00")
	}
	if p.start.Format("-07:00") != p.end.Format("-07:00") {
		from, to = from+p.start.Format(" MST"), to+p.end.Format(" MST")
	}
	if first != last {
		to = last + " " + to
	}
	return fmt.Sprintf("%s %s–%s (%s)", first, from, to, name)
}

// length writes how long the span is.
func (p span) length() string {
	if p.allDay {
		return plural(int(p.end.Sub(p.start)/(24*time.Hour))+1, "day")
	}
	d := p.end.Sub(p.start)
	var parts []string
	if days := int(d / (24 * time.Hour)); days > 0 {
		parts = append(parts, plural(days, "day"))
	}
	if h := int(d/time.Hour) % 24; h > 0 {
		parts = append(parts, fmt.Sprintf("%d h", h))
	}
	if m := int(d/time.Minute) % 60; m > 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%d min", m))
	}
	return strings.Join(parts, " ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
