package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	pages "github.com/toolserver/toolserver/outbound/signin"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// SignedIn returns a context with the grant of the caller. A caller without one is asked to sign in: by elicitation, if the
// client opens addresses, and otherwise by a [*Refused] error, which the call is answered with. In both cases the sign-in waits in
// the background, and its address stays the same until it is done.
func (c *Client) SignedIn(ctx context.Context, need Need) (context.Context, error) {
	need.owner = c.Owner(ctx)
	need.flag = c.accounts.Flag(need.owner)
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
		return token, fmt.Sprintf("the sign-in of %s does not cover this: it lacks the permission to %s", cmp.Or(token.Email, "your account"),
			signin.Reason(need.Scopes[0])), nil
	}
	return token, "", nil
}

// covered reports whether granted scopes are enough. Google leaves them out of an answer that has all that was asked for.
func (n Need) covered(granted []string) bool {
	return len(n.Scopes) == 0 || len(granted) == 0 || slices.ContainsFunc(n.Scopes, func(s string) bool { return slices.Contains(granted, s) })
}

// signIn has a person sign in. A [*Refused] error says how, if that takes longer than the call.
func (c *Client) signIn(ctx context.Context, need Need, why string) error {
	refused, err := pages.Need{
		Why: why, Message: "Sign in with Google to continue.",
		Command: authCommand + " --services " + string(need.Service), Paste: authCommand + " --paste" + pages.For(call.SessionOf(ctx).Principal.ID),
		Host: c.accounts.Host(), Begin: func() (*pages.Flow, error) { return c.accounts.Begin(need.owner, need.Service) },
	}.Ask(ctx)
	if refused == nil {
		return err
	}
	return &Refused{need.refusal(typeSignIn, refused.Message, refused.Remedy)}
}

// accountArgument names one of several accounts in a call.
const accountArgument = "account"

type accountKey struct{}

// Owner returns whose grants a call is for: those of the account that it names, or of the first.
func (c *Client) Owner(ctx context.Context) signin.Owner {
	account, _ := ctx.Value(accountKey{}).(string)
	return c.accounts.Owner(call.SessionOf(ctx).Principal.ID, account)
}

// ForAccounts gives a tool the argument that names one of the accounts, if there are several.
func (c *Client) ForAccounts(t domain.Tool) domain.Tool {
	names := c.accounts.Names()
	if len(names) < 2 {
		return t
	}
	t.Input = t.Input.Choosing(accountArgument, "The Google account to use.", names)
	t.Target = append(slices.Clip(t.Target), accountArgument)
	of := func(ctx context.Context, args domain.Arguments) (context.Context, domain.Arguments) {
		args = maps.Clone(args)
		account, _ := args[accountArgument].(string)
		delete(args, accountArgument)
		return context.WithValue(ctx, accountKey{}, account), args
	}
	run, preview, explain := t.Run, t.Preview, t.Explain
	t.Run = func(ctx context.Context, args domain.Arguments) (domain.ToolResult, error) { return run(of(ctx, args)) }
	if preview != nil {
		t.Preview = func(ctx context.Context, args domain.Arguments) (string, *domain.ToolResult, error) {
			return preview(of(ctx, args))
		}
	}
	if explain != nil {
		t.Explain = func(ctx context.Context, args domain.Arguments) (domain.Explanation, error) {
			return explain(of(ctx, args))
		}
	}
	return t
}
