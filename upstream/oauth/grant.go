package oauth

import (
	"errors"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/signin"
)

// grant is what is kept of a sign-in. It holds for one resource, and is of one authorization server.
type grant struct {
	Upstream   string       `json:"upstream"`
	Resource   string       `json:"resource"`
	Metadata   string       `json:"resource_metadata,omitempty"` // where that says so
	Issuer     string       `json:"issuer"`
	Token      string       `json:"token_endpoint"`
	Revocation string       `json:"revocation_endpoint,omitempty"`
	Client     registration `json:"client"`
	Requested  []string     `json:"requested,omitempty"` // scopes that were asked for
	Key        []byte       `json:"key,omitempty"`       // that the tokens are bound to

	signin.Grant
	binding *binding // with the key; nil without one
}

// take puts the answer of a token endpoint into the grant. What the answer leaves out stays.
func (g *grant) take(a answered, now time.Time) error {
	want := "Bearer"
	if g.binding != nil {
		want = "DPoP" // another would be of use to who steals it
	}
	if !strings.EqualFold(a.Type, want) && (a.Type != "" || g.binding != nil) { // some servers leave it out
		return badAnswer("the token endpoint sent a token of type "+clean(a.Type)+" instead of "+want, reportServer)
	}
	var expiry time.Time
	if a.Life > 0 {
		expiry = now.Add(time.Duration(a.Life))
	}
	g.Take(a.Access, a.Refresh, a.Scope, expiry, now)
	return nil
}

// isOf reports whether the grant is for a resource and of an authorization server.
func (g *grant) isOf(r protectedResource, issuer string) bool {
	return sameIssuer(g.Issuer, issuer) && g.Resource == r.Resource
}

// newGrants returns the grants for the upstream.
func (c *Client) newGrants() *signin.Grants[grant] {
	title := "upstream " + c.upstream
	return &signin.Grants[grant]{
		Store: signin.NewStore(signin.StoreConfig{
			Keeping: c.config.Keeping, State: c.config.State, Keyring: "toolserver upstream", Forget: c.command("logout"),
		}),
		Entry: func(owner string) signin.Entry {
			name := c.name("grant", owner)
			return signin.Entry{Name: name, Label: name, Title: title}
		},
		Opened: func(owner string, g *grant) (err error) {
			if g.Key != nil {
				g.binding, err = bindingOf(g.Key)
			}
			if err != nil || g.Upstream != c.upstream || g.Principal != owner {
				return errors.New("another sign-in")
			}
			c.secrets.hide(g.Access, g.Refresh, g.Client.Secret)
			return nil
		},
		Counts: func(_ string, g *grant) error {
			if !c.applies(g) {
				return signin.ErrNoGrant
			}
			return nil
		},
		Usable:  func(g *grant, stale string) bool { return g.Usable(stale, c.now()) },
		Refresh: c.refresh,
	}
}

// applies reports whether a grant is for the upstream as it is configured: its address, client and authorization server.
func (c *Client) applies(g *grant) bool {
	r, ok := c.trusted(g.Resource)
	if !ok || c.settings.Resource == "" && !covers(r, c.base) || c.settings.Resource != "" && g.Resource != c.settings.Resource {
		return false
	}
	return (c.settings.ClientID == "" || c.settings.ClientID == g.Client.ID) && (c.settings.Issuer == "" || sameIssuer(c.settings.Issuer, g.Issuer))
}
