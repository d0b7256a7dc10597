package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"toolserver/domain"
	"toolserver/tools/google/signin"
	pages "toolserver/tools/signin"
)

// SignedIn returns a context with the grant of the caller. A caller without one is asked to sign in: by elicitation, if the
// client opens addresses, and otherwise by the refusal, which the call is answered with. In both cases the sign-in waits in
// the background, and its address stays the same until it is done.
func (c *Client) SignedIn(ctx context.Context, need Need) (context.Context, *domain.ToolResult, error) {
	need.owner = c.Owner(ctx)
	token, why, err := c.token(ctx, need)
	if err != nil {
		if ctx.Err() != nil {
			return ctx, nil, ctx.Err()
		}
		refusal := need.failed(err)
		return ctx, &refusal, nil
	}
	if why != "" {
		if refusal, err := c.signIn(ctx, need, why); err != nil || refusal != nil {
			return ctx, refusal, err
		}
		if token, why, err = c.token(ctx, need); err != nil || why != "" {
			refusal := need.refusal(typeSignIn, why, hintSignIn)
			if err != nil {
				refusal = need.failed(err)
			}
			return ctx, &refusal, nil
		}
	}
	return context.WithValue(ctx, grantKey{}, &grant{owner: need.owner, service: need.Service, token: token}), nil, nil
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

// signIn has a person sign in. The refusal says how, if that takes longer than the call.
func (c *Client) signIn(ctx context.Context, need Need, why string) (*domain.ToolResult, error) {
	principal := domain.SessionOf(ctx).Principal.ID
	refused, err := pages.Need{
		Why: why, Message: "Sign in with Google to continue.",
		Command: authCommand + " --services " + string(need.Service), Paste: authCommand + " --paste" + pages.For(principal),
		Host: c.accounts.Host(), Begin: func() (*pages.Flow, error) { return c.accounts.Begin(need.owner, need.Service) },
	}.Ask(ctx)
	if refused == nil {
		return nil, err
	}
	refusal := need.refusal(typeSignIn, refused.Message, refused.Remedy)
	return &refusal, err
}
