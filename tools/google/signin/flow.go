package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"toolserver/tools/httpcall"
)

// Flow is a sign-in that waits for a person.
type Flow struct {
	ID      string    // a name for elicitation
	URL     string    // that the person opens, on this machine
	Expires time.Time // when it is given up
	done    chan struct{}
	err     error // once done is closed

	attempt
	cookie string                       // of the browser that may complete it
	proves func(credential string) bool // nil if nothing has to be proved
	expiry *time.Timer

	// Accounts.mu guards these.
	tries int               // wrong credentials
	tried int               // credentials that are being checked
	taken bool              // its code is being exchanged, or was
	then  map[string]func() // called once it is done
}

// Bounds of sign-ins.
const (
	maxTries    = 5
	maxPending  = 64
	maxCode     = 4 << 10 // bytes
	maxForm     = 8 << 10
	cookiePath  = "/"
	cookieStart = "toolserver-signin-"
)

// Done is closed when the sign-in has succeeded, failed or expired.
func (f *Flow) Done() <-chan struct{} { return f.done }

// Err says why a sign-in that is done has failed, as a clause for people; nil if it has succeeded.
func (f *Flow) Err() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// OnDone has do called once a sign-in of [Accounts.Begin] is done; of several with the same key, the first. It returns that
// function: who calls it when the sign-in is done has waited for it, and it runs only once.
func (a *Accounts) OnDone(f *Flow, key string, do func()) (once func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := f.then[key]; ok {
		return known
	}
	once = sync.OnceFunc(do)
	switch {
	case a.closed:
	case f.over():
		go once() // which may wait for a client that does not read
	case len(f.then) < maxPending:
		f.then[key] = once
	}
	return once
}

// Begin returns the sign-in of a principal that waits for a person: the same one until it is done. An error is a
// [*httpcall.Failure].
func (a *Accounts) Begin(principal string, s Service) (*Flow, error) {
	o := owner{principal, s}
	if _, err := a.stored(o); err != nil && !errors.Is(err, ErrNoGrant) {
		return nil, err // what would be kept could not replace it
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.pending[o]; f != nil {
		return f, nil
	}
	switch {
	case a.closed:
		return nil, &httpcall.Failure{Type: "unreachable", Message: errClosed.Error(), Hint: "Try again later."}
	case len(a.pending) >= maxPending:
		return nil, &httpcall.Failure{Type: "overloaded", Message: "too many sign-ins wait for people", Hint: "Try again in 10 minutes."}
	}
	page, err := a.listen()
	if err != nil {
		return nil, err
	}
	f := &Flow{
		ID: secret(16), Expires: time.Now().Add(a.config.Patience), done: make(chan struct{}),
		attempt: newAttempt(o, "http://"+page.host+callbackPath), cookie: secret(16), then: map[string]func(){},
	}
	f.URL = "http://" + page.host + startPath + f.ID
	if a.config.Prove != nil {
		f.proves = a.config.Prove(principal)
	}
	f.expiry = time.AfterFunc(a.config.Patience, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !f.taken {
			a.end(f, errExpired)
		}
	})
	page.flows = append(slices.DeleteFunc(page.flows, func(f *Flow) bool { return f.over() && time.Now().After(f.Expires) }), f)
	if more := len(page.flows) - 2*maxPending; more > 0 { // late tabs of the first that are over see less
		page.flows = slices.DeleteFunc(page.flows, func(f *Flow) bool {
			drop := more > 0 && f.over()
			if drop {
				more--
			}
			return drop
		})
	}
	a.pending[o] = f
	if a.config.Open != nil && f.proves == nil {
		a.running.Go(func() { a.config.Open(f.URL) })
	}
	return f, nil
}

// over reports whether a sign-in is done.
func (f *Flow) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// end makes a sign-in done. The caller has the lock.
func (a *Accounts) end(f *Flow, err error) {
	if f.over() {
		return
	}
	f.expiry.Stop()
	f.err = err
	delete(a.pending, f.owner)
	close(f.done)
	for _, do := range f.then {
		go do()
	}
	if len(a.pending) == 0 && a.page != nil {
		a.closeLater()
	}
}

// start takes a person to Google, or asks for the proof first. It can be repeated.
func (a *Accounts) start(w http.ResponseWriter, r *http.Request, f *Flow) {
	if f.over() {
		page(w, http.StatusGone, "Sign-in over", "This sign-in is over. "+again)
		return
	}
	if f.proves == nil {
		if allowed(w, r, http.MethodGet) {
			f.setCookie(w)
			http.Redirect(w, r, a.consent(f.attempt), http.StatusFound)
		}
		return
	}
	switch {
	case r.Method == http.MethodGet && f.hasCookie(r):
		http.Redirect(w, r, a.consent(f.attempt), http.StatusFound)
	case r.Method != http.MethodPost:
		if allowed(w, r, http.MethodGet, http.MethodPost) {
			proofPage(w, http.StatusOK, f, "")
		}
	case new(http.CrossOriginProtection).Check(r) != nil:
		page(w, http.StatusForbidden, "Not accepted", "This was sent by another page. Open the sign-in link itself.")
	default:
		a.prove(w, r, f)
	}
}

// prove checks the credential of a person.
func (a *Accounts) prove(w http.ResponseWriter, r *http.Request, f *Flow) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	credential := strings.TrimSpace(r.PostFormValue("token"))
	a.mu.Lock()
	free := f.tries+f.tried < maxTries // so that parallel tries count
	if free {
		f.tried++
	}
	a.mu.Unlock()
	proved := free && credential != "" && f.proves(credential)
	a.mu.Lock()
	if free {
		f.tried--
		if !proved {
			f.tries++
		}
	}
	if f.tries >= maxTries {
		a.end(f, errTries)
	}
	a.mu.Unlock()
	switch {
	case proved:
		f.setCookie(w)
		onwardPage(w, a.consent(f.attempt)) // a redirect of a form is subject to form-action, wherever Google redirects to
	case f.over():
		page(w, http.StatusForbidden, "Sign-in over", "A wrong token was entered too often. "+again)
	case !free:
		proofPage(w, http.StatusTooManyRequests, f, "Other tokens are being checked. Try again.")
	default:
		proofPage(w, http.StatusForbidden, f, "This is not the token that belongs to this sign-in.")
	}
}

// callback completes the sign-in that Google has sent a browser back for. Whatever does not come from there leaves it as it is.
func (a *Accounts) callback(w http.ResponseWriter, r *http.Request, f *Flow, q url.Values) {
	code, refused := q.Get("code"), q.Get("error")
	switch {
	case !f.hasCookie(r):
		page(w, http.StatusForbidden, "Another browser", "This sign-in began in another browser. Open its link in this one.")
		return
	case code == "" && refused == "", len(code) > maxCode:
		page(w, http.StatusBadRequest, "Not accepted", "Google's answer is missing.")
		return
	}
	a.mu.Lock()
	first := !f.taken && !f.over()
	f.taken = true
	if first && refused != "" {
		a.end(f, reported(refused))
	}
	a.mu.Unlock()
	var g *grant
	if first && refused == "" {
		var err error
		g, err = a.exchange(a.ctx, f.attempt, code) // not the context of the request: a tab that is closed loses nothing
		a.mu.Lock()
		a.end(f, err)
		a.mu.Unlock()
	}
	switch err := f.Err(); {
	case g != nil:
		donePage(w, f, g, a.missing(f.owner.service, g.Scopes))
	case !first && err == nil:
		page(w, http.StatusOK, "Already complete", "This sign-in is already complete. You can close this tab.")
	case errors.Is(err, errDenied):
		page(w, http.StatusOK, "Not allowed", "You did not allow it, so nothing was changed. You can close this tab.")
	default:
		page(w, http.StatusBadGateway, "Sign-in failed", sentence(err)+" "+again)
	}
}

// setCookie binds a sign-in to the browser. Lax, since Strict would keep it from the callback, which comes from Google's page;
// and with a name of its own, since cookies of this host are shared by all its ports.
func (f *Flow) setCookie(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieStart + f.ID, Value: f.cookie, Path: cookiePath, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: max(1, int(time.Until(f.Expires).Seconds())),
	})
}

func (f *Flow) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(cookieStart + f.ID)
	return err == nil && same(c.Value, f.cookie)
}
