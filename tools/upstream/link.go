package upstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/zap"

	"toolserver/jsonrpc"
	"toolserver/mcpclient"
	"toolserver/tools/upstream/oauth"
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
	handshake bool          // the server is asked nothing before the handshake, as one that speaks an old version may not bear that; set by run only
	guessed   bool          // handshake is tried since the other way has failed; set by run only
	again     bool          // the session has ended, and is to be begun anew at once
	changed   chan struct{} // closed when the status changes
	ended     error         // why the last connection has ended
}

func newLink(s *Server, owner string) *link {
	return &link{
		server: s, owner: owner, wanted: make(chan struct{}, 1), relist: make(chan struct{}, 1), doubt: make(chan struct{}, 1), changed: make(chan struct{}),
		status: StatusIdle, since: time.Now(),
	}
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

// set changes the status.
func (l *link) set(status Status, conn *connection, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status, l.conn, l.reason, l.since = status, conn, reason, time.Now()
	close(l.changed)
	l.changed = make(chan struct{})
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
		l.set(StatusStarting, nil, last)
		err := l.session(ctx)
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

// session is one connection, from its begin to its end.
func (l *link) session(ctx context.Context) error {
	s := l.server
	c, err := s.connect(ctx, l)
	if err != nil {
		if s.settings.transport() == transportStdio { // it may be one that does not bear to be asked, or the other way round
			l.handshake, l.guessed = !l.handshake, true
		}
		return err
	}
	defer c.close()
	l.handshake = !l.guessed && !mcp.IsModernProtocol(c.client.Server().Protocol) // what was guessed is no reason to stay with an old version
	l.guessed = false
	serving, end := context.WithCancel(ctx)
	defer end()
	if err := s.load(serving, l, c); err != nil {
		return c.describe(err)
	}
	l.set(StatusReady, c, nil)
	l.mu.Lock()
	l.fails = 0
	l.mu.Unlock()
	s.deps.Log.Info("ready", zap.String("protocol", c.client.Server().Protocol))
	if mcp.IsModernProtocol(c.client.Server().Protocol) {
		s.running.Go(func() { s.listen(serving, l, c) })
	}
	if l.owner == "" {
		s.running.Go(func() { s.watches.renew(serving, c) })
	}
	if err = l.follow(serving, c); ctx.Err() != nil {
		return err
	}
	_, err = s.withoutTokens(nil, c.describe(err))
	l.mu.Lock()
	l.ended = err
	l.mu.Unlock()
	return err
}

// follow looks after a connection until it ends, which the error says why.
func (l *link) follow(ctx context.Context, c *connection) error {
	ping := time.NewTicker(pingPause)
	defer ping.Stop()
	missed := 0
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.client.Done():
			return c.client.Err()
		case <-l.relist:
			if !sleep(ctx, listDelay) {
				return context.Cause(ctx)
			}
			select { // what came meanwhile is read with it
			case <-l.relist:
			default:
			}
			if err := l.server.load(ctx, l, c); err != nil && c.client.Err() == nil {
				l.server.deps.Log.Warn("its lists have changed and cannot be read", zap.Error(err))
			}
			if !sleep(ctx, listPause-listDelay) {
				return context.Cause(ctx)
			}
		case <-l.doubt:
			if err := l.check(ctx, c); err != nil {
				return err
			}
		case <-ping.C:
			if l.relays.count() > 0 { // a server with one thread answers nobody else
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
	err := c.ping(checking)
	if _, answered := errors.AsType[*jsonrpc.Error](err); err == nil || answered {
		return nil
	}
	return fmt.Errorf("it does not answer: %w", err)
}

// sleep waits, and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// failed notes a failure, and returns how long the server is left alone.
func (l *link) failed(err error, lasted time.Duration) time.Duration {
	_, err = l.server.withoutTokens(nil, err)
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
	wait = wait*3/4 + rand.N(wait/2) // so that many servers do not start at once
	l.next = time.Now().Add(wait)
	l.mu.Unlock()
	status := StatusFailed
	if _, ok := errors.AsType[*oauth.SignInRequired](err); ok {
		status = StatusSignIn
	}
	l.set(status, nil, err)
	l.server.settle()
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

// ready returns the connection, which it waits for if that is being made. A server that
// has failed is tried again at once, but not for each call.
func (l *link) ready(ctx context.Context) (*connection, error) {
	limit := time.NewTimer(l.server.Timeout() + time.Second)
	defer limit.Stop()
	asked := false
	for {
		l.mu.Lock()
		status, conn, reason, changed, next, tried := l.status, l.conn, l.reason, l.changed, l.next, l.tried
		l.mu.Unlock()
		unavailable := func(reason error) error {
			then := "It is tried again at the next call."
			if d := time.Until(next).Round(time.Second); d > 0 && status == StatusFailed {
				then = fmt.Sprintf("It is tried again in %v, or at a call after that has begun.", d)
			}
			return &unavailableError{l.server.name, reason, then}
		}
		switch status {
		case StatusReady:
			return conn, nil
		case StatusClosed:
			return nil, unavailable(errClosed)
		case StatusFailed, StatusSignIn:
			if asked || time.Since(tried) < minRetry {
				return nil, unavailable(reason)
			}
			asked = true
			signal(l.wanted)
		case StatusIdle:
			signal(l.wanted)
		case StatusStarting:
			asked = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-limit.C:
			return nil, unavailable(fmt.Errorf("it did not get ready within %v", l.server.Timeout()))
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
		l.server.running.Go(c.client.Close)
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
