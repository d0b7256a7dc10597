package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/osfile/filewatch"
	"github.com/toolserver/toolserver/tools/discovery"
	"github.com/toolserver/toolserver/tools/files"
	"github.com/toolserver/toolserver/tools/resources"
)

// health returns what status://health reports to a principal, who must not learn how much others
// may use.
func (a *App) health(p domain.Principal) resources.Health {
	h := resources.Health{
		Status: "ok", Version: a.program.Version, Started: a.started.UTC().Format(time.RFC3339), UptimeSeconds: int64(time.Since(a.started).Seconds()),
		ProtocolVersions: mcp.ValidProtocolVersions, CallsAbandoned: a.exec.Abandoned(),
	}
	for _, j := range a.runner.Jobs(domain.SessionKey(p.ID, "")) { // of clients without sessions, such as the endpoint of a pod
		select {
		case <-j.Done():
		default:
			h.Jobs++
		}
	}
	cfg := a.Config()
	if h.Configuration = cfg.Described(); len(cfg.Server.Tokens) > 0 {
		h.Configuration = cfg.Source // where it lies is the operator's to know
	} else {
		for _, u := range cfg.Unused {
			h.Unused = append(h.Unused, u.Error())
		}
	}
	layers := a.Layers()
	h.Enforcement, h.SandboxLayers, h.SandboxMissing = layers.Enforcement, layers.InForce, layers.Missing
	catalog := a.exec.Registry.Look(context.Background(), domain.GlanceTime)
	for _, t := range catalog.Tools() {
		switch allowed := catalog.Settings.Access.Allowed(p, t); {
		case allowed && t.Disabled:
			h.ToolsDisabled++
		case allowed:
			h.ToolsEnabled++
		}
	}
	if len(cfg.Servers) > 0 {
		h.Upstreams = a.Servers.statuses(p)
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

// maxPlaces bounds the directories that instructions name, and maxPlace each of them, because
// clients cut instructions.
const (
	maxPlaces = 6
	maxPlace  = 120
)

// places says where a session may work under the policy in force, for the tools that its
// principal may use, and of which other servers.
func (a *App) places(session domain.Session) (text string) {
	catalog := a.exec.CatalogOf(session.Principal)
	defer func() { text += discovery.Instructions(a.Servers.All(), catalog, session) }()
	if w, err := a.workspaces.find(session.Principal); err == nil && w != nil && w.pod != nil {
		return strings.TrimPrefix(w.pod.Report().Says, instructions)
	}
	may := func(tools ...string) bool {
		return slices.ContainsFunc(catalog.Tools(), func(t *domain.Tool) bool {
			return slices.Contains(tools, cmp.Or(t.Offered, t.Name)) && catalog.Why(session.Principal, t.Name) == ""
		})
	}
	listed := func(paths []string) string { return listed(paths, catalog.Settings.Secrets) }
	box := a.workspaces.boxOf(session.Principal)
	var reads, writes string
	commands := may("bash", "execute_command")
	if may(files.ReadFile, files.ListDirectory, "search_files", "grep") {
		reads = listed(box.For(files.ReadFile).Reader().Allowed())
	}
	if commands || may(files.WriteFile, "append_file", "edit_file", "move_file", "copy_file", "create_directory") {
		writes = listed(box.For(files.WriteFile).Writer().Allowed())
	}
	if reads == "" && writes == "" {
		return ""
	}
	text = " Relative paths start at " + listed([]string{box.WorkingDirectory()}) + "."
	switch {
	case reads == writes:
		text += " Files can be read and written in: " + reads + "."
	case reads == "":
		text += " Files can be written in: " + writes + "."
	case writes == "":
		text += " Files can be read in: " + reads + "."
	default:
		text += " Files can be read in: " + reads + "; written in: " + writes + "."
	}
	if commands {
		text += " Commands can also write in $TMPDIR."
	}
	return text
}

// listed returns paths as a list of a bounded length, without secrets.
func listed(paths, secrets []string) string {
	if len(paths) == 0 {
		return "no directory"
	}
	shown := slices.Clone(paths[:min(len(paths), maxPlaces)])
	for i, path := range shown {
		shown[i] = redact.Text(path, secrets)
		if r := []rune(shown[i]); len(r) > maxPlace {
			shown[i] = string(r[:maxPlace]) + "..."
		}
	}
	text := strings.Join(shown, ", ")
	if more := len(paths) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
