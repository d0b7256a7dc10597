package signin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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
		status := Status{Service: s, Asked: a.config.Scopes(s), Kept: a.stores[s].Kept()}
		g, err := a.load(owner{principal, s})
		switch {
		case err == nil:
			status.SignedIn, status.Email, status.Scopes, status.Missing = true, g.Email, g.Scopes, a.missing(s, g.Scopes)
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

// SignOut revokes a principal's grant at Google and forgets it. It is forgotten also if Google cannot be asked, or if it cannot
// be read: then the error says so. The error is [ErrNoGrant] if there is none.
func (a *Accounts) SignOut(ctx context.Context, principal string, s Service) error {
	o := owner{principal, s}
	bounded, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	unlock, err := a.stores[s].lock(bounded, o)
	if err != nil {
		return failure(err)
	}
	defer unlock()
	g, err := a.stored(o)
	if errors.Is(err, ErrNoGrant) {
		return err
	}
	if err == nil {
		err = a.revoke(bounded, s, g.RefreshToken)
	}
	if removed := a.stores[s].remove(o); removed != nil {
		return removed
	}
	if err != nil {
		f := *httpcall.Explain(err)
		f.Message = "the sign-in to " + s.Title() + " is forgotten here, but was not revoked at Google: " + f.Message
		f.Hint = "Remove the access of the app at " + connections + "."
		return &f
	}
	return nil
}

// revoke ends a grant at Google.
func (a *Accounts) revoke(ctx context.Context, s Service, token string) error {
	ctx, cancel := context.WithTimeout(ctx, a.answer)
	defer cancel()
	form := strings.NewReader(url.Values{"token": {token}}.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.address("oauth2.googleapis.com", "/revoke"), form)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := a.client(s).Do(req)
	if err != nil {
		return err
	}
	res.Body.Close()
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusBadRequest { // which is of tokens that are no longer valid
		return nil
	}
	return httpcall.Rules(nil).Failure(&httpcall.StatusError{Service: "Google's revocation endpoint", Status: res.StatusCode, Header: res.Header}, "")
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
		"gmail.metadata":                 "read the headers of mail",
		"gmail.send":                     "send mail",
		"gmail.compose":                  "write drafts and send mail",
		"gmail.modify":                   "read, write, label and move mail",
		"gmail.labels":                   "manage labels",
		"gmail.settings.basic":           "read settings and sender addresses",
		"https://mail.google.com/":       "read, write, send and delete all mail",
		"calendar":                       "read and change calendars",
		"calendar.readonly":              "read calendars",
		"calendar.events":                "read, create and change events",
		"calendar.events.owned":          "read, create and change events of your own calendars",
		"calendar.events.readonly":       "list and read events",
		"calendar.calendarlist.readonly": "list calendars",
		"calendar.settings.readonly":     "know your time zone",
		"calendar.freebusy":              "see when people are busy",
		"calendar.events.freebusy":       "see when people are busy",
	}
}
