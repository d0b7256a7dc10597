// Package signin has people sign in to services of others with OAuth: it serves the pages that a sign-in begins and ends with on
// an address that only this machine reaches, and takes pasted addresses from people on machines without a browser. What is asked
// for, and what becomes of the answer, is the caller's.
package signin

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/toolserver/toolserver/outbound/httpcall"
)

// Config says how the sign-ins of a desk are conducted.
type Config struct {
	For   string // whose settings a sign-in depends on, for people: "Google"
	Paste string // the command that signs in without these pages
	Host
	// Open shows the address of a new sign-in to the person at this machine; nil does not.
	Open func(address string)
	// Patience is how long a sign-in waits for a person; 0 means 10 minutes.
	Patience time.Duration
	// Linger is how long the listener stays after the last sign-in, for second tabs; 0 means 3 seconds.
	Linger time.Duration
}

// Host is the server that people sign in at. The functions may be nil.
type Host struct {
	Serving func() bool // whether the process lives on after a call
	// Prove returns what checks the credential that a principal is asked for before going on: who opens a link that somebody else
	// sent has another. It returns nil for the person at this machine, who is not asked.
	Prove func(principal string) func(credential string) bool
	// Identify returns what has an identity provider say whether somebody at a browser is a principal, instead of a credential; nil where none
	// can. It may be nil.
	Identify func(principal string) Identifier
	// Public returns the pages that people's browsers reach on this server; nil where they are served on an address of this machine.
	Public    func() *Pages
	PublicURL string // of the server that Public is of, also while that does not run
	Keeping   Keeping
	// Step is told how a sign-in of a principal to something goes on, for the log; it may be nil.
	Step func(principal, to, step string)
}

// Desk keeps the sign-ins that wait for people. It is safe for concurrent use.
type Desk struct {
	config Config
	ctx    context.Context // of sign-ins
	cancel context.CancelFunc

	mu      sync.Mutex
	pending map[string]*Flow // by the keys of requests
	holds   int              // callers of Listen
	page    *loopback        // nil while no sign-in waits
	closed  bool
	running sync.WaitGroup // the goroutines of listeners
}

// New returns a desk. It listens when the first sign-in begins.
func New(c Config) *Desk {
	if c.Patience <= 0 {
		c.Patience = 10 * time.Minute
	}
	if c.Linger <= 0 {
		c.Linger = 3 * time.Second
	}
	d := &Desk{config: c, pending: map[string]*Flow{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Request is what a person is asked to sign in to, and what becomes of the answer.
type Request struct {
	Key       string // who asks for what: as long as a sign-in waits, the next with its key is the same
	Title     string // what is signed in to: "Gmail"
	Account   string // whose account that connects: "a Google account"
	Provider  string // whose page asks for consent: "Google"
	Principal string // who it is connected with
	Caller    string // ID of the principal who asks for it
	// Consent returns the address where consent is asked for, which leads back to redirect.
	Consent func(redirect, state string) string
	// Complete makes a grant of the answer. Its errors are clauses for people.
	Complete func(ctx context.Context, answer Answer) (Done, error)
}

// Answer is what an authorization server has sent a browser back with. One of Code and Refused is set.
type Answer struct {
	Redirect string // where to
	Code     string
	Refused  string // an error code
	Why      string // its description
	Issuer   string // who says so (RFC 9207)
	state    string
}

// answerOf returns what the query of a redirect has, and whether that is an answer.
func answerOf(redirect string, q url.Values) (Answer, bool) {
	a := Answer{redirect, q.Get("code"), q.Get("error"), q.Get("error_description"), q.Get("iss"), q.Get("state")}
	single := len(q["iss"]) <= 1 && len(q["code"])+len(q["error"]) == 1 && len(q["state"]) == 1
	return a, single && (a.Code != "" || a.Refused != "") && len(a.Code) <= MaxCode
}

// Done is what a page says that a sign-in has connected.
type Done struct {
	Account string   // whose; may be empty
	Missing []string // what was not granted, as the end of "Not possible:"
}

// Listen returns the address that sign-ins lead back to, for who has to know it before one begins: on the port, if that is
// free, or on any with port 0. It stays the same until release is called and no sign-in waits. The error is a
// [*httpcall.Failure].
func (d *Desk) Listen(port int) (redirect string, release func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return "", nil, d.closedFailure()
	}
	page, err := d.listen(port)
	if err != nil {
		return "", nil, err
	}
	d.holds++
	return page.redirect(), sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.holds--; d.idle() && d.page != nil {
			d.closeLater()
		}
	}), nil
}

// idle reports whether nothing needs the listener. The caller has the lock.
func (d *Desk) idle() bool { return d.holds == 0 && len(d.pending) == 0 }

// Waiting returns the sign-in with a key that waits for a person, or nil.
func (d *Desk) Waiting(key string) *Flow {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pending[key]
}

// Begin returns the sign-in of a request that waits for a person: the same one until it is done. An error is a
// [*httpcall.Failure].
func (d *Desk) Begin(r Request) (*Flow, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.pending[r.Key]; f != nil {
		return f, nil
	}
	switch {
	case d.closed:
		return nil, d.closedFailure()
	case len(d.pending) >= MaxPending:
		return nil, &httpcall.Failure{Type: "overloaded", Message: "too many sign-ins wait for people", Hint: "Try again in 10 minutes."}
	}
	page, err := d.listen(0)
	if err != nil {
		return nil, err
	}
	f := &Flow{
		ID: Secret(16), Public: page.host == "", Expires: time.Now().Add(d.config.Patience),
		desk: d, pages: page, done: make(chan struct{}), request: r, state: Secret(32),
		redirect: page.redirect(), cookie: Secret(16), then: map[string]func(){},
	}
	if d.config.Identify != nil {
		f.identify = d.config.Identify(r.Caller)
	}
	if f.identify == nil && d.config.Prove != nil {
		f.prove = d.config.Prove(r.Caller)
	}
	f.URL = page.base + startPath + f.ID
	f.expiry = time.AfterFunc(d.config.Patience, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !f.taken {
			d.end(f, errExpired)
		}
	})
	page.keep(f)
	d.pending[r.Key] = f
	f.step("waits for a person")
	if d.config.Open != nil && f.prove == nil {
		d.running.Go(func() { d.config.Open(f.URL) })
	}
	return f, nil
}

// end makes a sign-in done. The caller has the lock.
func (d *Desk) end(f *Flow, err error) {
	if f.over() {
		return
	}
	f.expiry.Stop()
	if f.err = err; err != nil {
		f.step("failed: " + err.Error())
	} else {
		f.step("is complete")
	}
	delete(d.pending, f.request.Key)
	close(f.done)
	for _, do := range f.then {
		go do()
	}
	if d.idle() && d.page != nil {
		d.closeLater()
	}
}

// closedError is the error of sign-ins that a desk ends when it is closed.
func (d *Desk) closedError() error {
	return errors.New("the server is shutting down, or its settings for " + d.config.For + " have changed")
}

func (d *Desk) closedFailure() error {
	return &httpcall.Failure{Type: "unreachable", Message: d.closedError().Error(), Hint: "Try again later."}
}

// Close ends the sign-ins that wait, and waits until their pages are delivered.
func (d *Desk) Close() error {
	d.mu.Lock()
	d.closed = true
	page := d.page
	d.page = nil
	for _, f := range d.pending {
		d.end(f, d.closedError())
	}
	d.mu.Unlock()
	d.cancel()
	if page != nil {
		page.close()
	}
	d.running.Wait()
	return nil
}
