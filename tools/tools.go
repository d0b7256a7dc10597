// Package tools gathers the built-in tools.
package tools

import (
	"fmt"
	"slices"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/files"
	"toolserver/tools/meta"
	"toolserver/tools/shell"
	"toolserver/tools/system"
	"toolserver/tools/utility"
)

// Deps is what the built-in tools are built from.
type Deps struct {
	Files    *sandbox.Files
	Commands *sandbox.Commands
	Results  *domain.ResultStore

	FileOptions  files.Options
	ShellOptions shell.Options
	System       system.Options
}

// All returns the tools. The error says which of d's options cannot be obeyed.
func All(d Deps) ([]domain.Tool, error) {
	systemTools, err := system.Tools(d.System)
	if err != nil {
		return nil, fmt.Errorf("system tools: %w", err)
	}
	return slices.Concat(
		utility.Tools(),
		files.Tools(d.Files, d.FileOptions),
		shell.Tools(d.Commands, d.ShellOptions),
		systemTools,
		meta.Tools(d.Results),
	), nil
}
