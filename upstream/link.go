package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/outbound/httpcall"
	"github.com/toolserver/toolserver/upstream/mcpclient"
	"github.com/toolserver/toolserver/upstream/oauth"
	"github.com/toolserver/toolserver/wire/jsonrpc"
)

// Status is the state of a server.
type Status string

// The states of a server.
const (
	StatusStarting Status = "starting" // it is being connected to, or its lists are read
	StatusReady    Status = "ready"
	StatusFailed   Status = "failed"           // and will be tried again
	StatusSignIn   Status = "sign_in_required" // somebody has to sign in first
	StatusIdle     Status = "idle"             // it is connected to when it is needed
	StatusClosed   Status = "closed"
)

// How long a server is left alone after a failure.
const (
	firstWait = time.Second
	maxWait   = 10 * time.Second
	laterWait = time.Minute // once it has failed manyFails times in a row
	manyFails = 20
	stable    = 30 * time.Second // a connection that lasted so long was no failure
)

// maxUnused is how long the connection of a single caller is kept for the next call.
const maxUnused = 15 * time.Minute

// How often a server without calls is looked after.
const (
	pingPause   = 30 * time.Second
	pingTimeout = 10 * time.Second
	listDelay   = 100 * time.Millisecond // so that many notifications of changes are one
	listPause   = time.Second
)

// link keeps a server connected: for all callers, or for one where each signs in. One
// goroutine runs it.
type link struct {
	server *Server
	owner  string // ID of the principal whose connection it is; "" for that of all
	relays relays
	wanted chan struct{} // a call needs the connection; has room for one
	relist chan struct{} // lists have changed; has room for one
	doubt  chan struct{} // a call has failed, perhaps since the server is gone; has room for one

	mu        sync.Mutex
	status    Status
	reason    error // of a failure
	since     time.Time
	next      time.Time // when a failed one is tried again
	tried     time.Time // when it was last tried
	starts    int
	fails     int // in a row
	conn      *connection
	handshake bool      // the server is asked nothing before the handshake, as one that speaks an old version may not bear that; set by run only
	guessed   bool      // handshake is tried since the other way has failed; set by run only
	slow      bool      // the program has not answered in time; set by run only
	again     bool      // the session has ended, and is to be begun anew at once
	held      time.Time // until then the server has asked to be left alone, with heldBy
	heldBy    error
	broken    []string      // lists that could not be read whole, and why
	later     *time.Timer   // has them read again
	changed   chan struct{} // closed when the status changes
	ended     error         // why the last connection has ended
}

func newLink(s *Server, owner string) *link {
	return &link{
		server: s, owner: owner, wanted: make(chan struct{}, 1), relist: make(chan struct{}, 1), doubt: make(chan struct{}, 1), changed: make(chan struct{}),
		status: StatusIdle, since: time.Now(),
	}
}

// links are the connections to a server: one of all callers, and one of each where each signs in.
type links struct {
	server *Server
	main   *link

	mu  sync.Mutex
	own map[string]*link // of single callers, by the ID of the principal
}

// of returns the connection that a principal uses. There are as many as configuration
// has principals.
func (ls *links) of(principal string) *link {
	s := ls.server
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if !s.settings.perPrincipal() || s.ctx.Err() != nil {
		return ls.main
	}
	l := ls.own[principal]
	if l == nil {
		l = newLink(s, principal)
		ls.own[principal] = l
		s.running.Go(func() { l.run(s.ctx) })
	}
	return l
}

// known returns the connection of a single caller, nil if there is none.
func (ls *links) known(principal string) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.own[principal]
}

// all returns all connections, that of all callers last.
func (ls *links) all() []*link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return append(slices.Collect(maps.Values(ls.own)), ls.main)
}

// signal fills a channel that has room for one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// refresh has the lists of the server read again.
func (l *link) refresh() { signal(l.relist) }

// incomplete notes which lists could not be read whole, and has them read again later.
func (l *link) incomplete(broken []string, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken = broken; l.later != nil {
		l.later.Stop()
	}
	if again {
		l.later = time.AfterFunc(laterWait, l.refresh)
	}
}

// set changes the status.
func (l *link) set(status Status, conn *connection, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.status, l.conn, l.reason, l.since = status, conn, reason, time.Now(); status == StatusReady {
		l.fails = 0
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// waitsForSignIn reports whether somebody has to sign in, and since when.
func (l *link) waitsForSignIn() (since time.Time, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since, l.status == StatusSignIn
}

// run keeps the server connected until ctx ends.
func (l *link) run(ctx context.Context) {
	defer l.set(StatusClosed, nil, errClosed)
	if l.server.settings.Lazy && !l.idle(ctx) {
		return
	}
	for ctx.Err() == nil {
		began := time.Now()
		l.mu.Lock()
		l.tried, l.starts = began, l.starts+1
		last := l.reason
		l.mu.Unlock()
		starting := &startingError{l.server, began, last}
		l.set(StatusStarting, nil, starting)
		late := time.AfterFunc(slowStart, func() { l.server.deps.Log.Info("waiting", zap.Error(starting)) })
		err := l.session(ctx, late)
		if ctx.Err() != nil {
			return
		}
		l.mu.Lock()
		again := l.again
		l.again = false
		l.mu.Unlock()
		if again {
			continue
		}
		if err == errUnused {
			if !l.idle(ctx) {
				return
			}
			continue
		}
		pause := l.failed(err, time.Since(began))
		if l.server.deps.place != nil { // it is for the next call, which may have come already
			select {
			case <-l.wanted:
			case <-ctx.Done():
			}
			continue
		}
		if l.owner != "" { // it is for the next call of that caller to try again
			pause = math.MaxInt64
		}
		l.wait(ctx, pause)
	}
}

// errUnused is why a connection is closed that nobody has used for a while.
var errUnused = errors.New("nobody uses it")

// idle waits until a call needs the connection, and reports whether ctx has not ended.
func (l *link) idle(ctx context.Context) bool {
	l.set(StatusIdle, nil, nil)
	select {
	case <-l.wanted:
		return true
	case <-ctx.Done():
		return false
	}
}

// slowStart is from when on it is said what a start is waited for.
const slowStart = 5 * time.Second

// startingError is why there is no connection yet.
type startingError struct {
	server *Server
	since  time.Time
	last   error // of the try before
}

// fetchers are programs that download what they start.
var fetchers = [...]string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "deno", "docker", "podman", "dnx"}

// Error is empty where there is nothing to say.
func (e *startingError) Error() string {
	took, text := time.Since(e.since), ""
	if e.last != nil {
		text = e.last.Error()
	}
	if took < slowStart {
		return text
	}
	argv := e.server.settings.argv()
	if len(argv) == 0 {
		return cmp.Or(text, fmt.Sprintf("it has not answered for %v", took.Round(time.Second)))
	}
	program, _, _ := strings.Cut(filepath.Base(argv[0]), ".")
	said := fmt.Sprintf("%s has been starting for %v", program, took.Round(time.Second))
	if slices.Contains(fetchers[:], program) {
		said += "; it may be downloading the package"
	}
	return strings.TrimSuffix(said+"; the last time: "+text, "; the last time: ")
}

// session is one connection, from its begin to its end. Late is stopped when it has begun.
func (l *link) session(ctx context.Context, late *time.Timer) error {
	s := l.server
	alive := ctx
	var err error
	if p := l.server.deps.place; p != nil {
		if alive, err = p.Wake(ctx); err != nil {
			late.Stop()
			return err
		}
	}
	c, err := l.connect(ctx)
	late.Stop()
	if err != nil {
		if s.settings.transport() == transportStdio { // it may be one that does not bear to be asked, or the other way round
			l.handshake, l.guessed = !l.handshake, true
		}
		return err
	}
	defer c.close()
	l.handshake = !l.guessed && !c.Both() && !c.modern() // what was guessed is no reason to stay with an old version
	l.guessed, l.slow = false, false
	serving, end := context.WithCancel(ctx)
	defer end()
	if err := s.load(serving, l, c); err != nil {
		return c.describe(err)
	}
	if l.server.deps.place != nil {
		select {
		case <-l.wanted: // of a call that gets this connection
		default:
		}
	}
	l.set(StatusReady, c, nil)
	s.settle(false)
	s.deps.Log.Info("ready", zap.String("protocol", c.Server().Protocol))
	if c.modern() {
		s.running.Go(func() { l.listen(serving, c) })
	}
	if l.owner == "" {
		s.running.Go(func() { s.calls.watches.renew(serving, c) })
	}
	if err = l.follow(serving, alive, c); ctx.Err() != nil {
		return err
	}
	if c.child == nil {
		l.retry()
	}
	_, err = s.withoutTokens(nil, c.describe(err))
	l.mu.Lock()
	if l.ended = err; alive.Err() != nil { // calls in flight end by that, and say so
		l.status, l.conn = StatusIdle, nil
	} else if errors.Is(err, mcpclient.ErrClosed) { // by the call that knows why
		l.ended = nil
	}
	l.mu.Unlock()
	return err
}

// follow looks after a connection until it ends, which the error says why.
func (l *link) follow(ctx, alive context.Context, c *connection) error {
	pause := pingPause
	if p := l.server.deps.place; p != nil {
		pause = min(pause, p.Idle/4)
	}
	ping := time.NewTicker(pause)
	defer ping.Stop()
	missed := 0
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-alive.Done():
			return context.Cause(alive)
		case <-c.Done():
			return c.Err()
		case <-l.relist:
			if !sleep(ctx, listDelay) {
				return context.Cause(ctx)
			}
			select { // what came meanwhile is read with it
			case <-l.relist:
			default:
			}
			if err := l.server.load(ctx, l, c); err != nil && c.Err() == nil {
				l.server.deps.Log.Warn("its lists have changed and cannot be read", zap.Error(err))
				signal(l.doubt)
			}
			if !sleep(ctx, listPause-listDelay) {
				return context.Cause(ctx)
			}
		case <-l.doubt:
			err := l.check(ctx, c)
			if errors.Is(err, context.DeadlineExceeded) { // it may be busy
				err = l.check(ctx, c)
			}
			if err != nil {
				return err
			}
		case <-ping.C:
			if l.server.deps.place != nil && l.idles(ctx, c) {
				return errUnused
			}
			if l.relays.inFlight.Load() > 0 { // a server with one thread answers nobody else
				continue
			}
			if l.owner != "" && l.relays.unused() > maxUnused {
				return errUnused
			}
			if err := l.check(ctx, c); err == nil {
				missed = 0
			} else if missed++; missed > 1 || errors.Is(err, mcpclient.ErrSessionEnded) {
				return err
			}
		}
	}
}

// check reports whether the server does not answer.
func (l *link) check(ctx context.Context, c *connection) error {
	checking, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := withStatus(c.ping(checking))
	if status, ok := errors.AsType[*mcpclient.HTTPError](err); err == nil || ok && status.Status == http.StatusTooManyRequests {
		return nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && !mcpclient.NamesSession(e.Message) &&
		(e.Code != jsonrpc.CodeMethodNotFound || !c.modern()) { // or it is another one now
		return nil
	}
	return fmt.Errorf("it does not answer: %w", err)
}

// withStatus returns an error that a sign-in failed with as the answer that it is about.
func withStatus(err error) error {
	if f, ok := errors.AsType[*httpcall.Failure](err); ok && !f.Retry {
		return &mcpclient.HTTPError{Status: http.StatusUnauthorized, Body: []byte(f.Message)}
	}
	return err
}

// Do sends a request. What a server over HTTP answers with that is not for this request may
// be because it has begun anew, and does not know the session: then that is begun anew as
// well, and the error is [mcpclient.ErrSessionEnded] if it cannot have served the request.
func (c *connection) Do(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	result, err := c.Client.Do(ctx, req)
	if err == nil || c.child != nil {
		return result, err
	}
	_, err = c.link.server.withoutTokens(nil, withStatus(err))
	status, refused := errors.AsType[*mcpclient.HTTPError](err)
	said, answered := errors.AsType[*jsonrpc.Error](err)
	switch {
	case ctx.Err() != nil: // perhaps since it does not answer any more
		signal(c.link.doubt)
		return nil, err
	case refused && (c.link.hold(status) || status.Status == http.StatusTooManyRequests):
	case errors.Is(err, mcpclient.ErrSessionEnded), errors.Is(err, mcpclient.ErrTooLong), answered && !mcpclient.NamesSession(said.Message):
	default:
		if failed := c.link.check(ctx, c); failed == nil || ctx.Err() != nil {
			break
		} else if rejects(failed) && (answered || refused && status.Status/100 == 4) {
			err = fmt.Errorf("%w: %w", mcpclient.ErrSessionEnded, err)
			break
		}
		c.link.lost(c)
	}
	switch {
	case errors.Is(err, mcpclient.ErrSessionEnded):
		return nil, &unavailableError{c.link.server.name, err, "It is connected to anew at the next call."}
	case refused && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable):
		return nil, c.link.unavailable(err)
	case refused && status.Status < 300: // it may have served the request
		return nil, errors.New(err.Error())
	}
	return nil, err
}

// rejects reports whether a server rejects a sign of life of a session, or that has ended.
func rejects(err error) bool {
	status, ok := errors.AsType[*mcpclient.HTTPError](err)
	_, answered := errors.AsType[*jsonrpc.Error](err)
	return answered || ok && status.Status/100 == 4 || errors.Is(err, mcpclient.ErrSessionEnded) || errors.Is(err, mcpclient.ErrClosed)
}

// maxHold bounds how long a server is left alone because it asks for that.
const maxHold = 10 * time.Minute

// hold notes that a server has asked to be left alone, and reports whether it has.
func (l *link) hold(e *mcpclient.HTTPError) bool {
	after, ok := httpcall.RetryAfter(e.Header, time.Now())
	if !ok || e.Status != http.StatusTooManyRequests && e.Status != http.StatusServiceUnavailable {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.heldBy = time.Now().Add(min(after, maxHold)), e
	return true
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	return !within(d, ctx.Done())
}

// failed notes a failure, and returns how long the server is left alone.
func (l *link) failed(err error, lasted time.Duration) time.Duration {
	_, err = l.server.withoutTokens(nil, withStatus(err))
	if e, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		l.hold(e)
	}
	l.mu.Lock()
	if lasted > stable {
		l.fails = 0
	}
	l.fails++
	fails := l.fails
	wait := min(firstWait<<min(fails-1, 10), maxWait)
	if fails > manyFails {
		wait = laterWait
	}
	wait = max(wait*3/4+rand.N(wait/2), time.Until(l.held)) // not as many servers at once
	l.next = time.Now().Add(wait)
	l.mu.Unlock()
	status := StatusFailed
	if _, ok := errors.AsType[*oauth.SignInRequired](err); ok {
		status = StatusSignIn
	}
	l.set(status, nil, err)
	l.server.settle(false)
	log := l.server.deps.Log.Warn
	if fails > 1 {
		log = l.server.deps.Log.Debug
	}
	log("unavailable", zap.Error(err), zap.Int("failures", fails), zap.Duration("next", wait))
	return wait
}

// wait waits for the next attempt, which a call brings forward.
func (l *link) wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.wanted: // of a call that has got its answer
	default:
	}
	select {
	case <-timer.C:
	case <-l.wanted:
	case <-ctx.Done():
	}
}

// minRetry is how long a call does not try a server again that has just failed.
const minRetry = time.Second

// unavailable returns the error of calls as long as there is no connection.
func (l *link) unavailable(reason error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := errors.AsType[*mcpclient.HTTPError](reason); ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden) {
		return reason // which no later try helps against
	}
	then := "It is tried again at the next call."
	switch d := time.Until(l.next).Round(time.Second); {
	case time.Until(l.held) > 0:
		then = fmt.Sprintf("It asks to be left alone for %v.", time.Until(l.held).Round(time.Second))
	case l.status == StatusStarting:
		then = "It is being connected to; call it again later."
	case d > 0 && l.status == StatusFailed:
		then = fmt.Sprintf("It is tried again in %v, or at a call after that has begun.", d)
	}
	return &unavailableError{l.server.name, reason, then}
}

// ready returns the connection, which it waits for if that is being made. A server that
// has failed is tried again at once, but not for each call.
func (l *link) ready(ctx context.Context) (*connection, error) {
	most := l.server.Timeout() + time.Second
	if own := l.server.settings.CallTimeout; own > 0 { // after which there is less to say
		most = min(most, own*9/10)
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	asked := false
	for {
		l.mu.Lock()
		status, conn, reason, changed, tried, held, heldBy := l.status, l.conn, l.reason, l.changed, l.tried, l.held, l.heldBy
		l.mu.Unlock()
		switch {
		case status == StatusClosed:
			return nil, l.unavailable(errClosed)
		case time.Until(held) > 0:
			return nil, l.unavailable(heldBy)
		case status == StatusReady:
			return conn, nil
		case status == StatusFailed || status == StatusSignIn:
			if asked || time.Since(tried) < minRetry {
				return nil, l.unavailable(reason)
			}
			asked = true
			signal(l.wanted)
		case status == StatusIdle:
			signal(l.wanted)
		case status == StatusStarting:
			asked = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit.C:
			if reason == nil || reason.Error() == "" {
				reason = errors.New("it has not answered yet")
			}
			return nil, l.unavailable(reason)
		}
	}
}

// errClosed is why a server cannot be used whose configuration has changed.
var errClosed = errors.New("its configuration has changed")

// retry has a server tried again at the next call, however shortly it has failed.
func (l *link) retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tried = time.Time{}
}

// connection returns the connection, nil if there is none.
func (l *link) connection() *connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// lost ends a connection whose session the server has ended.
func (l *link) lost(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c {
		l.status, l.conn, l.again = StatusStarting, nil, true
		close(l.changed)
		l.changed = make(chan struct{})
		l.server.running.Go(c.Close)
	}
}

// cause returns why a call has failed: the end of the connection, if that is why.
func (l *link) cause(err error) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil && l.conn == nil {
		return l.ended.Error()
	}
	return err.Error()
}

// listen has a server of protocol version 2026-07-28 say what changes.
func (l *link) listen(ctx context.Context, c *connection) {
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, laterWait) {
		_ = c.Listen(ctx, mcpclient.Filter{Tools: true, Prompts: true, Resources: true})
		if !sleep(ctx, wait) || c.Err() != nil {
			return
		}
		l.refresh() // it may have changed in between
	}
}

// send sends a request over the connection, which it waits for. A session that the server
// has ended is begun anew: it has not looked at the request.
func (l *link) send(ctx context.Context, req mcpclient.Request) (json.RawMessage, error) {
	for again := false; ; again = true {
		c, err := l.ready(ctx)
		if err != nil {
			return nil, err
		}
		result, err := c.Do(ctx, req)
		result, err = l.server.withoutTokens(result, err)
		if _, answered := errors.AsType[*jsonrpc.Error](err); err != nil && !answered && ctx.Err() == nil {
			signal(l.doubt)
		}
		if again || !errors.Is(err, mcpclient.ErrSessionEnded) {
			return result, err
		}
		l.lost(c)
	}
}
