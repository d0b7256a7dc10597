package config

import (
	"os"
	"strings"
)

// credentials takes keys that the file does not name from the environment, under
// the names their services use. They are secrets, wherever they come from.
func (l *Loaded) credentials() {
	for _, c := range []struct {
		variable string
		key      *string
	}{
		{"ANTHROPIC_API_KEY", &l.Anthropic.APIKey},
		{"ANTHROPIC_ADMIN_API_KEY", &l.Anthropic.AdminAPIKey},
		{"BRAVE_API_KEY", &l.Web.Search.Brave.APIKey},
		{"TAVILY_API_KEY", &l.Web.Search.Tavily.APIKey},
	} {
		if *c.key = strings.TrimSpace(*c.key); *c.key == "" {
			*c.key = strings.TrimSpace(os.Getenv(c.variable))
		}
		if *c.key != "" {
			l.Secrets = append(l.Secrets, *c.key)
		}
	}
}
