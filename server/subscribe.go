package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/domain"
)

// watches are the documents somebody has subscribed to.
type watches struct {
	mu    sync.Mutex
	byURI map[string]context.CancelFunc
}

// maxWatches bounds the subscriptions of one session or stream.
const maxWatches = 100

// add begins to watch a document for p, and has changed called when it changes.
func (w *watches) add(ctx context.Context, exec *domain.Executor, p domain.Principal, uri string, changed func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.byURI[uri]; there {
		return nil
	}
	if len(w.byURI) >= maxWatches {
		return &domain.Error{Code: domain.CodeInvalidParams, Message: fmt.Sprintf("%d subscriptions are there already; end some first", maxWatches)}
	}
	ctx, cancel := context.WithCancel(ctx)
	if err := watch(ctx, exec, p, uri, changed); err != nil {
		cancel()
		return err
	}
	if w.byURI == nil {
		w.byURI = map[string]context.CancelFunc{}
	}
	w.byURI[uri] = cancel
	return nil
}

// watch watches a document until ctx ends. When the configuration changes it
// begins anew, or ends if p may no longer read the document.
func watch(ctx context.Context, exec *domain.Executor, p domain.Principal, uri string, changed func()) error {
	replaced := exec.Library.Replaced()
	r, at, err := exec.FindResource(p, uri)
	if err != nil {
		return err
	}
	if r.Watch == nil {
		return &domain.Error{Code: domain.CodeInvalidParams, Message: fmt.Sprintf("resource %s cannot be subscribed to: nothing tells when it changes", uri)}
	}
	run, end := context.WithCancel(ctx)
	if err := r.Watch(run, at, changed); err != nil {
		end()
		return err
	}
	stay := context.AfterFunc(replaced, func() {
		end()
		if ctx.Err() == nil && watch(ctx, exec, p, uri, changed) == nil {
			changed() // it may have, in between
		}
	})
	context.AfterFunc(run, func() { stay() })
	return nil
}

// remove ends the watch of a document. One that is not watched is no error.
func (w *watches) remove(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel := w.byURI[uri]; cancel != nil {
		cancel()
		delete(w.byURI, uri)
	}
}

func (w *watches) removeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.byURI {
		cancel()
	}
	w.byURI = nil
}

// subscribe serves resources/subscribe: the session's stream tells of changes.
func (x *exchange) subscribe() {
	uri, wrong := x.text("uri", x.params.uri)
	if wrong != nil {
		x.fail(wrong)
		return
	}
	ses := x.session
	changed := func() { ses.tell(change{mcp.MethodNotificationResourceUpdated, uri}) }
	if err := ses.watches.add(context.Background(), x.server.exec, ses.principal, uri, changed); err != nil {
		x.fail(x.wireError(err))
		return
	}
	if ses.closed() { // it may have ended meanwhile
		ses.watches.removeAll()
	}
	x.answer(func(b []byte) []byte { return append(b, "{}"...) })
}

// unsubscribe serves resources/unsubscribe.
func (x *exchange) unsubscribe() {
	uri, wrong := x.text("uri", x.params.uri)
	if wrong != nil {
		x.fail(wrong)
		return
	}
	x.session.watches.remove(uri)
	x.answer(func(b []byte) []byte { return append(b, "{}"...) })
}

// join makes a stream of the session one that tells of changes: of those of
// lists, once the client has shaken hands, and of documents it has subscribed
// to.
func (s *session) join(h *hub) (l *listener, leave func()) {
	l = h.join(func(change) bool { return s.protocolVersion() != "" })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, l)
	return l, func() {
		h.leave(l)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.streams = slices.DeleteFunc(s.streams, func(other *listener) bool { return other == l })
	}
}

// tell has the session's streams tell of a change.
func (s *session) tell(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.streams {
		l.note(c)
	}
}

// changed returns the notification of a change. Tag is the _meta it carries, or
// nil.
func changed(c change, tag any) []byte {
	params := map[string]any{}
	if c.uri != "" {
		params["uri"] = c.uri
	}
	if tag != nil {
		params["_meta"] = tag
	}
	if len(params) == 0 {
		return notification(c.method, nil)
	}
	return notification(c.method, params)
}

// listen serves subscriptions/listen, the modern era's stream of changes: an
// acknowledgement of what can be had of what was asked for, then notifications
// that carry the subscription's id, and a result when the stream ends.
func (x *exchange) listen(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := readFilter(x.msg.params)
	tag := map[string]json.RawMessage{mcp.MetaKeySubscriptionID: x.msg.id}
	granted := mcp.SubscriptionFilter{
		ToolsListChanged: asked.ToolsListChanged, PromptsListChanged: asked.PromptsListChanged, ResourcesListChanged: asked.ResourcesListChanged,
	}
	var docs watches
	l := x.server.hub.join(func(c change) bool {
		switch c.method {
		case mcp.MethodNotificationToolsListChanged:
			return asked.ToolsListChanged
		case mcp.MethodNotificationPromptsListChanged:
			return asked.PromptsListChanged
		case mcp.MethodNotificationResourcesListChanged:
			return asked.ResourcesListChanged
		}
		return false // documents tell this listener alone
	})
	defer x.server.hub.leave(l)
	for _, uri := range asked.ResourceSubscriptions {
		update := change{mcp.MethodNotificationResourceUpdated, uri}
		if docs.add(ctx, x.server.exec, x.session.principal, uri, func() { l.note(update) }) == nil {
			granted.ResourceSubscriptions = append(granted.ResourceSubscriptions, uri)
		}
	}
	x.out.notify(notification(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": tag, "notifications": granted}))
	for open := !granted.IsEmpty(); open; {
		select {
		case <-l.wake:
			for _, c := range l.take() {
				x.out.notify(changed(c, tag))
			}
		case <-x.session.closing:
			open = false
		case <-ctx.Done():
			open = false
		}
	}
	x.answer(func(b []byte) []byte {
		return append(appendJSON(append(b, `{"resultType":"complete","_meta":`...), tag), '}')
	})
}

// readFilter reads what subscriptions/listen asks for.
func readFilter(params json.RawMessage) mcp.SubscriptionFilter {
	var p struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	_ = json.Unmarshal(params, &p) // what cannot be read is not asked for
	return p.Notifications
}
