package signin

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/oauth2"

	"toolserver/tools/signin"
)

// Begin returns the sign-in of a principal that waits for a person: the same one until it is done. An error is a
// [*httpcall.Failure].
func (a *Accounts) Begin(principal string, s Service) (*signin.Flow, error) {
	r, err := a.request(principal, s)
	if err != nil {
		return nil, err
	}
	return a.desk.Begin(r)
}

// BeginPaste begins a sign-in that is completed with [signin.Pasted.Finish].
func (a *Accounts) BeginPaste(principal string, s Service) (*signin.Pasted, error) {
	r, err := a.request(principal, s)
	if err != nil {
		return nil, err
	}
	return signin.Paste(a.config.Unused(0), r), nil
}

// request returns what a principal is asked to sign in to.
func (a *Accounts) request(principal string, s Service) (r signin.Request, err error) {
	o := owner{principal, s}
	if _, err := a.grants[s].Read(principal); err != nil && !errors.Is(err, ErrNoGrant) {
		return r, err // what would be kept could not replace it
	}
	verifier := oauth2.GenerateVerifier()
	return signin.Request{
		Key: o.entry().Label, Title: s.Title(), Account: "a Google account", Provider: "Google", Principal: principal, Caller: principal,
		Consent: func(redirect, state string) string { return a.consent(s, redirect, state, verifier) },
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
