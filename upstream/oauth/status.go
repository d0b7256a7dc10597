package oauth

import (
	"context"
	"net/url"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
)

// Status is what is known of a principal's sign-in to an upstream without asking anybody.
type Status struct {
	Upstream  string    `json:"upstream"`
	Flow      string    `json:"flow"`
	Shared    bool      `json:"shared"` // one sign-in serves all principals
	SignedIn  bool      `json:"signed_in"`
	Problem   string    `json:"problem,omitempty"` // why not, if there is more to say
	Issuer    string    `json:"issuer,omitempty"`  // the authorization server
	Resource  string    `json:"resource,omitempty"`
	Client    string    `json:"client_id,omitempty"`
	Scopes    []string  `json:"scopes,omitempty"`  // granted
	Missing   []string  `json:"missing,omitempty"` // asked for, and not granted
	Renews    bool      `json:"renews"`            // the token is refreshed without a person
	Created   time.Time `json:"created,omitzero"`
	Refreshed time.Time `json:"refreshed,omitzero"`
	Expires   time.Time `json:"expires,omitzero"` // of the access token
}

// Status returns the state of a principal's sign-in. The error is why it cannot be read; it is the Problem, too.
func (c *Client) Status(principal string) (Status, error) {
	s := Status{Upstream: c.upstream, Flow: c.settings.Flow, Shared: !c.settings.PerPrincipal}
	if s.Flow == "" {
		s.Flow = FlowAuto
	}
	o, err := c.ownerOf(principal)
	var g *grant
	if err == nil {
		g, err = c.grants.Read(o)
	}
	switch {
	case err == signin.ErrNoGrant:
		return s, nil
	case err != nil:
		s.Problem = err.Error()
		return s, err
	case !c.applies(g):
		s.Problem = "the sign-in was for another address, client or authorization server than is configured now"
		return s, nil
	}
	s.Renews = g.Refresh != "" || !c.settings.interactive()
	s.SignedIn = s.Renews || g.Usable("", c.now())
	if !s.SignedIn {
		s.Problem = "the sign-in has expired"
	}
	s.Issuer, s.Resource, s.Client, s.Scopes, s.Missing = g.Issuer, g.Resource, g.Client.ID, g.Scopes, g.Lacks(g.Requested)
	s.Created, s.Refreshed, s.Expires = g.Created, g.Refreshed, g.Expiry
	return s, nil
}

// Logout forgets a principal's sign-in, after revoking it at the authorization server if that is possible (RFC 7009), as
// [signin.Grants.SignOut] does.
func (c *Client) Logout(ctx context.Context, principal string) error {
	o, err := c.ownerOf(principal)
	if err != nil {
		return err
	}
	return c.grants.SignOut(ctx, o, "End the access of toolserver at the service.", c.revoke)
}

// revoke ends a grant at its authorization server.
func (c *Client) revoke(ctx context.Context, g *grant) error {
	if g.Revocation == "" {
		return nil
	}
	form := url.Values{"token": {g.Access}, "token_type_hint": {"access_token"}}
	if g.Refresh != "" {
		form = url.Values{"token": {g.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	return c.tokens.send(ctx, g.Revocation, c.clients.configured(g.Client), form, nil, "the revocation", nil)
}
