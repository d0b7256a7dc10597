package upstream

import (
	"context"
	"sync"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// watches are the subscriptions to documents of a server. Each document is subscribed to
// once, however many callers watch it, and again on each new connection.
type watches struct {
	*entry
	main *link // whose connection they are on

	mu   sync.Mutex
	all  map[string]*watch          // by the server's own address
	last map[string]<-chan struct{} // by the same, closed when the last subscription has ended
}

// watch is the subscription to one document.
type watch struct {
	callers map[*func()]struct{}
	end     context.CancelFunc // of the subscription on the connection
}

// maxWatched bounds the documents of a server that are watched.
const maxWatched = 1000

// watch calls changed whenever a document has changed, until ctx ends. It returns at once.
func (ws *watches) watch(ctx context.Context, at domain.Location, changed func()) error {
	own := ws.original(at.URI)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.all[own]
	if w == nil {
		if len(ws.all) >= maxWatched {
			return domain.Errorf(domain.CodeExecutionFailed, "resource %s: %d documents of server %s are watched already", at.URI, maxWatched, ws.name)
		}
		if ws.all == nil {
			ws.all = map[string]*watch{}
		}
		w = &watch{callers: map[*func()]struct{}{}}
		ws.all[own] = w
		w.end = func() {}
		if c := ws.main.connection(); c != nil { // or renew does
			ws.subscribe(ws.ctx, c, own, w)
		}
	}
	w.callers[&changed] = struct{}{}
	context.AfterFunc(ctx, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if delete(w.callers, &changed); len(w.callers) == 0 && ws.all[own] == w {
			delete(ws.all, own)
			w.end()
		}
	})
	return nil
}

// subscribe has the server say when a document changes. The caller holds mu.
func (ws *watches) subscribe(ctx context.Context, c *connection, uri string, w *watch) {
	ctx, w.end = context.WithCancel(ctx)
	if ws.last == nil {
		ws.last = map[string]<-chan struct{}{}
	}
	before, ended := ws.last[uri], make(chan struct{})
	ws.last[uri] = ended
	ws.running.Go(func() {
		if before != nil {
			<-before // or its end might end this one, too
		}
		_ = c.Listen(ctx, mcpclient.Filter{URIs: []string{uri}})
		close(ended)
		ws.mu.Lock()
		defer ws.mu.Unlock()
		if ws.last[uri] == ended {
			delete(ws.last, uri)
		}
	})
}

// renew subscribes again on a new connection, until ctx ends.
func (ws *watches) renew(ctx context.Context, c *connection) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for uri, w := range ws.all {
		w.end()
		ws.subscribe(ws.ctx, c, uri, w)
		for changed := range w.callers {
			(*changed)() // it may have changed in between
		}
	}
}

// updated passes on that a document has changed.
func (ws *watches) updated(uri string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w := ws.all[uri]; w != nil {
		for changed := range w.callers {
			(*changed)()
		}
	}
}
