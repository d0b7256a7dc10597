package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/domain"
)

// watches are the documents that a session or a stream has subscribed to.
type watches struct {
	attach sync.Once // to the hub, with the first watch
	detach func()

	mu     sync.Mutex
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

// add begins to watch a document for who, and has changed called when it
// changes.
func (w *watches) add(s *Server, who caller, uri string, changed func()) error {
	w.attach.Do(func() { w.detach = s.hub.attach(w) }) // without the lock, which the hub takes while it holds its own
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.byURI[uri]; there || w.closed {
		return nil
	}
	if len(w.byURI) >= maxWatches {
		return &domain.Error{Code: domain.CodeInvalidParams, Message: fmt.Sprintf("there are %d subscriptions already; end some first", maxWatches)}
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

// start watches the document that a catalog has under uri.
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

// revise holds the subscriptions to a catalog that is in force now. Those to a
// resource that has not changed go on as they are; the others begin again, or end
// if whoever subscribed may no longer read it.
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

// remove ends the watch of a document. One that is not watched is no error.
func (w *watches) remove(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byURI[uri]; one != nil {
		one.end()
		delete(w.byURI, uri)
	}
}

// close ends all watches, for good.
func (w *watches) close() {
	w.mu.Lock()
	for _, one := range w.byURI {
		one.end()
	}
	w.byURI, w.closed = nil, true
	w.mu.Unlock()
	w.attach.Do(func() { w.detach = func() {} })
	w.detach()
}

// subscribe serves resources/subscribe: the session's stream carries changes.
func (x *exchange) subscribe() {
	uri, wrong := x.text("uri", x.params.uri)
	if wrong != nil {
		x.fail(wrong)
		return
	}
	ses := x.session
	err := x.server.exec.CountList(x.domain(), x.msg.method)
	if err == nil {
		err = ses.watches.add(x.server, x.who, uri, func() { ses.tell(updated(uri)) })
	}
	if err != nil {
		x.failWith(err)
		return
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
func (s *session) join(h *hub, who caller) (l *listener, leave func()) {
	l = h.join(who, func(change) bool { return s.protocolVersion() != "" })
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
	if err := x.server.exec.CountList(x.domain(), x.msg.method); err != nil {
		x.failWith(err)
		return
	}
	owner := x.session.owner
	if !x.server.streams.TryAcquire(owner, 1) {
		x.fail(busyWith("streams"))
		return
	}
	defer x.server.streams.Release(owner, 1)
	asked := readFilter(x.msg.params)
	tag := map[string]json.RawMessage{mcp.MetaKeySubscriptionID: x.msg.id}
	granted := mcp.SubscriptionFilter{
		ToolsListChanged: asked.ToolsListChanged, PromptsListChanged: asked.PromptsListChanged, ResourcesListChanged: asked.ResourcesListChanged,
	}
	var docs watches
	defer docs.close()
	expired, stop := expiry(x.who.principal)
	defer func() { stop() }()
	l := x.server.hub.join(x.who, func(c change) bool {
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
		if docs.add(x.server, x.who, uri, func() { l.note(updated(uri)) }) == nil {
			granted.ResourceSubscriptions = append(granted.ResourceSubscriptions, uri)
		}
	}
	x.out.notify(notification(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": tag, "notifications": granted}))
	for open := !granted.IsEmpty(); open; {
		select {
		case <-l.wake:
			var changes []change
			var now domain.Principal
			changes, now, open = l.take(x.who, x.server.exec.Registry.Catalog())
			stop()
			expired, stop = expiry(now)
			for _, c := range changes {
				x.out.notify(changed(c, tag))
			}
		case <-expired:
			open = false
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
