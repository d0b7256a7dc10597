package google

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// when is a start or an end: an instant, or a day.
type when struct {
	at   time.Time // of a day: its midnight in UTC
	day  bool
	zone string // that was given
}

// in returns the instant; a day begins at midnight in zone.
func (w when) in(zone *time.Location) time.Time {
	if w.day {
		return time.Date(w.at.Year(), w.at.Month(), w.at.Day(), 0, 0, 0, 0, zone)
	}
	return w.at
}

// show returns a time as an event has it: with the offset of zone.
func (w when) show(zone *time.Location, calendarZone string) map[string]any {
	if w.day {
		return map[string]any{"date": w.at.Format(time.DateOnly)}
	}
	name := w.zone
	if name == "" {
		name = calendarZone
	}
	return map[string]any{"dateTime": w.at.In(zone).Format(time.RFC3339), "timeZone": name}
}

// parseWhen parses a start or an end.
func parseWhen(given map[string]any, name string, recurring bool) (w when, refusal *Answer) {
	date, at, zone := text(given, "date"), text(given, "dateTime"), text(given, "timeZone")
	w.zone = zone
	var location *time.Location
	if zone != "" {
		var err error
		if location, err = time.LoadLocation(zone); err != nil || zone == "Local" {
			return w, invalid("invalid", "Invalid time zone definition for "+name+" time.")
		}
	}
	switch {
	case date == "" && at == "":
		return w, invalid("required", "Missing "+name+" time.")
	case date != "" && at != "":
		return w, invalid("invalid", "Invalid "+name+" time.")
	case date != "":
		w.day = true
		w.at, _ = time.Parse(time.DateOnly, date) // was checked with its schema
		return w, nil
	case recurring && zone == "":
		return w, invalid("required", "Missing time zone definition for "+name+" time.")
	}
	var err error
	if w.at, err = time.Parse(time.RFC3339, at); err == nil {
		return w, nil
	}
	if location == nil {
		return w, invalid("required", "Missing time zone definition for "+name+" time.")
	}
	w.at, err = time.ParseInLocation("2006-01-02T15:04:05", at, location)
	if err != nil {
		return w, invalid("invalid", "Invalid "+name+" time.")
	}
	return w, nil
}

func emptyRange() *Answer {
	return &Answer{
		Status: http.StatusBadRequest, Domain: "calendar", Reason: "timeRangeEmpty", Location: "timeMax",
		Message: "The specified time range is empty.",
	}
}

// maxOccurrences bounds how many times an event without an end repeats.
const maxOccurrences = 730

// rule is a recurrence rule.
type rule struct {
	freq            string
	interval, count int
	until           time.Time
	days            map[time.Weekday]bool
	except          map[string]bool // days or instants, as in IDs of instances
}

var weekdays = map[string]time.Weekday{"SU": 0, "MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6}

// parseRecurrence parses the rules that the fake expands: FREQ, INTERVAL, COUNT, UNTIL, BYDAY without numbers; EXDATE.
func parseRecurrence(lines []string, zone *time.Location) (*rule, error) {
	r := &rule{interval: 1, days: map[time.Weekday]bool{}, except: map[string]bool{}}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		name, _, _ = strings.Cut(name, ";")
		switch name {
		case "RRULE":
			for _, item := range strings.Split(value, ";") {
				key, v, _ := strings.Cut(item, "=")
				if err := r.set(key, v); err != nil {
					return nil, err
				}
			}
		case "EXDATE":
			for _, v := range strings.Split(value, ",") {
				if t, err := time.ParseInLocation("20060102T150405", v, zone); err == nil {
					v = t.UTC().Format("20060102T150405Z")
				}
				r.except[v] = true
			}
		case "RDATE", "EXRULE":
		default:
			return nil, fmt.Errorf("unknown line %q", line)
		}
	}
	if r.freq == "" {
		return nil, fmt.Errorf("FREQ is missing")
	}
	return r, nil
}

func (r *rule) set(key, v string) (err error) {
	switch key {
	case "FREQ":
		if r.freq = v; !strings.Contains(" DAILY WEEKLY MONTHLY YEARLY ", " "+v+" ") {
			return fmt.Errorf("FREQ=%s", v)
		}
	case "INTERVAL":
		r.interval, err = strconv.Atoi(v)
		if err == nil && r.interval < 1 {
			err = fmt.Errorf("INTERVAL=%s", v)
		}
	case "COUNT":
		r.count, err = strconv.Atoi(v)
	case "UNTIL":
		if r.until, err = time.Parse("20060102T150405Z", v); err != nil {
			r.until, err = time.Parse("20060102", v)
			r.until = r.until.Add(24*time.Hour - time.Second)
		}
	case "BYDAY":
		for _, d := range strings.Split(v, ",") {
			day, ok := weekdays[d]
			if !ok {
				return fmt.Errorf("BYDAY=%s", v)
			}
			r.days[day] = true
		}
	case "WKST":
	default:
		return fmt.Errorf("unknown part %q", key)
	}
	return err
}

// instants returns the starts of a rule's occurrences, of which the first is start, up to most of them or the time until.
func (r *rule) instants(start when, zone *time.Location, until time.Time) (all []when) {
	at := start.at.In(zone)
	if start.day {
		at = start.at
	}
	n := 0
	for i := 0; i < 40*maxOccurrences && n < maxOccurrences; i++ {
		day, ok := r.step(at, i)
		if !ok {
			continue
		}
		w := start
		w.at = day
		if !r.until.IsZero() && day.After(r.until) || r.count > 0 && n >= r.count || !until.IsZero() && !day.Before(until) {
			return all
		}
		n++
		if !r.except[w.id()] {
			all = append(all, w)
		}
	}
	return all
}

// step returns the i-th candidate, and whether it is an occurrence.
func (r *rule) step(at time.Time, i int) (time.Time, bool) {
	if r.freq == "WEEKLY" && len(r.days) > 0 {
		day := at.AddDate(0, 0, i)
		monday := (int(at.Weekday()) + 6) % 7
		return day, r.days[day.Weekday()] && (i+monday)/7%r.interval == 0
	}
	n := i * r.interval
	switch r.freq {
	case "DAILY":
		day := at.AddDate(0, 0, n)
		return day, len(r.days) == 0 || r.days[day.Weekday()]
	case "WEEKLY":
		return at.AddDate(0, 0, 7*n), true
	case "MONTHLY":
		day := at.AddDate(0, n, 0)
		return day, day.Day() == at.Day()
	}
	day := at.AddDate(n, 0, 0)
	return day, day.Day() == at.Day()
}

// id returns what the ID of an instance ends with.
func (w when) id() string {
	if w.day {
		return w.at.Format("20060102")
	}
	return w.at.UTC().Format("20060102T150405Z")
}
