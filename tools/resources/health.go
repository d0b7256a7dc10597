package resources

import (
	"context"
	"encoding/json"

	"toolserver/domain"
)

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
	// Enforcement is the setting of the sandbox, SandboxLayers name what confines
	// the tools, SandboxMissing says what of the policy is not enforced.
	Enforcement    string   `json:"sandbox_enforcement"`
	SandboxLayers  []string `json:"sandbox_layers"`
	SandboxMissing []string `json:"sandbox_missing,omitempty"`
	// Missing are items that are not offered, each with the reason.
	Missing []domain.Missing `json:"missing,omitempty"`
}

func health(now func() Health) domain.Resource {
	r := domain.Resource{
		URI: "status://health", Name: HealthName, Title: "Health",
		Description: "Whether the server is well: version, uptime, how many tools there are, calls that hang.",
		MIMEType:    "application/json",
	}
	r.Read = func(_ context.Context, at domain.Location) ([]domain.Content, error) {
		b, err := json.MarshalIndent(now(), "", "  ")
		if err != nil {
			return nil, err
		}
		return textContents(at.URI, r.MIMEType, string(b)), nil
	}
	return r
}
