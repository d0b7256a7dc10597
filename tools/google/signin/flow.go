package signin

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/oauth2"

	"toolserver/tools/signin"
)

// Flow is a sign-in that waits for a person.
type Flow = signin.Flow

// OnDone has do called once a sign-in of [Accounts.Begin] is done; see [signin.Desk.OnDone].
func (a *Accounts) OnDone(f *Flow, key string, do func()) (once func()) {
	return a.desk.OnDone(f, key, do)
}

// Begin returns the sign-in of a principal that waits for a person: the same one until it is done. An error is a
// [*httpcall.Failure].
func (a *Accounts) Begin(principal string, s Service) (*Flow, error) {
	o := owner{principal, s}
	if _, err := a.stored(o); err != nil && !errors.Is(err, ErrNoGrant) {
		return nil, err // what would be kept could not replace it
	}
	verifier := oauth2.GenerateVerifier()
	r := signin.Request{
		Key: o.label(), Title: s.Title(), Account: "a Google account", Provider: "Google", Principal: principal,
		Consent: func(redirect, state string) string { return a.consent(s, redirect, state, verifier) },
		Complete: func(ctx context.Context, answer signin.Answer) (signin.Done, error) {
			g, err := a.complete(ctx, o, verifier, answer)
			if err != nil {
				return signin.Done{}, err
			}
			done := signin.Done{Account: cmp.Or(g.Email, "your account")}
			for _, scope := range a.missing(s, g.Scopes) {
				done.Missing = append(done.Missing, Reason(scope))
			}
			return done, nil
		},
	}
	if a.config.Prove != nil {
		r.Prove = a.config.Prove(principal)
	}
	return a.desk.Begin(r)
}

// Pasted is a sign-in on a machine without a browser.
type Pasted = signin.Pasted

// BeginPaste begins a sign-in that is completed with [Pasted.Finish].
func (a *Accounts) BeginPaste(principal string, s Service) (*Pasted, error) {
	o := owner{principal, s}
	if _, err := a.stored(o); err != nil && !errors.Is(err, ErrNoGrant) {
		return nil, err
	}
	verifier := oauth2.GenerateVerifier()
	consent := func(redirect, state string) string { return a.consent(s, redirect, state, verifier) }
	return signin.Paste(signin.UnusedRedirect(0), consent, func(ctx context.Context, answer signin.Answer) error {
		_, err := a.complete(ctx, o, verifier, answer)
		return err
	}), nil
}

// PasteAgain reports whether another address can be pasted after an error of [Pasted.Finish].
func PasteAgain(err error) bool { return signin.PasteAgain(err) }

// complete makes a grant of what Google has sent a browser back with, and keeps it.
func (a *Accounts) complete(ctx context.Context, o owner, verifier string, answer signin.Answer) (*grant, error) {
	if answer.Refused != "" {
		return nil, reported(answer.Refused)
	}
	return a.exchange(ctx, o, verifier, answer.Redirect, answer.Code)
}
