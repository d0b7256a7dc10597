// Package signin keeps the grants that people have given this server for their Google accounts, refreshes their tokens, and
// has people sign in.
package signin

import (
	"context"
	"errors"
	"time"
)

// Service is a part of Google that is granted by itself: one grant ends without the other.
type Service string

// The services.
const (
	Gmail    Service = "gmail"
	Calendar Service = "calendar"
)

// Token is what requests to a service are authorized with.
type Token struct {
	Access string
	Scopes []string // that were granted, which may be fewer than were asked for
	Email  string   // of the account; empty if it is not known
}

// ErrNoGrant is the error of a principal who has not signed in.
var ErrNoGrant = errors.New("not signed in")

// RevokedError is the error of a grant that Google no longer accepts. The grant is forgotten: the person has to sign in again.
type RevokedError struct {
	Service Service
	Email   string
}

func (e *RevokedError) Error() string {
	return "Google no longer accepts the sign-in"
}

// Accounts are the grants of all principals.
type Accounts struct{}

// Token returns a token of the grant of a principal, which is valid for at least a minute. It refreshes the grant if need be.
// The error is [ErrNoGrant], a [*RevokedError], that of ctx, or why Google could not be asked.
func (a *Accounts) Token(ctx context.Context, principal string, s Service) (Token, error) {
	return Token{}, ErrNoGrant
}

// Renew returns another token than stale, which Google has rejected.
func (a *Accounts) Renew(ctx context.Context, principal string, s Service, stale string) (Token, error) {
	return Token{}, ErrNoGrant
}

// Flow is a sign-in that waits for a person.
type Flow struct {
	ID      string    // a name for elicitation
	URL     string    // that the person opens, on this machine
	Expires time.Time // when it is given up
	done    chan struct{}
}

// Done is closed when the sign-in has succeeded, failed or expired.
func (f *Flow) Done() <-chan struct{} { return f.done }

// Err says why a sign-in that is done has failed, as a clause for people; nil if it has succeeded.
func (f *Flow) Err() error { return nil }

// Begin returns the sign-in of a principal that waits for a person: the same one until it is done.
func (a *Accounts) Begin(principal string, s Service) (*Flow, error) {
	return nil, errors.New("not built yet")
}

// Close ends the sign-ins that wait.
func (a *Accounts) Close() error { return nil }

// Reason says what a scope is for: "read mail".
func Reason(scope string) string { return scope }

// Proves reports whether the sign-in page asks a principal for a proof of who they are.
func (a *Accounts) Proves(principal string) bool { return false }

// OnDone has do called once the flow is done; of several with the same key, the first.
func (f *Flow) OnDone(key string, do func()) {}
