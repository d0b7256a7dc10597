package websearch

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// An Error is why a search service gave no results. Its texts never have a key in them, nor markup the service sent.
type Error struct {
	Type    string // an error type of docs/errors.md
	Message string // names the service and says what the matter is
	Hint    string // what to do, as sentences

	after   time.Duration // how long the service wants to be left alone; 0 if it does not say
	passing bool          // the same request may work at once
}

func (e *Error) Error() string { return e.Message }

// unsupported says that a service cannot obey an option of the query.
func unsupported(service, option, value string) *Error {
	return &Error{
		Type:    "unsupported_option",
		Message: fmt.Sprintf("%s cannot search with %s=%s", service, option, value),
		Hint:    "Leave " + option + " out, or give it another value.",
	}
}

// transportError says why a request got no answer that could be used.
func transportError(service string, err error) *Error {
	p := httpcall.Explain(err)
	if p.Type == "timed_out" {
		return &Error{Type: p.Type, Message: "Search request timed out: " + service + " did not answer in time", Hint: p.Hint}
	}
	return &Error{Type: p.Type, Message: service + ": " + p.Message, Hint: p.Hint}
}

// badAnswer says that what a service sent is not what it is documented to send.
func badAnswer(service, what string) *Error {
	return &Error{
		Type: "bad_answer", Message: fmt.Sprintf("%s sent something else than search results: %s", service, what),
		Hint: "Check that base_url leads to the service, or try again later.",
	}
}

// challenged says that a service sent a page for people.
func challenged(answer string) *Error {
	return &Error{
		Type: "blocked", Message: answer + ": it sent a page for people instead of results, most likely to find out whether one is there",
		Hint: "Do not search again at once; the service blocks this address for a while.",
	}
}

// statusError returns what a status means if the service does not say more itself.
func statusError(e *httpcall.StatusError) *Error {
	is := func(errorType, meaning, hint string) *Error {
		return &Error{Type: errorType, Message: e.Error() + ": " + meaning, Hint: hint}
	}
	switch status := e.Status; {
	case status/100 == 3:
		return is("http_status", "it redirects, and redirects of an API are not followed", "Set base_url to where the service answers.")
	case status == http.StatusServiceUnavailable, status == http.StatusBadGateway, status == http.StatusGatewayTimeout, status == 529:
		overloaded := is("overloaded", "it is overloaded or down", "Try again later.")
		overloaded.passing = true
		return overloaded
	case status/100 == 5:
		failed := is("http_status", "it failed", "Try again later.")
		failed.passing = true
		return failed
	case isHTML(e.Header, e.Body) && status != http.StatusNotFound:
		return challenged(e.Error())
	case status == http.StatusTooManyRequests:
		return limited(e, is("rate_limited", "it was asked too often", "Wait a little and search again."))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return is("bad_credentials", "it does not accept the key", "The key in the configuration must be replaced.")
	case status == http.StatusPaymentRequired:
		return is("plan_required", "the key's plan does not include this", "The plan must be changed with the service.")
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity, status == http.StatusRequestURITooLong:
		return refusedQuery(e)
	}
	return is("http_status", "there is no search API", "Check that base_url leads to the service.")
}

// refusedQuery says that a service does not take a query.
func refusedQuery(e *httpcall.StatusError) *Error {
	return &Error{
		Type: "invalid_query", Message: e.Error() + ": it does not accept the query", Hint: "Search for something else, or with fewer options.",
	}
}

// limited adds to an error how long the service wants to be left alone.
func limited(e *httpcall.StatusError, trouble *Error) *Error {
	if after, ok := e.RetryAfter(); ok {
		trouble.after = after
	} else if reset, ok := shortReset(e.Header); ok {
		trouble.after = reset
	}
	return trouble
}

// isHTML reports whether an answer is a page, whatever it claims to be.
func isHTML(h http.Header, body []byte) bool {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && kind == "text/html" {
		return true
	}
	return bytes.HasPrefix(bytes.TrimLeft(body, "\ufeff \t\r\n"), []byte("<"))
}

// as returns err as an *Error.
func as(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// sentence returns a clause as a sentence.
func sentence(clause string) string {
	if strings.HasSuffix(clause, ".") {
		return clause
	}
	return clause + "."
}
