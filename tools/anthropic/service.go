package anthropic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/text/html"
)

// service is one of the APIs, as it is reached with one key.
type service struct {
	httpcall.Service
	doing string // what fails without an answer: "Error calling the Anthropic API"
}

var acceptJSON = map[string]string{"Accept": "application/json"}

const (
	retries        = 2
	maxPatience    = time.Minute      // an API that asks to wait for longer is not asked again
	requestTimeout = 30 * time.Second // of what is not streamed
	maxBody        = 16 << 20
)

// newService returns an API with the key that is in an option, at o's version.
func newService(client *http.Client, o Options, name, doing, option, key string) (service, error) {
	base, err := httpcall.ParseBase(cmp.Or(o.BaseURL, DefaultOptions().BaseURL))
	if err != nil {
		return service{}, fmt.Errorf("anthropic.base_url: %w", err)
	}
	key = strings.TrimSpace(key) // a file it was read from may end in a newline
	if !headerValue(key) {
		return service{}, fmt.Errorf("anthropic.%s: it is empty or has a character that no key has", option)
	}
	if !headerValue(o.Version) {
		return service{}, fmt.Errorf("anthropic.version: %q cannot be sent", o.Version)
	}
	return service{httpcall.Service{
		Name: name, Client: client, Base: base, Timeout: requestTimeout, MaxBody: maxBody, Retries: retries, Fail: fail,
		Header: map[string]string{"X-Api-Key": key, "Anthropic-Version": o.Version},
	}, doing}, nil
}

// headerValue reports whether s is printable ASCII without space.
func headerValue(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

const (
	hintRetry   = "Call again in a few minutes."
	hintCorrect = "Correct what the message names and call again."
	hintBilling = "The operator has to see to the organization's billing."
	hintBase    = "The operator should see whether anthropic.base_url is that of the API."
)

// rules are by the type of the API's errors, or the status of others' answers.
var rules = httpcall.Rules{
	{
		Codes: []string{"authentication_error", "permission_error"}, Statuses: []int{http.StatusUnauthorized, http.StatusForbidden}, Type: "bad_credentials",
		Hint: "The operator has to set a key that is valid and may do this: anthropic.api_key, or anthropic.admin_api_key for reports.",
	},
	{Codes: []string{"billing_error"}, Statuses: []int{http.StatusPaymentRequired}, Type: "quota_exceeded", Hint: hintBilling},
	{Codes: []string{"invalid_request_error"}, When: noCredit, Type: "quota_exceeded", Hint: hintBilling},
	{Codes: []string{"invalid_request_error"}, Type: "invalid_query", Hint: hintCorrect},
	{
		Codes: []string{"not_found_error"}, Statuses: []int{http.StatusNotFound, http.StatusGone}, Type: "not_found",
		Hint: "Use the name or id of something that exists.",
	},
	{Codes: []string{"request_too_large"}, Statuses: []int{http.StatusRequestEntityTooLarge}, Type: "too_large", Hint: "Send less."},
	{Codes: []string{"rate_limit_error"}, Statuses: []int{http.StatusTooManyRequests}, Type: "rate_limited", Hint: "Call again in a minute."},
	{Codes: []string{"overloaded_error"}, Statuses: []int{http.StatusServiceUnavailable, 529}, Type: "overloaded", Hint: hintRetry},
	{
		Codes: []string{"timeout_error"}, Statuses: []int{http.StatusRequestTimeout, http.StatusGatewayTimeout}, Type: "timed_out",
		Hint: hintRetry,
	},
	{Statuses: []int{0, 5}, Type: "http_status", Hint: hintRetry}, // 0 within a stream
	{Statuses: []int{3}, Type: "http_status", Hint: hintBase},
	{Type: "http_status", Hint: hintCorrect},
}

// noCredit reports whether an invalid request is one that the organization cannot pay for.
func noCredit(e *httpcall.StatusError) bool {
	return strings.Contains(string(e.Body), "credit balance")
}

// Bounds of what is repeated of an error, in characters.
const (
	maxWord      = 100
	maxErrorText = 1000
)

// fail returns what an error of the API means, as an answer or as an event of a stream. What is not of the API's documented
// form, such as the page of a proxy, is not in the message.
func fail(e *httpcall.StatusError) error {
	type said struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	var body said
	if json.Unmarshal(e.Body, &body) != nil {
		body = said{}
	}
	kind, what := plain(body.Error.Type, maxWord), plain(body.Error.Message, maxErrorText)
	f := rules.Failure(e, kind)
	if kind == "" && f.Type == "http_status" {
		f.Hint = hintBase
	}
	if kind != "" && what != "" {
		kind += ": "
	}
	what = kind + what
	if text := http.StatusText(e.Status); what == "" && text != "" {
		what = text + ", in an answer that is not the API's own"
	}
	f.Message = e.Service + " error: "
	if e.Status != 0 {
		f.Message += fmt.Sprintf("HTTP %d — ", e.Status)
	}
	f.Message += cmp.Or(what, "an answer that is not the API's own")
	if id := cmp.Or(plain(body.RequestID, maxWord), plain(e.Header.Get("Request-Id"), maxWord)); id != "" {
		f.Message += " (request_id " + id + ")"
	}
	if f.After > 0 {
		wait := (f.After + time.Second - 1).Truncate(time.Second).String()
		f.Message += "; it asks to wait " + wait
		f.Hint = "Call again in " + wait + "."
	}
	// These are the statuses after which the API's own libraries retry.
	passes := e.Status >= 500 || slices.Contains([]int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests}, e.Status)
	f.Retry = passes && f.After <= maxPatience
	return f
}

// badAnswer is the failure of an answer that is not what the API is documented to send.
func (s *service) badAnswer(problem string) *httpcall.Failure {
	return &httpcall.Failure{
		Type: "bad_answer", Message: s.doing + ": " + problem,
		Hint: "Try again; if it stays so, the operator should look at anthropic.base_url.",
	}
}

// failure returns the tool execution error for an API that cannot be used.
// Partial, which may be empty, is the answer until then.
func (s *service) failure(err error, partial string) domain.ToolResult {
	f := s.explain(err)
	if partial != "" {
		partial = "; the answer until then:\n" + partial
	}
	return domain.Failure(f.Type, f.Message+partial, f.Hint)
}

// explain returns err as a Failure whose message is complete in itself.
func (s *service) explain(err error) *httpcall.Failure {
	f := httpcall.Explain(err)
	if f != err {
		f.Message = s.doing + ": " + f.Message
	}
	return f
}

// plain returns a text of the API's as one line of at most n characters.
func plain(text string, n int) string { return httpcall.Clip(html.PlainLine(text), n) }
