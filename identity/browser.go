package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/toolserver/toolserver/domain"
)

// Browser is the client by which people show a page of this server who they are, as the issuer knows it.
type Browser struct {
	ClientID string `yaml:"client_id"`
	Secret   string `yaml:"client_secret" secret:"true"`
}

// browserTime bounds what a page waits for.
const browserTime = 10 * time.Second

// Identify is one person at a browser, who is to show that they are a principal.
type Identify struct {
	v         *Verifier
	from      *issuer
	principal string // its ID
	verifier  string // of PKCE (RFC 7636)
	nonce     string
}

// Identify returns how somebody at a browser shows that they are a principal, by its ID; nil if no issuer can say that.
func (v *Verifier) Identify(principal string) *Identify {
	from := v.issuerOf(principal)
	if from == nil || from.Browser.ClientID == "" {
		return nil
	}
	return &Identify{v, from, principal, oauth2.GenerateVerifier(), oauth2.GenerateVerifier()}
}

// Anybody returns how somebody at a browser shows who they are, to the first issuer that can say it; nil if none can.
func (v *Verifier) Anybody() *Identify {
	for _, from := range v.issuers {
		if from.Browser.ClientID != "" {
			return &Identify{v, from, "", oauth2.GenerateVerifier(), oauth2.GenerateVerifier()}
		}
	}
	return nil
}

// client returns the client that the issuer knows.
func (p *Identify) client(ctx context.Context, redirect string) (*oauth2.Config, error) {
	said, err := discover(ctx, p.v.client, p.from.Issuer.Issuer)
	if err != nil {
		return nil, err
	}
	for _, address := range []string{said.Authorization, said.Token} {
		if u, err := url.Parse(address); err != nil || !Secure(u) {
			return nil, fmt.Errorf("the metadata of %s has no address for that: %q", p.from.Issuer.Issuer, address)
		}
	}
	b := p.from.Browser
	style := oauth2.AuthStyleInHeader
	if b.Secret == "" {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: b.ClientID, ClientSecret: b.Secret, RedirectURL: redirect, Scopes: []string{"openid"},
		Endpoint: oauth2.Endpoint{AuthURL: said.Authorization, TokenURL: said.Token, AuthStyle: style}}, nil
}

// Begin returns where the browser goes. It comes back to redirect with the state.
func (p *Identify) Begin(redirect, state string) (address string, err error) {
	ctx, cancel := context.WithTimeout(p.v.ending, browserTime)
	defer cancel()
	c, err := p.client(ctx, redirect)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(state, oauth2.S256ChallengeOption(p.verifier), oauth2.SetAuthURLParam("nonce", p.nonce)), nil
}

// Finish reports whether the browser that came back with an answer is the principal's.
func (p *Identify) Finish(redirect string, answer url.Values) (bool, error) {
	who, err := p.Who(redirect, answer)
	return err == nil && who.ID == p.principal, err
}

// Who returns whose the browser is that came back with an answer.
func (p *Identify) Who(redirect string, answer url.Values) (who domain.Principal, err error) {
	if said := answer.Get("iss"); said != "" && said != p.from.Issuer.Issuer { // RFC 9207
		return who, errors.New("the answer is of another issuer")
	}
	if answer.Get("code") == "" {
		return who, fmt.Errorf("%s has not said who it is: %.100s", p.from.Issuer.Issuer, answer.Get("error"))
	}
	ctx, cancel := context.WithTimeout(p.v.ending, browserTime)
	defer cancel()
	c, err := p.client(ctx, redirect)
	if err != nil {
		return who, err
	}
	u, _ := url.Parse(c.Endpoint.TokenURL) // is one
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: p.v.client(u).Transport})
	got, err := c.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(p.verifier))
	if err != nil {
		return who, fmt.Errorf("%s does not take its own code: %w", p.from.Issuer.Issuer, err)
	}
	token, _ := got.Extra("id_token").(string)
	if !compact(token) || len(token) > maxToken {
		return who, errors.New("there is no ID token")
	}
	parsed, err := p.v.parse(token)
	if err == nil {
		err = p.from.signed(&parsed)
	}
	if err != nil {
		return who, err
	}
	claims := &parsed.claims
	switch {
	case claims.Issuer != p.from.Issuer.Issuer, claims.Subject == "", !slices.Contains(claims.Audience, p.from.Browser.ClientID), claims.Nonce != p.nonce,
		claims.Expires == nil || !p.v.now().Before(claims.Expires.Add(p.v.settings.Leeway)):
		return who, errors.New("the ID token is not for this")
	}
	return p.v.principal(p.from, claims), nil
}
