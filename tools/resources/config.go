package resources

import (
	"context"

	"toolserver/domain"
)

func configuration(d Deps) domain.Resource {
	r := domain.Resource{
		URI: "config://server", Name: ConfigName, Title: "Configuration",
		Description: "The server's configuration in force, as YAML. Secrets are masked.",
		MIMEType:    "application/yaml",
	}
	r.Read = func(_ context.Context, at domain.Location) ([]domain.Content, error) {
		text, err := d.Config()
		if err != nil {
			return nil, err
		}
		return textContents(at.URI, r.MIMEType, text), nil
	}
	if d.ConfigChanged != nil {
		r.Watch = func(ctx context.Context, _ domain.Location, changed func()) error {
			d.ConfigChanged(ctx, changed)
			return nil
		}
	}
	return r
}
