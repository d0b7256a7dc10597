package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// grant is what is kept of a sign-in.
type grant struct {
	ClientID     string    `json:"client_id"` // that it is for
	Principal    string    `json:"principal"`
	Email        string    `json:"email"`
	Scopes       []string  `json:"scopes"` // that were granted
	AccessToken  string    `json:"access_token"`
	RefreshToken string    `json:"refresh_token"`
	TokenType    string    `json:"token_type"`
	Expiry       time.Time `json:"expiry"`
	Created      time.Time `json:"created"`
	Refreshed    time.Time `json:"refreshed"`
}

// Bounds of tokens.
const (
	// margin is how long before its expiry an access token is considered expired.
	margin = time.Minute
	// assumedLife is that of an access token whose response does not say.
	assumedLife = time.Hour
)

// load returns the grant of an owner. The error is [ErrNoGrant] or wraps it, or why it cannot be read.
func (a *Accounts) load(o owner) (*grant, error) {
	g, err := a.stored(o)
	switch {
	case err != nil:
		return nil, err
	case g.ClientID != a.config.ClientID:
		return nil, fmt.Errorf("%w: the sign-in to %s was for another OAuth client than google.client_id", ErrNoGrant, o.service.Title())
	case g.RefreshToken == "":
		return nil, fmt.Errorf("%w: the sign-in to %s has no refresh token", ErrNoGrant, o.service.Title())
	}
	return g, nil
}

// stored returns the grant that is kept for an owner, whatever client it is for.
func (a *Accounts) stored(o owner) (*grant, error) {
	data, err := a.stores[o.service].read(o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoGrant
	}
	if err != nil {
		return nil, err
	}
	var g grant
	if err := json.Unmarshal(data, &g); err != nil || g.Principal != o.principal {
		return nil, storeFailure(o.service, "what is kept is no sign-in of this principal", forget)
	}
	return &g, nil
}

// save keeps the grant of an owner. The caller has the lock.
func (a *Accounts) save(o owner, g *grant) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return a.stores[o.service].write(o, data)
}

// replace keeps a new grant in place of what there is, unless that cannot be read: it is not overwritten silently.
func (a *Accounts) replace(ctx context.Context, o owner, g *grant) error {
	unlock, err := a.stores[o.service].lock(ctx, o)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := a.stored(o); err != nil && !errors.Is(err, ErrNoGrant) {
		return err
	}
	return a.save(o, g)
}

// take puts the answer of the token endpoint into the grant. What the answer leaves out stays.
func (g *grant) take(t *oauth2.Token, now time.Time) {
	g.AccessToken, g.TokenType, g.Refreshed = t.AccessToken, t.TokenType, now
	if t.RefreshToken != "" {
		g.RefreshToken = t.RefreshToken
	}
	if g.Expiry = t.Expiry; g.Expiry.IsZero() {
		g.Expiry = now.Add(assumedLife)
	}
	if scope, _ := t.Extra("scope").(string); strings.TrimSpace(scope) != "" {
		g.Scopes = strings.Fields(scope)
	}
	if idToken, _ := t.Extra("id_token").(string); idToken != "" {
		if email := emailOf(idToken); email != "" {
			g.Email = email
		}
	}
}

// usable reports whether the access token is valid for a while, and is not the one that Google has rejected.
func (g *grant) usable(stale string) bool {
	return g.AccessToken != "" && g.AccessToken != stale && time.Now().Add(margin).Before(g.Expiry)
}

func (g *grant) token() Token { return Token{g.AccessToken, slices.Clone(g.Scopes), g.Email} }

// missing returns the scopes that are asked for and were not granted.
func (a *Accounts) missing(s Service, granted []string) []string {
	return slices.DeleteFunc(slices.Clone(a.config.Scopes(s)), func(scope string) bool { return slices.Contains(granted, scope) })
}
