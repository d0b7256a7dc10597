// Package anthropic provides the tools that use the API of Anthropic: claude_conversation asks a model, anthropic_usage reads
// an organization's usage and cost reports.
//
// It speaks HTTP itself. What it sends comes from [Options] and from arguments; it reads no environment variable, so that a
// token or a proxy meant for other programs on the machine is not used.
package anthropic

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
)

// arguments say what the arguments of tools mean; package structschema reads them.
//
//go:embed arguments.txt
var arguments string

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

// Family returns the tools of the category ai. Each requires its key.
func Family() declare.Family[Options, services] {
	return declare.Family[Options, services]{
		Name: "anthropic", Category: declare.Category{Name: "ai", Heading: "Models"}, Once: true, Share: newServices,
		Tools: []declare.Entry[services]{
			{
				Owner: sandbox.Owner{Tool: ConversationName, Fetches: ConversationName},
				Lacks: func(s services) string {
					return lacking(s.messages, "needs a key of its own, since it costs money: anthropic.api_key in the configuration, such as ${ANTHROPIC_API_KEY}, "+
						"or the environment variable TOOLSERVER_ANTHROPIC_API_KEY")
				},
				Make: func(s services, _ sandbox.Capabilities) domain.Tool {
					return conversation(talk{s.messages, newHistory()})
				},
			},
			{
				Owner: sandbox.Owner{Tool: usageName, Fetches: usageName},
				Lacks: func(s services) string {
					return lacking(s.reports, "needs the environment variable ANTHROPIC_ADMIN_API_KEY, or anthropic.admin_api_key in the configuration")
				},
				Make: func(s services, _ sandbox.Capabilities) domain.Tool { return usage(*s.reports) },
			},
		},
	}
}

// services are the APIs whose keys there are; the others are nil.
type services struct {
	messages *Messages
	reports  *service
}

func lacking[T any](api *T, reason string) string {
	if api != nil {
		return ""
	}
	return reason
}

// newServices returns the APIs. The error names an option that cannot be used; it does not show a key.
func newServices(from declare.From[Options]) (s services, err error) {
	o := from.Config
	if strings.TrimSpace(o.APIKey) != "" {
		if s.messages, err = NewMessages(from.Client(ConversationName), o); err != nil {
			return s, err
		}
	}
	if strings.TrimSpace(o.AdminAPIKey) != "" {
		o.Version = cmp.Or(o.Version, versionReports)
		reports, err := newService(from.Client(usageName), o, "Anthropic Admin API", "Error querying Anthropic Admin API", "admin_api_key", o.AdminAPIKey)
		s.reports = &reports
		return s, err
	}
	return s, nil
}
