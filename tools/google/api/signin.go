package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"toolserver/domain"
	"toolserver/tools/google/signin"
	"toolserver/tools/httpcall"
)

// signInWait is how long a call waits for a person to sign in. Clients give up on a call after a minute.
const signInWait = 45 * time.Second

// SignedIn returns a context with the grant of the caller. A caller without one is asked to sign in: by elicitation, if the
// client opens addresses, and otherwise by the refusal, which the call is answered with. In both cases the sign-in waits in
// the background, and its address stays the same until it is done.
func (c *Client) SignedIn(ctx context.Context, need Need) (context.Context, *domain.ToolResult, error) {
	principal := domain.SessionOf(ctx).Principal
	token, why, err := c.token(ctx, principal.ID, need)
	if err != nil {
		if ctx.Err() != nil {
			return ctx, nil, ctx.Err()
		}
		refusal := need.failed(err)
		return ctx, &refusal, nil
	}
	if why != "" {
		if refusal, err := c.signIn(ctx, principal, need, why); err != nil || refusal != nil {
			return ctx, refusal, err
		}
		if token, why, err = c.token(ctx, principal.ID, need); err != nil || why != "" {
			refusal := need.refusal(typeSignIn, why, hintSignIn)
			if err != nil {
				refusal = need.failed(err)
			}
			return ctx, &refusal, nil
		}
	}
	return context.WithValue(ctx, grantKey{}, &grant{principal: principal.ID, service: need.Service, token: token}), nil, nil
}

// token returns the token of a principal, or why they have to sign in, as a clause.
func (c *Client) token(ctx context.Context, principal string, need Need) (token signin.Token, why string, err error) {
	token, err = c.accounts.Token(ctx, principal, need.Service)
	revoked, isRevoked := errors.AsType[*signin.RevokedError](err)
	switch {
	case err == signin.ErrNoGrant:
		return token, "you are not signed in to " + need.Service.Title(), nil
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
func (c *Client) signIn(ctx context.Context, principal domain.Principal, need Need, why string) (*domain.ToolResult, error) {
	canOpen := domain.CanAsk(ctx, domain.AskURL)
	refuse := func(message, remedy string) (*domain.ToolResult, error) {
		refusal := need.refusal(typeSignIn, message, remedy)
		return &refusal, nil
	}
	if !canOpen && !c.serving() {
		return refuse(why, "Run: toolserver auth google --services "+string(need.Service))
	}
	flow, err := c.accounts.Begin(principal.ID, need.Service)
	if err != nil {
		return refuse(why+", and a sign-in cannot begin: "+err.Error(), "Have the person run: toolserver auth google")
	}
	later := fmt.Sprintf("To sign in, the user opens %s in a browser on the machine where this server runs, before %s; then call the tool again", flow.URL, flow.Expires.Format("15:04"))
	if c.accounts.Proves(principal.ID) {
		later += ". The page asks for the token that the MCP client uses for this server"
	}
	later += ". From another machine: toolserver auth google --paste"
	if !canOpen {
		return refuse(why, later)
	}
	action, err := domain.ElicitURL(ctx, domain.URLElicitation{ID: flow.ID, URL: flow.URL,
		Message: strings.ToUpper(why[:1]) + why[1:] + ". Sign in with Google to continue."})
	switch {
	case domain.CodeOf(err) == domain.CodeMissingCapability: // it can ask, but not during this call
		return refuse(why, later)
	case err != nil:
		return nil, err
	case action != domain.Accepted:
		return refuse(why+", and the user did not agree to sign in", "Ask the user what to do instead; do not try the same call again.")
	}
	notify := c.completion(ctx, flow)
	wait := signInWait
	if !c.serving() {
		wait = time.Until(flow.Expires)
	}
	done, err := domain.Await(ctx, flow.Done(), wait)
	switch {
	case err != nil:
		return nil, err
	case !done:
		return refuse("the sign-in is not complete yet", later)
	case flow.Err() != nil:
		remedy := "Call the tool again to start another sign-in, if the user wants that."
		if f, ok := errors.AsType[*httpcall.Failure](flow.Err()); ok {
			remedy = f.Hint
		}
		return refuse("the sign-in failed: "+flow.Err().Error(), remedy)
	}
	notify() // before the answer
	return nil, nil
}

// completion has the client of a call notified, once for each session, when a sign-in is complete: maybe long after the call.
// What it returns does so at once.
func (c *Client) completion(ctx context.Context, flow *signin.Flow) (notify func()) {
	complete := domain.Completion(ctx)
	return c.accounts.OnDone(flow, domain.SessionOf(ctx).Key(), func() {
		if flow.Err() == nil {
			complete(flow.ID)
		}
	})
}
