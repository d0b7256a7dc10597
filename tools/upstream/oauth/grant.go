package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// grant is what is kept of a sign-in. It holds for one resource, and is of one authorization server.
type grant struct {
	Upstream   string       `json:"upstream"`
	Principal  string       `json:"principal,omitempty"` // empty if all share it
	Resource   string       `json:"resource"`
	Metadata   string       `json:"resource_metadata,omitempty"` // where that says so
	Issuer     string       `json:"issuer"`
	Token      string       `json:"token_endpoint"`
	Revocation string       `json:"revocation_endpoint,omitempty"`
	Client     registration `json:"client"`
	Requested  []string     `json:"requested,omitempty"` // scopes that were asked for
	Scopes     []string     `json:"scopes,omitempty"`    // that were granted
	Access     string       `json:"access_token"`
	Refresh    string       `json:"refresh_token,omitempty"`
	Expiry     time.Time    `json:"expiry,omitzero"` // zero if it is not known
	Created    time.Time    `json:"created"`
	Refreshed  time.Time    `json:"refreshed"`
	Key        []byte       `json:"key,omitempty"` // that the tokens are bound to

	binding *binding // with the key; nil without one
}

// seen is a grant that was read a moment ago, so that a burst of calls reads it once; nil if there is none.
type seen struct {
	grant *grant
	at    time.Time
}

// seenLife is how soon this process notices what another does with a grant.
const seenLife = 2 * time.Second

// errNoGrant is the error of an owner without a grant that can be used. Errors that wrap it say why, as a clause.
var errNoGrant = errors.New("not signed in")

// take puts the answer of a token endpoint into the grant. What the answer leaves out stays.
func (g *grant) take(a answered, now time.Time) error {
	want := "Bearer"
	if g.binding != nil {
		want = "DPoP" // another would be of use to who steals it
	}
	if !strings.EqualFold(a.Type, want) && (a.Type != "" || g.binding != nil) { // some servers leave it out
		return &httpcall.Failure{Type: "bad_answer", Message: "the token endpoint sent a token of type " + clean(a.Type) + " instead of " + want, Hint: "Report it to whoever runs that server."}
	}
	g.Access, g.Refreshed, g.Expiry = a.Access, now, time.Time{}
	if a.Life > 0 {
		g.Expiry = now.Add(time.Duration(a.Life))
	}
	if a.Refresh != "" {
		g.Refresh = a.Refresh
	}
	if scopes := strings.Fields(a.Scope); len(scopes) > 0 {
		g.Scopes = scopes
	}
	return nil
}

// usable reports whether the token is valid for a while, and is not the one that the upstream has rejected.
func (g *grant) usable(stale string, now time.Time) bool {
	if g.Access == "" || g.Access == stale {
		return false
	}
	margin := min(time.Minute, g.Expiry.Sub(g.Refreshed)/5)
	return g.Expiry.IsZero() || now.Add(margin).Before(g.Expiry)
}

// lacks returns the scopes that the grant does not have.
func (g *grant) lacks(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(g.Scopes, s) })
}

// load returns the grant of an owner, or nil if there is none for this upstream as it is configured. It may be as old as
// [seenLife].
func (c *Client) load(o owner) (*grant, error) {
	c.mu.Lock()
	known, ok := c.grants[o]
	c.mu.Unlock()
	if age := c.now().Sub(known.at); ok && age >= 0 && age < seenLife {
		return known.grant, nil
	}
	return c.stored(o)
}

// stored returns the grant of an owner as it is kept, or nil.
func (c *Client) stored(o owner) (*grant, error) {
	g, err := c.read(o)
	if err != nil {
		return nil, err
	}
	if g != nil && !c.applies(g) {
		g = nil
	}
	c.remember(o, g)
	return g, nil
}

// read returns what is kept for an owner, whatever it is for; nil if there is nothing.
func (c *Client) read(o owner) (*grant, error) {
	data, err := c.config.State.Read(c.name("grant", string(o)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, c.stateFailure(err)
	}
	g := &grant{}
	err = json.Unmarshal(data, g)
	if err == nil && g.Key != nil {
		g.binding, err = bindingOf(g.Key)
	}
	if err != nil || g.Upstream != c.config.Upstream || g.Principal != string(o) {
		return nil, &httpcall.Failure{Type: "io_error", Message: "what is kept for upstream " + c.config.Upstream + " is no sign-in of this principal",
			Hint: "Run " + strings.Replace(c.login(), " login ", " logout ", 1) + " and sign in again."}
	}
	c.hide(g.Access, g.Refresh, g.Client.Secret)
	return g, nil
}

// applies reports whether a grant is for the upstream as it is configured: its address, client and authorization server.
func (c *Client) applies(g *grant) bool {
	r, ok := c.trusted(g.Resource)
	if !ok || c.settings.Resource == "" && !covers(r, c.base) || c.settings.Resource != "" && g.Resource != c.settings.Resource {
		return false
	}
	return (c.settings.ClientID == "" || c.settings.ClientID == g.Client.ID) && (c.settings.Issuer == "" || c.settings.Issuer == g.Issuer)
}

// remember notes what was read or written.
func (c *Client) remember(o owner, g *grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.grants) >= maxGrants {
		clear(c.grants)
	}
	c.grants[o] = seen{g, c.now()}
}

// save keeps the grant of an owner. The caller has the lock.
func (c *Client) save(o owner, g *grant) error {
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	if err := c.stateFailure(c.config.State.Write(c.name("grant", string(o)), data)); err != nil {
		return err
	}
	c.remember(o, g)
	return nil
}

// forget removes the grant of an owner. The caller has the lock.
func (c *Client) forget(o owner) error {
	c.remember(o, nil)
	return c.stateFailure(c.config.State.Remove(c.name("grant", string(o))))
}

// lock waits for the lock of an owner's grant, which all processes share.
func (c *Client) lock(ctx context.Context, o owner) (unlock func(), err error) {
	unlock, err = c.config.State.Lock(ctx, c.name("grant", string(o)))
	return unlock, c.stateFailure(err)
}
