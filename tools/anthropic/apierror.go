package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"toolserver/tools/httpcall"
)

// An APIError is an error the API answered with, or sent within a stream.
type APIError struct {
	Service    string        // which API
	Status     int           // 0 within a stream
	Type       string        // the API's own word, such as overloaded_error; empty if the body is not the API's
	Message    string        // the API's own words; empty if the body is not the API's
	RequestID  string        // for Anthropic's support; may be empty
	RetryAfter time.Duration // how long the API asks to wait; 0 if it does not
}

// Error returns a message that is complete in itself. What is not of the API's
// documented form, such as the page of a proxy, is not in it.
func (e *APIError) Error() string {
	var b strings.Builder
	b.WriteString(e.Service + " error: ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d — ", e.Status)
	}
	switch {
	case e.Type != "" && e.Message != "":
		b.WriteString(e.Type + ": " + e.Message)
	case e.Type != "" || e.Message != "":
		b.WriteString(e.Type + e.Message)
	case http.StatusText(e.Status) != "":
		b.WriteString(http.StatusText(e.Status) + ", in an answer that is not the API's own")
	default:
		b.WriteString("an answer that is not the API's own")
	}
	if e.RequestID != "" {
		b.WriteString(" (request_id " + e.RequestID + ")")
	}
	if e.RetryAfter > 0 {
		b.WriteString("; it asks to wait " + e.wait())
	}
	return b.String()
}

// wait returns how long the API asks to wait, in whole seconds.
func (e *APIError) wait() string {
	return (e.RetryAfter + time.Second - 1).Truncate(time.Second).String()
}

// errorBody is how the API says what went wrong, as an answer and as an event.
type errorBody struct {
	Error *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

// statusError reads an answer that is an error.
func (s *service) statusError(status *httpcall.StatusError) *APIError {
	e := s.readError(status.Body)
	e.Status = status.Status
	if e.RequestID == "" {
		e.RequestID = s.plain(status.Header.Get("Request-Id"), maxWord)
	}
	e.RetryAfter, _ = status.RetryAfter()
	return e
}

// readError reads an error of the API, as far as body is one.
func (s *service) readError(body []byte) *APIError {
	e := &APIError{Service: s.name}
	var b errorBody
	if json.Unmarshal(body, &b) == nil && b.Error != nil {
		e.Type, e.Message = s.plain(b.Error.Type, maxWord), s.plain(b.Error.Message, maxErrorText)
		e.RequestID = s.plain(b.RequestID, maxWord)
	}
	return e
}

// Bounds of what an error says, in characters.
const (
	maxWord      = 100
	maxErrorText = 1000
)

// plain returns a text of the API's as one line without keys, of at most n
// characters.
func (s *service) plain(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s.hide(text))
	return cut(strings.TrimSpace(text), n)
}

// cut returns the first n characters of a text, with an ellipsis if there are more.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}
