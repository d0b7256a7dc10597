package calendar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gcal "google.golang.org/api/calendar/v3"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/lazyregexp"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/text/mail"
)

// maxPeople bounds the attendees of an event, as Google does.
const maxPeople = 200

// optionalMark is what follows the address of somebody who need not come.
var optionalMark = lazyregexp.New(`([^\s<>,]+@[^\s<>,]+)(>?) *\(optional\)`)

// parsePeople reads e-mail addresses, separated by commas, with or without names. Each comes once. A problem follows the name of
// the argument.
func parsePeople(text string) (people []*gcal.EventAttendee, problem string) {
	text = strings.Trim(text, " ,")
	if text == "" {
		return nil, ""
	}
	optional := optionalMark().FindAllStringSubmatch(text, -1)
	all, err := mail.ParseAddresses("", []string{optionalMark().ReplaceAllString(text, "$1$2")})
	if wrong, ok := errors.AsType[*mail.InputError](err); ok {
		return nil, wrong.Problem
	}
	seen := map[string]bool{}
	for _, a := range all {
		if key := strings.ToLower(a.Address); !seen[key] {
			seen[key] = true
			is := func(mark []string) bool { return strings.EqualFold(mark[1], a.Address) }
			people = append(people, &gcal.EventAttendee{Email: a.Address, DisplayName: line(a.Name), Optional: slices.ContainsFunc(optional, is)})
		}
	}
	if len(people) > maxPeople {
		return nil, fmt.Sprintf("has %d people; an event has at most %d", len(people), maxPeople)
	}
	return people, ""
}

// addresses returns where people are mailed.
func addresses(people []*gcal.EventAttendee) (all []string) {
	for _, a := range people {
		if a.Email != "" && !a.Self && !a.Resource {
			all = append(all, line(a.Email))
		}
	}
	return all
}

// admit asks the policy whether people may be invited.
func (s *toolset) admit(ctx context.Context, addresses []string) error {
	if s.recipients == nil || len(addresses) == 0 {
		return nil
	}
	err := s.recipients(ctx, addresses)
	if _, ok := errors.AsType[*httpcall.Failure](err); err == nil || ok || ctx.Err() != nil {
		return err
	}
	return &httpcall.Failure{Type: "denied", Message: err.Error(), Hint: "Leave these people out, or have the person who runs the server allow them."}
}

// explain says what the policy makes of the people whom the arguments invite.
func (s *toolset) explain(ctx context.Context, args domain.Arguments) (domain.Explanation, error) {
	var all []string
	for _, name := range []string{"attendees", "addAttendees"} {
		text, _ := args[name].(string)
		people, problem := parsePeople(text)
		if problem != "" {
			return domain.Explanation{}, fmt.Errorf("%s %s", name, problem)
		}
		all = append(all, addresses(people)...)
	}
	if s.recipients != nil {
		if refused, ok := errors.AsType[*sandbox.RecipientError](s.recipients(ctx, all)); ok {
			return domain.Explanation{Rule: refused.Rule, Reason: refused.Error()}, nil
		}
	}
	return domain.Explanation{Allowed: true, Reason: "no list denies an attendee"}, nil
}

// mailed says who gets mail about a change, as Google is asked with sendUpdates.
func mailed(sendUpdates string, people []string) string {
	switch {
	case len(people) == 0:
		return ""
	case sendUpdates == "all":
		return "mailed to " + clipList(people)
	case sendUpdates == "externalOnly":
		return "mailed only to those who do not use Google Calendar, of " + clipList(people)
	}
	return "nobody was mailed (sendUpdates: none): " + clipList(people)
}

// clipList joins the first of many words.
func clipList(words []string) string {
	const most = 20
	if len(words) > most {
		return strings.Join(words[:most], ", ") + fmt.Sprintf(" and %d more", len(words)-most)
	}
	return strings.Join(words, ", ")
}
