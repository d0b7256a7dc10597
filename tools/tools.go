// Package tools gathers the built-in tools.
package tools

import (
	"fmt"
	"slices"

	"toolserver/domain"
	"toolserver/sandbox"
	"toolserver/tools/anthropic"
	"toolserver/tools/files"
	"toolserver/tools/linkedin"
	"toolserver/tools/meta"
	"toolserver/tools/shell"
	"toolserver/tools/system"
	"toolserver/tools/utility"
	"toolserver/tools/web"
	"toolserver/tools/websearch"
)

// Deps is what the built-in tools are built from.
type Deps struct {
	Files    *sandbox.Files
	Commands *sandbox.Commands
	Network  *sandbox.Network
	Results  *domain.ResultStore
	Catalog  func(domain.Principal) []*domain.Tool // what a principal can call, all tools considered
	Lasting  *Lasting                              // nil to make all tools anew

	FileOptions  files.Options
	ShellOptions shell.Options
	System       system.Options
	Web          web.Options
	Search       websearch.Options
	LinkedIn     linkedin.Options
	Anthropic    anthropic.Options

	CapabilitiesFile string // empty for [meta.DefaultFile]
}

// All returns the tools, but for those that lack credentials; see [Missing]. The
// error says which of d's options cannot be obeyed.
func All(d Deps) ([]domain.Tool, error) {
	systemTools, err := system.Tools(d.System)
	if err != nil {
		return nil, fmt.Errorf("system tools: %w", err)
	}
	online, err := online(d)
	if err != nil {
		return nil, err
	}
	ask, err := asker(d)
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		utility.Tools(),
		files.Tools(d.Files, d.FileOptions),
		shell.Tools(d.Commands, d.ShellOptions),
		systemTools,
		online,
		meta.Tools(d.Results),
		[]domain.Tool{meta.RefreshTool(meta.Capabilities{
			Catalog: d.Catalog, Files: d.Files.Writer("write_file"), File: d.CapabilitiesFile, Ask: ask,
		})},
	), nil
}

// online returns the tools that reach beyond this machine.
func online(d Deps) (all []domain.Tool, err error) {
	client := d.Network.Client()
	for _, family := range []struct {
		name    string
		options any
		make    func() ([]domain.Tool, error)
	}{
		{"web", d.Web, func() ([]domain.Tool, error) { return web.Tools(d.Network, d.Web), nil }},
		{"web.search", d.Search, func() ([]domain.Tool, error) { return websearch.Tools(client, d.Search) }},
		{"linkedin", d.LinkedIn, func() ([]domain.Tool, error) { return linkedin.Tools(client, d.LinkedIn) }},
		{"anthropic", d.Anthropic, func() ([]domain.Tool, error) { return anthropic.Tools(client, d.Anthropic) }},
	} {
		made, err := d.Lasting.tools(family.name, family.options, family.make)
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}
