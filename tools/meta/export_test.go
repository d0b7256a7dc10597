package meta

import (
	"context"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/text/jq"
)

// Refresh is what capabilities_refresh is built from.
type Refresh struct {
	Catalog  func(domain.Principal) []*domain.Tool
	Files    *sandbox.Writer
	File     string
	Headings map[string]string
	Ask      func(ctx context.Context, system, message string) (string, error)
}

// RefreshTool returns capabilities_refresh.
func RefreshTool(r Refresh) domain.Tool {
	return refreshTool(capabilities{r.Catalog, r.Files, r.File, r.Headings, r.Ask})
}

// ReadTool returns read_large_result.
func ReadTool(store *call.ResultStore, selector *jq.Selector) domain.Tool {
	return readTool(store, selector)
}
