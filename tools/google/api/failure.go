package api

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/googleapi"

	"toolserver/domain"
	"toolserver/tools/google/signin"
	"toolserver/tools/httpcall"
)

// failure returns what an error of Google's client means.
func failure(s signin.Service, err error) error {
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return err
	}
	status := &httpcall.StatusError{Service: string(s), Status: e.Code, Header: e.Header}
	if status.Header == nil {
		status.Header = http.Header{}
	}
	return httpcall.Rules(nil).Failure(status, "")
}

// Unknown reports whether a request that failed with err may have been carried out.
func Unknown(err error) bool { return err != nil }

// SignedIn returns a context with the grant of the caller, who is asked to sign in if there is none. The refusal is what the
// call is answered with otherwise.
func (c *Client) SignedIn(ctx context.Context, need Need) (context.Context, *domain.ToolResult, error) {
	principal := domain.SessionOf(ctx).Principal.ID
	token, err := c.accounts.Token(ctx, principal, need.Service)
	if err != nil {
		refusal := domain.Failure("sign_in_required", need.Failing+": "+err.Error(), "Sign in.")
		return ctx, &refusal, nil
	}
	return context.WithValue(ctx, grantKey{}, &grant{principal: principal, service: need.Service, token: token}), nil, nil
}

// result returns what a call is answered with.
func (n Need) result(res domain.ToolResult, err error) (domain.ToolResult, error) {
	if f, ok := errors.AsType[*httpcall.Failure](err); ok {
		return domain.Failure(f.Type, n.Failing+": "+f.Message, f.Hint), nil
	}
	return res, err
}
