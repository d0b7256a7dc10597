package web

import (
	"errors"
	"fmt"
	"net/http"
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
