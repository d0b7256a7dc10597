package server

import (
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
)

// change is something that clients can ask to be notified of.
type change struct {
	method string // of the notification
	uri    string // of the document that has changed, if it is one
}

// hub passes changes on to the streams and subscriptions of clients.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
	watches   map[*watches]struct{}
}

// listener is a stream that carries changes. The same change twice, before it
// was sent, is one.
type listener struct {
	wants func(change) bool
	wake  chan struct{}

	principal domain.Principal // as of the last take

	mu      sync.Mutex
	pending []change
}

// join adds a listener to the changes it wants, until leave.
func (h *hub) join(who caller, wants func(change) bool) *listener {
	l := &listener{wants: wants, wake: make(chan struct{}, 1), principal: who.principal}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = map[*listener]struct{}{}
	}
	h.listeners[l] = struct{}{}
	return l
}

func (h *hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

func (h *hub) publish(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.wants(c) {
			l.note(c)
		}
	}
}

// attach has watches revised whenever another catalog is in force, until the
// returned function is called.
func (h *hub) attach(w *watches) (detach func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches == nil {
		h.watches = map[*watches]struct{}{}
	}
	h.watches[w] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watches, w)
	}
}

// revise has subscriptions and streams look whether they may go on: a catalog
// is in force, and with it settings and identities, under which what was allowed
// may be no longer.
func (h *hub) revise(c *domain.Catalog, log *zap.Logger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		w.revise(c, log)
	}
	for l := range h.listeners {
		l.wakeUp()
	}
}

// note has the listener send a change.
func (l *listener) note(c change) {
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

// take returns the changes since it was last called, for the principal that who
// is now, and whether the stream may go on: not if their credentials are no
// longer accepted. A principal with other groups or another compliance level than
// before may see other lists.
func (l *listener) take(who caller, c *domain.Catalog) (changes []change, now domain.Principal, open bool) {
	if now, open = who.again(); !open {
		return nil, now, false
	}
	if c.Private() && (!slices.Equal(now.Groups, l.principal.Groups) || now.ComplianceLevel != l.principal.ComplianceLevel) {
		for _, list := range listsChanged {
			if l.wants(list) {
				l.note(list)
			}
		}
	}
	l.principal = now
	l.mu.Lock()
	defer l.mu.Unlock()
	changes, l.pending = l.pending, nil
	return changes, now, true
}

// listsChanged are the changes of lists.
var listsChanged = [...]change{
	{method: mcp.MethodNotificationToolsListChanged}, {method: mcp.MethodNotificationResourcesListChanged}, {method: mcp.MethodNotificationPromptsListChanged},
}

// expiry returns a channel that yields when a principal's credentials expire.
func expiry(p domain.Principal) (expired <-chan time.Time, stop func()) {
	if p.Expires.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(p.Expires))
	return timer.C, func() { timer.Stop() }
}

// updated is the change of a document.
func updated(uri string) change {
	return change{mcp.MethodNotificationResourceUpdated, uri}
}
