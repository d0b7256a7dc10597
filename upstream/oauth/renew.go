package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// refresh gets a new access token. The error wraps [signin.ErrNoGrant] if only a sign-in helps.
func (c *Client) refresh(ctx context.Context, whose, stale string, g *grant) (*grant, error) {
	switch {
	case !c.settings.interactive():
		return c.reissue(ctx, whose, g)
	case g.Refresh == "":
		return nil, fmt.Errorf("%w: the sign-in has expired", signin.ErrNoGrant)
	}
	if err := c.still(ctx, g); err != nil {
		return nil, err
	}
	next := *g
	form := tokenForm(grantRefresh, g.Resource, nil)
	form.Set("refresh_token", g.Refresh)
	answer, err := c.tokens.get(ctx, g.Token, c.clients.configured(g.Client), form, g.binding)
	if err == nil {
		err = next.take(answer, c.now())
	}
	if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Type == "unreachable" {
		f.Retry = true // the next call would send this token again, too; servers that rotate allow for lost answers only a while
	}
	refused, isRefused := errors.AsType[*serverError](err)
	switch {
	case isRefused && slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client"}, refused.code) && c.settings.ClientID == "",
		isRefused && refused.code == "invalid_grant":
		c.log.Info("the authorization server no longer accepts a sign-in", zap.String("upstream", c.upstream), zap.String("code", c.secrets.code(refused.code)))
		return nil, signin.EndedError{Err: fmt.Errorf("%w: the authorization server no longer accepts the sign-in", signin.ErrNoGrant)}
	case err != nil && g.Access != stale && c.now().Before(g.Expiry):
		return g, nil // it is valid for some seconds still
	case err != nil:
		return nil, err
	}
	return &next, nil
}

// still reports, as an error, that the upstream no longer names the authorization server or the resource of a grant.
func (c *Client) still(ctx context.Context, g *grant) error {
	r, err := c.discovery.resource(ctx, g.Metadata, false)
	if err != nil {
		return err
	}
	issuer, err := c.discovery.issuer(r, g)
	if err != nil {
		return err
	}
	if !g.isOf(r, issuer) {
		return fmt.Errorf("%w: the upstream has changed its authorization server or its identifier since the sign-in", signin.ErrNoGrant)
	}
	return nil
}

// reissue gets another token of a machine, for the scopes of the last.
func (c *Client) reissue(ctx context.Context, o string, g *grant) (*grant, error) {
	if err := c.still(ctx, g); err != nil {
		return nil, err
	}
	as, err := c.discovery.server(ctx, g.Issuer, false)
	if err != nil {
		return nil, err
	}
	return c.issue(ctx, o, target{protectedResource{Resource: g.Resource, metadata: g.Metadata}, as, g.Requested, g.binding != nil})
}

// target is what a grant is asked for.
type target struct {
	resource protectedResource
	server   authorizationServer
	scopes   []string
	binds    bool // the tokens are bound to a key
}

// binding returns a new key, if tokens are bound to one.
func (t target) binding() (*binding, error) {
	if !t.binds {
		return nil, nil
	}
	return newBinding()
}

// issue gets a grant of a machine.
func (c *Client) issue(ctx context.Context, o string, t target) (*grant, error) {
	r, err := c.clients.register(ctx, t.server, "", false)
	if err != nil {
		return nil, err
	}
	b, err := t.binding()
	if err != nil {
		return nil, err
	}
	answer, err := c.tokens.machine(ctx, t.server, r, t.resource.Resource, t.scopes, b)
	if err != nil {
		return nil, err
	}
	answer.Refresh = "" // it is not needed
	return c.granted(o, t, r, answer, b)
}

// granted returns the grant that an answer makes.
func (c *Client) granted(o string, t target, r registration, answer answered, b *binding) (*grant, error) {
	now := c.now()
	if r.ID == c.settings.ClientID {
		r.Secret = ""
	}
	g := &grant{
		Upstream: c.upstream, Resource: t.resource.Resource, Metadata: t.resource.metadata, Issuer: t.server.Issuer,
		Token: t.server.Token, Revocation: t.server.Revocation, Client: r, Requested: t.scopes,
		Grant: signin.Grant{Principal: o, Scopes: t.scopes, Created: now}, binding: b,
	}
	if b != nil {
		g.Key = b.kept
	}
	return g, g.take(answer, now)
}
