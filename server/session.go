package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolserver/toolserver/domain/brief"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/server/passport"
	"github.com/toolserver/toolserver/wire/jsonrpc"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// session is one client's connection: the whole of a stdio server, what an
// initialize over HTTP began, or a single request of a modern HTTP client.
type session struct {
	id       string // of log, record and jobs
	token    string // what its client calls it by, see [sessions.establish]; empty if the client does not
	owner    string // ID of the principal that began it; nobody else may use it
	settled  atomic.Pointer[handshake]
	logLevel atomic.Int32 // the least level that is sent
	changes  *listener    // nil of a single request

	begun     time.Time              // zero of a single request
	responses atomic.Int64           // names those that can be resumed
	who       atomic.Pointer[caller] // made the last request, where replicas share sessions

	busy int         // HTTP requests and streams in flight; guarded by sessions.mu
	idle *time.Timer // ends the session; runs while it is not busy

	ctx    context.Context // ends with the session
	cancel context.CancelFunc

	mu       sync.Mutex
	inFlight map[string]*exchange // by ID, see [jsonrpc.IDKey]
	seen     time.Time            // when the last request began
	ended    bool                 // requests are canceled
	carrier  *stream              // carries changes to the client; nil if there is none
	asked    int
	asking   map[string]chan<- clientAnswer // our requests that are not answered, by ID
}

// handshake is what initialize has negotiated, or zero.
type handshake struct {
	version string
	asks    asks
	client  string // its name and version
	// extensions are those that the client declares. A replica that goes on with the session does not know them.
	extensions []string
}

// readClient returns the name and version of a client.
func readClient(info json.RawMessage) string {
	name, _ := rawjson.String(rawjson.Member(info, "name"))
	version, _ := rawjson.String(rawjson.Member(info, "version"))
	return strings.TrimSpace(brief.Name(name) + " " + brief.Name(version))
}

// metTime is how long a client without a session is remembered.
const metTime = time.Hour

// meet reports a client that begins, once where it has no session.
func (in *incoming) meet(protocol string) {
	s := in.server
	if s.opts.Connected == nil {
		return
	}
	met := in.domain()
	if in.meta.modern {
		owner, client := met.Principal.ID, met.Client+" "+protocol
		if known, ok := s.met.Get(owner, client); ok {
			known.seen.Store(in.begun.UnixNano())
			return
		}
		first := &metClient{Client: clientOf(met.Client, protocol, readExtensions(in.meta.capabilities), in.session, in.begun)}
		first.seen.Store(in.begun.UnixNano())
		s.met.Put(owner, client, first, 1)
	}
	s.opts.Connected(met, protocol)
}

func newSession(id, owner string) *session {
	s := &session{id: id, owner: owner, inFlight: map[string]*exchange{}, asking: map[string]chan<- clientAnswer{}}
	s.settled.Store(&handshake{})
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.logLevel.Store(int32(call.LogInfo))
	return s
}

// begin returns a session of more than one request, which is notified of changes
// once the handshake is complete.
func (s *Server) begin(id, owner string) *session {
	ses := newSession(id, owner)
	ses.begun = time.Now()
	ses.changes = s.newListener(owner, func(change) bool { return ses.handshake().version != "" })
	if s.exec.Store.Keys().Shared() {
		ses.numberApart()
	}
	return ses
}

// close ends what would go on until the client ends it.
func (s *session) close() {
	s.cancel()
	if s.changes != nil {
		s.changes.close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carrier != nil {
		s.carrier.stop()
	}
}

// carry makes a stream the one that carries the session's changes. It ends the one
// before.
func (s *session) carry(by *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carrier != nil {
		s.carrier.stop()
	}
	s.carrier = by
	s.changes.onWake(by.wake)
	if s.ctx.Err() != nil {
		by.stop()
	}
}

// uncarry forgets a stream that has ended.
func (s *session) uncarry(by *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.carrier == by {
		s.carrier = nil
		s.changes.onWake(nil)
	}
}

// add registers a request, unless there are too many or one with the same ID.
func (s *session) add(x *exchange, limit int) *jsonrpc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := jsonrpc.IDKey(x.ID)
	if _, taken := s.inFlight[string(key)]; taken {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with id %s is in flight already", brief.Name(string(x.ID)))
	}
	if limit > 0 && len(s.inFlight) >= limit {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%d requests are in flight already; wait for answers before sending more", limit)
	}
	s.seen = x.begun
	if s.inFlight[string(key)] = x; s.ended {
		x.cancel(errSessionEnded)
	}
	return nil
}

// remove frees the ID of a request.
func (s *session) remove(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.inFlight, string(jsonrpc.IDKey(x.ID)))
}

// cancelRequest serves notifications/cancelled, and reports whether the request is in flight. One that is unknown, or
// answered already, is no error.
func (s *session) cancelRequest(params json.RawMessage) bool {
	id := rawjson.Member(params, "requestId")
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.inFlight[string(jsonrpc.IDKey(id))]
	if x != nil {
		x.cancel(errCanceled)
	}
	return x != nil
}

var errSessionEnded = errors.New("the session has ended")

// errRevoked is the cause of the context of requests whose principal can no longer sign in.
var errRevoked = errors.New("the credentials of this request were revoked")

// cancelAll cancels all requests, also those to come, and returns how many there were.
func (s *session) cancelAll(cause error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, x := range s.inFlight {
		x.cancel(cause)
	}
	return len(s.inFlight)
}

// completeHandshake notes what initialize has negotiated.
func (s *session) completeHandshake(version string, capabilities json.RawMessage, client string) {
	s.settled.Store(&handshake{version, readAsks(capabilities), client, readExtensions(capabilities)})
}

func (s *session) handshake() handshake { return *s.settled.Load() }

// sessions are those that initialize over HTTP has begun. They are bounded in
// number, of which each principal has a share, and expire when they have been
// idle for long, so that abandoned ones are evicted.
type sessions struct {
	server *Server
	ttl    time.Duration
	places *share.Pool

	mu     sync.Mutex
	byID   map[string]*session   // by token
	single map[*session]struct{} // of requests without a session that are in flight, and those that begin
}

func newSessions(s *Server, ttl time.Duration, limit int) *sessions {
	return &sessions{server: s, ttl: ttl, places: share.NewPool(int64(limit), 0), byID: map[string]*session{}, single: map[*session]struct{}{}}
}

// lend returns the session of a single request of owner, until it is returned.
func (s *sessions) lend(owner string) *session {
	ses := newSession("", owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.single[ses] = struct{}{}
	return ses
}

func (s *sessions) giveBack(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.single, ses)
}

// create begins a session of owner, in use until release. It returns false if there
// are too many. Nobody finds it until it is established.
func (s *sessions) create(owner string) (*session, bool) {
	if !s.places.TryAcquire(owner, 1) {
		return nil, false
	}
	var random [16]byte
	rand.Read(random[:]) // never fails
	ses := s.server.begin(hex.EncodeToString(random[:]), owner)
	ses.busy = 1
	s.mu.Lock()
	defer s.mu.Unlock()
	s.single[ses] = struct{}{}
	return ses, true
}

// establish makes a session known whose handshake is complete, and returns its token: where replicas share keys, all that others
// need to go on with it.
func (s *sessions) establish(ses *session) string {
	token := ses.id
	if keys := s.server.exec.Store.Keys(); keys.Shared() {
		h, pass := ses.handshake(), passport.Passport{Made: time.Now()}
		pass.Version, pass.Asks, pass.Client = h.version, byte(h.asks), h.client
		_, _ = hex.Decode(pass.ID[:], []byte(ses.id)) // it was encoded
		token = pass.Seal(keys, ses.owner)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, begins := s.single[ses]; begins { // else it was revoked meanwhile
		s.add(ses, token)
	}
	return token
}

// add makes a session known. The caller holds mu.
func (s *sessions) add(ses *session, token string) {
	delete(s.single, ses)
	ses.token = token
	ses.idle = time.AfterFunc(s.ttl, func() { s.drop(ses, true) })
	s.byID[token] = ses
}

// acquire returns the session of a token, of who makes a request, in use until release. A session of
// somebody else is as unknown as one that never was.
func (s *sessions) acquire(ctx context.Context, token string, who caller) (*session, error) {
	owner := who.principal.ID
	ses := s.use(token, owner, nil)
	if ses == nil {
		rebuilt, err := s.rebuild(ctx, token, owner)
		if err != nil {
			return nil, err
		}
		rebuilt.who.Store(&who) // what other replicas pass on while they are asked is for somebody
		if ses = s.use(token, owner, rebuilt); ses == rebuilt {
			s.server.replicas.learn(ctx, ses, who)
		} else { // another request has done so at the same time
			s.places.Release(owner, 1)
			rebuilt.close()
		}
	}
	if s.server.exec.Store.Shared() {
		ses.who.Store(&who)
	}
	return ses, nil
}

// errNoSession is the error of a request whose session is not known.
var errNoSession = errors.New("no such session, or it has expired; initialize again")

// passportTime is how long after its beginning a replica goes on with a session that it does not know.
const passportTime = 7 * 24 * time.Hour

// rebuild returns the session of a token that another replica has made, or this one has forgotten. It holds a place, and is not in use.
func (s *sessions) rebuild(ctx context.Context, token, owner string) (*session, error) {
	st := s.server.exec.Store
	if !st.Keys().Shared() {
		return nil, errNoSession
	}
	p, err := passport.Open(st.Keys(), token, owner)
	if err != nil {
		s.server.unsealed(err)
		return nil, errNoSession
	}
	id := hex.EncodeToString(p.ID[:])
	ended, err := st.Marked(ctx, owner, endedMark(id))
	if err != nil {
		return nil, err
	}
	revoked, err := st.Marked(ctx, owner, revokedMark)
	switch {
	case err != nil:
		return nil, err
	case !ended.IsZero() || !revoked.Before(p.Made) || time.Since(p.Made) > s.passportTime():
		return nil, errNoSession
	case !s.places.TryAcquire(owner, 1):
		return nil, busyWith("sessions")
	}
	ses := s.server.begin(id, owner)
	ses.settled.Store(&handshake{version: p.Version, asks: asks(p.Asks), client: p.Client})
	return ses, nil
}

func (s *sessions) passportTime() time.Duration { return max(passportTime, s.ttl) }

// mark notes something of sessions that could be rebuilt, for as long as they could.
func (s *sessions) mark(ctx context.Context, owner, name string) {
	if st := s.server.exec.Store; st.Keys().Shared() {
		st.Mark(ctx, owner, name, s.passportTime())
	}
}

// endedMark marks a session that its client has ended, and revokedMark a principal whose sessions until then have.
func endedMark(id string) string { return "ended:" + id }

const revokedMark = "revoked"

// use returns the session of a token, which is rebuilt if that is not nil and there is none.
func (s *sessions) use(token, owner string, rebuilt *session) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	ses := s.byID[token]
	if ses == nil && rebuilt != nil {
		ses = rebuilt
		s.add(ses, token)
	}
	if ses == nil || ses.owner != owner {
		return nil
	}
	ses.busy++
	ses.idle.Stop()
	return ses
}

func (s *sessions) release(ses *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses.busy--; ses.busy == 0 && s.byID[ses.token] == ses { // else the timer would keep it
		ses.idle.Reset(s.ttl)
	}
}

// drop ends a session at once or, if it has expired, unless it is in use again. One that other replicas can go on with
// is only forgotten when it expires here.
func (s *sessions) drop(ses *session, expired bool) {
	s.mu.Lock()
	_, begins := s.single[ses]
	if known := s.byID[ses.token] == ses || begins && ses.id != ""; !known || expired && ses.busy > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.single, ses)
	if !begins {
		delete(s.byID, ses.token)
		ses.idle.Stop()
	}
	s.mu.Unlock()
	s.places.Release(ses.owner, 1)
	ses.close()
	ses.cancelAll(errSessionEnded)
	if s.server.opts.SessionEnded != nil && !(expired && s.server.exec.Store.Keys().Shared()) {
		s.server.opts.SessionEnded(ses.owner, ses.id)
	}
}

// abandon drops a session that was not established.
func (s *sessions) abandon(ses *session) {
	s.mu.Lock()
	_, begins := s.single[ses]
	s.mu.Unlock()
	if begins {
		s.drop(ses, false)
	}
}

// Revoke ends all that a principal, by its ID, does over HTTP: sessions, streams, requests
// in flight, which are answered with an error, and background jobs.
func (s *Server) Revoke(principal string) {
	all := s.sessions.Load()
	if all == nil {
		return // nobody is served yet
	}
	all.mu.Lock()
	theirs := slices.AppendSeq(slices.Collect(maps.Values(all.byID)), maps.Keys(all.single))
	all.mu.Unlock()
	theirs = slices.DeleteFunc(theirs, func(ses *session) bool { return ses.owner != principal })
	for _, ses := range theirs {
		ses.cancelAll(errRevoked)
	}
	for _, ses := range theirs {
		all.drop(ses, false)
	}
	s.hub.stop(principal)
	all.mark(context.Background(), principal, revokedMark)
	s.tasks.endAll(principal, errRevoked)
	if s.opts.SessionEnded != nil {
		s.opts.SessionEnded(principal, "") // of its requests without a session
	}
}

// Principals returns the IDs of those who have sessions over HTTP, or calls that go on after their answers.
func (s *Server) Principals() []string {
	owners := map[string]bool{}
	if all := s.sessions.Load(); all != nil {
		all.mu.Lock()
		for _, ses := range all.byID {
			owners[ses.owner] = true
		}
		for ses := range all.single {
			owners[ses.owner] = true
		}
		all.mu.Unlock()
	}
	s.hub.mu.Lock()
	for l := range s.hub.listeners {
		owners[l.owner] = true
	}
	s.hub.mu.Unlock()
	s.tasks.mu.Lock()
	defer s.tasks.mu.Unlock()
	for _, t := range s.tasks.live {
		owners[t.state.Owner] = true
	}
	return slices.Collect(maps.Keys(owners))
}

// closeAll ends the streams of all sessions.
func (s *sessions) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ses := range s.byID {
		ses.close()
	}
	s.server.hub.stop("")
}
