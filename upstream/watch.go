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
	server *Server

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
func (s *Server) watch(ctx context.Context, uri string, changed func()) error {
	own := s.original(uri)
	ws := &s.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w := ws.all[own]
	if w == nil {
		if len(ws.all) >= maxWatched {
			return domain.Errorf(domain.CodeExecutionFailed, "resource %s: %d documents of server %s are watched already", uri, maxWatched, s.name)
		}
		if ws.all == nil {
			ws.all = map[string]*watch{}
		}
		w = &watch{callers: map[*func()]struct{}{}}
		ws.all[own] = w
		w.end = func() {}
		if c := s.main.connection(); c != nil { // or renew does
			ws.subscribe(s.ctx, c, own, w)
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
	ws.server.running.Go(func() {
		if before != nil {
			<-before // or its end might end this one, too
		}
		_ = c.client.Listen(ctx, mcpclient.Filter{URIs: []string{uri}})
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
		ws.subscribe(ws.server.ctx, c, uri, w)
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

// noteLinks notes which documents a caller has learnt of, by addresses of a usual length.
func (s *Server) noteLinks(ctx context.Context, content []domain.Content) {
	for i := range content {
		if uri := content[i].URI; uri != "" && len(uri) <= 2<<10 {
			s.linked.Put(domain.SessionOf(ctx).Principal.ID, uri, struct{}{}, 0)
		}
	}
}

// unlisted is the resource that has the documents of the server that are in no list.
func (s *Server) unlisted() domain.Resource {
	return domain.Resource{
		URI: s.address(""), Name: s.name + separator + "*", Audience: s.audience(),
		Linked: func(principal, uri string) bool {
			_, ok := s.linked.Get(principal, uri)
			return ok
		},
		ReadRaw: func(ctx context.Context, at domain.Location) (domain.ToolResult, error) {
			return s.read(ctx, s.original(at.URI), at.URI)
		},
		Watch: func(ctx context.Context, at domain.Location, changed func()) error {
			return s.watch(ctx, at.URI, changed)
		},
	}
}
