// Package resources provides the server's own resources: its configuration, its
// health, and the files that read_file may read.
package resources

import (
	"context"
	"encoding/json"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/tools/files"
)

// Names of the resources, as configuration has them.
const (
	ConfigName    = "config"
	HealthName    = "health"
	UpstreamsName = "upstreams"
	FileName      = "file"
)

// Names returns them all.
func Names() []string { return []string{ConfigName, HealthName, UpstreamsName, FileName} }

// Options are what the configuration says of the resources.
type Options struct {
	Servers bool // there are other MCP servers
	Views   bool // clients may be offered views
}

// Server is what the resources are about. A field that is nil leaves out
// what needs it.
type Server struct {
	// Config returns the configuration in force as YAML, without secrets.
	Config func() (string, error)
	// ConfigChanged has changed called whenever another configuration is in
	// force, until ctx ends. It returns at once.
	ConfigChanged func(ctx context.Context, changed func())
	// Health tells a principal how the server is.
	Health func(domain.Principal) Health
	// Upstreams tells a principal how the servers are that it may use, as what JSON is
	// made of.
	Upstreams func(domain.Principal) any
	// UpstreamsChanged has changed called whenever the state of a server has changed,
	// until ctx ends. It returns at once.
	UpstreamsChanged func(ctx context.Context, changed func())
}

// Family returns the resources. A file is read exactly if read_file may read it, and completed if list_directory may list it.
func Family(s Server) declare.Family[Options, []domain.Resource] {
	return declare.Family[Options, []domain.Resource]{
		Name: "resources", ByPolicy: true, Others: func(all []domain.Resource) domain.Offer { return domain.Offer{Resources: all} },
		Share: func(from declare.From[Options]) (all []domain.Resource, err error) {
			if s.Config != nil {
				all = append(all, configuration(s))
			}
			if s.Health != nil {
				all = append(all, health(s.Health))
			}
			if s.Upstreams != nil && from.Config.Servers {
				all = append(all, upstreams(s))
			}
			if from.Config.Views {
				all = append(all, Views()...)
			}
			box := from.Sandbox
			f := &fileReader{box.For(files.ReadFile).Reader(), box.For(files.ListDirectory).Reader(), box.WorkingDirectory()}
			return append(all, f.resource()), nil
		},
	}
}

// textual completes a resource that is one text.
func textual(r domain.Resource, text func(context.Context) (string, error)) domain.Resource {
	r.Read = func(ctx context.Context, at domain.Location) ([]domain.Content, error) {
		now, err := text(ctx)
		if err != nil {
			return nil, err
		}
		return []domain.Content{{Type: domain.ResourceContent, URI: at.URI, MIMEType: r.MIMEType, Text: now}}, nil
	}
	return r
}

func configuration(s Server) domain.Resource {
	r := domain.Resource{
		URI: "config://server", Name: ConfigName, Title: "Configuration",
		Description: "The server's configuration in force, as YAML. Secrets are masked.",
		MIMEType:    "application/yaml",
	}
	if s.ConfigChanged != nil {
		r.Watch = func(ctx context.Context, _ domain.Location, changed func()) error {
			s.ConfigChanged(ctx, changed)
			return nil
		}
	}
	return textual(r, func(context.Context) (string, error) { return s.Config() })
}

// Health is what status://health says.
type Health struct {
	Status           string   `json:"status"` // ok
	Version          string   `json:"version"`
	Started          string   `json:"started"` // RFC 3339
	UptimeSeconds    int64    `json:"uptime_seconds"`
	ProtocolVersions []string `json:"protocol_versions,omitempty"` // of MCP, the newest first
	ToolsEnabled     int      `json:"tools_enabled"`
	ToolsDisabled    int      `json:"tools_disabled"`
	// CallsAbandoned are handlers that are still running although their caller
	// has been answered; many of them mean that something hangs.
	CallsAbandoned int64 `json:"calls_abandoned"`
	// Jobs are the commands of the caller that run in the background, without a session.
	Jobs int `json:"background_jobs,omitempty"`
	// Configuration says which is in force and why, Unused which files that were
	// found are not.
	Configuration string   `json:"configuration"`
	Unused        []string `json:"configuration_unused,omitempty"`
	// Upstreams are the numbers of MCP servers behind this one, by their state.
	Upstreams map[string]int `json:"upstreams,omitempty"`
	// Enforcement is the setting of the sandbox, SandboxLayers name what confines
	// the tools, SandboxMissing says what of the policy is not enforced.
	Enforcement    string   `json:"sandbox_enforcement"`
	SandboxLayers  []string `json:"sandbox_layers"`
	SandboxMissing []string `json:"sandbox_missing,omitempty"`
	// Missing are items that are not offered, each with the reason.
	Missing []domain.Missing `json:"missing,omitempty"`
}

func health(now func(domain.Principal) Health) domain.Resource {
	return textual(domain.Resource{
		URI: "status://health", Name: HealthName, Title: "Health",
		Description: "Whether the server is well: version, uptime, how many tools there are, calls that hang.",
		MIMEType:    "application/json",
	}, func(ctx context.Context) (string, error) {
		text, err := json.MarshalIndent(now(call.SessionOf(ctx).Principal), "", "  ")
		return string(text), err
	})
}

func upstreams(s Server) domain.Resource {
	r := domain.Resource{
		URI: "status://upstreams", Name: UpstreamsName, Title: "MCP servers behind this one",
		Description: "How the MCP servers are whose tools this server offers: which are ready, which have failed and why, and how much they offer.",
		MIMEType:    "application/json",
		Watch: func(ctx context.Context, _ domain.Location, changed func()) error {
			s.UpstreamsChanged(ctx, changed)
			return nil
		},
	}
	return textual(r, func(ctx context.Context) (string, error) {
		text, err := json.MarshalIndent(s.Upstreams(call.SessionOf(ctx).Principal), "", "  ")
		return string(text), err
	})
}
