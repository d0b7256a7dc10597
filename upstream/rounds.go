package upstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/upstream/mcpclient"
)

// pending is a call of a server whose caller answers in rounds: it goes on while nobody
// waits for it.
type pending struct {
	calls   *calls
	relay   *relay
	calling context.Context         // of the call
	cancel  context.CancelCauseFunc // of it
	asks    chan *ask
	done    chan struct{}
	result  json.RawMessage // once it is done
	err     error

	asked []*ask // what the caller has been asked, between two rounds
	count int    // of what was asked so far
	alarm *time.Timer
}

// ask is a question to a caller who answers in rounds.
type ask struct {
	ctx    context.Context // ends when the server does not want to know any more
	name   string
	req    call.InputRequest
	answer chan answer // has room for one
}

type answer struct {
	value json.RawMessage
	err   error
}

// errGone is the error of a round whose call has been given up.
var errGone = errors.New("the call that asked no longer waits for an answer; make the call again, without the state of the last one")

// maxRounds bounds a call with all its rounds.
const maxRounds = time.Hour

// inRounds begins a call whose caller answers in rounds.
func (c *calls) inRounds(ctx context.Context, l *link, r *relay, req mcpclient.Request) (json.RawMessage, error) {
	p := &pending{relay: r, calls: c, asks: make(chan *ask), done: make(chan struct{})}
	r.pending = p
	limited, stop := context.WithTimeout(c.ctx, maxRounds)
	calling, cancel := context.WithCancelCause(context.WithValue(limited, relayKey{}, r))
	p.calling, p.cancel = calling, cancel
	c.running.Go(func() {
		defer stop()
		defer close(p.done)
		p.result, p.err = c.finish(calling, l, r, req)
		l.relays.end(r)
		cancel(nil)
	})
	return p.round(ctx)
}

// resume takes a call on that was parked under a token.
func (c *calls) resume(ctx context.Context, token string) (json.RawMessage, error) {
	p, ok := c.parked.Take(call.SessionOf(ctx).Principal.ID, token)
	if !ok || !p.alarm.Stop() {
		return nil, errGone
	}
	select {
	case <-p.done: // without the answer
		return p.result, p.err
	default:
	}
	p.relay.attach(ctx)
	return p.round(ctx)
}

// ask waits until the caller has answered, in whatever round that is.
func (p *pending) ask(ctx context.Context, req call.InputRequest) (json.RawMessage, error) {
	q := &ask{ctx: ctx, req: req, answer: make(chan answer, 1)}
	select {
	case p.asks <- q:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-q.answer:
		return a.value, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// parkTime is how long a call waits for the next round. As long as it does, a server that
// does not say which call it asks about can ask nobody else.
const parkTime = 5 * time.Minute

// park keeps a call until its next round, and returns what finds it again.
func (p *pending) park() string {
	p.relay.detach()
	token := rand.Text()
	p.alarm = time.AfterFunc(parkTime, func() { p.cancel(errGone) })
	p.calls.parked.Put(p.relay.owner.Principal.ID, token, p, 1)
	return token
}

// Questions that are open at the same time go to the caller in one round.
const (
	maxAsked = 20
	askPause = 10 * time.Millisecond // after which no other is expected
)

// round takes the call on until it is done or the caller has to answer, which is the error
// [*domain.InputRequired].
func (p *pending) round(ctx context.Context) (json.RawMessage, error) {
	for {
		if err := p.answer(ctx); err != nil {
			return nil, err
		}
		select {
		case q := <-p.asks:
			for ; q != nil; q = p.next() {
				p.add(ctx, q)
			}
		case <-p.done:
			return p.result, p.err
		case <-ctx.Done():
			p.cancel(context.Cause(ctx))
			<-p.done
			return nil, context.Cause(ctx)
		}
	}
}

// next returns another question that is open already, or nil.
func (p *pending) next() *ask {
	if len(p.asked) == maxAsked {
		return nil
	}
	select {
	case q := <-p.asks:
		return q
	case <-time.After(askPause):
		return nil
	}
}

// add has the caller asked, if that is possible.
func (p *pending) add(ctx context.Context, q *ask) {
	p.count++
	q.name = fmt.Sprintf("%s-%d", question, p.count)
	if call.CanAsk(ctx, q.req.Needs()) {
		p.asked = append(p.asked, q)
		return
	}
	_, err := call.Ask(ctx, map[string]call.InputRequest{q.name: q.req}) // which says why
	q.answer <- answer{err: err}
}

// answer answers the questions if the caller has. Otherwise the caller has to call again,
// which is the error.
func (p *pending) answer(ctx context.Context) error {
	p.asked = slices.DeleteFunc(p.asked, func(q *ask) bool { return q.ctx.Err() != nil })
	if len(p.asked) == 0 {
		return nil
	}
	requests := map[string]call.InputRequest{}
	for _, q := range p.asked {
		requests[q.name] = q.req
	}
	answers, err := call.Ask(ctx, requests)
	if required, ok := err.(*call.InputRequired); ok {
		required.Resume = p.park()
		required.Keep = func(d time.Duration) { p.alarm.Reset(d) }
		return required
	}
	for _, q := range p.asked {
		q.answer <- answer{answers[q.name], err}
	}
	p.asked = nil
	return nil
}
