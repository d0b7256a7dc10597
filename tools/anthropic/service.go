package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"toolserver/domain"
	"toolserver/tools/httpcall"
)

// service is one of the APIs, as it is reached with one key.
type service struct {
	httpcall.Service
	doing string // what fails without an answer: "Error calling the Anthropic API"
}

var acceptJSON = map[string]string{"Accept": "application/json"}

const (
	retries     = 2
	maxPatience = time.Minute // an API that asks to wait for longer is not asked again
)

// newService returns an API with the key that is in an option.
func newService(client *http.Client, o Options, name, doing, option, key string) (service, error) {
	base, err := httpcall.ParseBase(o.BaseURL)
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
		Name: name, Client: client, Base: base, Retries: retries, Fail: fail,
		Header: map[string]string{"X-Api-Key": key, "Anthropic-Version": o.Version},
	}, doing}, nil
}

// headerValue reports whether s is printable ASCII without space.
func headerValue(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// within returns the service with bounds on each attempt and each answer.
func (s service) within(timeout time.Duration, maxBody int64) *httpcall.Service {
	s.Timeout, s.MaxBody = timeout, maxBody
	return &s.Service
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
	{Codes: []string{"request_too_large"}, Statuses: []int{http.StatusRequestEntityTooLarge}, Type: "too_large", Hint: "Send less at a time."},
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

// noCredit reports whether an invalid request is one that the organization
// cannot pay for.
func noCredit(e *httpcall.StatusError) bool {
	return strings.Contains(string(e.Body), "credit balance")
}

// Bounds of what is repeated of an error, in characters.
const (
	maxWord      = 100
	maxErrorText = 1000
)

// fail returns what an error of the API means, as an answer or as an event of a
// stream. What is not of the API's documented form, such as the page of a proxy,
// is not in the message.
func fail(e *httpcall.StatusError) error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(e.Body, &body) != nil {
		body.Error.Type, body.Error.Message, body.RequestID = "", "", ""
	}
	kind, said, id := plain(body.Error.Type, maxWord), plain(body.Error.Message, maxErrorText), plain(body.RequestID, maxWord)
	f := rules.Failure(e, kind)
	var b strings.Builder
	b.WriteString(e.Service + " error: ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d — ", e.Status)
	}
	switch {
	case kind != "" && said != "":
		b.WriteString(kind + ": " + said)
	case kind != "" || said != "":
		b.WriteString(kind + said)
	case http.StatusText(e.Status) != "":
		b.WriteString(http.StatusText(e.Status) + ", in an answer that is not the API's own")
	default:
		b.WriteString("an answer that is not the API's own")
	}
	if id == "" {
		id = plain(e.Header.Get("Request-Id"), maxWord)
	}
	if id != "" {
		b.WriteString(" (request_id " + id + ")")
	}
	if kind == "" && f.Type == "http_status" {
		f.Hint = hintBase
	}
	if f.After > 0 {
		wait := (f.After + time.Second - 1).Truncate(time.Second)
		b.WriteString("; it asks to wait " + wait.String())
		f.Hint = "Call again in " + wait.String() + "."
	}
	f.Message, f.Retry = b.String(), worthRetrying(e, f.After)
	return f
}

// worthRetrying reports whether a refused request may be sent again: if the API
// says so itself (x-should-retry), or with the statuses after which its own
// libraries do.
func worthRetrying(e *httpcall.StatusError, wait time.Duration) bool {
	switch should := e.Header.Get("X-Should-Retry"); {
	case wait > maxPatience || should == "false":
		return false
	case should == "true":
		return true
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500
}

// badAnswer is the failure of an answer that is not what the API is documented to
// send.
func (s *service) badAnswer(problem string) *httpcall.Failure {
	return &httpcall.Failure{
		Type: "bad_answer", Message: s.doing + ": " + problem,
		Hint: "Try again; if it stays so, the operator should look at anthropic.base_url.",
	}
}

// failure returns the tool execution error for an API that cannot be used.
// Partial, which may be empty, is what came of the answer until then.
func (s *service) failure(err error, partial string) domain.ToolResult {
	f := s.explain(err)
	message := f.Message
	if partial != "" {
		message += "; the answer until then:\n" + partial
	}
	return domain.Failure(f.Type, message, f.Hint)
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
func plain(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return cut(strings.TrimSpace(text), n)
}

// cut returns the first n characters of a text, with an ellipsis if there are more.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
