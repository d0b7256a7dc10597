package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/sandbox/netguard"
	"toolserver/tools/httpcall"
)

// explain says why a URL could not be fetched.
func (f *fetcher) explain(err error, asked string) domain.ToolResult {
	redirected := ""
	if r, ok := errors.AsType[*redirectError](err); ok {
		redirected = fmt.Sprintf(" (after a redirect to %.300s)", r.to)
	}
	if listed, ok := errors.AsType[*sandbox.HostError](err); ok {
		hint := "Use another host."
		if len(listed.Allowed) > 0 {
			hint = "Fetch from a host that is allowed."
		}
		return failure("denied", listed.Error()+redirected, hint)
	}
	if invalid, ok := errors.AsType[*netguard.InvalidURLError](err); ok {
		return failure("invalid_url", invalid.Error()+redirected, "Give the full address of a page, such as https://example.com/page.")
	}
	if status, ok := errors.AsType[*httpcall.StatusError](err); ok {
		return explainStatus(status, asked)
	}
	large, isLarge := errors.AsType[*tooLargeError](err)
	encoding, isEncoding := errors.AsType[encodingError](err)
	switch {
	case isLarge:
		return failure("too_large", large.Error(), "Fetch a smaller page, or a part of it if the site offers one.")
	case isEncoding:
		return failure("unsupported_content", encoding.Error(), "Use another URL.")
	case errors.Is(err, errTooManyRedirects):
		return failure("too_many_redirects", fmt.Sprintf("Too many redirects (max %d)", maxRedirects), "Check the URL, or give the address that it should end up at.")
	case errors.Is(err, errBusyHost):
		return failure("rate_limited", err.Error(), "Wait a few seconds, then call it again.")
	case httpcall.IsTimeout(err):
		message := fmt.Sprintf("Request timed out after %g seconds", f.options.Timeout.Seconds())
		return failure("timed_out", message, "Try again later, or fetch another page.")
	}
	problem := httpcall.Explain(err)
	return failure(problem.Type, problem.Message+redirected+". "+problem.Hint, problem.Hint)
}

func explainStatus(e *httpcall.StatusError, asked string) domain.ToolResult {
	message := fmt.Sprintf("HTTP %d fetching %s", e.Status, asked)
	errorType, hint := "http_status", "Check the URL, or try another page."
	wait, asksToWait := e.RetryAfter()
	switch {
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		errorType = "not_found"
	case e.Status == http.StatusTooManyRequests:
		errorType, hint = "rate_limited", "Wait before you fetch from this site again."
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		hint = "The site does not let everybody read this; use another source."
	case e.Status >= 500:
		hint = "The site has a problem; try again later."
	}
	if asksToWait {
		hint = fmt.Sprintf("The site asks to wait %v before the next request.", wait.Round(time.Second))
	}
	return failure(errorType, message, hint)
}

// explainURL says what the policy makes of a URL. It asks nobody for an address, so
// of a name it knows only what the lists say.
func (f *fetcher) explainURL(_ context.Context, args domain.Arguments) (domain.Explanation, error) {
	text, _ := args["url"].(string)
	u, err := url.Parse(text)
	if err != nil {
		return domain.Explanation{}, fmt.Errorf("%s: %q is not a URL", Name, text)
	}
	err = f.network.CheckURL(u)
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
		reason = "no list is against " + u.Hostname() + "; the address it leads to is judged when it is dialled, and must be public"
	}
	return domain.Explanation{Allowed: true, Reason: reason}, nil
}
