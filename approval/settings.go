package approval

import (
	"path"
	"slices"
	"time"
)

// Settings say whether people who are not at the client are asked, and how.
type Settings struct {
	Enabled    bool          `yaml:"enabled"`
	Wait       time.Duration `yaml:"wait" min:"0s" max:"10m"`
	Expires    time.Duration `yaml:"expires" min:"1s" max:"168h"`
	Second     []string      `yaml:"second" format:"glob"`
	ConsoleURL string        `yaml:"console_url" format:"server_url"`
	Webhook    Webhook       `yaml:"webhook"`
}

// DefaultSettings returns the settings of a configuration that says nothing.
func DefaultSettings() Settings {
	return Settings{Wait: 50 * time.Second, Expires: 15 * time.Minute, Webhook: Webhook{Format: "json"}}
}

// Names reports whether a tool, by one of its names, is one to whose calls a second person has to agree.
func (s Settings) Names(names ...string) bool {
	return slices.ContainsFunc(s.Second, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool { ok, _ := path.Match(pattern, name); return ok })
	})
}
