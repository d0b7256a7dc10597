package resources

import (
	"bytes"
	"context"
	"embed"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/wire/rawjson"
)

// pages are the views: common.html, which has styles and speaks with the host, begins each of them. They load nothing, so
// they declare no origin, and whatever comes in a result becomes text only.
//
//go:embed views/*.html
var pages embed.FS

// views are the tools that have a view, by the name of that.
var views = map[string]string{"calendar": "calendar_list_events", "diff": "edit_file", "jobs": "bash_jobs", "usage": "anthropic_usage"}

// Views returns the views as resources, each for those who may use its tool.
func Views() (all []domain.Resource) {
	for name, tool := range views {
		all = append(all, domain.Resource{
			URI: domain.ViewBase + name, Name: "view_" + name, MIMEType: domain.ViewType, Unlisted: true, Audience: domain.Audience{Tool: tool},
			Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
				var page []byte
				for _, part := range []string{"common", name} {
					html, err := pages.ReadFile("views/" + part + ".html")
					if err != nil {
						return nil, err
					}
					for line := range bytes.Lines(html) {
						if line = bytes.TrimLeft(line, " "); !bytes.HasPrefix(line, []byte("//")) { // browsers need neither
							page = append(page, line...)
						}
					}
				}
				c := domain.Content{Type: domain.ResourceContent, URI: at.URI, MIMEType: domain.ViewType, Text: string(page)}
				c.Raw = rawjson.AppendString([]byte(`{"uri":`), c.URI)
				c.Raw = rawjson.AppendString(append(c.Raw, `,"mimeType":"`+domain.ViewType+`","text":`...), c.Text)
				c.Raw = append(c.Raw, `,"_meta":{"ui":{"prefersBorder":true}}}`...)
				return []domain.Content{c}, nil
			},
		})
	}
	return all
}
