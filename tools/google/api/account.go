package api

import (
	"context"
	"maps"
	"slices"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/tools/google/signin"
)

// accountArgument names one of several accounts in a call.
const accountArgument = "account"

type accountKey struct{}

// Owner returns whose grants a call is for: those of the account that it names, or of the first.
func (c *Client) Owner(ctx context.Context) signin.Owner {
	account, _ := ctx.Value(accountKey{}).(string)
	return c.accounts.Owner(domain.SessionOf(ctx).Principal.ID, account)
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
