package tools

import (
	"slices"

	"toolserver/tools/anthropic"
	"toolserver/tools/declare"
	"toolserver/tools/files"
	"toolserver/tools/linkedin"
	"toolserver/tools/meta"
	"toolserver/tools/shell"
	"toolserver/tools/system"
	"toolserver/tools/utility"
	"toolserver/tools/web"
	"toolserver/tools/websearch"
)

// Declared returns what the built-in tools declare, whether or not the configuration
// has what each needs.
func Declared() []declare.Group {
	return []declare.Group{
		utility.Declared(), files.Declared(), shell.Declared(), system.Declared(), web.Declared(), websearch.Declared(),
		linkedin.Declared(), anthropic.Declared(), meta.Declared(),
	}
}

// Categories returns the categories of the built-in tools, sorted. Which of them
// have tools depends on the configuration.
func Categories() (names []string) {
	for _, g := range Declared() {
		names = append(names, g.Category)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// headings returns the names of the categories, for people.
func headings() map[string]string {
	all := map[string]string{}
	for _, g := range Declared() {
		all[g.Category] = g.Heading
	}
	return all
}
