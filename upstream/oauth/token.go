package oauth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// Grant and token types.
const (
	grantCode     = "authorization_code"
	grantRefresh  = "refresh_token"
	grantClient   = "client_credentials"
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeIDToken   = "urn:ietf:params:oauth:token-type:id_token"
	typeIDJAG     = "urn:ietf:params:oauth:token-type:id-jag"
	typeAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// maxToken bounds a token, which becomes a header.
const maxToken = 16 << 10

// answered is what a token endpoint has answered.
type answered struct {
	Access  string   `json:"access_token"`
	Type    string   `json:"token_type"`
	Issued  string   `json:"issued_token_type"`
	Life    lifetime `json:"expires_in"`
	Refresh string   `json:"refresh_token"`
	Scope   string   `json:"scope"`

	Error string `json:"error"` // which some servers send with a good status
	Why   string `json:"error_description"`
}

// lifetime is a number of seconds, which some servers write as a string.
type lifetime time.Duration

// UnmarshalJSON reads what is a number, and takes anything else for not known.
func (l *lifetime) UnmarshalJSON(data []byte) error {
	if seconds, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); err == nil && seconds > 0 {
		*l = lifetime(min(seconds, 10*365*24*3600) * float64(time.Second))
	}
	return nil
}

// serverError is an error that an authorization server reports.
type serverError struct {
	code string
	*httpcall.Failure
}

// Unwrap returns the failure, as callers know it.
func (e *serverError) Unwrap() error { return e.Failure }

// serverFailure says what answers of an authorization server mean that are not of class 2xx.
func (r *requester) serverFailure(what string) func(*httpcall.StatusError) error {
	return func(e *httpcall.StatusError) error {
		var body struct {
			Error string `json:"error"`
			Why   string `json:"error_description"`
		}
		if json.Unmarshal(e.Body, &body) != nil || body.Error == "" {
			f := httpcall.Rules(nil).Failure(e, "")
			f.Message = what + " failed: " + f.Message
			return f
		}
		return r.reported(what, e.Service, body.Error, body.Why, httpcall.Rules(nil).Failure(e, ""))
	}
}

// reported completes the failure of an error that an authorization server reports.
func (r *requester) reported(what, host, code, why string, f *httpcall.Failure) error {
	f.Message = what + " failed at " + host + " with " + r.secrets.code(code) + r.secrets.said(why)
	switch code {
	case "invalid_client", "unauthorized_client":
		f.Type, f.Hint = "bad_credentials", r.askToCheck("client_id and how the client authenticates,")
	case "invalid_scope":
		f.Hint = r.askToCheck("scopes")
	case "invalid_grant":
		f.Hint = "Sign in again."
	default:
		f.Hint = "Try again later, or report it to whoever runs that server."
	}
	return &serverError{code, f}
}

// askToCheck is the remedy of settings that are wrong.
func (r *requester) askToCheck(what string) string {
	return "Ask the person who runs the server to check " + what + " in the section oauth of upstream " + r.upstream + "."
}

// tokens requests tokens at authorization servers.
type tokens struct {
	*requester
	key signer // signs assertions, if there is one
}

// get requests a token of an authorization server, bound to a key unless that is nil.
func (t *tokens) get(ctx context.Context, endpoint string, r registration, form url.Values, b *binding) (answered, error) {
	var got answered
	if err := t.send(ctx, endpoint, r, form, b, "the request for a token", &got); err != nil {
		return got, err
	}
	t.secrets.hide(got.Access, got.Refresh)
	u, _ := url.Parse(endpoint) // was checked
	switch {
	case got.Error != "" && got.Access == "":
		return got, t.reported("the request for a token", u.Host, got.Error, got.Why, &httpcall.Failure{Type: "http_status", Status: http.StatusOK})
	case got.Access == "" || len(got.Access) > maxToken || strings.ContainsFunc(got.Access, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return got, badAnswer("the token endpoint of "+u.Host+" sent no access token that can be used", reportServer)
	}
	return got, nil
}

// send posts a form to an endpoint at which the client authenticates, again if that wants a nonce in the proof of the key.
func (t *tokens) send(ctx context.Context, endpoint string, r registration, form url.Values, b *binding, what string, into any) error {
	err := t.sendOnce(ctx, endpoint, r, form, b, what, into)
	if e, ok := errors.AsType[*serverError](err); ok && b != nil && e.code == errNonce {
		return t.sendOnce(ctx, endpoint, r, form, b, what, into)
	}
	return err
}

func (t *tokens) sendOnce(ctx context.Context, endpoint string, r registration, form url.Values, b *binding, what string, into any) error {
	header := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	switch r.Method {
	case methodBasic:
		pair := url.QueryEscape(r.ID) + ":" + url.QueryEscape(r.Secret)
		header["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(pair))
	case methodPost:
		form.Set("client_id", r.ID)
		form.Set("client_secret", r.Secret)
	case methodSigned:
		assertion, err := t.assertion(r.ID, r.Issuer)
		if err != nil {
			return err
		}
		form.Set("client_id", r.ID)
		form.Set("client_assertion_type", typeAssertion)
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", r.ID)
	}
	if u, err := url.Parse(endpoint); err == nil && b != nil {
		proof, err := t.prove(b, http.MethodPost, u, "")
		if err != nil {
			return err
		}
		header["DPoP"] = proof
	}
	for _, name := range []string{"code", "code_verifier", "refresh_token", "assertion", "subject_token", "client_assertion", "token"} {
		t.secrets.hide(form.Get(name))
	}
	return t.request(ctx, httpcall.Request{URL: endpoint, Body: []byte(form.Encode()), Header: header}, into, t.serverFailure(what))
}

// tokenForm returns what all requests for a token of the upstream have in common.
func tokenForm(grantType, resource string, scopes []string) url.Values {
	form := url.Values{"grant_type": {grantType}, "resource": {resource}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	return form
}

// machine requests a token that no person is needed for.
func (t *tokens) machine(ctx context.Context, as authorizationServer, r registration, resource string, scopes []string, b *binding) (answered, error) {
	if t.settings.Flow == FlowClientCredentials {
		return t.get(ctx, as.Token, r, tokenForm(grantClient, resource, scopes), b)
	}
	assertion, err := t.readAssertion()
	if err != nil {
		return answered{}, err
	}
	if t.settings.Flow == FlowEnterprise {
		if assertion, err = t.exchange(ctx, as, assertion, resource, scopes); err != nil {
			return answered{}, err
		}
	}
	form := tokenForm(grantJWT, resource, scopes)
	form.Set("assertion", assertion)
	return t.get(ctx, as.Token, r, form, b)
}

// exchange has the identity provider make an assertion for the authorization server of an ID token.
func (t *tokens) exchange(ctx context.Context, as authorizationServer, idToken, resource string, scopes []string) (string, error) {
	idp := t.settings.IdentityProvider
	form := tokenForm(grantExchange, resource, scopes)
	form.Set("audience", as.Issuer)
	form.Set("requested_token_type", typeIDJAG)
	form.Set("subject_token", idToken)
	form.Set("subject_token_type", typeIDToken)
	r := registration{ID: idp.ClientID, Secret: idp.ClientSecret, Method: methodNone}
	if idp.ClientSecret != "" {
		r.Method = methodPost
	}
	got, err := t.get(ctx, idp.TokenEndpoint, r, form, nil)
	if err == nil && got.Issued != typeIDJAG {
		err = badAnswer("the identity provider returned no ID-JAG", t.askToCheck("identity_provider"))
	}
	return got.Access, err
}

// readAssertion reads what is kept current by others, such as the token of a workload.
func (t *tokens) readAssertion() (string, error) {
	failed := func(why string) error {
		return &httpcall.Failure{
			Type: "io_error", Message: "the assertion_file of upstream " + t.upstream + " cannot be used: " + why,
			Hint: "Ask the person who runs the server to correct that.",
		}
	}
	info, err := os.Stat(t.settings.AssertionFile)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxAnswer) {
		return "", failed("it is no file of at most 1 MiB")
	}
	data, err := os.ReadFile(t.settings.AssertionFile)
	if cause, ok := errors.AsType[*os.PathError](err); ok {
		err = cause.Err
	}
	if err != nil {
		return "", failed(err.Error())
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", failed("it is empty")
	}
	t.secrets.hide(text)
	return text, nil
}
