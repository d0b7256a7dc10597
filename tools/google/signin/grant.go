package signin

import (
	"slices"
	"time"

	"golang.org/x/oauth2"

	"toolserver/tools/signin"
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

func (g *grant) token() Token { return Token{g.Access, slices.Clone(g.Scopes), g.Email} }
