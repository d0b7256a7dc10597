// Package console is the page on which people see what the servers of a user do, and act on it: calls, approvals,
// policy, other servers, principals, usage, the audit and clients. It shows what the commands of the program
// print as JSON, what servers tell on their sockets (package live), and the record of what was done.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/approval"
	"github.com/toolserver/toolserver/identity"
	"github.com/toolserver/toolserver/sandbox"
)

// Options are what a console shows.
type Options struct {
	// Run runs a command of the program with --json, as the person who runs the console, and returns what it prints.
	// The error has what it says of what is wrong; what was printed before is returned beside it.
	Run func(ctx context.Context, args ...string) ([]byte, error)
	// Login begins a sign-in to another server, and returns the address at which a browser goes on.
	Login func(server string) (address string, err error)
	// Record opens the directory of the record.
	Record func() (*os.Root, error)
	// Sockets opens the directory with the sockets of servers, see package live.
	Sockets func() (*os.Root, error)
	Desk    *approval.Desk
	// State keeps the secret of the console.
	State *sandbox.State
	// User is the ID of who opens a one-time address.
	User string
	// Public is where browsers reach it through a proxy with TLS; nil for an address on loopback.
	Public *url.URL
	// SignIn returns how somebody shows who they are, and Groups are those who may come in then. Both are nil where only
	// one-time addresses sign in.
	SignIn func() *identity.Identify
	Groups func() []string
	// Note records what somebody has done on a page; nil where that is the person who runs the program, whose commands are recorded.
	Note func(who, what string)
}

// A Console serves the pages. It is safe for concurrent use.
type Console struct {
	Options
	door *door
	mux  *http.ServeMux
	feed feed

	watches atomic.Int32 // pages that are kept up to date
}

//go:embed web
var files embed.FS

// Bounds of the server of a console.
const (
	maxForm     = 64 << 10 // bytes
	runTime     = 30 * time.Second
	headerTime  = 10 * time.Second
	closingTime = 2 * time.Second
)

// New returns a console that is served on a listener.
func New(o Options, l net.Listener) (*Console, error) {
	d, err := newDoor(o.State, o.Public, l.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("the console's secret: %w", err)
	}
	c := &Console{Options: o, door: d, mux: http.NewServeMux()}
	c.feed.open = o.Record
	c.routes()
	return c, nil
}

// Address returns a new one-time address that signs in the browser that opens it first.
func (c *Console) Address() string { return c.door.address() }

// Serve serves the pages until ctx ends.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler: c, ReadHeaderTimeout: headerTime, ReadTimeout: runTime, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		defer cancel()
		stopped <- errors.Join(s.Shutdown(closing), s.Close())
	})()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}

// ServeHTTP admits a request or refuses it.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'nonce-"+nonce+"'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	base := c.door.path
	v := &visit{Console: c, w: w, r: r, nonce: nonce, base: base}
	rest, below := strings.CutPrefix(r.URL.Path, base)
	token, entering := strings.CutPrefix(rest, "in/")
	entering = entering && r.Method == http.MethodGet
	err := c.door.wrongHost(r)
	if err == nil {
		err = c.door.origin.Check(r)
	}
	switch {
	case err != nil:
		v.fail(http.StatusForbidden, err)
		return
	case !below:
		v.fail(http.StatusNotFound, errors.New("there is nothing here: open the address that toolserver console prints"))
		return
	case rest == "style.css" || rest == "script.js":
		http.ServeFileFS(w, r, files, "web/"+rest)
		return
	case entering && !c.door.redeem(token):
		v.fail(http.StatusForbidden, errors.New("this address was used already or is too old: have toolserver console print another one"))
		return
	case entering:
		v.admit(c.User, signedIn)
		return
	case rest == "sign-in" && c.SignIn != nil:
		v.signIn()
		return
	case rest == "back" && c.SignIn != nil:
		v.back()
		return
	}
	var in bool
	if v.who, in = c.door.who(r); !in {
		said := el("p", attr("role", "alert"), text("Sign in first: open the address that the terminal shows."))
		if c.SignIn != nil {
			said = el("p", el("a", attr("href", base+"sign-in"), text("Sign in")))
		}
		v.write(http.StatusUnauthorized, "Sign in", said)
		return
	}
	r.URL.Path = "/" + rest
	c.mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
}

type visitKey struct{}

// visit is a request, and the page that answers it.
type visit struct {
	*Console
	w http.ResponseWriter
	r *http.Request

	base, nonce string
	who         string // ID of who has signed in; empty for nobody
	problem     string // what went wrong, to be said at the top
}

// handle adds a route.
func (c *Console) handle(pattern string, do func(*visit)) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v := r.Context().Value(visitKey{}).(*visit)
		v.w, v.r = w, r
		if err := r.ParseForm(); err != nil { // what can be read of it would mean something else
			v.fail(http.StatusBadRequest, fmt.Errorf("what was sent cannot be read: %w", err))
			return
		}
		do(v)
	})
}

// tabs are the pages in the navigation.
var tabs = [...]struct{ path, name string }{
	{"", "Now"}, {"approvals", "Approvals"}, {"policy", "Policy"}, {"upstreams", "Upstreams"}, {"people", "People"}, {"usage", "Usage"}, {"audit", "Audit"},
	{"clients", "Clients"},
}

// show writes a page.
func (v *visit) show(title string, inner ...node) { v.write(http.StatusOK, title, inner...) }

func (v *visit) write(status int, title string, inner ...node) {
	var navigation, script node
	if v.who != "" {
		var links []node
		for _, t := range tabs {
			here := "/"+t.path == v.r.URL.Path
			links = append(links, el("a", attr("href", v.base+t.path), when(here, attr("aria-current", "page")), text(t.name),
				when(t.path == "approvals", el("span", class("badge"), id("approvals")))))
		}
		navigation = group(el("nav", append(links, attr("aria-label", "Pages"))...), v.post("sign-out", button("Sign out")))
		script = el("script", attr("src", v.base+"script.js"), attr("nonce", v.nonce), attr("defer"))
	}
	page := el("html", attr("lang", "en"),
		el("head", el("meta", attr("charset", "utf-8")), el("meta", attr("name", "viewport"), attr("content", "width=device-width, initial-scale=1")),
			el("title", text(title+" – toolserver")),
			el("link", attr("rel", "stylesheet"), attr("href", v.base+"style.css"), attr("nonce", v.nonce))),
		el("body", el("a", class("skip"), attr("href", "#main"), text("Skip to the content")),
			el("header", el("strong", text("toolserver")), navigation),
			el("main", id("main"), el("h1", text(title)), when(v.problem != "", el("p", class("problem"), attr("role", "alert"), lines(v.problem))), group(inner...)),
			script))
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n")
	_ = page.Render(&b) // to memory
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = b.WriteTo(v.w)
}

// fail says what is wrong with a request.
func (v *visit) fail(status int, err error) {
	v.problem = "" // which is the same
	v.write(status, http.StatusText(status), el("p", attr("role", "alert"), lines(err.Error())))
}

// did goes back to a page after something was done, or says why it was not.
func (v *visit) did(err error, page string) {
	if err != nil {
		v.fail(http.StatusUnprocessableEntity, err)
		return
	}
	v.note()
	http.Redirect(v.w, v.r, v.base+page, http.StatusSeeOther)
}

// note records what was done: the form that was sent.
func (v *visit) note() {
	if v.Note != nil {
		v.Note(v.who, strings.Trim(v.r.URL.Path+" "+v.r.Form.Encode(), "/ ")) // the address may have fields, too
	}
}
