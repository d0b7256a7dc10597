package httpcall

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"toolserver/sandbox/netguard"
)

// A Problem is why a request got no answer, in the terms of tools' results.
type Problem struct {
	Type    string // an error type of docs/errors.md
	Message string // says which host and what the matter is, as a clause
	Hint    string // the next thing to do
}

// Explain says why a request got no answer that could be used. The URL, which
// may have a key in its query, is not in the message.
func Explain(err error) Problem {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if denied, ok := errors.AsType[*netguard.DeniedError](err); ok {
		return deniedProblem(denied)
	}
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return Problem{"too_large", large.Error(), "Ask for less."}
	}
	if status, ok := errors.AsType[*StatusError](err); ok {
		return statusProblem(status)
	}
	if errors.Is(err, context.Canceled) {
		return Problem{"canceled", "the call was canceled", "Call it again if its result is still wanted."}
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return Problem{"unreachable", "there is no host " + dns.Name, "Check the spelling of the host name."}
		}
		if !dns.IsTimeout {
			return Problem{"unreachable", "the name " + dns.Name + " cannot be resolved now", "Try again later."}
		}
	}
	if IsTimeout(err) {
		return Problem{"timed_out", "no answer in time", "Try again later."}
	}
	if isTLS(err) {
		return Problem{"unreachable", "no secure connection: " + err.Error(), "The server's certificate or TLS is at fault; another URL may work."}
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if errors.Is(op.Err, syscall.ECONNREFUSED) {
			return Problem{"unreachable", "nothing answers: connection refused", "Check the host and port, or try again later."}
		}
		return Problem{"unreachable", "the connection failed: " + op.Err.Error(), "Try again later."}
	}
	why, _, _ := strings.Cut(err.Error(), ` "`) // what follows came from the server, which may repeat what it was sent
	return Problem{"unreachable", "the connection failed: " + why, "Try again later."}
}

func statusProblem(e *StatusError) Problem {
	switch e.Status {
	case http.StatusTooManyRequests:
		return Problem{"rate_limited", e.Error(), "Wait before the next call."}
	case http.StatusServiceUnavailable, 529:
		return Problem{"overloaded", e.Error(), "Try again later."}
	}
	return Problem{"http_status", e.Error(), "Try again later."}
}

func deniedProblem(denied *netguard.DeniedError) Problem {
	hint := "Use another URL."
	if denied.Allow != "" {
		lists := "sandbox.private_hosts"
		if denied.Setting != "" {
			lists = denied.Setting + " or, for every tool, in " + lists
		}
		hint = "Only public hosts are reached, unless the person who runs the server names " + denied.Allow + " in " + lists + "."
	}
	return Problem{"denied", denied.Error(), hint}
}

// IsTimeout reports whether a request ended because its time was up.
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
