package signin

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"toolserver/tools/httpcall"
)

// loopback serves the pages of the sign-ins that wait, on an address that only this machine reaches.
type loopback struct {
	desk    *Desk
	host    string // with the port
	server  *http.Server
	flows   []*Flow     // Desk.mu guards it
	closing *time.Timer // nil while a sign-in waits
}

const (
	startPath    = "/start/"
	callbackPath = "/callback"
	maxConns     = 20
)

// CompleteTime bounds what a sign-in is completed with.
const CompleteTime = 20 * time.Second

// redirect returns the address that authorization servers send browsers back to.
func (p *loopback) redirect() string { return "http://" + p.host + callbackPath }

// listen returns the listener, which begins with the first sign-in: on the port if that is free. The caller has the lock.
func (d *Desk) listen(port int) (*loopback, error) {
	if d.page != nil {
		if d.page.closing != nil {
			d.page.closing.Stop()
		}
		return d.page, nil
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && port != 0 {
		l, err = net.Listen("tcp4", "127.0.0.1:0")
	}
	if err != nil {
		var err6 error
		if l, err6 = net.Listen("tcp6", "[::1]:0"); err6 != nil {
			return nil, &httpcall.Failure{Type: "io_error", Message: "no loopback address can be listened on: " + err.Error(), Hint: "Sign in with " + d.config.Paste + "."}
		}
	}
	p := &loopback{desk: d, host: l.Addr().String()}
	p.server = &http.Server{
		Handler: p, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: CompleteTime + 10*time.Second,
	}
	p.server.SetKeepAlivesEnabled(false)
	d.page = p
	d.running.Go(func() { _ = p.server.Serve(netutil.LimitListener(l, maxConns)) }) // until it is closed
	return p, nil
}

// closeLater closes the listener unless another sign-in begins soon. The caller has the lock.
func (d *Desk) closeLater() {
	p := d.page
	p.closing = time.AfterFunc(d.config.Linger, func() {
		d.mu.Lock()
		idle := d.page == p && d.idle()
		if idle {
			d.page = nil
			d.running.Add(1)
		}
		d.mu.Unlock()
		if idle {
			p.close()
			d.running.Done()
		}
	})
}

// close stops listening, once the pages that are being sent are delivered.
func (p *loopback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if p.server.Shutdown(ctx) != nil {
		_ = p.server.Close() // a browser keeps a connection that it has not used
	}
}

// ServeHTTP answers browsers: those that followed the link, or come back from an authorization server.
func (p *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	path := r.URL.EscapedPath()
	id, isStart := strings.CutPrefix(path, startPath)
	switch {
	case r.Host != p.host: // a name that was rebound to this address
		page(w, http.StatusMisdirectedRequest, "Not accepted", "Open the sign-in link as it was given.")
	case !isStart && path != callbackPath:
		page(w, http.StatusNotFound, "Not found", "There is nothing here.")
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(strings.ToLower(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose")+r.Header.Get("X-Moz")), "prefetch"):
		page(w, http.StatusServiceUnavailable, "Not in advance", "This page is not loaded in advance.")
	case isStart:
		if f := p.find(func(f *Flow) bool { return Same(f.ID, id) }); f != nil {
			p.desk.start(w, r, f)
			return
		}
		page(w, http.StatusNotFound, "Sign-in over", "There is no such sign-in. "+again)
	case allowed(w, r, http.MethodGet):
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err == nil && len(q["state"]) == 1 {
			if f := p.find(func(f *Flow) bool { return Same(f.state, q["state"][0]) }); f != nil {
				p.desk.callback(w, r, f, q)
				return
			}
		}
		page(w, http.StatusBadRequest, "Not accepted", "This does not belong to a sign-in that waits. "+again)
	}
}

// find returns the sign-in that a secret belongs to, in a time that does not tell how much of it is right.
func (p *loopback) find(is func(*Flow) bool) (found *Flow) {
	p.desk.mu.Lock()
	defer p.desk.mu.Unlock()
	for _, f := range p.flows {
		if is(f) {
			found = f
		}
	}
	return found
}

// allowed reports whether a request has one of the methods, and answers it otherwise.
func allowed(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	page(w, http.StatusMethodNotAllowed, "Not accepted", "Open the sign-in link in a browser.")
	return false
}
