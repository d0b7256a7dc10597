package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/kubernetes"
	"github.com/toolserver/toolserver/tools/meta"
	"github.com/toolserver/toolserver/upstream"
)

// pods are the workspaces of profiles that are pods, by the profile and how they are reached.
type pods map[podProfile]*kubernetes.Workspaces

type podProfile struct {
	name     string
	settings kubernetes.Settings
}

// podsOf returns those of a configuration: of those before, the ones that are as they were. The others go on for a while: requests may use them.
func podsOf(a *App, cfg *config.Loaded, last *state) (now pods, err error) {
	var before pods
	if last != nil {
		before = last.pods
	}
	if now = (pods{}); !a.program.HTTP {
		return now, nil
	}
	for name, settings := range config.InPods(cfg) {
		of := podProfile{name, settings}
		if now[of] = before[of]; now[of] == nil {
			if now[of], err = kubernetes.New(settings, name, a.journal.log); err != nil { // as for all: there is one API server
				return nil, cfg.Mistake("sandbox.kubernetes", "%v", err)
			}
		}
	}
	for of, w := range before {
		if now[of] == nil {
			time.AfterFunc(retireTime, w.Close)
		}
	}
	return now, nil
}

// pod is the program in the pod of a workspace, as a source of its registry.
type pod struct {
	*upstream.Server
	app   *App
	space *kubernetes.Workspace
}

// claim makes a workspace that is a pod. Nothing of it runs on this machine.
func (ws *workspaces) claim(w *workspace, p domain.Principal, cfg *config.Loaded) error {
	a, s := ws.app, cfg.Sandbox.Kubernetes
	space := w.of.pods[podProfile{w.profile.Name, s}].Of(p.ID)
	w.pod = &pod{app: a, space: space, Server: upstream.At(upstream.Place{
		Address: s.Address(), HTTP: space, Wake: space.Wake, Timeout: s.ReadyTimeout, Used: space.Used, Idle: s.Idle,
	}, upstream.Deps{
		Sandbox: w.of.box.Sandbox, Policy: w.of.box.Policy, Version: a.program.Version, Log: a.journal.log, Lines: a.journal.plain, Host: a.host(cfg),
	})}
	discovery, err := w.of.families.Family("mcp", a.deps(cfg, w.of.box, w.registry))
	if err == nil {
		ws.open(w, p, cfg, []domain.Source{discovery, w.pod})
	}
	return err
}

// Name returns the name of the source, which no server of the configuration has.
func (p *pod) Name() string { return "workspace" }

// Close ends the connection to the pod.
func (p *pod) Close() error {
	defer p.space.Close()
	return p.Server.Close()
}

// Offer returns what the program in the pod offers, with what this one knows of tools that it has, too.
func (p *pod) Offer() domain.Offer {
	o := p.Server.Offer()
	if why := p.Report().Reason; o.Unknown != "" && why != "" {
		o.Unknown = why
	}
	for i := range o.Tools {
		t := &o.Tools[i]
		ours, ok := p.app.exec.Registry.Get(t.Name)
		if !ok || ours.Run == nil {
			continue
		}
		t.Category, t.Listing, t.Target, t.Runs, t.Ability, t.Final = ours.Category, ours.Listing, ours.Target, ours.Runs, ours.Ability, ours.Final
		t.Timeout, t.KeepsTime, t.MaxResultChars = ours.Timeout, ours.KeepsTime, ours.MaxResultChars
		if there := t.RunRaw; t.Name == meta.ReadLargeName { // results of tools that do not run there are kept here
			t.RunRaw = func(ctx context.Context, raw json.RawMessage) (domain.ToolResult, error) {
				args, err := ours.Input.Arguments(raw)
				id, _ := args["id"].(string)
				if _, _, unknown := p.app.results.Page(call.SessionOf(ctx).Principal, id, 1); err == nil && unknown == nil {
					return ours.Run(ctx, args)
				}
				return there(ctx, raw)
			}
		}
	}
	return o
}
