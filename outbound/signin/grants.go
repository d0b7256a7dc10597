package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/outbound/httpcall"
)

// ErrNoGrant is the error of an owner who has not signed in. Errors that wrap it say why a grant does not count, as a clause.
var ErrNoGrant = errors.New("not signed in")

// Grant is what is kept of a sign-in to any service.
type Grant struct {
	Principal string    `json:"principal,omitempty"` // empty if all share it
	Scopes    []string  `json:"scopes,omitempty"`    // that were granted
	Access    string    `json:"access_token"`
	Refresh   string    `json:"refresh_token,omitempty"`
	Expiry    time.Time `json:"expiry,omitzero"` // zero if it is not known
	Created   time.Time `json:"created"`
	Refreshed time.Time `json:"refreshed"`
}

// Take puts the answer of a token endpoint into the grant. What the answer leaves out stays, except the expiry.
func (g *Grant) Take(access, refresh, scope string, expiry, now time.Time) {
	g.Access, g.Refreshed, g.Expiry = access, now, expiry
	if refresh != "" {
		g.Refresh = refresh
	}
	if scopes := strings.Fields(scope); len(scopes) > 0 {
		g.Scopes = scopes
	}
}

// Usable reports whether the token is valid for a while, and is not the one that was rejected.
func (g *Grant) Usable(stale string, now time.Time) bool {
	margin := min(time.Minute, g.Expiry.Sub(g.Refreshed)/5)
	return g.Access != "" && g.Access != stale && (g.Expiry.IsZero() || now.Add(margin).Before(g.Expiry))
}

// Lacks returns the scopes that were not granted.
func (g *Grant) Lacks(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(g.Scopes, s) })
}

// EndedError is the error of a grant that is accepted no more: it is forgotten.
type EndedError struct{ Err error }

func (e EndedError) Error() string { return e.Err.Error() }

// Grants are the grants of all owners, each kept under the entry of its owner: by this process and others, of which one refreshes a
// grant and the others use it. It is safe for concurrent use.
type Grants[G any] struct {
	Store   Store
	Entry   func(owner string) Entry
	Opened  func(owner string, g *G) error                                   // completes what was read, or says that it is none of the owner
	Counts  func(owner string, g *G) error                                   // says, as [ErrNoGrant] wrapped, why a grant does not count; may be nil
	Usable  func(g *G, stale string) bool                                    // its token is valid for a while, and not the one that was rejected
	Refresh func(ctx context.Context, owner, stale string, g *G) (*G, error) // returns another grant, or the same if that does

	flights singleflight.Group
	bounded sync.Once
	seen    share.Store[string, *G] // a moment ago, so that a burst of calls reads a grant once
}

// Bounds of what is kept in memory: grants, and how soon this process notices what another does with one.
const (
	maxSeen  = 1024
	seenLife = 2 * time.Second
)

// Read returns what is kept for an owner, whether or not it counts. The error is [ErrNoGrant], or why it cannot be read.
func (k *Grants[G]) Read(owner string) (*G, error) {
	e := k.Entry(owner)
	data, err := k.Store.Read(e)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoGrant
	}
	if err != nil {
		return nil, err
	}
	g := new(G)
	if json.Unmarshal(data, g) != nil || k.Opened(owner, g) != nil {
		return nil, fmt.Errorf("%w: the sign-in to %s is damaged: what is kept is no sign-in of this principal", ErrNoGrant, e.Title)
	}
	return g, nil
}

// Load returns the grant of an owner that counts. It may be as old as seenLife, unless it has to be what is kept now.
func (k *Grants[G]) Load(owner string, now bool) (*G, error) {
	if known, ok := k.lately().Get("", owner); ok && !now {
		return known, nil
	}
	g, err := k.Read(owner)
	if err == nil && k.Counts != nil {
		err = k.Counts(owner, g)
	}
	if err != nil {
		k.lately().Take("", owner)
		return nil, err
	}
	k.lately().Put("", owner, g, 0)
	return g, nil
}

// lately returns the grants that were read or written lately.
func (k *Grants[G]) lately() *share.Store[string, *G] {
	k.bounded.Do(func() { k.seen.MaxEntries, k.seen.MaxAge = maxSeen, seenLife })
	return &k.seen
}

// Current returns a grant of an owner whose token is not stale, refreshed if need be: once for all who need it at the same time,
// in all processes, and once more if the service fails. If this process is killed between the answer and keeping it, a service
// that rotates refresh tokens accepts the old one no more, and the person signs in again.
func (k *Grants[G]) Current(ctx context.Context, owner, stale string) (*G, error) {
	g, err := k.Load(owner, false)
	if err != nil || k.Usable(g, stale) {
		return g, err
	}
	// Who needs another token than stale cannot share with who needs any.
	return k.Alone(ctx, owner, stale, func(ctx context.Context, g *G, err error) (*G, error) {
		if err != nil || k.Usable(g, stale) {
			return g, err
		}
		next := g
		err = (&httpcall.Service{Retries: 1}).Try(ctx, func() (err error) {
			next, err = k.Refresh(ctx, owner, stale, g)
			if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.After > maxPause {
				f.Retry = false // calls wait for it
			}
			return err
		})
		if ended, ok := errors.AsType[EndedError](err); ok { // every writer has the lock, so what is removed is what was refused
			if err := k.Forget(owner); err != nil {
				return nil, err
			}
			return nil, ended.Err
		}
		return next, err
	})
}

// Alone gets a grant of an owner, once for all who need it for the same reason at the same time, while nobody else changes it: do
// is given what [Grants.Load] returns of what is kept now, and what else it returns is kept.
func (k *Grants[G]) Alone(ctx context.Context, owner, reason string, do func(context.Context, *G, error) (*G, error)) (*G, error) {
	return Shared(ctx, &k.flights, owner+" "+reason, func(ctx context.Context) (*G, error) {
		unlock, err := k.lock(ctx, owner)
		if err != nil {
			return nil, err
		}
		defer unlock()
		kept, err := k.Load(owner, true)
		g, err := do(ctx, kept, err)
		if err == nil && g != kept {
			err = k.Save(owner, g)
		}
		return g, err
	})
}

// Save keeps the grant of an owner. The caller has the lock.
func (k *Grants[G]) Save(owner string, g *G) error {
	data, err := json.Marshal(g)
	if err == nil {
		err = k.Store.Write(k.Entry(owner), data)
	}
	if err == nil {
		k.lately().Put("", owner, g, 0)
	}
	return err
}

// Replace keeps a new grant in place of what there is, unless that cannot be read as it is configured: it is not overwritten silently.
func (k *Grants[G]) Replace(ctx context.Context, owner string, g *G) error {
	unlock, err := k.lock(ctx, owner)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := k.Read(owner); err != nil && !errors.Is(err, ErrNoGrant) {
		return err
	}
	return k.Save(owner, g)
}

// Forget removes the grant of an owner. The caller has the lock.
func (k *Grants[G]) Forget(owner string) error {
	k.lately().Take("", owner)
	return k.Store.Remove(k.Entry(owner))
}

// SignOut forgets the grant of an owner, after revoking it. It is forgotten also if it cannot be revoked or read: then the error
// says so, with what is left to do. The error is [ErrNoGrant] if there is none.
func (k *Grants[G]) SignOut(ctx context.Context, owner, left string, revoke func(context.Context, *G) error) error {
	ctx, cancel := context.WithTimeout(ctx, SharedTime)
	defer cancel()
	unlock, err := k.lock(ctx, owner)
	if err != nil {
		return err
	}
	defer unlock()
	g, err := k.Read(owner)
	if err == ErrNoGrant {
		return err
	}
	if err == nil {
		err = revoke(ctx, g)
	}
	if err := k.Forget(owner); err != nil {
		return err
	}
	if err == nil {
		return nil
	}
	f := *httpcall.Explain(err)
	f.Message = "the sign-in to " + k.Entry(owner).Title + " is forgotten here, but was not revoked: " + f.Message
	f.Hint = left
	return &f
}

// lock waits for the lock of an owner's grant, which all processes share.
func (k *Grants[G]) lock(ctx context.Context, owner string) (unlock func(), err error) {
	unlock, err = k.Store.Lock(ctx, k.Entry(owner))
	return unlock, Explained(err)
}

// Explained returns an error of a deadline as a [*httpcall.Failure], and others as they are.
func Explained(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return httpcall.Explain(err)
	}
	return err
}

// maxPause is how long a service may ask to wait before a refresh is tried once more.
const maxPause = 2 * time.Second

// SharedTime bounds what callers share: the wait for other processes, and a few requests.
const SharedTime = 40 * time.Second

// Shared does something once for all who need it at the same time. It goes on when one of them is canceled.
func Shared[T any](ctx context.Context, flights *singleflight.Group, key string, do func(context.Context) (T, error)) (value T, err error) {
	flight := flights.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SharedTime)
		defer cancel()
		return do(ctx)
	})
	select {
	case r := <-flight:
		value, _ = r.Val.(T)
		return value, r.Err
	case <-ctx.Done():
		return value, ctx.Err()
	}
}
