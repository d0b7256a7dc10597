package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
	"toolserver/jsonrpc"
)

// change is something that clients can subscribe to.
type change struct {
	method string // of the notification
	uri    string // of the resource that has changed, if it is one
}

func updated(uri string) change { return change{mcp.MethodNotificationResourceUpdated, uri} }

// notification returns the notification of a change. Tag is the _meta it
// carries, or nil.
func (c change) notification(tag any) []byte {
	params := map[string]any{}
	if c.uri != "" {
		params["uri"] = c.uri
	}
	if tag != nil {
		params["_meta"] = tag
	}
	if len(params) == 0 {
		return jsonrpc.Request(nil, c.method, nil)
	}
	return jsonrpc.Request(nil, c.method, params)
}

// hub passes changes on to the listeners of clients, and has their subscriptions
// revised whenever another catalog is in force.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	watches   map[*watches]struct{}
}

func newHub() *hub {
	return &hub{listeners: map[*listener]struct{}{}, watches: map[*watches]struct{}{}}
}

// publish passes a catalog on that is in force now, and what has changed with it.
func (h *hub) publish(c domain.Change, catalog *domain.Catalog, log *zap.Logger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		w.revise(catalog, log)
	}
	for l := range h.listeners {
		for i, changed := range []bool{c.Tools, c.Resources, c.Prompts} {
			if changed && l.wants(listsChanged[i]) {
				l.add(listsChanged[i])
			}
		}
		l.wakeUp() // even without: its credentials may no longer be accepted
	}
}

func (h *hub) attach(w *watches) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[w] = struct{}{}
}

func (h *hub) detach(w *watches) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
}

var listsChanged = [...]change{
	{method: mcp.MethodNotificationToolsListChanged}, {method: mcp.MethodNotificationResourcesListChanged}, {method: mcp.MethodNotificationPromptsListChanged},
}

// listener is a stream that carries changes. The same change twice, before it
// was sent, is one.
type listener struct {
	wants func(change) bool
	wake  chan struct{}

	mu      sync.Mutex
	pending []change
}

// join returns a listener for the list changes it wants, until leave.
func (h *hub) join(wants func(change) bool) (l *listener, leave func()) {
	l = &listener{wants: wants, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	return l, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, l)
	}
}

// add has the listener send a change.
func (l *listener) add(c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.pending, c) {
		l.pending = append(l.pending, c)
	}
	l.wakeUp()
}

func (l *listener) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *listener) take() (changes []change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes, l.pending = l.pending, nil
	return changes
}

// forward sends changes until ctx ends or the credentials of who are no longer
// accepted, or have expired. A principal whose groups or compliance level have
// changed may see other lists.
func (s *Server) forward(ctx context.Context, who caller, l *listener, send func(change)) {
	expired, stop := expiry(who.principal)
	defer func() { stop() }()
	for {
		select {
		case <-l.wake:
			now, ok := who.again()
			if !ok {
				return
			}
			if s.exec.Registry.Catalog().Private() &&
				(!slices.Equal(now.Groups, who.principal.Groups) || now.ComplianceLevel != who.principal.ComplianceLevel) {
				for _, list := range listsChanged {
					if l.wants(list) {
						l.add(list)
					}
				}
			}
			who.principal = now
			stop()
			expired, stop = expiry(now)
			for _, c := range l.take() {
				send(c)
			}
		case <-expired:
			return
		case <-ctx.Done():
			return
		}
	}
}

// expiry returns a channel that yields when a principal's credentials expire.
func expiry(p domain.Principal) (expired <-chan time.Time, stop func()) {
	if p.Expires.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(p.Expires))
	return timer.C, func() { timer.Stop() }
}

// join makes a stream of the session one that carries changes: of lists, once
// the handshake is complete, and of resources it has subscribed to.
func (s *session) join(h *hub) (l *listener, leave func()) {
	l, leaveHub := h.join(func(change) bool { return s.handshake().version != "" })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, l)
	return l, func() {
		leaveHub()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.streams = slices.DeleteFunc(s.streams, func(other *listener) bool { return other == l })
	}
}

// notify has the session's streams send a change.
func (s *session) notify(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.streams {
		l.add(c)
	}
}

// watches are the resources that a session or a stream has subscribed to.
type watches struct {
	mu     sync.Mutex
	hub    *hub // nil before the first
	byURI  map[string]*watch
	closed bool
}

// watch is one subscription.
type watch struct {
	who      caller
	changed  func()
	resource *domain.Resource // nil if there was none when it was last looked for
	end      context.CancelFunc
}

// maxWatches bounds the subscriptions of one session or stream.
const maxWatches = 100

// add subscribes to a resource for who: changed is called when it changes.
func (w *watches) add(s *Server, who caller, uri string, changed func()) error {
	s.hub.attach(w) // not while mu is held, which is taken while the hub's is
	late := false
	defer func() {
		if late {
			s.hub.detach(w)
		}
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hub, late = s.hub, w.closed
	if late {
		return nil
	}
	if _, there := w.byURI[uri]; there {
		return nil
	}
	if len(w.byURI) >= maxWatches {
		return &domain.Error{Code: domain.CodeInvalidParams, Message: fmt.Sprintf("there are already %d subscriptions; cancel some first", maxWatches)}
	}
	one := &watch{who: who, changed: changed}
	if err := one.start(s.exec.Registry.Catalog(), who.principal, uri); err != nil {
		return err
	}
	if w.byURI == nil {
		w.byURI = map[string]*watch{}
	}
	w.byURI[uri] = one
	return nil
}

// start watches the resource that a catalog has under uri.
func (one *watch) start(c *domain.Catalog, p domain.Principal, uri string) error {
	ctx, end := context.WithCancel(context.Background())
	r, err := c.Watch(ctx, p, uri, one.changed)
	if err != nil {
		end()
		return err
	}
	one.resource, one.end = r, end
	return nil
}

// restart is start where no request is served that would answer for a panic.
func (one *watch) restart(c *domain.Catalog, p domain.Principal, uri string, log *zap.Logger) (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("watching a resource panicked", zap.String("uri", domain.ClipName(uri)), zap.String("panic", fmt.Sprint(p)), zap.Stack("stack"))
		}
	}()
	return one.start(c, p, uri) == nil
}

// revise applies a catalog that is in force now. Subscriptions to a resource that
// has not changed go on as they are; the others begin again, or end if the
// subscriber may no longer read it.
func (w *watches) revise(c *domain.Catalog, log *zap.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri, one := range w.byURI {
		p, ok := one.who.again()
		if ok {
			if r, _, err := c.FindResource(p, uri); err == nil && r == one.resource {
				continue
			}
		}
		one.end()
		if !ok || !one.restart(c, p, uri, log) {
			delete(w.byURI, uri)
			continue
		}
		one.changed() // it may have, in between
	}
}

// remove ends a subscription. One that does not exist is no error.
func (w *watches) remove(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byURI[uri]; one != nil {
		one.end()
		delete(w.byURI, uri)
	}
}

// close ends all subscriptions, for good.
func (w *watches) close() {
	w.mu.Lock()
	for _, one := range w.byURI {
		one.end()
	}
	w.byURI, w.closed = nil, true
	h := w.hub
	w.mu.Unlock()
	if h != nil {
		h.detach(w)
	}
}
