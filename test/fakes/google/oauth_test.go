package google_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/test/fakes/google"
)

const redirect = "http://127.0.0.1:7777/callback"

func (w *world) config(scopes ...string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: "test-client", ClientSecret: "test-secret", RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: w.url + google.AuthPath, TokenURL: w.url + google.TokenPath, AuthStyle: oauth2.AuthStyleInParams},
	}
}

var hidden = regexp.MustCompile(`name="request" value="([0-9a-f]+)"`)

// page opens the consent page and returns its status and body.
func (w *world) page(address string) (int, string) {
	return w.do(http.DefaultClient, "GET", strings.TrimPrefix(address, w.url), "")
}

// consent answers the consent page and returns the parameters that the browser is sent back with.
func (w *world) consent(address string, form url.Values) url.Values {
	w.t.Helper()
	status, body := w.page(address)
	found := hidden.FindStringSubmatch(body)
	if status != 200 || found == nil {
		w.t.Fatalf("the page: %d %s", status, body)
	}
	form.Set("request", found[1])
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.PostForm(w.url+google.AuthPath, form)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusFound {
		return url.Values{"status": {res.Status}, "body": {string(text)}}
	}
	back, err := res.Location()
	if err != nil || !strings.HasPrefix(back.String(), redirect) {
		w.t.Fatalf("sent to %v: %v", back, err)
	}
	return back.Query()
}

func allow(scopes ...string) url.Values {
	return url.Values{"account": {alice}, "decision": {"allow"}, "scope": scopes}
}

func offline(verifier string) []oauth2.AuthCodeOption {
	return []oauth2.AuthCodeOption{oauth2.AccessTypeOffline, oauth2.ApprovalForce, oauth2.S256ChallengeOption(verifier)}
}

// reason returns the error code of the token endpoint.
func reason(err error) string {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return e.ErrorCode
	}
	return ""
}

func TestSignIn(t *testing.T) {
	clock := now
	w := newWorld(t, google.Options{Now: func() time.Time { return clock }})
	config, verifier := w.config("openid", "email", readonly, gmail.GmailSendScope), oauth2.GenerateVerifier()
	back := w.consent(config.AuthCodeURL("the state", offline(verifier)...), allow(readonly))
	if back.Get("state") != "the state" || strings.Contains(back.Get("scope"), gmail.GmailSendScope) {
		t.Errorf("sent back with %v", back)
	}
	ctx := context.Background()
	_, err := config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	if reason(err) != "invalid_grant" {
		t.Errorf("with another verifier: %v", err)
	}
	token := must[*oauth2.Token](t)(config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier)))
	if want := "openid https://www.googleapis.com/auth/userinfo.email " + readonly; token.Extra("scope") != want || token.RefreshToken == "" || token.TokenType != "Bearer" {
		t.Errorf("got scope %q and %v", token.Extra("scope"), token)
	}
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token.Extra("id_token").(string), ".")[1])
	var who struct{ Email, Aud string }
	if err != nil || json.Unmarshal(claims, &who) != nil || who.Email != alice || who.Aud != "test-client" {
		t.Errorf("the ID token is of %s: %v", claims, err)
	}
	fresh := must[*oauth2.Token](t)(config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token())
	if fresh.AccessToken == token.AccessToken || fresh.RefreshToken != token.RefreshToken {
		t.Errorf("got %v", fresh)
	}
	get := func(access string) int {
		status, _ := w.do(oauth2.NewClient(ctx, oauth2.StaticTokenSource(&oauth2.Token{AccessToken: access})), "GET", "/gmail/v1/users/me/profile", "")
		return status
	}
	if get(token.AccessToken) != 200 || get(fresh.AccessToken) != 200 {
		t.Error("tokens are rejected")
	}
	clock = clock.Add(time.Hour)
	if get(fresh.AccessToken) != 401 {
		t.Error("a token outlives its hour")
	}
	// A code that is used again ends what it was exchanged for.
	if _, err = config.Exchange(ctx, back.Get("code"), oauth2.VerifierOption(verifier)); reason(err) != "invalid_grant" {
		t.Errorf("the code again: %v", err)
	}
	if _, err = config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token(); reason(err) != "invalid_grant" {
		t.Errorf("refresh after that: %v", err)
	}
	if got := w.fake.TokenRequests(); got["authorization_code"] != 3 || got["refresh_token"] != 2 {
		t.Errorf("got %v token requests", got)
	}
}

func TestCodes(t *testing.T) {
	clock := now
	w := newWorld(t, google.Options{Now: func() time.Time { return clock }})
	config, verifier, ctx := w.config(readonly), oauth2.GenerateVerifier(), context.Background()
	code := func(options ...oauth2.AuthCodeOption) string {
		return w.consent(config.AuthCodeURL("s", append(options, oauth2.S256ChallengeOption(verifier))...), allow(readonly)).Get("code")
	}
	first := code()
	clock = clock.Add(10 * time.Minute)
	if _, err := config.Exchange(ctx, first, oauth2.VerifierOption(verifier)); reason(err) != "invalid_grant" {
		t.Errorf("an old code: %v", err)
	}
	for _, options := range [][]oauth2.AuthCodeOption{nil, {oauth2.AccessTypeOffline}, {oauth2.ApprovalForce}} {
		token := must[*oauth2.Token](t)(config.Exchange(ctx, code(options...), oauth2.VerifierOption(verifier)))
		if token.RefreshToken != "" {
			t.Errorf("a refresh token with %v", options)
		}
	}
	elsewhere := *config
	elsewhere.RedirectURL = "http://127.0.0.1:7778/callback"
	if _, err := elsewhere.Exchange(ctx, code(), oauth2.VerifierOption(verifier)); reason(err) != "redirect_uri_mismatch" {
		t.Errorf("another address: %v", err)
	}
	for secret, want := range map[string]string{"": "invalid_request", "wrong": "invalid_client"} {
		other := *config
		other.ClientSecret = secret
		if _, err := other.Exchange(ctx, code(), oauth2.VerifierOption(verifier)); reason(err) != want {
			t.Errorf("secret %q: %v", secret, err)
		}
	}
	other := *config
	other.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if _, err := other.Exchange(ctx, code(), oauth2.VerifierOption(verifier)); reason(err) != "invalid_request" {
		t.Errorf("secret in the header: %v", err)
	}
}

func TestConsentPage(t *testing.T) {
	w := newWorld(t, google.Options{})
	config, verifier := w.config(readonly, gmail.GmailSendScope), oauth2.GenerateVerifier()
	good := config.AuthCodeURL("s", offline(verifier)...)
	_, page := w.page(good + "&login_hint=" + bob)
	for _, want := range []string{`id="allow"`, `id="deny"`, `id="scope-0"`, `id="scope-1"`, `value="bob@example.com" selected`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s: %s", want, page)
		}
	}
	for name, form := range map[string]url.Values{
		"denied": {"account": {alice}, "decision": {"deny"}, "scope": {readonly}}, "no scope": allow(),
	} {
		if back := w.consent(good, form); back.Get("error") != "access_denied" || back.Get("state") != "s" || back.Has("code") {
			t.Errorf("%s: sent back with %v", name, back)
		}
	}
	if back := w.consent(good, url.Values{"account": {mallory}, "decision": {"allow"}, "scope": {readonly}}); !strings.HasPrefix(back.Get("status"), "403") ||
		!strings.Contains(back.Get("body"), "Error 403: access_denied") {
		t.Errorf("no test user: %v", back)
	}
	for _, test := range []struct{ name, value, want string }{
		{"client_id", "other", "401: invalid_client"}, {"redirect_uri", "https://example.com/callback", "400: redirect_uri_mismatch"},
		{"redirect_uri", "http://127.0.0.1.example.com/", "400: redirect_uri_mismatch"}, {"response_type", "token", "400: unsupported_response_type"},
		{"scope", "https://www.googleapis.com/auth/nothing", "400: invalid_scope"}, {"code_challenge_method", "plain", "400: invalid_request"},
		{"code_challenge", "", "400: invalid_request"}, {"scope", "", "400: invalid_request"},
	} {
		u, _ := url.Parse(good)
		q := u.Query()
		q.Set(test.name, test.value)
		if status, body := w.do(http.DefaultClient, "GET", u.Path+"?"+q.Encode(), ""); status == 200 || !strings.Contains(body, "Error "+test.want) {
			t.Errorf("%s=%s: %d %s, want %s", test.name, test.value, status, body, test.want)
		}
	}
	for _, address := range []string{"http://127.0.0.1/", "http://[::1]:80/x", "http://localhost:1"} {
		other := *config
		other.RedirectURL = address
		if status, body := w.page(other.AuthCodeURL("s", offline(verifier)...)); status != 200 {
			t.Errorf("%s: %d %s", address, status, body)
		}
	}
}

func TestRefresh(t *testing.T) {
	w := newWorld(t, google.Options{RotateRefresh: true})
	config, ctx := w.config(readonly), context.Background()
	renew := func(refresh string) (*oauth2.Token, error) {
		return config.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	}
	_, refresh := w.fake.Grant(alice, readonly)
	token := must[*oauth2.Token](t)(renew(refresh))
	if token.RefreshToken == refresh {
		t.Error("the refresh token stays")
	}
	if _, err := renew(refresh); reason(err) != "invalid_grant" {
		t.Errorf("the old refresh token: %v", err)
	}
	isToken := func(r *http.Request) bool { return r.URL.Path == google.TokenPath }
	w.fake.Fail(isToken, 1, google.Answer{Status: 503, Body: "unavailable"})
	if _, err := renew(token.RefreshToken); err == nil || reason(err) != "" {
		t.Errorf("unavailable: %v", err)
	}
	for _, kind := range []string{"access", "refresh"} {
		access, refresh := w.fake.Grant(alice, readonly)
		ended := map[string]string{"access": access, "refresh": refresh}[kind]
		for _, want := range []int{200, 400} {
			res, err := http.PostForm(w.url+google.RevokePath, url.Values{"token": {ended}})
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("revoke %s token: %s, want %d", kind, res.Status, want)
			}
		}
		if _, err := renew(refresh); reason(err) != "invalid_grant" {
			t.Errorf("after revoking the %s token: %v", kind, err)
		}
	}
	if paths := w.fake.Requests(); !slices.ContainsFunc(paths, func(r google.Request) bool { return r.Path == google.RevokePath }) {
		t.Error("requests are not noted")
	}
}
