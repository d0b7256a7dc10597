package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"toolserver/server"
	"toolserver/tools/resources"
)

// health returns what status://health reports.
func (a *App) health() resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: server.ProtocolVersions(), CallsAbandoned: a.exec.Abandoned(),
	}
	layers := a.Layers()
	h.Enforcement, h.SandboxLayers, h.SandboxMissing = layers.Enforcement, layers.InForce, layers.Missing
	catalog := a.exec.Registry.Catalog()
	for _, t := range catalog.Tools() {
		if t.Disabled {
			h.ToolsDisabled++
		} else {
			h.ToolsEnabled++
		}
	}
	if !catalog.Private() { // the names alone may be confidential
		h.Missing = catalog.Missing()
	}
	return h
}

// reloads notifies watchers of the configuration that another one is in force.
type reloads struct {
	mu       sync.Mutex
	watchers []*func()
}

// watch calls changed after each reload, until ctx ends.
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

func (r *reloads) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, changed := range r.watchers {
		(*changed)()
	}
}
