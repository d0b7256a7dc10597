package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/sandbox/netguard"
)

// A Failure is why a service gave no answer that can be used, in the terms of tool results.
type Failure struct {
	Type    string // an error type of docs/errors.md
	Message string // names the service or host, as a clause
	Hint    string // what to do next, as sentences
	Status  int    // of the answer, if that is the reason

	Retry    bool          // the same request may succeed later
	After    time.Duration // how long the service asks to wait; 0 if it does not
	Cooldown time.Duration // how long no request is sent to the service
	Since    time.Time     // when the service failed, for requests that were not sent because of that
}

func (f *Failure) Error() string { return f.Message }

// A StatusError is an answer that is not of class 2xx. Redirects are among them: a service that sends one is not the service
// that was configured, and following would take the key elsewhere.
type StatusError struct {
	Service string
	URL     *url.URL // that was requested; may have a key in it
	Status  int
	Header  http.Header
	Body    []byte // the first 64 KiB
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP %d from %s", e.Status, e.Service) }

// RetryAfter returns how long the service asks to wait, if it does.
func (e *StatusError) RetryAfter() (time.Duration, bool) { return RetryAfter(e.Header, time.Now()) }

// A Rule says what answers mean that are not of class 2xx.
type Rule struct {
	Codes    []string // the service's error codes
	Statuses []int    // or classes of them, such as 5
	When     func(*StatusError) bool

	Type    string // as in [Failure]
	Meaning string // ends the message, after the status
	Hint    string
	Retry   bool
}

// Rules are tried in order: by the code, if the answer has one that a rule knows,
// then by the status. A rule without codes and statuses is for every answer.
type Rules []Rule

// defaultRules are for answers that no other rule is for.
var defaultRules = Rules{
	{Statuses: []int{http.StatusTooManyRequests}, Type: "rate_limited", Hint: "Wait before the next call.", Retry: true},
	{Statuses: []int{http.StatusServiceUnavailable, statusOverloaded}, Type: "overloaded", Hint: "Try again later.", Retry: true},
	{
		Statuses: []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout},
		Type:     "http_status", Hint: "Try again later.", Retry: true,
	},
	{Statuses: []int{3}, Type: "http_status", Meaning: "it redirects, and a page of the network may stand between, such as a sign-in",
		Hint: "Have the person open a page in a browser, and sign in to the network if that asks for it; or the address of the service is wrong."},
	{Statuses: []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, Type: "http_status",
		Hint: "Trying again does not help: have the person who runs the server check the address and the version of the service."},
	{Type: "http_status", Hint: "Try again later."},
}

// statusOverloaded is used by several services.
const statusOverloaded = 529

// Failure returns what an answer means whose error code is code.
func (rules Rules) Failure(e *StatusError, code string) *Failure {
	rule := rules.find(e, code)
	f := &Failure{Type: rule.Type, Message: e.Error(), Hint: rule.Hint, Status: e.Status, Retry: rule.Retry}
	if rule.Meaning != "" {
		f.Message += ": " + rule.Meaning
	}
	f.After, _ = e.RetryAfter()
	return f
}

func (rules Rules) find(e *StatusError, code string) Rule {
	for _, r := range rules {
		if slices.Contains(r.Codes, code) && (r.When == nil || r.When(e)) {
			return r
		}
	}
	for _, r := range slices.Concat(rules, defaultRules) {
		status := slices.Contains(r.Statuses, e.Status) || slices.Contains(r.Statuses, e.Status/100)
		if (status || r.Codes == nil && r.Statuses == nil) && (r.When == nil || r.When(e)) {
			return r
		}
	}
	return Rule{}
}

// IsPage reports whether an answer is an HTML page, whatever it claims to be.
func IsPage(h http.Header, body []byte) bool {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && kind == "text/html" {
		return true
	}
	return bytes.HasPrefix(bytes.TrimLeft(body, "\ufeff \t\r\n"), []byte("<"))
}

// IsObject reports whether an answer may be a JSON object. Decoding null into a struct is no error, and nothing comes of it.
func IsObject(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, "\ufeff \t\r\n"), []byte("{"))
}

// Explain says why a request failed: the [*Failure] that err is, or what its kind of error means. The URL, which may have a
// key in its query, is not in the message.
func Explain(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		return explainDenied(denied)
	}
	proxy, isProxy := errors.AsType[*netguard.ProxyError](err)
	large, isLarge := errors.AsType[*TooLargeError](err)
	late, isLate := errors.AsType[*LateError](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	f := &Failure{Type: "unreachable", Hint: "Try again later."}
	switch {
	case isLarge:
		f.Type, f.Message, f.Hint = "too_large", large.Error(), "Ask for less."
	case isLate:
		f.Type, f.Message, f.Hint = "rate_limited", late.Error(), "Make fewer calls in parallel, or call again later."
	case errors.Is(err, context.Canceled):
		f.Type, f.Message, f.Hint = "canceled", "the call was canceled", "Call it again if its result is still wanted."
	case isProxy:
		f.Message = proxy.Error()
		f.Hint = "Check the host, or try again later. If every host fails, the person who runs the server must check web.proxy."
	case isDNS && dns.IsNotFound:
		f.Message, f.Hint = "there is no host "+dns.Name, "Check the spelling of the host name."
	case isDNS && !dns.IsTimeout:
		f.Message = "the name " + dns.Name + " cannot be resolved now"
	case IsTimeout(err):
		f.Type, f.Message = "timed_out", "no answer in time"
	case isTLS(err):
		f.Message, f.Hint = "no secure connection: "+err.Error(), "The server's certificate or TLS is at fault; another URL may work."
	case isOp && errors.Is(op.Err, syscall.ECONNREFUSED):
		f.Message, f.Hint = "nothing answers: connection refused", "Check the host and port, or try again later."
	case isOp:
		f.Message = "the connection failed: " + op.Err.Error()
	default:
		why, _, _ := strings.Cut(err.Error(), ` "`) // what follows came from the server, which may repeat what it was sent
		f.Message = "the connection failed: " + why
	}
	return f
}

// Clip returns the first n characters of a text, the last of them an ellipsis if there are more: services and pages may send any
// amount of it.
func Clip(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	if n < 2 {
		return ""
	}
	return strings.TrimRight(string([]rune(text)[:n-1]), " ") + "…"
}

func explainDenied(denied *netguard.DeniedError) *Failure {
	hint := "Use another URL."
	if denied.Allow != "" {
		lists := "sandbox.private_hosts"
		if denied.Setting != "" {
			lists = denied.Setting + " or, for every tool, in " + lists
		}
		hint = "Only public hosts are reached, unless the person who runs the server names " + denied.Allow + " in " + lists + "."
	}
	return &Failure{Type: "denied", Message: denied.Error(), Hint: hint}
}

// IsTimeout reports whether a request failed because of a deadline.
func IsTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

func isTLS(err error) bool {
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	alert := isOp && (op.Op == "remote error" || op.Op == "local error")
	return record || certificate || alert || errors.Is(err, http.ErrSchemeMismatch)
}

// Dropped reports whether a connection was lost before all of the answer came, so that a request which may be carried out
// twice can be sent again.
func Dropped(err error) bool {
	op, isOp := errors.AsType[*net.OpError](err)
	lost := isOp && (op.Op == "read" || op.Op == "write") || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	return err != nil && !IsTimeout(err) && (lost || strings.Contains(err.Error(), "http2: ") || strings.Contains(err.Error(), "stream error: "))
}

// NeverArrived reports whether a request certainly did not reach the service,
// so that sending it again cannot do anything twice.
func NeverArrived(err error) bool {
	if _, denied := errors.AsType[*netguard.DeniedError](err); denied {
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
