package signin

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// Pasted is a sign-in on a machine without a browser: the person opens the URL on another, and pastes the address that it
// ends at, which need not show a page.
type Pasted struct {
	URL string // Google's

	accounts *Accounts
	attempt
	mu   sync.Mutex
	used bool
}

// BeginPaste begins a sign-in that is completed with [Pasted.Finish].
func (a *Accounts) BeginPaste(principal string, s Service) (*Pasted, error) {
	o := owner{principal, s}
	if _, err := a.stored(o); err != nil && !errors.Is(err, ErrNoGrant) {
		return nil, err
	}
	p := &Pasted{accounts: a, attempt: newAttempt(o, "http://127.0.0.1:"+strconv.Itoa(port())+callbackPath)}
	p.URL = a.consent(p.attempt)
	return p, nil
}

// Errors of pasted addresses. They can be corrected by pasting again.
var (
	errNoAddress = errors.New("this is not the address that the browser ended at: paste all of it, beginning with http://127.0.0.1")
	errConsent   = errors.New("this is the address that the sign-in begins with: open it, allow the access, and paste the address that the browser ends at")
	errOther     = errors.New("this address belongs to another sign-in: open the URL that was printed last")
	errUsed      = errors.New("this sign-in was completed before: begin a new one")
)

// Finish completes the sign-in with the whole address that the browser ended at. After an address that does not belong to it
// another can be given.
func (p *Pasted) Finish(ctx context.Context, address string) error {
	r, err := parseRedirect(address)
	if err != nil {
		return err
	}
	if !same(r.state, p.state) {
		return errOther
	}
	p.mu.Lock()
	used := p.used
	p.used = true
	p.mu.Unlock()
	switch {
	case used:
		return errUsed
	case r.refused != "":
		return reported(r.refused)
	}
	_, err = p.accounts.exchange(ctx, p.attempt, r.code)
	return err
}

// PasteAgain reports whether another address can be pasted after an error of [Pasted.Finish].
func PasteAgain(err error) bool {
	return errors.Is(err, errNoAddress) || errors.Is(err, errConsent) || errors.Is(err, errOther)
}

// redirect is what the address has that a browser ends at.
type redirect struct{ state, code, refused string }

// parseRedirect reads an address as people paste it: with spaces, quotes or angle brackets around it. Its errors do not show it.
func parseRedirect(text string) (redirect, error) {
	text = strings.Trim(text, " \t\r\n\"'<>`")
	u, err := url.Parse(text)
	if err != nil || len(text) > 2*maxCode || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return redirect{}, errNoAddress
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return redirect{}, errNoAddress
	}
	r := redirect{q.Get("state"), q.Get("code"), q.Get("error")}
	switch {
	case q.Has("code_challenge"):
		return redirect{}, errConsent
	case len(q["state"]) != 1 || r.state == "" || u.Path != callbackPath || len(q["code"])+len(q["error"]) != 1 || r.code == "" && r.refused == "" || len(r.code) > maxCode:
		return redirect{}, errNoAddress
	}
	return r, nil
}
