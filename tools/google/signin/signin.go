// Package signin keeps the grants that people have given this server for their Google accounts, refreshes their tokens, and
// has people sign in.
package signin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolserver/toolserver/outbound/signin"
)

// Service is a part of Google that is granted by itself: one grant ends without the other.
type Service string

// The services.
const (
	Gmail    Service = "gmail"
	Calendar Service = "calendar"
	Contacts Service = "contacts"
)

// Services returns all services.
func Services() []Service { return []Service{Gmail, Calendar, Contacts} }

// Title returns the name that people know the service by.
func (s Service) Title() string {
	return map[Service]string{Gmail: "Gmail", Calendar: "Google Calendar", Contacts: "Google Contacts"}[s]
}

// Owner is whose grants: those of a principal, or of one of the accounts that a principal has, by its name.
type Owner string

// unnamed is the name of the account whose grants are the principal's own: those from before there were names.
const unnamed = "default"

// Owner returns the owner of the grants of an account; "" is the first that is configured.
func (a *Accounts) Owner(principal, account string) Owner {
	if account == "" && len(a.config.Accounts) > 0 {
		account = a.config.Accounts[0]
	}
	if account == "" || account == unnamed {
		return Owner(principal)
	}
	return Owner(principal + "\x00" + account)
}

// Owners returns the owners of all grants that a principal can have: one for each account.
func (a *Accounts) Owners(principal string) (all []Owner) {
	for _, account := range a.config.Accounts {
		all = append(all, a.Owner(principal, account))
	}
	if all == nil {
		all = []Owner{Owner(principal)}
	}
	return all
}

// Names returns the names of the accounts that each principal has; nil for one without a name.
func (a *Accounts) Names() []string { return a.config.Accounts }

func (o Owner) split() (principal, account string) {
	principal, account, _ = strings.Cut(string(o), "\x00")
	return principal, account
}

// Of says what an owner signs in to: "Gmail", or "Gmail (account work)".
func (o Owner) Of(s Service) string {
	if _, account := o.split(); account != "" {
		return s.Title() + " (account " + account + ")"
	}
	return s.Title()
}

// Flag returns the flag of a command that names the account of an owner; "" if accounts have no names. Without it a command would
// concern all of them.
func (a *Accounts) Flag(o Owner) string {
	if _, account := o.split(); len(a.config.Accounts) > 0 || account != "" {
		return " --account " + cmp.Or(account, unnamed)
	}
	return ""
}

// Token is what requests to a service are authorized with.
type Token struct {
	Access string
	Scopes []string // that were granted, which may be fewer than were asked for
	Email  string   // of the account; empty if it is not known
}

// ErrNoGrant is the error of who has not signed in. Errors that wrap it say why a grant does not count.
var ErrNoGrant = signin.ErrNoGrant

// RevokedError is the error of a grant that Google no longer accepts. The grant is forgotten: the person has to sign in again.
type RevokedError struct {
	Service Service
	Email   string
	Owner   Owner
}

func (e *RevokedError) Error() string {
	of := ""
	if e.Email != "" {
		of = " of " + e.Email
	}
	return "Google no longer accepts the sign-in" + of + " to " + e.Owner.Of(e.Service) +
		": another sign-in to the account was revoked, which ends them all, the Google Cloud app is in \"Testing\", where sign-ins end after " +
		"7 days, the password was changed, the access was removed in the Google account, or the sign-in was unused for 6 months"
}

// Config says where Google is, for which client grants are, and where they are kept.
type Config struct {
	ClientID, ClientSecret string // of an OAuth client of type Desktop app
	// BaseURL is that of a stand-in for Google; "" for Google's own addresses.
	BaseURL string
	HTTP    func(Service) *http.Client // its transport is used; deadlines are set here
	Store   func(Service) signin.Store // is called once for each service
	Scopes  func(Service) []string     // that are asked for, beside openid and email
	// Accounts are the names of the accounts that each principal may have; none for one without a name.
	Accounts      []string
	signin.Config // of the desk; what it is for is set here
}

// Accounts are the grants of all principals. It is safe for concurrent use.
type Accounts struct {
	config Config
	grants map[Service]*signin.Grants[grant]

	desk   *signin.Desk
	answer time.Duration // bounds a request to Google, body included
}

// New returns the accounts of a configuration. It reads nothing yet.
func New(c Config) *Accounts {
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	a := &Accounts{config: c, grants: map[Service]*signin.Grants[grant]{}, answer: 15 * time.Second}
	for _, s := range Services() {
		a.grants[s] = a.newGrants(s)
	}
	c.For, c.Paste = "Google", "toolserver auth google --paste"
	a.desk = signin.New(c.Config)
	return a
}

// Token returns a token of the grant of an owner, which is valid for at least a minute. It refreshes the grant if need be.
// The error is [ErrNoGrant] or wraps it, a [*RevokedError], that of ctx, or a [*httpcall.Failure].
func (a *Accounts) Token(ctx context.Context, o Owner, s Service) (Token, error) {
	return a.Renew(ctx, o, s, "")
}

// Renew returns another token than stale, which Google has rejected.
func (a *Accounts) Renew(ctx context.Context, o Owner, s Service, stale string) (Token, error) {
	g, err := a.grants[s].Current(ctx, string(o), stale)
	if err != nil {
		return Token{}, err
	}
	return Token{g.Access, slices.Clone(g.Scopes), g.Email}, nil
}

// Begin returns the sign-in of an owner that waits for a person: the same one until it is done. An error is a
// [*httpcall.Failure].
func (a *Accounts) Begin(o Owner, s Service) (*signin.Flow, error) {
	r, err := a.request(o, s)
	if err != nil {
		return nil, err
	}
	return a.desk.Begin(r)
}

// BeginPaste begins a sign-in that is completed with [signin.Pasted.Finish].
func (a *Accounts) BeginPaste(o Owner, s Service) (*signin.Pasted, error) {
	r, err := a.request(o, s)
	if err != nil {
		return nil, err
	}
	return signin.Paste(a.config.Unused(0), r), nil
}

// request returns what an owner is asked to sign in to.
func (a *Accounts) request(of Owner, s Service) (r signin.Request, err error) {
	o := owner{of, s}
	principal, _ := of.split()
	if _, err := a.grants[s].Read(string(of)); err != nil && !errors.Is(err, ErrNoGrant) {
		return r, err // what would be kept could not replace it
	}
	verifier := oauth2.GenerateVerifier()
	return signin.Request{
		Key: o.entry().Label, Title: of.Of(s), Account: "a Google account", Provider: "Google", Principal: principal, Caller: principal,
		Consent: func(redirect, state string) string { return a.consent(o, redirect, state, verifier) },
		Complete: func(ctx context.Context, answer signin.Answer) (signin.Done, error) {
			g, err := a.complete(ctx, o, verifier, answer)
			if err != nil {
				return signin.Done{}, err
			}
			done := signin.Done{Account: cmp.Or(g.Email, "your account")}
			for _, scope := range g.Lacks(a.config.Scopes(s)) {
				done.Missing = append(done.Missing, Reason(scope))
			}
			return done, nil
		},
	}, nil
}

// Host returns the server that people sign in at.
func (a *Accounts) Host() signin.Host { return a.config.Host }

// Close ends the sign-ins that wait, and waits until their pages are delivered. Grants can still be used.
func (a *Accounts) Close() error { return a.desk.Close() }
