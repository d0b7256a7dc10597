package app

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/server"
)

// Bounds of what is logged of failed authentication.
const (
	refusalsWindow    = time.Minute
	refusalsLogged    = 5  // addresses of a window that are logged at once, each for its first attempt
	refusalsAddresses = 64 // that are counted by themselves
)

// refusals log failed authentication: the first attempt of an address at once, and how
// many there were at the end of a minute. Whoever floods the server adds a few lines a
// minute, and neither hides others nor is hidden by them. What was presented is never
// logged.
type refusals struct {
	log *zap.Logger

	mu        sync.Mutex
	window    *time.Timer // nil if nothing was refused for a while
	attempts  int
	logged    int
	addresses map[string]int // attempts by address
	closed    bool
}

// request notes a request that was answered with a challenge.
func (r *refusals) request(req *http.Request, c *server.Challenge) {
	address, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		address = req.RemoteAddr
	}
	r.note(address, c)
}

func (r *refusals) note(address string, c *server.Challenge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.window == nil {
		r.attempts, r.logged, r.addresses = 0, 0, map[string]int{}
		r.window = time.AfterFunc(refusalsWindow, r.end)
	}
	r.attempts++
	if n := r.addresses[address]; n > 0 || len(r.addresses) < refusalsAddresses {
		r.addresses[address] = n + 1
	}
	if r.addresses[address] != 1 || r.logged == refusalsLogged {
		return
	}
	r.logged++
	level := zapcore.WarnLevel
	if c.Error == "" {
		level = zapcore.InfoLevel // clients ask like that what the server requires
	}
	r.log.Log(level, "authentication failed", zap.String("address", address), zap.String("reason", c.Description))
}

// end logs the attempts of a window that were not logged.
func (r *refusals) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.window == nil {
		return
	}
	r.window = nil
	if r.attempts == r.logged {
		return
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(r.addresses)), func(a, b string) int { return cmp.Compare(r.addresses[a], r.addresses[b]) })
	r.log.Warn("authentication failed: attempts within a minute", zap.Int("attempts", r.attempts), zap.Int("addresses", len(r.addresses)),
		zap.Bool("more_addresses", len(r.addresses) == refusalsAddresses), zap.String("most_from", most), zap.Int("most", r.addresses[most]))
}

// close ends the window.
func (r *refusals) close() {
	r.mu.Lock()
	r.closed = true
	if r.window != nil {
		r.window.Stop()
	}
	r.mu.Unlock()
	r.end()
}
