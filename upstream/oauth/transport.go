package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// maxTries bounds how often a request is sent: with the token at hand, with a new one, and with one of more scopes.
const maxTries = 3

// transport sends the requests of a principal.
type transport struct {
	client    *Client
	principal string // empty for that of the call which a request belongs to
}

// Transport returns what sends requests to the upstream with the token of a principal or, if the principal is empty, of the
// principal of the call in the context of a request. Where all principals share a grant it makes no difference.
//
// A request to another origin than that of the upstream is sent without a token. The error is a [*SignInRequired] where only a
// person can go on, a [*httpcall.Failure], or that of the transport of the configuration.
func (c *Client) Transport(principal string) http.RoundTripper { return &transport{c, principal} }

// RoundTrip sends a request, again if a new token helps.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := t.client
	if origin(req.URL) != origin(c.base) {
		plain, err := t.with(req, req.Body, nil)
		if err != nil {
			return nil, err
		}
		return c.http.RoundTrip(plain)
	}
	ctx, principal := req.Context(), t.principal
	if principal == "" {
		principal = principalIn(ctx)
	}
	again, err := httpcall.Repeatable(req)
	if err != nil {
		return nil, err
	}
	o, err := c.ownerOf(principal)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	sent, err := c.grants.Current(ctx, o, "")
	if err != nil && !errors.Is(err, signin.ErrNoGrant) {
		closeBody(req)
		return nil, err
	}
	why := err
	for try := 1; ; try++ {
		body, err := again()
		if err != nil {
			return nil, err
		}
		next, err := t.with(req, body, sent)
		if err != nil {
			return nil, err
		}
		res, err := c.http.RoundTrip(next)
		if err != nil {
			return nil, err
		}
		newNonce := c.noteNonce(req.URL, res.Header)
		said, _ := challengeOf(res.Header)
		stepUp := res.StatusCode == http.StatusForbidden && said.Error == "insufficient_scope"
		if res.StatusCode != http.StatusUnauthorized && (!stepUp || sent == nil) {
			return res, nil
		}
		if try == maxTries {
			return res, nil
		}
		better := sent // a nonce was missing from its proof
		if sent == nil || sent.binding == nil || said.Error != errNonce || !newNonce {
			better, err = c.admit(ctx, need{o, principal, said, sent, stepUp, why})
		}
		if err == nil && better == nil {
			return res, nil
		}
		res.Body.Close() // unread: it may be endless
		if err != nil {
			return nil, err
		}
		sent = better
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// with returns a request with a body and the token of a grant, and with no other.
func (t *transport) with(req *http.Request, body io.ReadCloser, g *grant) (*http.Request, error) {
	req = req.Clone(req.Context())
	req.Body = body
	req.Header.Del("Authorization")
	req.Header.Del("DPoP")
	switch {
	case g == nil:
	case g.binding == nil:
		req.Header.Set("Authorization", "Bearer "+g.Access)
	default:
		proof, err := t.client.prove(g.binding, req.Method, req.URL, g.Access)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "DPoP "+g.Access)
		req.Header.Set("DPoP", proof)
	}
	return req, nil
}

// need is what an upstream has asked for.
type need struct {
	owner     string
	principal string
	said      challenge
	sent      *grant // whose token was rejected, or has too few scopes; nil if none was sent
	stepUp    bool
	why       error // why none was sent
}

// stale returns the token that was rejected.
func (n need) stale() string {
	if n.sent == nil {
		return ""
	}
	return n.sent.Access
}

// admit gets a grant that an upstream may accept. It returns nil if there is no better one than what was sent.
func (c *Client) admit(ctx context.Context, n need) (*grant, error) {
	if n.stepUp && (len(n.sent.Lacks(n.said.Scopes)) == 0 || !c.settings.interactive() && subset(n.said.Scopes, n.sent.Requested)) {
		return nil, nil // it has, or was refused, what it is said to lack
	}
	at, err := c.situation(ctx, n, !n.stepUp)
	if err != nil {
		return nil, err
	}
	if at.bound && at.kept.Usable(n.stale(), c.now()) && (!n.stepUp || len(at.kept.Lacks(n.said.Scopes)) == 0) {
		return at.kept, nil // somebody else has got it in the meantime
	}
	if at.bound && !n.stepUp && c.settings.interactive() && n.sent != nil {
		g, err := c.grants.Current(ctx, n.owner, n.stale())
		if !errors.Is(err, signin.ErrNoGrant) {
			return g, err
		}
		n.why = err
	}
	t, err := c.target(ctx, n, at, false)
	switch {
	case err != nil:
		return nil, err
	case !c.settings.interactive():
		return c.issueShared(ctx, n, t)
	}
	return nil, &SignInRequired{Why: c.whySignIn(n, at), client: c, owner: n.owner, principal: n.principal, target: t}
}

// situation is what an upstream says of itself, and what is kept for it.
type situation struct {
	resource protectedResource
	issuer   string
	kept     *grant // nil if there is none
	bound    bool   // what is kept is for that resource and of that issuer
}

func (c *Client) situation(ctx context.Context, n need, fresh bool) (at situation, err error) {
	if at.resource, err = c.discovery.resource(ctx, n.said.Metadata, fresh); err != nil {
		return at, err
	}
	if at.kept, err = c.grants.Load(n.owner, true); err != nil && !errors.Is(err, signin.ErrNoGrant) {
		return at, err
	}
	at.issuer, err = c.discovery.issuer(at.resource, at.kept)
	at.bound = at.kept != nil && at.kept.isOf(at.resource, at.issuer)
	return at, err
}

// target returns what a grant is asked for.
func (c *Client) target(ctx context.Context, n need, at situation, fresh bool) (target, error) {
	server, err := c.discovery.server(ctx, at.issuer, fresh)
	binds := n.said.Binds && slices.Contains(server.Proofs, proofAlgorithm) // the upstream asks for it, and the authorization server can
	return target{at.resource, server, c.scopes(at.resource, n, at.kept, at.bound), binds}, err
}

// scopes returns those to ask for: those of the settings, of the challenge, or of the resource, whichever is first, and beside them
// those that were asked for before and those that a step-up is about.
func (c *Client) scopes(r protectedResource, n need, kept *grant, bound bool) []string {
	all := slices.Clone(c.settings.Scopes)
	if len(all) == 0 {
		if all = n.said.Scopes; len(all) == 0 {
			all = r.Scopes
		}
	}
	if n.stepUp {
		all = slices.Concat(all, n.said.Scopes)
	}
	if bound {
		all = slices.Concat(kept.Requested, all)
	}
	var unique []string
	for _, s := range all {
		if !slices.Contains(unique, s) && len(unique) < maxScopes {
			unique = append(unique, s)
		}
	}
	return unique
}

// maxScopes bounds how many scopes are asked for.
const maxScopes = 200

// subset reports whether all of some scopes are among others.
func subset(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

// issueShared gets a grant of a machine, once for all callers who need it at the same time.
func (c *Client) issueShared(ctx context.Context, n need, t target) (*grant, error) {
	reason := url.Values{"stale": {n.stale()}, "scope": t.scopes}.Encode()
	return c.grants.Alone(ctx, n.owner, reason, func(ctx context.Context, kept *grant, err error) (*grant, error) {
		switch {
		case err != nil && !errors.Is(err, signin.ErrNoGrant):
			return nil, err
		case err == nil && kept.Usable(n.stale(), c.now()) && kept.isOf(t.resource, t.server.Issuer) && subset(t.scopes, kept.Requested):
			return kept, nil // of another process
		}
		return c.issue(ctx, n.owner, t)
	})
}
