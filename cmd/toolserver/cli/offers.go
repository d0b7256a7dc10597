package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"toolserver/config"
	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/server"
	"toolserver/tools/prompts"
	"toolserver/tools/resources"
)

// addOffers adds the resources and prompts that a configuration offers, and
// returns the names of all there are.
func (a *app) addOffers(c *catalog, cfg *config.Loaded, files *sandbox.Files) (resourceNames, promptNames []string) {
	all := resources.All(resources.Deps{
		Files: files, WorkingDirectory: cfg.WorkingDirectory,
		Config:        func() (string, error) { return string(cfg.Show()), nil },
		ConfigChanged: a.reloads.watch,
		Health:        a.health,
	})
	for _, r := range append(all, a.program.Resources...) {
		offer := cfg.Resources[r.Name]
		resourceNames = append(resourceNames, r.Name)
		if r.Name == resources.ConfigName && len(offer.Groups) == 0 && len(cfg.Server.Tokens) > 0 {
			continue // where several people share a server, its policy is the operator's to show
		}
		if !isFalse(offer.Enabled) {
			r.Audience = narrowed(r.Audience, offer)
			c.resources = append(c.resources, r)
		}
	}
	for _, p := range append(prompts.All(), a.program.Prompts...) {
		offer := cfg.Prompts[p.Name]
		promptNames = append(promptNames, p.Name)
		if !isFalse(offer.Enabled) {
			p.Audience = narrowed(p.Audience, offer)
			c.prompts = append(c.prompts, p)
		}
	}
	return resourceNames, promptNames
}

func narrowed(a domain.Audience, o config.Offer) domain.Audience {
	a.Groups, a.ComplianceLevel = o.Groups, o.ComplianceLevel
	return a
}

// health is what status://health says.
func (a *app) health() resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: server.ProtocolVersions(), CallsAbandoned: a.exec.Abandoned(),
	}
	layers := a.layers()
	h.Enforcement, h.SandboxLayers, h.SandboxMissing = layers.Enforcement, layers.InForce, layers.Missing
	for _, t := range a.exec.Registry.List("") {
		if t.Disabled {
			h.ToolsDisabled++
		} else {
			h.ToolsEnabled++
		}
	}
	return h
}

// reloads tells who watches the configuration that another one is in force.
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
