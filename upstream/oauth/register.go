package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// registration is what this client is to an authorization server.
type registration struct {
	Issuer   string    `json:"issuer"` // of the authorization server that it is with
	ID       string    `json:"client_id"`
	Secret   string    `json:"client_secret,omitempty"` // of a client that registered itself
	Method   string    `json:"method,omitempty"`        // of authentication
	Redirect string    `json:"redirect,omitempty"`      // where sign-ins may lead back to
	Expires  time.Time `json:"expires,omitzero"`        // of the secret
}

// clients are what this client is to authorization servers.
type clients struct {
	*requester
	signs bool                         // there is a key that assertions are signed with
	kept  *signin.Grants[registration] // that are registered, by [requester.name]
}

// clientName is what authorization servers show people.
const clientName = "toolserver"

// register returns what this client is to an authorization server: what the settings say, or its metadata document, or what it
// has registered for itself, now if need be or if it has to be another than before. Redirect is empty if nobody signs in.
func (c *clients) register(ctx context.Context, as authorizationServer, redirect string, another bool) (registration, error) {
	switch {
	case c.settings.ClientID != "":
		return c.preregistered(as)
	case c.settings.ClientMetadataURL != "" && as.Documents:
		return registration{Issuer: as.Issuer, ID: c.settings.ClientMetadataURL, Method: c.method(as, "")}, nil
	case as.Registration != "":
		return c.dynamic(ctx, as, redirect, another)
	}
	return registration{}, c.refused("its authorization server "+clean(as.Issuer)+" registers no clients by itself", c.byHand(redirect))
}

// byHand says how a client is registered that cannot register itself.
func (c *clients) byHand(redirect string) string {
	if c.settings.RedirectPort == 0 && strings.HasPrefix(redirect, "http://127.0.0.1:") {
		redirect = "http://127.0.0.1/callback (with any port, or that of redirect_port)"
	}
	return "Register toolserver there, with the redirect URI " + redirect + ", and set client_id in the section oauth of the upstream."
}

// preregistered returns the client of the settings. It belongs to one authorization server, the first that it is used with unless
// the settings say which: another would get the secret.
func (c *clients) preregistered(as authorizationServer) (registration, error) {
	r := c.configured(registration{Issuer: as.Issuer, ID: c.settings.ClientID, Method: c.method(as, c.settings.ClientSecret)})
	if c.settings.Issuer != "" {
		return r, nil
	}
	name := c.name("client", c.settings.ClientID)
	known, err := c.kept.Read(name)
	switch {
	case err != nil && err != signin.ErrNoGrant:
		return r, err
	case err == nil && !sameIssuer(known.Issuer, as.Issuer):
		return r, c.refused("client_id was used with "+clean(known.Issuer)+", and now it names the authorization server "+clean(as.Issuer),
			"If that is right, set issuer in the section oauth of the upstream, and the client_id and client_secret that belong to it.")
	case err == nil:
		return r, nil
	}
	return r, c.kept.Save(name, &registration{Issuer: as.Issuer, ID: r.ID})
}

// configured returns the client of a grant with what the settings say of it, which is not kept.
func (c *clients) configured(r registration) registration {
	if r.ID == c.settings.ClientID {
		r.Secret = c.settings.ClientSecret
		if c.settings.AuthMethod != "" {
			r.Method = c.settings.AuthMethod
		}
	}
	return r
}

// dynamic returns a client that has registered itself for a redirect (RFC 7591). It is registered again where sign-ins lead back to
// another port: not all servers allow any.
func (c *clients) dynamic(ctx context.Context, as authorizationServer, redirect string, another bool) (registration, error) {
	name := c.name("client", as.Issuer)
	known, err := c.kept.Read(name)
	switch {
	case err != nil && err != signin.ErrNoGrant:
		return registration{}, err
	case err == nil && !another && known.Redirect == redirect && (known.Expires.IsZero() || c.now().Before(known.Expires)):
		return *known, nil
	}
	method := c.settings.AuthMethod
	for _, m := range []string{methodNone, methodBasic, methodPost} {
		if method == "" && slices.Contains(as.Methods, m) {
			method = m
		}
	}
	if method == "" {
		method = methodBasic // which is what a server means that does not say
	}
	kind := "native"
	if strings.HasPrefix(redirect, "https:") {
		kind = "web"
	}
	body, err := json.Marshal(map[string]any{
		"client_name": clientName, "redirect_uris": []string{redirect}, "application_type": kind, "response_types": []string{"code"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_method": method,
	})
	if err != nil {
		return registration{}, err
	}
	var got struct {
		ID      string  `json:"client_id"`
		Secret  string  `json:"client_secret"`
		Method  string  `json:"token_endpoint_auth_method"`
		Expires float64 `json:"client_secret_expires_at"`
	}
	request := httpcall.Request{URL: as.Registration, Body: body, Header: map[string]string{"Content-Type": "application/json"}}
	err = c.request(ctx, request, &got, c.serverFailure("the registration of a client"))
	if err == nil && got.ID == "" {
		err = badAnswer("the registration of a client with "+clean(as.Issuer)+" returned no client_id",
			"Set client_id in the section oauth of the upstream.")
	}
	if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Status >= 300 && f.Status < 500 && !f.Retry {
		f.Hint = c.byHand(redirect)
	}
	if err != nil {
		return registration{}, err
	}
	c.secrets.hide(got.Secret)
	r := registration{Issuer: as.Issuer, ID: got.ID, Secret: got.Secret, Method: got.Method, Redirect: redirect}
	if r.Method == "" {
		r.Method = c.method(as, got.Secret)
	}
	if got.Expires > 0 && got.Secret != "" {
		r.Expires = time.Unix(int64(got.Expires), 0)
	}
	return r, c.kept.Save(name, &r)
}

// unregister forgets what this client has registered, unless it has registered again since: a server that no longer knows a client
// says so to the person only, who does not come back.
func (c *clients) unregister(r registration) {
	name := c.name("client", r.Issuer)
	if known, err := c.kept.Read(name); err == nil && known.ID == r.ID && known.Redirect != "" {
		_ = c.kept.Forget(name) // or the next sign-in fails as well
	}
}

// method returns how a client with a secret, or without, authenticates.
func (c *clients) method(as authorizationServer, secret string) string {
	switch {
	case c.settings.AuthMethod != "":
		return c.settings.AuthMethod
	case c.signs && (secret == "" || slices.Contains(as.Methods, methodSigned)):
		return methodSigned
	case secret == "":
		return methodNone
	case slices.Contains(as.Methods, methodPost) && !slices.Contains(as.Methods, methodBasic):
		return methodPost
	}
	return methodBasic
}

// port returns the port that sign-ins lead back to: the one of the settings, or of the last registration, or 0 for any.
func (c *clients) port(issuer string) int {
	if c.settings.RedirectPort != 0 {
		return c.settings.RedirectPort
	}
	if known, err := c.kept.Read(c.name("client", issuer)); err == nil {
		if u, err := url.Parse(known.Redirect); err == nil {
			port, _ := strconv.Atoi(u.Port())
			return port
		}
	}
	return 0
}
