package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"toolserver/server"
	"toolserver/tools/resources"
)

// health is what status://health says.
func (a *app) health() resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: server.ProtocolVersions(), CallsAbandoned: a.exec.Abandoned(),
	}
	layers := a.layers()
	h.Enforcement, h.SandboxLayers, h.SandboxMissing = layers.Enforcement, layers.InForce, layers.Missing
	catalog := a.exec.Registry.Catalog()
	for _, t := range catalog.Tools() {
		if t.Disabled {
			h.ToolsDisabled++
		} else {
			h.ToolsEnabled++
		}
	}
	if !catalog.Private() { // else the names alone may be more than everybody may know
		h.Missing = catalog.Missing()
	}
	return h
}

// reloads notifies those who watch the configuration that another one is in
// force.
type reloads struct {
	mu       sync.Mutex
	watchers []*func()
}

// watch has changed called after each reload, until ctx ends.
func (r *reloads) watch(ctx context.Context, changed func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, &changed)
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watchers = slices.DeleteFunc(r.watchers, func(f *func()) bool { return f == &changed })
	})
}

func (r *reloads) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, changed := range r.watchers {
		(*changed)()
	}
}
