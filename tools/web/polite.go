package web

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/time/rate"
)

// What one host is asked at most: fair to the host, and no hindrance to a
// person who reads.
const (
	hostRate       = 10 // requests a second
	hostBurst      = 50
	hostConcurrent = 6
	maxHosts       = 1024
)

var errBusyHost = errors.New("too many requests to this host at a time")

// hosts lets requests wait until their host may be asked.
type hosts struct {
	mu    sync.Mutex
	known map[string]*host
}

type host struct {
	limiter *rate.Limiter
	slots   chan struct{}
	waiting int // calls that have it; at 0 it may be forgotten
}

func newHosts() *hosts { return &hosts{known: map[string]*host{}} }

// wait returns when a host may be asked. A host that is the operator's own may be
// asked as often as it answers. Release is called when its answer has been read.
// The error is errBusyHost if ctx would end first.
func (hs *hosts) wait(ctx context.Context, name string, own bool) (release func(), err error) {
	h := hs.take(name)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		hs.give(h)
		return nil, busy(ctx)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			<-h.slots
			hs.give(h)
		})
	}
	if own {
		return release, nil
	}
	if err := h.limiter.Wait(ctx); err != nil {
		release()
		return nil, busy(ctx)
	}
	return release, nil
}

// busy tells a caller that gave up from a host that had no time.
func busy(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return errBusyHost
}

func (hs *hosts) take(name string) *host {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.known[name]
	if h == nil {
		if len(hs.known) >= maxHosts {
			hs.forget()
		}
		h = &host{limiter: rate.NewLimiter(hostRate, hostBurst), slots: make(chan struct{}, hostConcurrent)}
		hs.known[name] = h
	}
	h.waiting++
	return h
}

func (hs *hosts) give(h *host) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h.waiting--
}

// forget drops the hosts that nobody waits for.
func (hs *hosts) forget() {
	for name, h := range hs.known {
		if h.waiting == 0 {
			delete(hs.known, name)
		}
	}
}
