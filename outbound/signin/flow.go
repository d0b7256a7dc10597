package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Flow is a sign-in that waits for a person.
type Flow struct {
	ID      string    // a name for elicitation
	URL     string    // that the person opens
	Public  bool      // on any machine, not only on that of the server
	Expires time.Time // when it is given up
	done    chan struct{}
	err     error // once done is closed

	desk            *Desk
	pages           *Pages
	prove           func(credential string) bool // checks who the person is; nil asks for nothing
	identify        Identifier                   // does so instead; may be nil
	request         Request
	state, redirect string
	cookie          string // of the browser that may complete it
	expiry          *time.Timer

	asking sync.Mutex
	asked  []string // states of browsers of which the identity provider is asked whose they are; guarded by asking

	// Desk.mu guards these.
	tries int               // wrong credentials
	tried int               // credentials that are being checked
	taken bool              // its code is being exchanged, or was
	then  map[string]func() // called once it is done
}

// Bounds of sign-ins.
const (
	MaxTries    = 5       // wrong credentials
	MaxPending  = 64      // sign-ins of a desk that wait
	MaxCode     = 4 << 10 // bytes
	maxForm     = 8 << 10
	cookiePath  = "/"
	cookieStart = "toolserver-signin-"
	askedCookie = "-who" // after the name
)

// Done is closed when the sign-in has succeeded, failed or expired.
func (f *Flow) Done() <-chan struct{} { return f.done }

// Err says why a sign-in that is done has failed, as a clause for people; nil if it has succeeded.
func (f *Flow) Err() error {
	if f.over() {
		return f.err
	}
	return nil
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

// OnDone has do called once the sign-in is done; of several with the same key, the first. It returns that
// function: who calls it when the sign-in is done has waited for it, and it runs only once.
func (f *Flow) OnDone(key string, do func()) (once func()) {
	d := f.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := f.then[key]; ok {
		return known
	}
	once = sync.OnceFunc(do)
	switch {
	case d.closed:
	case f.over():
		go once() // which may wait for a client that does not read
	case len(f.then) < MaxPending:
		f.then[key] = once
	}
	return once
}

// start takes a person to where consent is asked for, or asks for the proof first. It can be repeated.
func (d *Desk) start(w http.ResponseWriter, r *http.Request, f *Flow) {
	if f.over() {
		page(w, http.StatusGone, "Sign-in over", "This sign-in is over. "+again)
		return
	}
	if f.identify != nil {
		d.identify(w, r, f)
		return
	}
	if f.prove == nil {
		if allowed(w, r, http.MethodGet) {
			f.setCookie(w)
			f.step("goes on at " + f.request.Provider)
			http.Redirect(w, r, f.consent(), http.StatusFound)
		}
		return
	}
	switch {
	case r.Method == http.MethodGet && f.hasCookie(r):
		http.Redirect(w, r, f.consent(), http.StatusFound)
	case r.Method != http.MethodPost:
		if allowed(w, r, http.MethodGet, http.MethodPost) {
			proofPage(w, http.StatusOK, f, "")
		}
	case f.pages.foreign(r):
		page(w, http.StatusForbidden, "Not accepted", "This was sent by another page. Open the sign-in link itself.")
	default:
		d.prove(w, r, f)
	}
}

// An Identifier has an identity provider say whether somebody at a browser is a principal.
type Identifier interface {
	Begin(redirect, state string) (address string, err error)
	Finish(redirect string, answer url.Values) (bool, error)
}

// identify has the identity provider say who is at the browser, and goes on if that is the principal.
func (d *Desk) identify(w http.ResponseWriter, r *http.Request, f *Flow) {
	if !allowed(w, r, http.MethodGet) {
		return
	}
	address := f.consent()
	if !f.hasCookie(r) {
		var err error
		state := Secret(32)
		if address, err = f.identify.Begin(f.redirect, state); err != nil {
			page(w, http.StatusBadGateway, "Sign-in failed", "Your identity provider cannot be asked who you are now. Try again later.")
			f.step("cannot ask who is at the browser: " + err.Error())
			return
		}
		f.asking.Lock()
		f.asked = append(f.asked[max(0, len(f.asked)-MaxTries):], state)
		f.asking.Unlock()
		// The answer counts in this browser only: otherwise somebody could get their own answer and have another one open it.
		f.keepCookie(w, f.cookieName()+askedCookie, state)
	}
	http.Redirect(w, r, address, http.StatusFound)
}

// asks reports whether a state is one of a browser of which the identity provider was asked.
func (f *Flow) asks(state string) bool {
	f.asking.Lock()
	defer f.asking.Unlock()
	return slices.ContainsFunc(f.asked, func(s string) bool { return Same(s, state) })
}

// identified takes the answer of the identity provider. A link that was sent to somebody else ends here.
func (d *Desk) identified(w http.ResponseWriter, r *http.Request, f *Flow, answer url.Values) {
	if f.over() {
		page(w, http.StatusGone, "Sign-in over", "This sign-in is over. "+again)
		return
	}
	if c, err := r.Cookie(f.cookieName() + askedCookie); err != nil || !Same(c.Value, answer.Get("state")) {
		page(w, http.StatusForbidden, "Another browser", "This sign-in began in another browser. Open its link in this one.")
		return
	}
	is, err := f.identify.Finish(f.redirect, answer)
	switch {
	case err != nil:
		f.step("does not know who is at the browser: " + err.Error())
		page(w, http.StatusBadGateway, "Sign-in failed", "Your identity provider has not said who you are. Open the link again.")
	case !is:
		f.step("was opened by somebody else")
		page(w, http.StatusForbidden, "Not yours", "This link is for somebody else, and connects nothing with you. Ask for a sign-in yourself.")
	default:
		f.setCookie(w)
		http.Redirect(w, r, f.consent(), http.StatusFound)
	}
}

// prove checks the credential of a person.
func (d *Desk) prove(w http.ResponseWriter, r *http.Request, f *Flow) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	credential := strings.TrimSpace(r.PostFormValue("token"))
	d.mu.Lock()
	free := f.tries+f.tried < MaxTries // so that parallel tries count
	if free {
		f.tried++
	}
	d.mu.Unlock()
	proved := free && credential != "" && f.prove(credential)
	d.mu.Lock()
	if free {
		f.tried--
		if !proved {
			f.tries++
		}
	}
	if f.tries >= MaxTries {
		d.end(f, errTries)
	}
	d.mu.Unlock()
	switch {
	case proved:
		f.setCookie(w)
		onwardPage(w, f) // a redirect of a form is subject to form-action, wherever that page redirects to
	case f.over():
		page(w, http.StatusForbidden, "Sign-in over", "A wrong token was entered too often. "+again)
	case !free:
		proofPage(w, http.StatusTooManyRequests, f, "Other tokens are being checked. Try again.")
	default:
		proofPage(w, http.StatusForbidden, f, "This is not the token that belongs to this sign-in.")
	}
}

// callback completes the sign-in that an authorization server has sent a browser back for. Whatever does not come from there leaves it as it is.
func (d *Desk) callback(w http.ResponseWriter, r *http.Request, f *Flow, q url.Values) {
	answer, ok := answerOf(f.redirect, q)
	switch {
	case !f.hasCookie(r):
		page(w, http.StatusForbidden, "Another browser", "This sign-in began in another browser. Open its link in this one.")
		return
	case !ok:
		page(w, http.StatusBadRequest, "Not accepted", "The answer of "+f.request.Provider+" is missing.")
		return
	}
	d.mu.Lock()
	first := !f.taken && !f.over()
	f.taken = true
	d.mu.Unlock()
	var done Done
	if first {
		var err error
		f.step("was answered by " + f.request.Provider)
		done, err = f.request.Complete(d.ctx, answer) // not the context of the request: a tab that is closed loses nothing
		d.mu.Lock()
		d.end(f, err)
		d.mu.Unlock()
	}
	err := f.Err()
	_, denied := errors.AsType[DeniedError](err)
	switch {
	case first && err == nil:
		donePage(w, f, done)
	case err == nil:
		page(w, http.StatusOK, "Already complete", "This sign-in is already complete. You can close this tab.")
	case denied:
		page(w, http.StatusOK, "Not allowed", "You did not allow it, so nothing was changed. You can close this tab.")
	default:
		page(w, http.StatusBadGateway, "Sign-in failed", sentence(err)+" "+again)
	}
}

// step tells how it goes on.
func (f *Flow) step(what string) {
	if tell := f.desk.config.Step; tell != nil {
		tell(f.request.Caller, f.request.Title, what)
	}
}

// consent returns the address where consent is asked for.
func (f *Flow) consent() string { return f.request.Consent(f.redirect, f.state) }

// setCookie binds a sign-in to the browser. Lax, since Strict would keep it from the callback, which comes from another site's page;
// and with a name of its own, since cookies of this host are shared by all its ports.
func (f *Flow) setCookie(w http.ResponseWriter) {
	f.keepCookie(w, f.cookieName(), f.cookie)
}

func (f *Flow) keepCookie(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: cookiePath, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: f.pages.secure(),
		MaxAge: max(1, int(time.Until(f.Expires).Seconds())),
	})
}

func (f *Flow) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(f.cookieName())
	return err == nil && Same(c.Value, f.cookie)
}

// cookieName returns the name of the cookie. With its prefix, no neighbour in the domain can set it, who could otherwise have
// somebody complete a sign-in of their own.
func (f *Flow) cookieName() string {
	if f.pages.secure() {
		return "__Host-" + cookieStart + f.ID
	}
	return cookieStart + f.ID
}
