package signin

import (
	"context"
	"net/url"
	"strings"
	"sync"
)

// Pasted is a sign-in on a machine without a browser: the person opens the URL on another, and pastes the address that it
// ends at, which need not show a page.
type Pasted struct {
	URL string // where consent is asked for

	redirect, state string
	request         Request
	mu              sync.Mutex
	used            bool
}

// Paste begins a sign-in that leads to a redirect of [Host.Unused] and is completed with [Pasted.Finish].
func Paste(redirect string, r Request) *Pasted {
	p := &Pasted{redirect: redirect, state: Secret(32), request: r}
	p.URL = r.Consent(redirect, p.state)
	return p
}

// Finish completes the sign-in with the whole address that the browser ended at. After an address that does not belong to it
// another can be given.
func (p *Pasted) Finish(ctx context.Context, address string) error {
	a, err := parseRedirect(address)
	if err != nil {
		return err
	}
	if !Same(a.state, p.state) {
		return ErrOther
	}
	p.mu.Lock()
	used := p.used
	p.used = true
	p.mu.Unlock()
	if used {
		return ErrUsed
	}
	a.Redirect = p.redirect
	_, err = p.request.Complete(ctx, a)
	return err
}

// parseRedirect reads an address as people paste it: with spaces, quotes or angle brackets around it. Its errors do not show it.
func parseRedirect(text string) (Answer, error) {
	text = strings.Trim(text, " \t\r\n\"'<>`")
	u, err := url.Parse(text)
	if err != nil || len(text) > 2*MaxCode || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Answer{}, ErrNoAddress
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Answer{}, ErrNoAddress
	}
	a, ok := answerOf("", q)
	switch {
	case q.Has("code_challenge"):
		return Answer{}, ErrConsent
	case !ok || a.state == "" || !strings.HasSuffix(u.Path, callbackPath):
		return Answer{}, ErrNoAddress
	}
	return a, nil
}
