package app

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"toolserver/filewatch"
	"toolserver/tools/resources"
)

// health returns what status://health reports.
func (a *App) health() resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: mcp.ValidProtocolVersions, CallsAbandoned: a.exec.Abandoned(),
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

// configPause is how often another configuration is looked for.
const configPause = 200 * time.Millisecond

// watchConfiguration calls changed after each reload, until ctx ends.
func (a *App) watchConfiguration(ctx context.Context, changed func()) {
	same := func(x, y *state) bool { return x == y }
	go filewatch.Poll(ctx, configPause, a.now.Load(), a.now.Load, same, changed)
}
