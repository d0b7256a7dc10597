package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/netguard"
	"github.com/toolserver/toolserver/text/html"
	"github.com/toolserver/toolserver/tools/lift"
)

// explain says why a URL could not be fetched.
func (f *fetcher) explain(err error, asked string) domain.ToolResult {
	redirected := ""
	if r, ok := errors.AsType[*redirectError](err); ok {
		redirected = fmt.Sprintf(" (after a redirect to %.300s)", r.to)
	}
	if own, ok := errors.AsType[*httpcall.Failure](err); ok {
		return failure(own.Type, own.Message+redirected, own.Hint)
	}
	if status, ok := errors.AsType[*httpcall.StatusError](err); ok {
		problem := statusRules.Failure(status, "")
		if wait, ok := status.RetryAfter(); ok {
			problem.Hint = fmt.Sprintf("The site asks to wait %v before the next request.", wait.Round(time.Second))
		}
		var more []string
		if says := html.PlainLine(string(status.Body)); says != "" {
			more = append(more, "The site says: "+cutRunes(unforged(says), 0, maxErrorChars))
		}
		return failure(problem.Type, fmt.Sprintf("HTTP %d fetching %s", status.Status, asked), problem.Hint, more...)
	}
	if httpcall.IsTimeout(err) {
		message := fmt.Sprintf("Request timed out after %g seconds", f.options.Timeout.Seconds())
		return failure("timed_out", message, "Try again later, fetch another page, or ask the operator to raise tools.web_fetch.timeout.")
	}
	problem := httpcall.Explain(err)
	return failure(problem.Type, problem.Message+redirected, problem.Hint)
}

// maxErrorChars is how much of the body of an error is shown.
const maxErrorChars = 500

const hintCheckURL = "Check the URL, or try another page."

var statusRules = httpcall.Rules{
	{Statuses: []int{http.StatusNotFound, http.StatusGone}, Type: "not_found", Hint: hintCheckURL},
	{Statuses: []int{http.StatusTooManyRequests}, Type: "rate_limited", Hint: "Wait before you fetch from this site again."},
	{
		Statuses: []int{http.StatusUnauthorized, http.StatusForbidden}, Type: "http_status",
		Hint: "The site does not let everybody read this; use another source.",
	},
	{
		Statuses: []int{http.StatusProxyAuthRequired}, Type: "http_status",
		Hint: "The proxy requires credentials; the person who runs the server must check web.proxy.",
	},
	{Statuses: []int{5}, Type: "http_status", Hint: "The site has a problem; try again later."},
	{Type: "http_status", Hint: hintCheckURL},
}

// check reports whether policy lets u be requested. The error is a
// [*httpcall.Failure] or a [*netguard.DeniedError].
func (f *fetcher) check(ctx context.Context, u *url.URL) error {
	err := f.network.CheckURL(ctx, u)
	if listed, ok := errors.AsType[*sandbox.HostError](err); ok {
		hint := "Use another host."
		if len(listed.Allowed) > 0 {
			hint = "Fetch from a host that is allowed."
		}
		return errors.Join(&httpcall.Failure{Type: "denied", Message: listed.Error(), Hint: hint}, lift.Host(err))
	}
	if invalid, ok := errors.AsType[*netguard.InvalidURLError](err); ok {
		return invalidURL(invalid.Error())
	}
	return err
}

func invalidURL(message string) *httpcall.Failure {
	return &httpcall.Failure{Type: "invalid_url", Message: message, Hint: "Give the full address of a page, such as https://example.com/page."}
}

// explainURL says what the policy decides for a URL. It resolves no name, so of a
// name it knows only what the lists say.
func (f *fetcher) explainURL(ctx context.Context, args domain.Arguments) (domain.Explanation, error) {
	text, _ := args["url"].(string)
	u, err := url.Parse(text)
	if err != nil {
		return domain.Explanation{}, fmt.Errorf("%s: %q is not a URL", Name, text)
	}
	err = f.network.CheckURL(ctx, u)
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		return domain.Explanation{Rule: string(denied.Rule), Reason: denied.Error()}, nil
	}
	if denied, ok := errors.AsType[*sandbox.HostError](err); ok {
		return domain.Explanation{Rule: denied.Rule, Reason: denied.Error()}, nil
	}
	if err != nil {
		return domain.Explanation{}, fmt.Errorf("%s: %w", Name, err)
	}
	reason := u.Hostname() + " is an address that may be reached"
	if _, err := netip.ParseAddr(u.Hostname()); err != nil {
		reason = "no list denies " + u.Hostname() + "; the address it resolves to is checked on connecting, and must be public"
	}
	return domain.Explanation{Allowed: true, Reason: reason}, nil
}
