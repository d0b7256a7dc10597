// Package anthropic provides the tools that use the API of Anthropic:
// claude_conversation asks a model, anthropic_usage reads an organization's usage
// and cost reports.
//
// It speaks HTTP itself. What it sends comes from [Options] and from arguments;
// it reads no environment variable, so that a token or a proxy meant for other
// programs on the machine is neither sent nor obeyed.
package anthropic

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/declare"
	"toolserver/tools/httpcall"
)

// Options are the section anthropic of the configuration.
type Options struct {
	APIKey      string `yaml:"api_key" secret:"true" doc:"Key of the Anthropic API, for claude_conversation; ANTHROPIC_API_KEY in the environment if unset."`
	AdminAPIKey string `yaml:"admin_api_key" secret:"true" doc:"Admin key of the organization, for anthropic_usage; ANTHROPIC_ADMIN_API_KEY in the environment if unset."`
	BaseURL     string `yaml:"base_url" format:"base_url" doc:"Where the Anthropic API is."`
	Version     string `yaml:"version" doc:"Version of the API to ask for, sent as anthropic-version."`
	Model       string `yaml:"model" doc:"Model claude_conversation asks unless its caller names another."`
}

// DefaultOptions returns the options of a configuration that says nothing.
func DefaultOptions() Options {
	return Options{BaseURL: "https://api.anthropic.com", Version: "2023-06-01", Model: "claude-sonnet-5-5"}
}

const category = "ai"

// Declared returns what the tools of the category declare.
func Declared() declare.Group {
	return declare.Group{Category: category, Heading: "Models", Tools: []declare.Tool{
		{Owner: sandbox.Owner{Tool: ConversationName, Fetches: ConversationName}},
		{Owner: sandbox.Owner{Tool: usageName, Fetches: usageName}},
	}}
}

// Tools returns the tools whose key is in o: claude_conversation and
// anthropic_usage. Client returns what each connects with. The error says which
// option cannot be obeyed; it does not show a key.
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
		s, err := newService(client(usageName), o, "Anthropic Admin API", "admin_api_key", o.AdminAPIKey)
		if err != nil {
			return nil, err
		}
		tools = append(tools, usage(reports{s}))
	}
	return tools, nil
}

// service is one of the APIs, as it is reached with one key.
type service struct {
	client  *http.Client
	name    string // as messages name it
	base    *url.URL
	key     string
	version string
	secrets []string // never shown, whoever says them
}

// newService returns the API of that name, with the key that is in an option.
func newService(client *http.Client, o Options, name, option, key string) (service, error) {
	defaults := DefaultOptions()
	if o.BaseURL == "" {
		o.BaseURL = defaults.BaseURL
	}
	if o.Version == "" {
		o.Version = defaults.Version
	}
	base, err := httpcall.ParseBase(o.BaseURL)
	if err != nil {
		return service{}, fmt.Errorf("anthropic.base_url: %w", err)
	}
	key = strings.TrimSpace(key) // a file it was read from may end in a newline
	if !headerValue(key) {
		return service{}, fmt.Errorf("anthropic.%s: it is empty or has a character that no key has", option)
	}
	if !headerValue(o.Version) {
		return service{}, fmt.Errorf("anthropic.version: %q cannot be sent", o.Version)
	}
	s := service{client: client, name: name, base: base, key: key, version: o.Version}
	for _, secret := range []string{o.APIKey, o.AdminAPIKey} {
		if secret = strings.TrimSpace(secret); len(secret) >= minSecret {
			s.secrets = append(s.secrets, secret)
		}
	}
	return s, nil
}

// minSecret is the shortest key that is taken out of text: a shorter one, such
// as a placeholder, turns up in ordinary text by chance.
const minSecret = 8

// headerValue reports whether s is printable ASCII without space.
func headerValue(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// hide takes the keys out of a text that came from outside.
func (s *service) hide(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, domain.Redacted)
	}
	return text
}
