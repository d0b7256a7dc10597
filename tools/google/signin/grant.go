package signin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolserver/toolserver/outbound/signin"
)

// grant is what is kept of a sign-in.
type grant struct {
	signin.Grant
	ClientID string `json:"client_id"` // that it is for
	Email    string `json:"email"`
}

// take puts the answer of the token endpoint into the grant. What the answer leaves out stays.
func (g *grant) take(t *oauth2.Token, now time.Time) {
	scope, _ := t.Extra("scope").(string)
	g.Take(t.AccessToken, t.RefreshToken, scope, t.Expiry, now)
	if idToken, _ := t.Extra("id_token").(string); idToken != "" {
		if email := emailOf(idToken); email != "" {
			g.Email = email
		}
	}
}

// newGrants returns the grants of a service.
func (a *Accounts) newGrants(s Service) *signin.Grants[grant] {
	return &signin.Grants[grant]{
		Store: a.config.Store(s),
		Entry: func(of string) signin.Entry { return owner{Owner(of), s}.entry() },
		Opened: func(of string, g *grant) error {
			if g.Principal != of {
				return errors.New("another principal")
			}
			return nil
		},
		Counts: func(_ string, g *grant) error {
			switch {
			case g.ClientID != a.config.ClientID:
				return fmt.Errorf("%w: the sign-in to %s was for another OAuth client than google.client_id", ErrNoGrant, s.Title())
			case g.Grant.Refresh == "":
				return fmt.Errorf("%w: the sign-in to %s has no refresh token", ErrNoGrant, s.Title())
			}
			return nil
		},
		Usable:  func(g *grant, stale string) bool { return g.Usable(stale, time.Now()) },
		Refresh: func(ctx context.Context, _, _ string, g *grant) (*grant, error) { return a.refresh(ctx, s, g) },
	}
}

// owner is whose grant, or sign-in, for what.
type owner struct {
	principal Owner
	service   Service
}

// entry returns what a grant is kept as.
func (o owner) entry() signin.Entry {
	name := signin.Hashed(string(o.principal))
	return signin.Entry{Name: name, Label: string(o.service) + " " + name, Title: o.principal.Of(o.service)}
}

// refresh gets a new access token. Google keeps the old refresh token valid when it sends a new one, so a request whose answer was
// lost can be repeated.
func (a *Accounts) refresh(ctx context.Context, s Service, g *grant) (*grant, error) {
	ctx, cancel := a.requestContext(ctx, s)
	defer cancel()
	t, err := a.oauth(s, "").TokenSource(ctx, &oauth2.Token{RefreshToken: g.Grant.Refresh}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.ErrorCode == "invalid_grant" {
		return nil, signin.EndedError{Err: &RevokedError{s, g.Email, Owner(g.Principal)}}
	}
	if err != nil {
		return nil, tokenFailure(ctx, err)
	}
	next := *g
	next.take(t, time.Now())
	return &next, nil
}
