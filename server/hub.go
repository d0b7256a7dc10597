package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// hub tells clients that the tools have changed.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// listener is somebody who wants to hear of changes. Changes in quick
// succession are one.
type listener struct {
	changed chan struct{}
}

func (h *hub) join() *listener {
	l := &listener{changed: make(chan struct{}, 1)}
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

func (h *hub) toolsChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
}

// listen serves subscriptions/listen, the modern era's stream of changes: an
// acknowledgement of what can be had of what was asked for, then notifications
// that carry the subscription's id, and a result when the stream ends.
func (x *exchange) listen(ctx context.Context) {
	if !x.meta.modern {
		x.fail(&wireError{code: mcp.METHOD_NOT_FOUND, message: "subscriptions/listen belongs to protocol version " + mcp.ProtocolVersion20260728})
		return
	}
	wantTools := wantsToolChanges(x.msg.params)
	tag := map[string]json.RawMessage{mcp.MetaKeySubscriptionID: x.msg.id}
	allowed := map[string]bool{}
	if wantTools {
		allowed["toolsListChanged"] = true
	}
	l := x.server.hub.join()
	defer x.server.hub.leave(l)
	x.out.notify(notification(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": tag, "notifications": allowed}))
	for wantTools {
		select {
		case <-l.changed:
			x.out.notify(notification(mcp.MethodNotificationToolsListChanged, map[string]any{"_meta": tag}))
		case <-x.session.closing:
			wantTools = false
		case <-ctx.Done():
			wantTools = false
		}
	}
	x.answer(func(b []byte) []byte {
		return append(appendJSON(append(b, `{"resultType":"complete","_meta":`...), tag), '}')
	})
}

// wantsToolChanges reads the filter of subscriptions/listen.
func wantsToolChanges(params json.RawMessage) bool {
	var p struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	return json.Unmarshal(params, &p) == nil && p.Notifications.ToolsListChanged
}
