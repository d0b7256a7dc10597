package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolserver/toolserver/domain"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// SignedIn returns a context with the grant of the caller. A caller without one is asked to sign in: by elicitation, if the
// client opens addresses, and otherwise by a [*Refused] error, which the call is answered with. In both cases the sign-in waits in
// the background, and its address stays the same until it is done.
func (c *Client) SignedIn(ctx context.Context, need Need) (context.Context, error) {
	need.owner = c.Owner(ctx)
	for again := false; ; again = true {
		token, why, err := c.token(ctx, need)
		switch {
		case ctx.Err() != nil:
			return ctx, ctx.Err()
		case err != nil:
			return ctx, &Refused{need.failed(err)}
		case why == "":
			return context.WithValue(ctx, grantKey{}, &grant{owner: need.owner, service: need.Service, token: token}), nil
		case again:
			return ctx, &Refused{need.refusal(typeSignIn, why, hintSignIn)}
		}
		if err := c.signIn(ctx, need, why); err != nil {
			return ctx, err
		}
	}
}

// token returns the token of an owner, or why they have to sign in, as a clause.
func (c *Client) token(ctx context.Context, need Need) (token signin.Token, why string, err error) {
	token, err = c.accounts.Token(ctx, need.owner, need.Service)
	revoked, isRevoked := errors.AsType[*signin.RevokedError](err)
	switch {
	case err == signin.ErrNoGrant:
		return token, "you are not signed in to " + need.owner.Of(need.Service), nil
	case errors.Is(err, signin.ErrNoGrant):
		return token, err.Error(), nil // says why a grant does not count
	case isRevoked:
		return token, revoked.Error(), nil
	case err != nil:
		return token, "", err
	case !need.covered(token.Scopes):
		return token, fmt.Sprintf("the sign-in of %s does not cover this: it lacks the permission to %s", account(token.Email), signin.Reason(need.Scopes[0])), nil
	}
	return token, "", nil
}

// covered reports whether granted scopes are enough. Google leaves them out of an answer that has all that was asked for.
func (n Need) covered(granted []string) bool {
	return len(n.Scopes) == 0 || len(granted) == 0 || slices.ContainsFunc(n.Scopes, func(s string) bool { return slices.Contains(granted, s) })
}

func account(email string) string {
	if email == "" {
		return "your account"
	}
	return email
}

// signIn has a person sign in. A [*Refused] error says how, if that takes longer than the call.
func (c *Client) signIn(ctx context.Context, need Need, why string) error {
	refused, err := pages.Need{
		Why: why, Message: "Sign in with Google to continue.",
		Command: authCommand + " --services " + string(need.Service), Paste: authCommand + " --paste" + pages.For(domain.SessionOf(ctx).Principal.ID),
		Host: c.accounts.Host(), Begin: func() (*pages.Flow, error) { return c.accounts.Begin(need.owner, need.Service) },
	}.Ask(ctx)
	if refused == nil {
		return err
	}
	return &Refused{need.refusal(typeSignIn, refused.Message, refused.Remedy)}
}
