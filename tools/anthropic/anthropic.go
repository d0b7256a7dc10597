// Package anthropic provides the tools that use the API of Anthropic: claude_conversation asks a model, anthropic_usage reads
// an organization's usage and cost reports.
//
// It speaks HTTP itself. What it sends comes from [Options] and from arguments; it reads no environment variable, so that a
// token or a proxy meant for other programs on the machine is not used.
package anthropic

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// Options are the section anthropic of the configuration.
type Options struct {
	APIKey      string `yaml:"api_key" secret:"true"`
	AdminAPIKey string `yaml:"admin_api_key" secret:"true"`
	BaseURL     string `yaml:"base_url" format:"base_url" template:"-"`
	Version     string `yaml:"version" template:"-"`
	Model       string `yaml:"model"`
}

// DefaultOptions returns the options of a configuration that says nothing.
func DefaultOptions() Options {
	return Options{BaseURL: "https://api.anthropic.com", Model: "claude-sonnet-5-5"}
}

// Versions of the API. A version keeps what it had when it was published.
const (
	versionMessages = "2026-10-21"
	versionReports  = "2023-06-01"
	versionSampling = "2023-06-01" // the last with a temperature, for the models that accept one
)

const category = "ai"

// Declared returns what the tools of the category declare.
func Declared() declare.Group {
	return declare.Group{Category: category, Heading: "Models", Tools: []declare.Tool{
		{
			Owner: sandbox.Owner{Tool: ConversationName, Fetches: ConversationName},
			Lacks: "needs a key of its own, since it costs money: anthropic.api_key in the configuration, such as ${ANTHROPIC_API_KEY}, " +
				"or the environment variable TOOLSERVER_ANTHROPIC_API_KEY",
		},
		{
			Owner: sandbox.Owner{Tool: usageName, Fetches: usageName},
			Lacks: "needs the environment variable ANTHROPIC_ADMIN_API_KEY, or anthropic.admin_api_key in the configuration",
		},
	}}
}

// Tools returns the tools whose key is in o: claude_conversation and anthropic_usage. Client returns what each connects with.
// The error names an option that cannot be used; it does not show a key.
func Tools(client func(tool string) *http.Client, o Options) ([]domain.Tool, error) {
	var tools []domain.Tool
	if strings.TrimSpace(o.APIKey) != "" {
		m, err := NewMessages(client(ConversationName), o)
		if err != nil {
			return nil, err
		}
		tools = append(tools, conversation(talk{m, newHistory()}))
	}
	if strings.TrimSpace(o.AdminAPIKey) != "" {
		o.Version = cmp.Or(o.Version, versionReports)
		s, err := newService(client(usageName), o, "Anthropic Admin API", "Error querying Anthropic Admin API", "admin_api_key", o.AdminAPIKey)
		if err != nil {
			return nil, err
		}
		tools = append(tools, usage(s))
	}
	return tools, nil
}
