package calendar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/teambition/rrule-go"
)

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
