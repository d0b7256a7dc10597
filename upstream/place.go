package upstream

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain/call"
)

// Place is where this same program runs for one principal on another machine. What it offers keeps its names and addresses.
type Place struct {
	Address string // that what it offers is kept under
	HTTP    http.RoundTripper
	// Wake returns when it runs. The context it returns ends when it is gone, for the reason that is its cause.
	Wake    func(context.Context) (context.Context, error)
	Timeout time.Duration // of that
	Used    func()        // is called every now and then as long as it is used
	Idle    time.Duration // after which a connection without use is closed
}

// At returns the server at a place. It is connected to when a call needs it.
func At(p Place, d Deps) *Server {
	have := depsOf(Settings{}, d)
	have.HTTP, have.place = p.HTTP, &p
	return newServer("workspace", Settings{URL: p.Address, Lazy: true, Timeout: p.Timeout}, have)
}

// await has a call wait for a place that is yet to be woken, without its time limit.
func (c *calls) await(ctx context.Context, l *link) error {
	if c.deps.place == nil || l.connection() != nil {
		return nil
	}
	call.ReportProgress(ctx, call.Progress{Message: "The workspace starts."})
	return call.Suspended(ctx, c.Timeout()+minRetry, func(ctx context.Context) error {
		_, err := l.ready(ctx)
		return err
	})
}

// idles reports whether a place has not been used for long enough: no call was in flight, no document was watched, and no command ran in the
// background. It notes that it is used otherwise.
func (l *link) idles(ctx context.Context, c *connection) bool {
	p, unused, watches := l.server.deps.place, l.relays.unused(), &l.server.calls.watches
	watches.mu.Lock()
	watched := len(watches.all)
	watches.mu.Unlock()
	if l.relays.inFlight.Load() > 0 || watched > 0 || unused > p.Idle/2 && c.works(ctx) {
		p.Used()
		return false
	}
	return unused > p.Idle
}

// works reports whether commands run in the background at a place.
func (c *connection) works(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	result, _ := c.Call(ctx, string(mcp.MethodResourcesRead), map[string]string{"uri": "status://health"})
	var read struct{ Contents []struct{ Text string } }
	var health struct {
		Jobs int `json:"background_jobs"`
	}
	return json.Unmarshal(result, &read) == nil && len(read.Contents) > 0 && json.Unmarshal([]byte(read.Contents[0].Text), &health) == nil && health.Jobs > 0
}
