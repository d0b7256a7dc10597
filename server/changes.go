package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// change is something that clients can subscribe to.
type change struct {
	method    string // of the notification
	name, arg string // its parameter; empty for none
}

func completed(elicitation string) change {
	return change{string(mcp.MethodNotificationElicitationComplete), "elicitationId", elicitation}
}

func updated(uri string) change {
	return change{mcp.MethodNotificationResourceUpdated, "uri", uri}
}

var listsChanged = [...]change{
	{method: mcp.MethodNotificationToolsListChanged}, {method: mcp.MethodNotificationResourcesListChanged}, {method: mcp.MethodNotificationPromptsListChanged},
}

// notification returns the notification of a change. Tag is the _meta it
// carries, or nil.
func (c change) notification(tag any) []byte {
	params := map[string]any{}
	if c.name != "" {
		params[c.name] = c.arg
	}
	if tag != nil {
		params["_meta"] = tag
	}
	if len(params) == 0 {
		return jsonrpc.Request(nil, c.method, nil)
	}
	return jsonrpc.Request(nil, c.method, params)
}

// notification returns that of a change for the subscription with an ID, or for a session if
// that is nil. It is nil if there is nothing to say any more.
func (l *listener) notification(c change, id json.RawMessage) []byte {
	switch {
	case id == nil:
		return c.notification(nil)
	case c.method == notificationTasks:
		return l.server.tasks.notification(l.owner, c.arg, tag(id))
	}
	return c.notification(tag(id))
}

// hub has all listeners.
type hub struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

// changed passes on that a task has changed.
func (h *hub) changed(c change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if slices.Contains(l.tasks, c.arg) {
			l.add(c)
		}
	}
}

// stop ends the streams that answer requests of a principal, by its ID, or of all if that is empty.
func (h *hub) stop(owner string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if l.carrier != nil && (owner == "" || l.owner == owner) {
			l.carrier.stop()
		}
	}
}

// publish passes on what has changed with the catalog that is in force now.
func (s *Server) publish(c domain.Change) { s.Publish("", c) }

// Publish does so for a principal, by its ID, or for all if that is empty.
func (s *Server) Publish(owner string, c domain.Change) {
	s.hub.mu.Lock()
	listeners := slices.Collect(maps.Keys(s.hub.listeners)) // sessions begin and end while files are opened
	s.hub.mu.Unlock()
	for _, l := range listeners {
		if owner != "" && l.owner != owner {
			continue
		}
		l.revise()
		for i, changed := range []bool{c.Tools, c.Resources, c.Prompts} {
			if changed {
				l.addList(listsChanged[i])
			}
		}
		l.wakeUp() // even without: its credentials may no longer be accepted
	}
}

// Watches reports whether a principal, by its ID, has subscribed to documents.
func (s *Server) Watches(owner string) bool {
	s.hub.mu.Lock()
	listeners := slices.Collect(maps.Keys(s.hub.listeners))
	s.hub.mu.Unlock()
	return slices.ContainsFunc(listeners, func(l *listener) bool {
		l.watching.Lock()
		defer l.watching.Unlock()
		return l.owner == owner && len(l.watched) > 0
	})
}

// listener collects the changes that a session or a subscription is notified of:
// of lists, and of the resources it has subscribed to. The same change twice,
// before it was sent, is one.
type listener struct {
	server *Server
	owner  string // ID of the principal
	wants  func(list change) bool
	tasks  []string // that it is notified of, by ID

	carrier *stream // of a subscription over HTTP; nil of others; guarded by the mutex of the hub

	mu      sync.Mutex
	pending []change
	wake    func() // is called when there may be something to do; nil while nobody would

	watching sync.Mutex        // guards watched; locked before mu
	watched  map[string]*watch // by URI; nil after close
}

// watch is the subscription to one resource.
type watch struct {
	who      caller
	resource *domain.Resource
	end      context.CancelFunc
}

// maxWatches bounds the subscriptions of one listener.
const maxWatches = 100

// newListener returns a listener, in use until its close.
func (s *Server) newListener(owner string, wants func(list change) bool, tasks ...string) *listener {
	l := &listener{server: s, owner: owner, wants: wants, tasks: tasks, watched: map[string]*watch{}}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.listeners[l] = struct{}{}
	return l
}

// close ends all subscriptions, for good.
func (l *listener) close() {
	l.server.hub.mu.Lock()
	delete(l.server.hub.listeners, l)
	l.server.hub.mu.Unlock()
	l.watching.Lock()
	defer l.watching.Unlock()
	for uri := range l.watched {
		l.end(uri)
	}
	l.watched = nil
}

func (l *listener) add(c change) {
	l.mu.Lock()
	if !slices.Contains(l.pending, c) {
		l.pending = append(l.pending, c)
	}
	l.mu.Unlock()
	l.wakeUp()
}

func (l *listener) addList(c change) {
	if l.wants(c) {
		l.add(c)
	}
}

// wakeUp has whoever sends the changes look.
func (l *listener) wakeUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wake != nil {
		l.wake()
	}
}

// onWake says what to call from now on when there may be something to do, and
// calls it, as there may be already. It must return at once.
func (l *listener) onWake(wake func()) {
	l.mu.Lock()
	l.wake = wake
	l.mu.Unlock()
	l.wakeUp()
}

// carry has a stream carry the changes of a subscription.
func (l *listener) carry(by *stream) {
	l.server.hub.mu.Lock()
	l.carrier = by
	l.server.hub.mu.Unlock()
	l.onWake(by.wake)
}

func (l *listener) take() (changes []change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes, l.pending = l.pending, nil
	return changes
}

// refresh updates who receives the changes, and reports whether the credentials
// are still accepted. A principal whose groups or compliance level have changed
// may see other lists.
func (l *listener) refresh(who *caller) bool {
	now, ok := who.again()
	if !ok {
		return false
	}
	if l.server.exec.CatalogOf(now).Private() &&
		(!slices.Equal(now.Groups, who.principal.Groups) || now.ComplianceLevel != who.principal.ComplianceLevel) {
		for _, list := range listsChanged {
			l.addList(list)
		}
	}
	who.principal = now
	return true
}

// forward sends changes until ctx ends or the credentials of who are no longer
// accepted, or have expired.
func (l *listener) forward(ctx context.Context, who caller, send func(change)) {
	wake := make(chan struct{}, 1)
	l.onWake(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	for ctx.Err() == nil && l.refresh(&who) {
		for _, c := range l.take() {
			send(c)
		}
		waiting, stop := ctx, func() {}
		if expires := who.principal.Expires; !expires.IsZero() {
			waiting, stop = context.WithDeadline(ctx, expires)
		}
		select {
		case <-wake:
			stop()
		case <-waiting.Done():
			stop()
			return
		}
	}
}

// subscribe subscribes to a resource for who.
func (l *listener) subscribe(who caller, uri string) error {
	l.watching.Lock()
	defer l.watching.Unlock()
	switch {
	case l.watched == nil || l.watched[uri] != nil:
		return nil
	case len(l.watched) >= maxWatches:
		return &domain.Error{Code: domain.CodeInvalidParams, Message: fmt.Sprintf("there are already %d subscriptions; cancel some first", maxWatches)}
	case !l.server.watches.TryAcquire(l.owner, 1):
		return busyWith("subscriptions")
	}
	return l.watch(l.server.exec.CatalogOf(who.principal), who, who.principal, uri)
}

// watch begins a subscription, which a catalog may not have a resource for. The
// caller holds watching, and has acquired the place of the subscription.
func (l *listener) watch(c *domain.Catalog, who caller, p domain.Principal, uri string) (err error) {
	ctx, end := context.WithCancel(context.Background())
	defer func() {
		if p := recover(); p != nil {
			l.server.logPanic("watching a resource", brief.Name(uri), p)
			err = errPanicked
		}
		if err != nil {
			end()
			l.server.watches.Release(l.owner, 1)
		}
	}()
	r, err := c.Watch(ctx, p, uri, func() { l.add(updated(uri)) })
	if err == nil {
		l.watched[uri] = &watch{who, r, end}
	}
	return err
}

// unsubscribe ends a subscription. One that does not exist is no error.
func (l *listener) unsubscribe(uri string) {
	l.watching.Lock()
	defer l.watching.Unlock()
	l.end(uri)
}

// end ends a subscription, and forgets its changes. The caller holds watching.
func (l *listener) end(uri string) {
	if w := l.watched[uri]; w != nil {
		w.end()
		delete(l.watched, uri)
		l.server.watches.Release(l.owner, 1)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = slices.DeleteFunc(l.pending, func(c change) bool { return c == updated(uri) })
}

// revise applies the catalog that is in force now. Subscriptions to a resource that
// has not changed continue; the others begin again, or end if the subscriber may
// no longer read it.
func (l *listener) revise() {
	l.watching.Lock()
	defer l.watching.Unlock()
	for uri, w := range l.watched {
		p, ok := w.who.again()
		c := l.server.exec.CatalogOf(p)
		if ok {
			if r, _, err := c.FindResource(p, uri); err == nil && r == w.resource {
				continue
			}
		}
		l.end(uri)
		if ok && l.server.watches.TryAcquire(l.owner, 1) && l.watch(c, w.who, p, uri) == nil {
			l.add(updated(uri)) // it may have changed in between
		}
	}
}

// subscribe serves resources/subscribe and resources/unsubscribe: the session's stream carries changes.
func (x *exchange) subscribe() (reply, error) {
	var err error
	if x.method == mcp.MethodResourcesSubscribe {
		err = x.server.exec.CountList(x.domain(), x.Method)
	}
	if err == nil {
		err = x.subscribed()
	}
	if err == nil {
		x.server.replicas.passOn(x.session, jsonrpc.Request(nil, x.Method, x.Params)) // to the replica that has the stream
	}
	return emptyReply, err
}

// subscribed subscribes or unsubscribes, here.
func (x *exchange) subscribed() error {
	uri, err := x.text("uri", x.uri)
	switch {
	case err != nil:
	case x.method == mcp.MethodResourcesUnsubscribe:
		x.session.changes.unsubscribe(uri)
	default:
		err = x.session.changes.subscribe(x.who, uri)
	}
	return err
}

// subscriptions are what a client wants to be notified of, and what of it is granted.
type subscriptions struct {
	mcp.SubscriptionFilter
	TaskIDs []string `json:"taskIds,omitempty"` // of the extension for tasks
}

// listen serves subscriptions/listen, the stream of changes of protocol version
// 2026-07-28: an acknowledgement of the part of the request that is granted, then
// notifications that carry the subscription's ID, and a result when the stream ends.
func (x *exchange) listen() {
	l, granted, err := x.grant()
	if err != nil {
		x.finish(nil, err)
		return
	}
	acknowledgement := jsonrpc.Request(nil, mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": tag(x.ID), "notifications": granted})
	switch {
	case granted.IsEmpty() && granted.TaskIDs == nil:
		x.out.notify(acknowledgement)
	case x.carry != nil:
		x.carry(l, acknowledgement)
		return
	default:
		x.out.notify(acknowledgement)
		ctx, cancel := context.WithCancel(x.ctx)
		defer cancel()
		defer context.AfterFunc(x.session.ctx, cancel)()
		l.forward(ctx, x.who, func(c change) {
			if n := l.notification(c, x.ID); n != nil {
				x.out.notify(n)
			}
		})
	}
	x.finish(listened(x.ID), nil)
}

// grant returns what is granted of a subscription, and the listener for it, in use until the
// exchange is finished or carried.
func (x *exchange) grant() (*listener, subscriptions, error) {
	var p struct {
		Notifications subscriptions `json:"notifications"`
	}
	_ = json.Unmarshal(x.Params, &p) // what cannot be read is not asked for
	granted := p.Notifications
	granted.ResourceSubscriptions, granted.TaskIDs = nil, nil
	if err := x.server.exec.CountList(x.domain(), x.Method); err != nil {
		return nil, granted, err
	}
	owner := x.session.owner
	if len(p.Notifications.TaskIDs) > 0 && !x.uses(extensionTasks) {
		return nil, granted, missingExtension(extensionTasks)
	}
	if !x.server.streams.TryAcquire(owner, 1) {
		return nil, granted, busyWith("streams")
	}
	for _, id := range p.Notifications.TaskIDs[:min(len(p.Notifications.TaskIDs), maxWatches)] {
		if _, err := x.server.tasks.get(owner, id); err == nil {
			granted.TaskIDs = append(granted.TaskIDs, id)
		}
	}
	wanted := [...]bool{granted.ToolsListChanged, granted.ResourcesListChanged, granted.PromptsListChanged}
	l := x.server.newListener(owner, func(list change) bool { return wanted[slices.Index(listsChanged[:], list)] }, granted.TaskIDs...)
	x.ended = func() {
		l.close()
		x.server.streams.Release(owner, 1)
	}
	for _, id := range granted.TaskIDs {
		l.add(taskChanged(id)) // what has happened until now
	}
	for _, uri := range p.Notifications.ResourceSubscriptions {
		switch l.subscribe(x.who, uri) {
		case nil:
			granted.ResourceSubscriptions = append(granted.ResourceSubscriptions, uri)
		case errPanicked:
			return nil, granted, errPanicked
		}
	}
	return l, granted, nil
}

// tag names a subscription in its notifications and its result.
func tag(id json.RawMessage) any { return map[string]json.RawMessage{mcp.MetaKeySubscriptionID: id} }

// listened is the result of a subscription.
func listened(id json.RawMessage) reply {
	return func(b []byte) []byte {
		return append(jsonrpc.AppendValue(append(b, `{"resultType":"complete","_meta":`...), tag(id)), '}')
	}
}
