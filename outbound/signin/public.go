package signin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pages serves the pages of sign-ins to browsers.
type Pages struct {
	base string // the address that browsers know it by, without a slash at its end
	path string // of base
	host string // that requests must be for; empty for any, since a proxy may have changed it

	mu    sync.Mutex
	flows []*Flow
}

// Browsers begin below the first path, and come back to the second: below the first if other machines reach it, and else at the root, where
// authorization servers have it registered.
const (
	startPath    = "/connect/"
	callbackPath = "/callback"
)

// NewPages returns the pages of all desks of a server that browsers reach at base, which is a URL.
func NewPages(base string) *Pages {
	u, _ := url.Parse(base) // was checked
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	return &Pages{base: u.Scheme + "://" + u.Host + path, path: path}
}

// redirect returns the address that authorization servers send browsers back to.
func (p *Pages) redirect() string {
	if p.host != "" {
		return p.base + callbackPath
	}
	return p.base + strings.TrimSuffix(startPath, "/") + callbackPath
}

// secure reports whether browsers connect with TLS.
func (p *Pages) secure() bool { return strings.HasPrefix(p.base, "https:") }

// keep adds a sign-in to those whose pages are served. Of too many, the first that is over is no longer: late tabs see less.
func (p *Pages) keep(f *Flow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flows = append(slices.DeleteFunc(p.flows, func(f *Flow) bool { return f.over() && time.Now().After(f.Expires) }), f)
	if over := slices.IndexFunc(p.flows, (*Flow).over); over >= 0 && len(p.flows) > 2*MaxPending {
		p.flows = slices.Delete(p.flows, over, over+1)
	}
}

// ServeHTTP answers the browsers of a listener that serves nothing else.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.Serve(w, r) {
		page(w, http.StatusNotFound, "Not found", "There is nothing here.")
	}
}

// Serve answers browsers: those that followed the link, or come back from an authorization server. It reports whether a request
// was for one of the pages.
func (p *Pages) Serve(w http.ResponseWriter, r *http.Request) bool {
	h := w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	path := strings.TrimPrefix(r.URL.EscapedPath(), p.path) // which a proxy may have removed
	isBack := p.base+path == p.redirect()
	id, isStart := strings.CutPrefix(path, startPath)
	if !isStart && !isBack {
		return false
	}
	switch {
	case p.host != "" && r.Host != p.host: // a name that was rebound to this address
		page(w, http.StatusMisdirectedRequest, "Not accepted", "Open the sign-in link as it was given.")
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(strings.ToLower(r.Header.Get("Sec-Purpose")+r.Header.Get("Purpose")+r.Header.Get("X-Moz")), "prefetch"):
		page(w, http.StatusServiceUnavailable, "Not in advance", "This page is not loaded in advance.")
	case !isBack:
		if f := p.find(func(f *Flow) bool { return Same(f.ID, id) }); f != nil {
			f.desk.start(w, r, f)
		} else {
			page(w, http.StatusNotFound, "Sign-in over", "There is no such sign-in. "+again)
		}
	case allowed(w, r, http.MethodGet):
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err == nil && len(q["state"]) == 1 {
			if f := p.find(func(f *Flow) bool { return Same(f.state, q["state"][0]) }); f != nil {
				f.desk.callback(w, r, f, q)
				return true
			}
			if f := p.find(func(f *Flow) bool { return f.asks(q["state"][0]) }); f != nil {
				f.desk.identified(w, r, f, q)
				return true
			}
		}
		page(w, http.StatusBadRequest, "Not accepted", "This does not belong to a sign-in that waits. "+again)
	}
	return true
}

// find returns the sign-in that a secret belongs to, in a time that does not tell how much of it is right.
func (p *Pages) find(is func(*Flow) bool) (found *Flow) {
	p.mu.Lock()
	defer p.mu.Unlock()
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

// foreign reports whether a form was sent by another page.
func (p *Pages) foreign(r *http.Request) bool {
	own := http.NewCrossOriginProtection()
	u, _ := url.Parse(p.base)
	return own.AddTrustedOrigin(u.Scheme+"://"+u.Host) != nil || own.Check(r) != nil // a proxy may have changed Host
}
