package signin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/url"
	"strconv"
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

// Errors of sign-ins, as clauses for people.
var (
	errExpired = errors.New("nobody completed it in time")
	errTries   = errors.New("a wrong token was entered too often")
)

// DeniedError is the error of a sign-in that a person has not allowed.
type DeniedError struct{ Provider string }

func (e DeniedError) Error() string { return "it was not allowed on " + e.Provider + "'s page" }

// Errors of pasted addresses. They can be corrected by pasting again.
var (
	ErrNoAddress = errors.New("this is not the address that the browser ended at: paste all of it, with what follows the ?")
	ErrConsent   = errors.New("this is the address that the sign-in begins with: open it, allow the access, and paste the address that the browser ends at")
	ErrOther     = errors.New("this address belongs to another sign-in: open the URL that was printed last")
)

// ErrUsed is the error of an address that is pasted twice.
var ErrUsed = errors.New("this sign-in was completed before: begin a new one")

// PasteAgain reports whether another address can be pasted after an error of [Pasted.Finish].
func PasteAgain(err error) bool {
	return errors.Is(err, ErrNoAddress) || errors.Is(err, ErrConsent) || errors.Is(err, ErrOther)
}

// Secret returns a text of n bytes that nobody can guess.
func Secret(n int) string { return base64.RawURLEncoding.EncodeToString(random(n)) }

// Same compares secrets.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Unused returns an address for a redirect that only the address bar of a browser has to show: the public one, or one that hardly
// anything listens on. Port 0 stands for any.
func (h Host) Unused(port int) string {
	if h.PublicURL != "" {
		return NewPages(h.PublicURL).redirect()
	}
	if port == 0 {
		port = 49152 + rand.IntN(16384)
	}
	return "http://127.0.0.1:" + strconv.Itoa(port) + callbackPath
}

// Hashed returns what something is kept under: nothing of what callers or servers are called is in it.
func Hashed(whose string) string {
	sum := sha256.Sum256([]byte(whose))
	return hex.EncodeToString(sum[:])[:40]
}
