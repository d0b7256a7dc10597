package signin

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// Status is what is known of a principal's sign-in to a service without asking Google.
type Status struct {
	Service   Service   `json:"service"`
	Account   string    `json:"account,omitempty"` // its name, if it has one
	Owner     Owner     `json:"-"`
	SignedIn  bool      `json:"signed_in"`
	Problem   string    `json:"problem,omitempty"` // why not, if there is more to say
	Email     string    `json:"email,omitempty"`
	Asked     []string  `json:"asked,omitempty"`   // the scopes that are asked for
	Scopes    []string  `json:"scopes,omitempty"`  // granted
	Missing   []string  `json:"missing,omitempty"` // asked for, and not granted
	Created   time.Time `json:"created,omitzero"`
	Refreshed time.Time `json:"refreshed,omitzero"`
	Expires   time.Time `json:"expires,omitzero"` // of the access token, which is then refreshed
	Kept      string    `json:"kept"`             // where
}

// Title says what it is the sign-in to.
func (s Status) Title() string { return s.Owner.Of(s.Service) }

// Status returns the state of the sign-ins of owners, one for each service. The error is of the first that cannot be read,
// whose Problem it is, too.
func (a *Accounts) Status(owners ...Owner) (all []Status, first error) {
	for _, o := range owners {
		for _, s := range Services() {
			status, err := a.status(o, s)
			all, first = append(all, status), cmp.Or(first, err)
		}
	}
	return all, first
}

func (a *Accounts) status(o Owner, s Service) (status Status, unreadable error) {
	status = Status{Service: s, Owner: o, Asked: a.config.Scopes(s), Kept: a.grants[s].Store.Kept()}
	_, status.Account = o.split()
	g, err := a.grants[s].Load(string(o), true)
	switch {
	case err == nil:
		status.SignedIn, status.Email, status.Scopes, status.Missing = true, g.Email, g.Scopes, g.Lacks(status.Asked)
		status.Created, status.Refreshed, status.Expires = g.Created, g.Refreshed, g.Expiry
	case err == ErrNoGrant:
	default:
		if status.Problem = err.Error(); !errors.Is(err, ErrNoGrant) {
			unreadable = err
		}
	}
	return status, unreadable
}

// SignOut revokes the grant of an owner at Google and forgets it, as [signin.Grants.SignOut] does. Google ends all that an account has granted
// to a client at once: while the owner is signed in to another service with the account, and that is not in ends, the grant is only
// forgotten here. Note says what else has ended, or not.
func (a *Accounts) SignOut(ctx context.Context, o Owner, s Service, ends ...Service) (note string, err error) {
	err = a.grants[s].SignOut(ctx, string(o), "Remove the access of the app at "+connections+".", func(ctx context.Context, g *grant) error {
		for _, other := range Services() {
			kept, err := a.grants[other].Load(string(o), true)
			if other != s && !slices.Contains(ends, other) && err == nil && kept.Email == g.Email {
				note = fmt.Sprintf("forgotten here only: at Google the access is one with that to %s, which ends when that is signed out, too, or at %s",
					other.Title(), connections)
				return nil
			}
		}
		note = "revoked; whoever else has signed in with this account here has to sign in again"
		service := httpcall.Service{Name: "Google's revocation endpoint", Client: a.client(s), Timeout: a.answer, MaxBody: 1 << 20}
		err := service.Do(ctx, httpcall.Request{
			URL: a.address("oauth2.googleapis.com", "/revoke"), Body: []byte(url.Values{"token": {g.Grant.Refresh}}.Encode()),
			Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		}, func(*httpcall.Response) error { return nil })
		if f, ok := errors.AsType[*httpcall.Failure](err); ok && f.Status == http.StatusBadRequest { // it is no longer valid
			return nil
		}
		return err
	})
	return note, err
}

// reasons say what scopes are for, a line each.
//
//go:embed scopes.txt
var reasons string

// Reason says what a scope is for, as the end of "Toolserver asks for it to". A scope that is not known is its own reason.
func Reason(scope string) string {
	name := strings.TrimPrefix(scope, "https://www.googleapis.com/auth/")
	_, why, _ := strings.Cut("\n"+reasons, "\n"+name+" ")
	why, _, _ = strings.Cut(why, "\n")
	return cmp.Or(why, name)
}
