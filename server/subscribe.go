package server

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/jsonrpc"
)

// subscribe serves resources/subscribe: the session's streams carry changes.
func (x *exchange) subscribe() (reply, error) {
	uri, err := x.text("uri", x.uri)
	if err == nil {
		err = x.server.exec.CountList(x.domain(), x.Method)
	}
	if err == nil {
		ses := x.session
		err = ses.watches.add(x.server, x.who, uri, func() { ses.notify(updated(uri)) })
	}
	return emptyReply, err
}

// unsubscribe serves resources/unsubscribe.
func (x *exchange) unsubscribe() (reply, error) {
	uri, err := x.text("uri", x.uri)
	if err == nil {
		x.session.watches.remove(uri)
	}
	return emptyReply, err
}

// listen serves subscriptions/listen, the stream of changes of protocol version
// 2026-07-28: an acknowledgement of the part of the request that is granted, then
// notifications that carry the subscription's ID, and a result when the stream ends.
func (x *exchange) listen(ctx context.Context) (reply, error) {
	if err := x.server.exec.CountList(x.domain(), x.Method); err != nil {
		return nil, err
	}
	owner := x.session.owner
	if !x.server.streams.TryAcquire(owner, 1) {
		return nil, busyWith("streams")
	}
	defer x.server.streams.Release(owner, 1)
	var p struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	_ = json.Unmarshal(x.Params, &p) // what cannot be read is not asked for
	asked := p.Notifications
	l, leave := x.server.hub.join(func(c change) bool {
		switch c {
		case listsChanged[0]:
			return asked.ToolsListChanged
		case listsChanged[1]:
			return asked.ResourcesListChanged
		default:
			return asked.PromptsListChanged
		}
	})
	defer leave()
	granted := asked
	granted.ResourceSubscriptions = nil
	var resources watches
	defer resources.close()
	for _, uri := range asked.ResourceSubscriptions {
		if resources.add(x.server, x.who, uri, func() { l.add(updated(uri)) }) == nil {
			granted.ResourceSubscriptions = append(granted.ResourceSubscriptions, uri)
		}
	}
	tag := map[string]json.RawMessage{mcp.MetaKeySubscriptionID: x.ID}
	x.out.notify(jsonrpc.Request(nil, mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": tag, "notifications": granted}))
	if !granted.IsEmpty() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(x.session.ctx, cancel)()
		x.server.forward(ctx, x.who, l, func(c change) { x.out.notify(c.notification(tag)) })
	}
	return func(b []byte) []byte {
		return append(appendValue(append(b, `{"resultType":"complete","_meta":`...), tag), '}')
	}, nil
}
