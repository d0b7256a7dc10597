package signin

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"toolserver/tools/httpcall"
)

// refreshTime bounds a refresh: the wait for other processes, and the request.
const refreshTime = 20 * time.Second

// token returns a token that is not stale. Callers who need a refresh at the same time share one, which goes on when one of
// them is canceled.
func (a *Accounts) token(ctx context.Context, o owner, stale string) (Token, error) {
	g, err := a.load(o)
	if err != nil {
		return Token{}, err
	}
	if g.usable(stale) {
		return g.token(), nil
	}
	// Who needs another token than stale cannot share with who needs any.
	flight := a.flights.DoChan(o.label()+" "+stale, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTime)
		defer cancel()
		return a.refresh(ctx, o, stale)
	})
	select {
	case r := <-flight:
		if r.Err != nil {
			return Token{}, r.Err
		}
		return r.Val.(*grant).token(), nil
	case <-ctx.Done():
		return Token{}, ctx.Err()
	}
}

// refresh gets a new access token, unless another process has done so in the meantime, and keeps it. Google keeps the old
// refresh token valid when it sends a new one, so nothing is lost if this process is killed before that is kept.
func (a *Accounts) refresh(ctx context.Context, o owner, stale string) (*grant, error) {
	store := a.stores[o.service]
	unlock, err := store.lock(ctx, o)
	if err != nil {
		return nil, failure(err)
	}
	defer unlock()
	g, err := a.load(o)
	if err != nil {
		return nil, err
	}
	if g.usable(stale) {
		return g, nil
	}
	ctx, cancel := a.requestContext(ctx, o.service)
	defer cancel()
	t, err := a.oauth(o.service, "").TokenSource(ctx, &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.ErrorCode == "invalid_grant" {
		// Every writer has the lock, so what is removed is what Google refused.
		if err := store.remove(o); err != nil {
			return nil, err
		}
		return nil, &RevokedError{o.service, g.Email}
	}
	if err != nil {
		return nil, tokenFailure(ctx, err)
	}
	g.take(t, time.Now())
	if err := a.save(o, g); err != nil {
		return nil, err
	}
	return g, nil
}

// failure returns an error of a deadline as a [*httpcall.Failure], and others as they are.
func failure(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return httpcall.Explain(err)
	}
	return err
}
