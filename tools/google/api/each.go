package api

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"toolserver/tools/google/signin"
	"toolserver/tools/httpcall"
)

// Each calls do for the numbers below n, several at a time, and returns its errors. The second error ends the call: it is one
// that all would have, or the first if none succeeded.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) ([]error, error) {
	errs := make([]error, n)
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(PerGrant)
	for i := range n {
		g.Go(func() error {
			if errs[i] = do(within, i); ends(within, errs[i]) {
				return errs[i]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return errs, err
	}
	if n > 0 && !slices.Contains(errs, nil) {
		return errs, errs[0]
	}
	return errs, nil
}

// ends reports whether an error is not about one of several things: the call was canceled, or the grant is no longer valid.
func ends(ctx context.Context, err error) bool {
	if err == nil {
		return false
	}
	f, failed := errors.AsType[*httpcall.Failure](err)
	_, revoked := errors.AsType[*signin.RevokedError](err)
	return ctx.Err() != nil || revoked || errors.Is(err, signin.ErrNoGrant) || failed && f.Type == typeSignIn
}
