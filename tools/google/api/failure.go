package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"google.golang.org/api/googleapi"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// The error types of failures.
const (
	typeBadAnswer  = "bad_answer" // to a request that may have been carried out
	typeSignIn     = "sign_in_required"
	typeNotEnabled = "not_enabled"
)

// authCommand signs in. Remedies add the account, if accounts have names.
const authCommand = "toolserver auth google"

// hintAgain is the remedy where a sign-in that Google has just renewed is rejected all the same: nobody would be asked.
const hintAgain = "Have the person sign in anew: " + authCommand + " --again."

const hintSignIn = "Call the tool again to sign in, or have the person run: " + authCommand + " --again."

// rules say what Google's reasons mean: those of the older errors (errors[].reason) and of the newer ones (ErrorInfo). A rule
// without meaning has Google's own message.
var rules = sync.OnceValue(func() httpcall.Rules {
	return httpcall.Rules{
		{Codes: []string{"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}, Type: typeSignIn,
			Meaning: "the sign-in does not cover this: a permission was not granted",
			Hint:    "Have the person sign in again and allow all that is asked: toolserver auth google --again."},
		{Codes: []string{"authError", "required", "UNAUTHENTICATED"}, Type: typeSignIn, Meaning: "the sign-in is no longer accepted", Hint: hintAgain},
		{Codes: []string{"accessNotConfigured", "SERVICE_DISABLED"}, Type: typeNotEnabled,
			Meaning: "this API is not enabled in the Google Cloud project of the client ID"},
		{Codes: []string{"userRateLimitExceeded", "rateLimitExceeded", "RATE_LIMIT_EXCEEDED", "concurrentLimitExceeded"}, Type: "rate_limited",
			Meaning: "too many requests for this account", Hint: "Wait a minute before the next call.", Retry: true},
		{Codes: []string{"dailyLimitExceeded", "QUOTA_EXCEEDED"}, Type: "quota_exceeded", Meaning: "the quota of the Google Cloud project is used up",
			Hint: "Try again tomorrow, or have the operator raise the quota in the Google Cloud console."},
		// Calendar's quotaExceeded has nothing to do with the project: it counts events and invitations to other domains.
		{Codes: []string{"quotaExceeded", "calendarUsageLimits", "limitExceeded"}, Type: "quota_exceeded",
			Meaning: "the account has reached a limit of Google, such as that of invitations",
			Hint:    "Try again in some hours, or with fewer people."},
		{Codes: []string{"domainPolicy", "delegationDenied"}, Type: "denied", Meaning: "the administrator of the Google Workspace domain does not allow it",
			Hint: "Have the person ask their administrator."},
		{Codes: []string{"requiredAccessLevel"}, Type: "denied", Hint: "Use another calendar, or have its owner grant this access."},
		{Codes: []string{"forbiddenForNonOrganizer"}, Type: "denied", Hint: "Have the organizer change it."},
		{Codes: []string{"forbidden", "PERMISSION_DENIED"}, Type: "denied", Hint: "Use another calendar or message, or have its owner share it."},
		{Codes: []string{"duplicate"}, Type: "already_exists", Hint: "Use another id, or read what exists."},
		{Codes: []string{"conditionNotMet"}, Type: "conflict", Meaning: "it has been changed by somebody else since it was read",
			Hint: "Read it again, then repeat the change."},
		{Codes: []string{"updatedMinTooLongAgo", "fullSyncRequired"}, Type: "invalid_query", Hint: "Start again without a page token."},
		{Codes: []string{"invalidPageToken"}, Type: "invalid_query", Meaning: "the page token is not valid",
			Hint: "Use the token of the last answer to the same query, or leave it out."},
		{Codes: []string{"failedPrecondition", "FAILED_PRECONDITION"}, Type: "denied",
			When:    func(e *httpcall.StatusError) bool { return strings.Contains(string(e.Body), "service not enabled") },
			Meaning: "this account has no such service", Hint: "Have the person sign in with an account that has it: toolserver auth google --again."},
		{Statuses: []int{http.StatusNotFound}, Type: "not_found", Meaning: "it does not exist, or this account cannot see it",
			Hint: "Check the id with a search or a list."},
		{Statuses: []int{http.StatusGone}, Type: "not_found", Meaning: "it was deleted", Hint: "Search or list again."},
		{Statuses: []int{http.StatusBadRequest, http.StatusPreconditionFailed}, Type: "invalid_query", Hint: "Correct the arguments."},
		{Statuses: []int{http.StatusConflict}, Type: "conflict", Hint: "Read it again, then repeat the change."},
		{Statuses: []int{http.StatusRequestEntityTooLarge}, Type: "too_large", Meaning: "Google takes no more than this", Hint: "Send less."},
		{Statuses: []int{http.StatusUnauthorized}, Type: typeSignIn, Meaning: "the sign-in is no longer accepted", Hint: hintAgain},
		{Statuses: []int{http.StatusForbidden}, Type: "denied", Hint: "Have the person check that the account may do this."},
	}
})

// failure returns what an error of Google's client means. Other errors are returned as they are.
func failure(s signin.Service, err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return &httpcall.TooLargeError{Max: maxBody}
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || mismatch || err != nil && strings.HasPrefix(err.Error(), "json: ") {
		return foreign(s)
	}
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return err
	}
	status := &httpcall.StatusError{Service: s.Title(), Status: e.Code, Header: e.Header, Body: []byte(e.Body)}
	if status.Header == nil {
		status.Header = http.Header{}
	}
	f := rules().Failure(status, reason(e))
	if said := clean(e.Message); said != "" && f.Message == status.Error() && e.Code/100 == 4 {
		f.Message += ": " + said
	}
	if f.Type == "rate_limited" && f.After > time.Minute {
		f.Hint = fmt.Sprintf("Wait %s before the next call.", f.After.Round(time.Second))
	}
	if f.Type == typeNotEnabled {
		f.Hint = "The operator enables it at " + activation(s, e.Body) + "; it takes some minutes."
	}
	return f
}

// foreign is the failure of an answer that is not what Google answers.
func foreign(s signin.Service) *httpcall.Failure {
	return &httpcall.Failure{Type: typeBadAnswer, Message: s.Title() + "'s answer is something else than what was asked for",
		Hint: "Try again later; what lies between may have answered, such as a proxy."}
}

// reason returns Google's name for what is wrong, of the newer kind if it is one that a rule knows.
func reason(e *googleapi.Error) string {
	var body struct {
		Error struct {
			Status  string
			Details []struct{ Reason string }
		}
	}
	_ = json.Unmarshal([]byte(e.Body), &body) // or there is nothing in it
	var all []string
	for _, d := range body.Error.Details {
		all = append(all, d.Reason)
	}
	for _, item := range e.Errors {
		all = append(all, item.Reason)
	}
	for _, name := range append(all, body.Error.Status) {
		if slices.ContainsFunc(rules(), func(r httpcall.Rule) bool { return slices.Contains(r.Codes, name) }) {
			return name
		}
	}
	return ""
}

// maxSaid bounds what is shown of Google's own messages, in bytes.
const maxSaid = 300

// clean returns a message of Google on one line.
func clean(message string) string {
	message = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, message)
	message = strings.TrimSuffix(strings.Join(strings.Fields(message), " "), ".")
	return strings.ToValidUTF8(message[:min(len(message), maxSaid)], "")
}

var projectNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`project[ =]"?(\d{4,20})\b`) })

// activation returns the page where an API is enabled, for the project that an answer names.
func activation(s signin.Service, body string) string {
	name := map[signin.Service]string{signin.Gmail: "gmail", signin.Calendar: "calendar-json", signin.Contacts: "people"}[s]
	address := "https://console.cloud.google.com/apis/library/" + name + ".googleapis.com"
	if found := projectNumber().FindStringSubmatch(body); found != nil {
		address += "?project=" + found[1]
	}
	return address
}

// Unknown reports whether a request of [Write] that failed with err may have been carried out all the same: it was sent, and
// Google did not reject it.
func Unknown(err error) bool {
	if err == nil || httpcall.NeverArrived(err) || errors.Is(err, signin.ErrNoGrant) {
		return false
	}
	_, revoked := errors.AsType[*signin.RevokedError](err)
	_, rejected := errors.AsType[*rejectedError](err)
	if revoked || rejected {
		return false
	}
	if f, ok := errors.AsType[*httpcall.Failure](err); ok {
		return f.Status/100 == 5 || f.Type == typeBadAnswer
	}
	return httpcall.Explain(err).Type != "denied"
}

// Refused is the error of a call that is answered with this result.
type Refused struct{ domain.ToolResult }

func (r *Refused) Error() string { return r.Content[0].Text }

// Refusal returns such an error.
func Refusal(errorType, message, hint string) error {
	return &Refused{domain.Failure(errorType, message, hint)}
}

// result returns what a call is answered with whose handler returned res and err.
func (n Need) result(ctx context.Context, res domain.ToolResult, err error) (domain.ToolResult, error) {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused.ToolResult, nil
	}
	if err == nil || ctx.Err() != nil {
		return res, err
	}
	if _, ok := errors.AsType[*domain.Error](err); ok {
		return res, err
	}
	if _, ok := errors.AsType[*call.InputRequired](err); ok {
		return res, err
	}
	return n.failed(err), nil
}

// failed returns the tool execution error for err.
func (n Need) failed(err error) domain.ToolResult {
	if revoked, ok := errors.AsType[*signin.RevokedError](err); ok {
		return n.refusal(typeSignIn, revoked.Error(), hintSignIn)
	}
	if errors.Is(err, signin.ErrNoGrant) {
		return n.refusal(typeSignIn, n.owner.Of(n.Service)+" is not signed in", hintSignIn)
	}
	f := httpcall.Explain(err)
	return n.refusal(f.Type, f.Message, f.Hint)
}

// refusal returns a tool execution error whose text has the remedy, too: some clients show nothing else.
func (n Need) refusal(errorType, message, remedy string) domain.ToolResult {
	remedy = strings.ReplaceAll(remedy, authCommand, authCommand+n.flag)
	return domain.Failure(errorType, n.Failing+": "+message+". "+remedy, remedy)
}
