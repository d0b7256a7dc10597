package signin

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// address returns one of Google's, or that of its stand-in.
func (a *Accounts) address(host, path string) string {
	return cmp.Or(a.config.BaseURL, "https://"+host) + path
}

// oauth returns what is configured of the client. The style is set, since the library would try two otherwise.
func (a *Accounts) oauth(s Service, redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: a.config.ClientID, ClientSecret: a.config.ClientSecret, RedirectURL: redirect,
		Scopes: append([]string{"openid", "email"}, a.config.Scopes(s)...),
		Endpoint: oauth2.Endpoint{
			AuthURL: a.address("accounts.google.com", "/o/oauth2/v2/auth"), TokenURL: a.address("oauth2.googleapis.com", "/token"),
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// client returns the client of a service. It follows no redirect, which would take the secret elsewhere.
func (a *Accounts) client(s Service) *http.Client {
	return &http.Client{
		Transport:     a.config.HTTP(s).Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// requestContext returns the context of one request of the library, which has no deadline of its own.
func (a *Accounts) requestContext(ctx context.Context, s Service) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, a.client(s)), a.answer)
}

const endpoint = "Google's token endpoint"

// answers say what error codes of the token endpoint mean.
func answers() httpcall.Rules {
	return httpcall.Rules{
		{
			Codes: []string{"invalid_client", "unauthorized_client", "deleted_client", "disabled_client"}, Type: "bad_credentials",
			Meaning: "it rejects the OAuth client",
			Hint:    "Ask the person who runs the server to check google.client_id and google.client_secret: both are those of one client of type Desktop app.",
		},
		{Codes: []string{"invalid_grant"}, Type: "http_status", Meaning: "the code is used up, expired or of another sign-in", Hint: "Sign in again."},
	}
}

// tokenFailure says why the token endpoint gave no token. What it answered is not shown: it may repeat what it was sent.
func tokenFailure(ctx context.Context, err error) error {
	refused, isRefused := errors.AsType[*oauth2.RetrieveError](err)
	_, isTransport := errors.AsType[*url.Error](err)
	switch {
	case isRefused:
		return answers().Failure(&httpcall.StatusError{Service: endpoint, Status: refused.Response.StatusCode, Header: refused.Response.Header}, refused.ErrorCode)
	case isTransport, ctx.Err() != nil:
		explained := *httpcall.Explain(cmp.Or(ctx.Err(), err))
		explained.Message = "no token from Google: " + explained.Message
		explained.Retry = ctx.Err() == nil
		return &explained
	}
	lost := err != nil && strings.HasSuffix(err.Error(), io.ErrUnexpectedEOF.Error()) // in the midst of the answer: the library wraps nothing
	return &httpcall.Failure{Type: "bad_answer", Message: endpoint + " sent no token that can be read", Hint: "Try again later.", Retry: lost}
}

// consent returns the address where Google asks for consent. Without the prompt it would send no refresh token.
func (a *Accounts) consent(o owner, redirect, state, verifier string) string {
	prompt := "consent"
	if _, account := o.principal.split(); account != "" { // a browser may know another account
		prompt = "select_account consent"
	}
	return a.oauth(o.service, redirect).AuthCodeURL(state,
		oauth2.AccessTypeOffline, oauth2.SetAuthURLParam("prompt", prompt), oauth2.S256ChallengeOption(verifier))
}

// complete makes a grant of what Google has sent a browser back with, and keeps it.
func (a *Accounts) complete(ctx context.Context, o owner, verifier string, answer signin.Answer) (*grant, error) {
	if answer.Refused != "" {
		return nil, reported(answer.Refused)
	}
	ctx, cancel := context.WithTimeout(ctx, signin.CompleteTime)
	defer cancel()
	request, done := a.requestContext(ctx, o.service)
	defer done()
	asked := a.oauth(o.service, answer.Redirect)
	token, err := asked.Exchange(request, answer.Code, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, tokenFailure(request, err)
	}
	now := time.Now()
	// An answer without scopes grants all.
	g := &grant{ClientID: asked.ClientID, Grant: signin.Grant{Principal: string(o.principal), Scopes: asked.Scopes, Created: now}}
	g.take(token, now)
	wanted := a.config.Scopes(o.service)
	switch {
	case g.Grant.Refresh == "":
		return nil, &httpcall.Failure{
			Type: "bad_answer", Message: "Google sent no refresh token", Hint: "Remove the access of the app at " + connections + " and sign in again.",
		}
	case len(wanted) > 0 && len(g.Lacks(wanted)) == len(wanted):
		return nil, errNothing
	}
	return g, a.grants[o.service].Replace(ctx, string(o.principal), g)
}

// connections is where people see and end what they have granted.
const connections = "https://myaccount.google.com/connections"

// emailOf returns the address in an ID token, whose signature need not be checked: it came from the token endpoint over TLS
// (OpenID Connect Core 3.1.3.7).
func emailOf(idToken string) string {
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims struct{ Email string }
	if json.Unmarshal(payload, &claims) != nil || len(claims.Email) > 320 || strings.ContainsFunc(claims.Email, unprintable) {
		return ""
	}
	return claims.Email
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }

// Errors of sign-ins, as clauses for people.
var (
	errDenied  error = signin.DeniedError{Provider: "Google"}
	errNothing       = errors.New("none of the permissions was given on Google's page; tick their boxes")
	errGoogle        = errors.New("an error was reported by Google, whose page says more")
	errPolicy        = errors.New("the administrator of the Google account does not allow it")
)

// reported returns what an error parameter of the redirect means. The parameter itself is not shown.
func reported(code string) error {
	switch {
	case code == "access_denied":
		return errDenied
	case slices.Contains([]string{"admin_policy_enforced", "org_internal"}, code):
		return errPolicy
	}
	return errGoogle
}
