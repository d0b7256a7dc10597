package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/outbound/signin"
)

// SignInRequired is the error of a request that only a person can have accepted.
type SignInRequired struct {
	Why string // a clause for people

	client    *Client
	owner     string
	principal string // of whoever made the request
	target    target
	another   bool // registration, since the person tries again
}

func (e *SignInRequired) Error() string { return e.Why }

// Begin returns the sign-in that waits for the person: the same one until it is done. Once it has succeeded, the request is sent
// again. An error is a [*httpcall.Failure], or that of ctx.
func (e *SignInRequired) Begin(ctx context.Context) (*signin.Flow, error) {
	return e.client.begin(ctx, e)
}

// Ask has the person of a call sign in, as [signin.Need.Ask] does. Without a refusal and an error, the request can be repeated.
func (e *SignInRequired) Ask(ctx context.Context) (*signin.Refusal, error) {
	own := *e
	own.principal = principalIn(ctx) // the connection of all callers is nobody's, and its page asks for the token of who calls
	e = &own
	command := e.client.command("login")
	return signin.Need{
		Why: e.Why, Message: "Sign in to continue.", Command: command, Paste: command + " --paste" + signin.For(e.owner), Host: e.client.config.Host,
		Begin: func() (*signin.Flow, error) { return e.Begin(ctx) },
	}.Ask(ctx)
}

// whySignIn returns why a person has to sign in.
func (c *Client) whySignIn(n need, at situation) string {
	name := "upstream " + c.upstream
	switch {
	case n.stepUp:
		return "the sign-in to " + name + " does not cover this: it lacks the permission " + clean(strings.Join(n.sent.Lacks(n.said.Scopes), ", "))
	case at.kept != nil && !at.bound:
		return name + " has changed its authorization server or its identifier since the sign-in"
	case n.why != nil && n.why != signin.ErrNoGrant:
		return name + " requires a sign-in: " + strings.TrimPrefix(n.why.Error(), signin.ErrNoGrant.Error()+": ")
	case n.sent != nil:
		return name + " no longer accepts the sign-in"
	}
	return name + " requires a sign-in"
}

// SignIn begins a sign-in of a principal, whether or not there is a grant, as [SignInRequired.Begin] does. A client that registers
// itself registers again: the server may have forgotten it.
func (c *Client) SignIn(ctx context.Context, principal string) (*signin.Flow, error) {
	e, err := c.require(ctx, principal)
	if err != nil {
		return nil, err
	}
	return c.begin(ctx, e)
}

// Paste begins a sign-in of a principal on a machine without a browser.
func (c *Client) Paste(ctx context.Context, principal string) (*signin.Pasted, error) {
	e, err := c.require(ctx, principal)
	if err != nil {
		return nil, err
	}
	redirect := c.config.Unused(c.clients.port(e.target.server.Issuer))
	a, err := c.prepare(ctx, e.target, redirect, e.another)
	if err != nil {
		return nil, err
	}
	return signin.Paste(redirect, c.asks(e, a, "")), nil
}

// require returns what a sign-in of a principal asks for. The upstream is asked with a request without a token, since only its
// challenge may say where its metadata is.
func (c *Client) require(ctx context.Context, principal string) (*SignInRequired, error) {
	if !c.settings.interactive() {
		return nil, &httpcall.Failure{
			Type: "unsupported_option", Message: "upstream " + c.upstream + " is signed in to without a person: its flow is " + c.settings.Flow,
			Hint: "There is nothing to do.",
		}
	}
	o, err := c.ownerOf(principal)
	if err != nil {
		return nil, err
	}
	said, err := c.discovery.probe(ctx)
	if err != nil {
		return nil, err
	}
	n := need{owner: o, principal: principal, said: said}
	at, err := c.situation(ctx, n, true)
	if err != nil {
		return nil, err
	}
	t, err := c.target(ctx, n, at, true)
	return &SignInRequired{Why: c.whySignIn(n, situation{}), client: c, owner: o, principal: principal, another: true, target: t}, err
}

// attempt is a sign-in from the address that it begins with to the grant that it leads to. What it has learned of the
// authorization server holds until its end, so that another server cannot take part in it (RFC 9207).
type attempt struct {
	target
	client   registration
	redirect string
	verifier string
	binding  *binding // nil if the tokens are not bound to a key
	asked    []string // scopes, with those that a refresh token requires
}

// begin returns the sign-in that an error asks for.
func (c *Client) begin(ctx context.Context, e *SignInRequired) (*signin.Flow, error) {
	key := e.owner + "\x00" + e.principal + "\x00" + strings.Join(e.target.scopes, " ") + "\x00" + e.target.server.Issuer
	if f := c.desk.Waiting(key); f != nil {
		return f, nil
	}
	return signin.Shared(ctx, &c.flights, "begin "+key, func(ctx context.Context) (*signin.Flow, error) {
		if f := c.desk.Waiting(key); f != nil {
			return f, nil
		}
		if _, err := c.grants.Read(e.owner); err != nil && !errors.Is(err, signin.ErrNoGrant) {
			return nil, err // what would be kept could not replace it
		}
		redirect, release, err := c.desk.Listen(c.clients.port(e.target.server.Issuer))
		if err != nil {
			return nil, err
		}
		defer release()
		a, err := c.prepare(ctx, e.target, redirect, e.another)
		if err != nil {
			return nil, err
		}
		f, err := c.desk.Begin(c.asks(e, a, key))
		if err != nil {
			return nil, err
		}
		f.OnDone("registration", func() {
			if _, denied := errors.AsType[signin.DeniedError](f.Err()); f.Err() != nil && !denied {
				c.clients.unregister(a.client)
			}
		})
		return f, nil
	})
}

// asks returns what a person is asked to sign in to.
func (c *Client) asks(e *SignInRequired, a *attempt, key string) signin.Request {
	u, _ := url.Parse(a.server.Authorization) // was checked
	return signin.Request{
		Key: key, Title: "upstream " + c.upstream, Account: "an account at " + u.Host, Provider: u.Host, Consent: a.consent,
		Principal: cmp.Or(e.owner, "this server"), Caller: e.principal,
		Complete: func(ctx context.Context, answer signin.Answer) (signin.Done, error) {
			g, err := c.complete(ctx, e.owner, a, answer)
			if err != nil {
				return signin.Done{}, err
			}
			return signin.Done{Missing: g.Lacks(a.scopes)}, nil
		},
	}
}

// prepare checks that an authorization server can be signed in to safely, and returns the sign-in.
func (c *Client) prepare(ctx context.Context, t target, redirect string, another bool) (*attempt, error) {
	lacks := func(what string) error {
		return c.refused("its authorization server "+clean(t.server.Issuer)+" "+what, reportUpstream)
	}
	switch {
	case t.server.Authorization == "":
		return nil, lacks("has no authorization endpoint")
	case !slices.Contains(t.server.Challenges, "S256"):
		return nil, lacks("does not support PKCE with S256, which protects the sign-in")
	case len(t.server.Responses) > 0 && !slices.Contains(t.server.Responses, "code"):
		return nil, lacks("does not support the response type code")
	case len(t.server.Grants) > 0 && !slices.Contains(t.server.Grants, grantCode):
		return nil, lacks("does not support the grant type authorization_code")
	}
	client, err := c.clients.register(ctx, t.server, redirect, another)
	if err != nil {
		return nil, err
	}
	b, err := t.binding()
	if err != nil {
		return nil, err
	}
	a := &attempt{target: t, client: client, redirect: redirect, verifier: oauth2.GenerateVerifier(), binding: b, asked: t.scopes}
	const offline = "offline_access"
	if len(a.asked) > 0 && slices.Contains(t.server.Scopes, offline) && !slices.Contains(a.asked, offline) {
		a.asked = append(slices.Clone(a.asked), offline)
	}
	return a, nil
}

// consent returns the address where a person is asked for consent.
func (a *attempt) consent(redirect, state string) string {
	u, _ := url.Parse(a.server.Authorization) // was checked
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": a.client.ID, "redirect_uri": redirect, "state": state, "resource": a.resource.Resource,
		"code_challenge": oauth2.S256ChallengeFromVerifier(a.verifier), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	if len(a.asked) > 0 {
		q.Set("scope", strings.Join(a.asked, " "))
	}
	if slices.Contains(a.asked, "offline_access") {
		q.Set("prompt", "consent") // without which OpenID Connect has no offline access
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// complete makes a grant of what the authorization server has sent a browser back with, and keeps it.
func (c *Client) complete(ctx context.Context, o string, a *attempt, answer signin.Answer) (*grant, error) {
	u, _ := url.Parse(a.server.Authorization) // was checked
	switch {
	// An answer of another server is not even shown.
	case answer.Issuer == "" && a.server.NamesIssuer:
		return nil, fmt.Errorf("the answer does not say that it is of %s, as answers of that server do", clean(a.server.Issuer))
	case answer.Issuer != "" && answer.Issuer != a.server.Issuer:
		return nil, fmt.Errorf("the answer is of another authorization server than %s, which the sign-in began with", clean(a.server.Issuer))
	case answer.Refused == "access_denied":
		return nil, signin.DeniedError{Provider: u.Host}
	case answer.Refused != "":
		return nil, errors.New("an error was reported by " + u.Host + ", " + c.secrets.code(answer.Refused) + c.secrets.said(answer.Why))
	}
	ctx, cancel := context.WithTimeout(ctx, signin.CompleteTime)
	defer cancel()
	form := tokenForm(grantCode, a.resource.Resource, nil)
	form.Set("code", answer.Code)
	form.Set("redirect_uri", answer.Redirect)
	form.Set("code_verifier", a.verifier)
	got, err := c.tokens.get(ctx, a.server.Token, a.client, form, a.binding)
	if err != nil {
		return nil, signin.Explained(err)
	}
	g, err := c.granted(o, a.target, a.client, got, a.binding)
	if err != nil {
		return nil, err
	}
	if err := c.grants.Replace(ctx, o, g); err != nil {
		return nil, err
	}
	if c.config.SignedIn != nil {
		c.config.SignedIn(o)
	}
	return g, nil
}
