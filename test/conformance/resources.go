package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/toolserver/toolserver/domain"
)

// resources are documents that never change.
func resources() []domain.Resource {
	return []domain.Resource{
		{
			URI: "test://static-text", Name: "static-text", Title: "Static text",
			Description: "A text that never changes.", MIMEType: "text/plain",
			Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
				return document(at, "text/plain", "This is the content of the static text resource."), nil
			},
		},
		{
			URI: "test://static-binary", Name: "static-binary", Title: "Static image",
			Description: "An image that never changes.", MIMEType: "image/png",
			Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
				return []domain.Content{{Type: domain.ResourceContent, URI: at.URI, MIMEType: "image/png", Data: redPixel()}}, nil
			},
		},
		{
			Template: "test://template/{id}/data", Name: "template", Title: "Data by id",
			Description: "A document for each id.", MIMEType: "application/json",
			Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
				id := at.Vars["id"]
				return document(at, "application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)), nil
			},
		},
	}
}

// document is a document of text.
func document(at domain.Location, mimeType, text string) []domain.Content {
	return []domain.Content{{Type: domain.ResourceContent, URI: at.URI, MIMEType: mimeType, Text: text}}
}

// watchedResource is a document that a tool changes, and that tells of it.
type watchedResource struct {
	mu       sync.Mutex
	version  int
	lastID   int
	watchers map[int]func()
}

func (w *watchedResource) resource() domain.Resource {
	return domain.Resource{
		URI: "test://watched-resource", Name: "watched-resource", Title: "Watched text",
		Description: "A text that test_touch_watched_resource changes.", MIMEType: "text/plain",
		Read: func(_ context.Context, at domain.Location) ([]domain.Content, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return document(at, "text/plain", fmt.Sprintf("Version %d", w.version)), nil
		},
		Watch: w.watch,
	}
}

func (w *watchedResource) tool() domain.Tool {
	return changes("test_touch_watched_resource", "Changes test://watched-resource.", func(context.Context) (domain.ToolResult, error) {
		return domain.Text(fmt.Sprintf("Version %d", w.touch())), nil
	})
}

// watch has changed called after each change, until ctx ends.
func (w *watchedResource) watch(ctx context.Context, _ domain.Location, changed func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastID++
	id := w.lastID
	if w.watchers == nil {
		w.watchers = map[int]func(){}
	}
	w.watchers[id] = changed
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watchers, id)
	})
	return nil
}

// touch changes the document. Watchers are called without the lock held: they
// may read it.
func (w *watchedResource) touch() (version int) {
	w.mu.Lock()
	w.version++
	version = w.version
	watchers := slices.Collect(maps.Values(w.watchers))
	w.mu.Unlock()
	for _, changed := range watchers {
		changed()
	}
	return version
}
