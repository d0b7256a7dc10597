package calendar

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/api"
)

// split is a series that is divided at one of its occurrences.
type split struct {
	master    *gcal.Event
	whole, at span // the first occurrence, and the one that it is divided at, as the series has them
}

// split returns where the series of an occurrence is divided.
func (s *toolset) split(ctx context.Context, tool, calendarID string, e *gcal.Event) (p split, err error) {
	if e.RecurringEventId == "" {
		return p, domain.InvalidArgument(tool, "scope", "following requires the eventId of an occurrence of a recurring event")
	}
	if p.master, err = s.get(ctx, calendarID, e.RecurringEventId, nil); err != nil {
		return p, err
	}
	var ok, ok2 bool
	p.whole, ok = spanOf(p.master, nil)
	p.at, ok2 = spanOf(&gcal.Event{Start: e.OriginalStartTime, End: e.OriginalStartTime}, p.whole.start.Location())
	p.at.end = p.at.start.Add(p.whole.end.Sub(p.whole.start))
	if foreign := p.master.Organizer != nil && !p.master.Organizer.Self; foreign || !ok || !ok2 ||
		slices.ContainsFunc(p.master.Recurrence, func(l string) bool { return !strings.HasPrefix(l, "RRULE:") && !strings.HasPrefix(l, "EXDATE") }) {
		return p, &httpcall.Failure{Type: "denied", Message: "the series cannot be divided: somebody else organizes it, or it has more than rules and exceptions",
			Hint: "Use scope this or all."}
	}
	return p, nil
}

// first reports whether nothing is in front of the occurrence.
func (p split) first() bool { return !p.at.start.After(p.whole.start) }

// recurrence returns the lines of the series before the occurrence, and those of one from it on that begins at to, without the
// occurrences that were deleted. Such a series may have none at its beginning.
func (p split) recurrence(to span, deleted []time.Time) (before, after []string, begins bool) {
	last := dates([]time.Time{p.at.start.Add(-time.Second)}, p.at.allDay)
	begins = true
	for _, text := range p.master.Recurrence {
		rule, isRule := strings.CutPrefix(text, "RRULE:")
		o, err := rrule.StrToROption(rule)
		if !isRule || err != nil {
			more, _ := rrule.StrToDatesInLoc(text[strings.IndexAny(text, ":;")+1:], p.at.start.Location())
			before, deleted = append(before, text), append(deleted, more...)
			continue
		}
		parts := slices.DeleteFunc(strings.Split(rule, ";"), func(part string) bool {
			return strings.HasPrefix(part, "COUNT=") || strings.HasPrefix(part, "UNTIL=")
		})
		before = append(before, "RRULE:"+strings.Join(append(slices.Clone(parts), "UNTIL="+last), ";"))
		if o.Dtstart = p.whole.start; o.Count > 0 {
			left := o.Count
			if r, err := rrule.NewRRule(*o); err == nil {
				left -= len(r.Between(p.whole.start, p.at.start.Add(-time.Second), true))
			}
			text = "RRULE:" + strings.Join(append(parts, fmt.Sprintf("COUNT=%d", left)), ";")
		}
		o.Dtstart, o.Count = to.start, 0
		r, err := rrule.NewRRule(*o)
		after, begins = append(after, text), begins && err == nil && r.After(to.start, true).Equal(to.start)
	}
	var later []time.Time
	for _, t := range deleted {
		if shift := wall(to.start).Sub(wall(p.at.start)); !t.Before(p.at.start) {
			w := wall(t.In(p.at.start.Location())).Add(shift) // as clocks show it
			later = append(later, time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, to.start.Location()))
		}
	}
	if later != nil {
		after = append(after, "EXDATE"+map[bool]string{true: ";VALUE=DATE"}[to.allDay]+":"+dates(later, to.allDay))
	}
	return before, after, begins
}

// wall returns what clocks show at a time, in UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// dates writes times as RFC 5545 does, or their days.
func dates(all []time.Time, days bool) string {
	return strings.Join(each(all, func(t time.Time) string {
		if days {
			return t.Format("20060102")
		}
		return t.UTC().Format("20060102T150405Z")
	}), ",")
}

// follow changes an occurrence and those that follow: they become a series of their own, and the old one ends before them. The new
// one is made first: that is undone without a trace.
func (c *change) follow(ctx context.Context, calendarID string, p split) (made *gcal.Event, err error) {
	tail := *p.master
	tail.Id, tail.ICalUID, tail.Etag, tail.HtmlLink, tail.HangoutLink, tail.Organizer, tail.Creator, tail.Sequence = newID(), "", "", "", "", nil, nil, 0
	tail.Start, tail.End = p.at.wire()
	if tail.Reminders != nil {
		tail.Reminders.ForceSendFields = []string{"UseDefault"}
		for _, r := range tail.Reminders.Overrides {
			r.ForceSendFields = []string{"Minutes"}
		}
	}
	if tail.ConferenceData != nil && tail.ConferenceData.ConferenceId != "" {
		tail.ConferenceData.CreateRequest = nil // the conference stays
	}
	if err := c.apply(ctx, &tail, calendarID); err != nil {
		return nil, err
	}
	list, err := api.Read(ctx, c.client, c.service().Events.List(calendarID).ICalUID(p.master.ICalUID).MaxResults(2500).
		Fields("items(status,recurringEventId,originalStartTime)").Context(ctx).Do) // the series and its exceptions
	if err != nil {
		return nil, err
	}
	var deleted []time.Time
	var changed []string
	for _, e := range list.Items {
		at, ok := spanOf(&gcal.Event{Start: e.OriginalStartTime, End: e.OriginalStartTime}, p.at.start.Location())
		if own := ok && e.RecurringEventId == p.master.Id && !at.start.Before(p.at.start); own && e.Status == "cancelled" {
			deleted = append(deleted, at.start)
		} else if own {
			changed = append(changed, at.start.Format(dateLayout))
		}
	}
	if c.changes.Start != nil {
		tail.Start, tail.End = nil, nil
	}
	if c.changes.Attendees != nil {
		tail.Attendees = nil
	}
	patch, err := json.Marshal(&c.changes)
	if err == nil {
		err = json.Unmarshal(patch, &tail)
	}
	if err != nil {
		return nil, err
	}
	to, _ := spanOf(&tail, nil)
	before, after, begins := p.recurrence(to, deleted)
	if c.changes.Recurrence == nil {
		if tail.Recurrence = after; !begins {
			return nil, domain.InvalidArgument(updateName, "start", "is not on a day of the recurrence: give recurrence, too")
		}
	}
	failed := func(what string) (*gcal.Event, error) {
		f := *httpcall.Explain(err)
		f.Message, f.Hint = fmt.Sprintf("%s: %s. The new series is %s, the old one %s", what, f.Message, tail.Id, p.master.Id),
			"Look at both with "+getName+" before another call."
		return nil, &f
	}
	made, _, err = c.insert(ctx, calendarID, &tail, createInput{SendUpdates: c.in.SendUpdates, AddMeet: tail.ConferenceData != nil})
	if err != nil {
		return failed("the old series is as it was, and the new one was not made for certain")
	}
	if _, err = c.patch(ctx, calendarID, p.master, &gcal.Event{Recurrence: before}, c.in.SendUpdates); err != nil {
		if !api.Unknown(err) && c.remove(ctx, calendarID, made, c.in.SendUpdates) == nil {
			return failed("nothing was changed, as the old series could not be ended and the new one was deleted again")
		}
		return failed("the new series exists, and it is not certain that the old one ends before it")
	}
	c.notes = append(c.notes, fmt.Sprintf("The series %s ends before %s; this is a new one.", p.master.Id, p.at.start.Format(dateLayout)))
	if changed != nil {
		c.notes = append(c.notes, "Occurrences that had been changed by themselves are like the others now: "+clipList(changed)+".")
	}
	return made, nil
}

// parseRecurrence returns lines of RFC 5545 as Google takes them: RRULE, RDATE and EXDATE. A problem follows the name of the
// argument.
func parseRecurrence(lines []string, allDay bool) (all []string, problem string) {
	if len(lines) == 0 {
		return nil, ""
	}
	for text := range strings.SplitSeq(strings.Join(lines, "\n"), "\n") {
		if text = strings.TrimSpace(text); text == "" && len(all) > 0 {
			continue
		}
		if strings.HasPrefix(strings.ToUpper(text), "FREQ=") {
			text = "RRULE:" + text
		}
		at := strings.IndexAny(text, ":;")
		if at < 0 || len(text) > maxLine || strings.Contains(text, "\r") {
			return nil, fmt.Sprintf("must have lines such as RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=10, not %q", clip(text))
		}
		name, rest := strings.ToUpper(text[:at]), text[at+1:]
		switch name {
		case "RRULE":
			rest = strings.ToUpper(rest)
			problem = ruleProblem(rest, allDay)
		case "RDATE", "EXDATE":
			if _, err := rrule.StrToDates(rest); err != nil {
				problem = err.Error() + "; dates are written 20260302 or 20260302T090000Z"
			}
		default:
			problem = "the line must be RRULE, RDATE or EXDATE; start and end are arguments of their own"
		}
		if problem != "" {
			return nil, fmt.Sprintf("has a line that is invalid, %q: %s", clip(text), problem)
		}
		all = append(all, name+text[at:at+1]+rest)
	}
	if len(all) > 0 && !slices.ContainsFunc(all, func(l string) bool { return strings.HasPrefix(l, "RRULE") || strings.HasPrefix(l, "RDATE") }) {
		return nil, "must have an RRULE or RDATE: EXDATE only leaves out occurrences"
	}
	return all, ""
}

// ruleProblem says what is wrong with a rule; nothing if it is valid.
func ruleProblem(rule string, allDay bool) string {
	options, err := rrule.StrToROption(rule)
	if err == nil {
		_, err = rrule.NewRRule(*options)
	}
	var until string
	set := map[string]bool{}
	for part := range strings.SplitSeq(rule, ";") {
		key, value, _ := strings.Cut(part, "=")
		if set[key] {
			return key + " stands twice"
		}
		if set[key] = true; key == "UNTIL" {
			until = value
		}
	}
	switch {
	case err != nil:
		return err.Error()
	case set["DTSTART"] || set["BYEASTER"]:
		return "DTSTART and BYEASTER are no parts of a rule"
	case set["COUNT"] && set["UNTIL"]:
		return "COUNT and UNTIL exclude each other"
	case set["COUNT"] && options.Count < 1, set["INTERVAL"] && options.Interval < 1:
		return "COUNT and INTERVAL must be at least 1"
	case until != "" && allDay && len(until) != len("20260630"):
		return "UNTIL of an all-day event must be a date such as 20260630"
	case until != "" && !allDay && !strings.HasSuffix(until, "Z"):
		return "UNTIL must be a time in UTC such as 20260630T215959Z"
	}
	return ""
}
