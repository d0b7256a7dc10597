package httpcall

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"toolserver/sandbox/netguard"
)

// A Failure is why a service gave no answer that can be used, in the terms of
// tool results.
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

// A StatusError is an answer that is not of class 2xx. Redirects are among them:
// a service that sends one is not the service that was configured, and following
// would take the key elsewhere.
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
	Page     bool     // only HTML pages, whatever was asked for
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
		if (status || r.Codes == nil && r.Statuses == nil) && (r.When == nil || r.When(e)) && (!r.Page || IsPage(e.Header, e.Body)) {
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

// Explain says why a request failed: the [*Failure] that err is, or what its kind
// of error means. The URL, which may have a key in its query, is not in the
// message.
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
	is := func(errorType, message, hint string) *Failure {
		return &Failure{Type: errorType, Message: message, Hint: hint}
	}
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return is("too_large", large.Error(), "Ask for less.")
	}
	if late, ok := errors.AsType[*LateError](err); ok {
		return is("rate_limited", late.Error(), "Make fewer calls in parallel, or call again later.")
	}
	if errors.Is(err, context.Canceled) {
		return is("canceled", "the call was canceled", "Call it again if its result is still wanted.")
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return is("unreachable", "there is no host "+dns.Name, "Check the spelling of the host name.")
		}
		if !dns.IsTimeout {
			return is("unreachable", "the name "+dns.Name+" cannot be resolved now", "Try again later.")
		}
	}
	if IsTimeout(err) {
		return is("timed_out", "no answer in time", "Try again later.")
	}
	if isTLS(err) {
		return is("unreachable", "no secure connection: "+err.Error(), "The server's certificate or TLS is at fault; another URL may work.")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if errors.Is(op.Err, syscall.ECONNREFUSED) {
			return is("unreachable", "nothing answers: connection refused", "Check the host and port, or try again later.")
		}
		return is("unreachable", "the connection failed: "+op.Err.Error(), "Try again later.")
	}
	why, _, _ := strings.Cut(err.Error(), ` "`) // what follows came from the server, which may repeat what it was sent
	return is("unreachable", "the connection failed: "+why, "Try again later.")
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
	var (
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") { // an alert of crypto/tls
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) || errors.As(err, &verify) ||
		errors.As(err, &authority) || errors.As(err, &hostname) || errors.As(err, &invalid)
}

// neverArrived reports whether a request certainly did not reach the service,
// so that sending it again cannot do anything twice.
func neverArrived(err error) bool {
	if _, denied := errors.AsType[*netguard.DeniedError](err); denied {
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
