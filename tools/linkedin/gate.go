package linkedin

import (
	"context"
	"fmt"
	"time"

	"toolserver/tools/httpcall"
)

// gate lets requests through one at a time, so that there is none under way when
// LinkedIn says it has had enough: not more often than each interval, and none
// for a while after that.
type gate struct {
	interval time.Duration
	turn     chan struct{} // holds one token while there is a request; guards what follows

	next  time.Time // when the next request may be sent
	until time.Time // none is sent before
	shut  time.Time // when that was decided
	why   *halt
}

func newGate(interval time.Duration) *gate {
	return &gate{interval: interval, turn: make(chan struct{}, 1)}
}

// enter waits for the turn of a request. Unless it fails, [gate.leave] must be
// called after the answer. The error is a [*halt] if LinkedIn is being left
// alone, or ctx has ended or would before the turn came.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := g.await(ctx); err != nil {
		g.leave()
		return err
	}
	g.next = time.Now().Add(g.interval)
	return nil
}

func (g *gate) await(ctx context.Context) error {
	if left := time.Until(g.until); left > 0 {
		return g.cooling(left)
	}
	switch {
	case httpcall.Wait(ctx, time.Until(g.next)):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return context.DeadlineExceeded
}

func (g *gate) leave() { <-g.turn }

// close keeps requests off for h.cool. Only who entered may call it.
func (g *gate) close(h *halt) {
	if h.cool <= 0 {
		return
	}
	g.why, g.shut = h, time.Now()
	g.until = g.shut.Add(h.cool)
}

// cooling is what a call hears that comes too early after a block.
func (g *gate) cooling(left time.Duration) *halt {
	left = seconds(left)
	return &halt{
		errorType: g.why.errorType, status: g.why.status, what: g.why.what,
		more: fmt.Sprintf(" %v ago, so no request is sent for another %v", seconds(time.Since(g.shut)), left),
		hint: fmt.Sprintf("Call again after %v, not earlier: it would be told the same.", left),
	}
}

// seconds rounds up, so that who waits for as long has waited enough.
func seconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
