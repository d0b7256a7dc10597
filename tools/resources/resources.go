// Package resources provides the server's own resources: its configuration, its
// health, and the files that read_file may read.
package resources

import (
	"context"
	"time"

	"toolserver/domain"
	"toolserver/sandbox"
)

// Names of the resources, as configuration has them.
const (
	ConfigName = "config"
	HealthName = "health"
	FileName   = "file"
)

// Deps is what the resources are built from. A field that is nil leaves out
// what needs it.
type Deps struct {
	// Files are those that read_file may read: a file is read here exactly if it may.
	Files *sandbox.Reader
	// Listed are those that list_directory may list, which are completed.
	Listed *sandbox.Reader
	// WorkingDirectory is where relative paths start, as it does in Files.
	WorkingDirectory string
	// Config returns the configuration in force as YAML, without secrets.
	Config func() (string, error)
	// ConfigChanged has changed called whenever another configuration is in
	// force, until ctx ends. It returns at once.
	ConfigChanged func(ctx context.Context, changed func())
	// Health tells how the server is.
	Health func() Health
	// PollInterval is the time between two looks at a file that is watched; 0 is
	// two seconds.
	PollInterval time.Duration
}

// All returns the resources.
func All(d Deps) []domain.Resource {
	var all []domain.Resource
	if d.Config != nil {
		all = append(all, configuration(d))
	}
	if d.Health != nil {
		all = append(all, health(d.Health))
	}
	if d.Files != nil {
		all = append(all, newFileReader(d).resource())
	}
	return all
}

// textContents returns the contents of a resource that is one text.
func textContents(uri, mime, text string) []domain.Content {
	return []domain.Content{{Type: domain.ResourceContent, URI: uri, MIMEType: mime, Text: text}}
}
