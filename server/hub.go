package server

import (
	"slices"
	"sync"
)

// change is something that clients may want to hear of.
type change struct {
	method string // of the notification
	uri    string // of the document that has changed, if it is one
}

// hub tells clients what has changed.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener is somebody who wants to hear of changes. The same change twice,
// before the listener has come to it, is one.
type listener struct {
	wants func(change) bool
	wake  chan struct{}

	mu      sync.Mutex
	pending []change
}

// join makes one a listener to the changes it wants, until leave.
func (h *hub) join(wants func(change) bool) *listener {
	l := &listener{wants: wants, wake: make(chan struct{}, 1)}
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

// note has the listener hear of a change.
func (l *listener) note(c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.pending, c) {
		l.pending = append(l.pending, c)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns what has changed since it was called last.
func (l *listener) take() []change {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes := l.pending
	l.pending = nil
	return changes
}
