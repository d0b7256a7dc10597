package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"toolserver/tools/httpcall"
)

// Status is what is known of a principal's sign-in to a service without asking Google.
type Status struct {
	Service   Service   `json:"service"`
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

// Status returns the state of a principal's sign-ins, one for each service. The error is of the first that cannot be read,
// whose Problem it is, too.
func (a *Accounts) Status(principal string) ([]Status, error) {
	var all []Status
	var first error
	for _, s := range Services() {
		status := Status{Service: s, Asked: a.config.Scopes(s), Kept: a.grants[s].Store.Kept()}
		g, err := a.grants[s].Load(principal, true)
		switch {
		case err == nil:
			status.SignedIn, status.Email, status.Scopes, status.Missing = true, g.Email, g.Scopes, g.Lacks(status.Asked)
			status.Created, status.Refreshed, status.Expires = g.Created, g.Refreshed, g.Expiry
		case err == ErrNoGrant:
		default:
			status.Problem = err.Error()
			if first == nil && !errors.Is(err, ErrNoGrant) {
				first = err
			}
		}
		all = append(all, status)
	}
	return all, first
}

// SignOut revokes a principal's grant at Google and forgets it, as [signin.Grants.SignOut] does. Google ends all that an account has granted
// to a client at once: while the principal is signed in to another service with the account, and that is not in ends, the grant is only
// forgotten here. Note says what else has ended, or not.
func (a *Accounts) SignOut(ctx context.Context, principal string, s Service, ends ...Service) (note string, err error) {
	err = a.grants[s].SignOut(ctx, principal, "Remove the access of the app at "+connections+".", func(ctx context.Context, g *grant) error {
		for _, other := range Services() {
			kept, err := a.grants[other].Load(principal, true)
			if other != s && !slices.Contains(ends, other) && err == nil && kept.Email == g.Email {
				note = fmt.Sprintf("forgotten here only: at Google the access is one with that to %s, which ends when that is signed out, too, or at %s", other.Title(), connections)
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

// Reason says what a scope is for, as the end of "Toolserver asks for it to". A scope that is not known is its own reason.
func Reason(scope string) string {
	name := strings.TrimPrefix(scope, "https://www.googleapis.com/auth/")
	if why, ok := reasons()[name]; ok {
		return why
	}
	return name
}

func reasons() map[string]string {
	return map[string]string{
		"openid":                         "know that it is the same account",
		"email":                          "show which account is connected",
		"userinfo.email":                 "show which account is connected",
		"gmail.readonly":                 "search and read mail",
		"gmail.send":                     "send mail",
		"gmail.compose":                  "write drafts and send mail",
		"gmail.modify":                   "read, write, label and move mail",
		"gmail.settings.basic":           "read settings and sender addresses",
		"calendar.events":                "read, create and change events",
		"calendar.events.readonly":       "list and read events",
		"calendar.calendarlist.readonly": "list calendars",
		"calendar.freebusy":              "see when people are busy",
	}
}
