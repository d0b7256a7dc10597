package programs

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/sandbox/command"
)

// A Toolchain is what programs need to do their work that policy does not list, since
// nobody thinks of it. Several may be of the same preset. See toolchains.txt.
type Toolchain struct {
	Preset string
	Reads  string // files and directories, with ~ for the home directory
	Caches []Cache

	programs, starts, dirs, hosts string
}

// A Cache is a directory that a tool chain keeps for the next time.
type Cache struct {
	Own      string // where it is unless a variable says otherwise
	Set, Too string // variables that say so, the second one if there is an own one
	Download bool   // it is what was downloaded
}

//go:embed toolchains.txt
var toolchainLines string

// all returns the rows of toolchains.txt, whose head describes them. The shells are
// always there: what they start is held to the list of commands itself.
var all = sync.OnceValue(func() (rows []Toolchain) {
	_, text, _ := strings.Cut(toolchainLines, "\n\n")
	for row := range strings.SplitSeq(text, "\n\n") {
		var t Toolchain
		fields := map[string]*string{
			"preset": &t.Preset, "programs": &t.programs, "starts": &t.starts, "dirs": &t.dirs, "reads": &t.Reads, "hosts": &t.hosts,
		}
		for line := range strings.Lines(row) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if field := fields[name]; field != nil {
				*field += value + " "
			} else if words := append(strings.Fields(value), ""); name == "cache" || name == "download" {
				t.Caches = append(t.Caches, Cache{words[0], words[1], words[2], name == "download"})
			}
		}
		t.Preset = strings.TrimSpace(t.Preset)
		rows = append(rows, t)
	}
	return rows
})

// has reports whether the row is about a program.
func (t Toolchain) has(program string) bool {
	return slices.Contains(strings.Fields(t.programs), program)
}

// Presets returns the names of tool chains.
func Presets() (names []string) {
	for _, t := range all() {
		if t.Preset != "" && !slices.Contains(names, t.Preset) {
			names = append(names, t.Preset)
		}
	}
	return names
}

// Hosts returns the hosts that presets get packages from.
func Hosts(presets []string) (hosts []string) {
	for _, t := range Toolchains(presets) {
		hosts = append(hosts, strings.Fields(t.hosts)...)
	}
	return hosts
}

// PresetsOf returns those of the programs that may run.
func PresetsOf(lists Lists) (presets []string) {
	if lists.Any() {
		return Presets()
	}
	for _, t := range all() {
		listed := func(r command.Rule) bool {
			words := strings.Fields(r.Name)
			return len(words) > 0 && t.has(filepath.Base(words[0]))
		}
		if t.Preset != "" && !slices.Contains(presets, t.Preset) && slices.ContainsFunc(lists.Allowed, listed) {
			presets = append(presets, t.Preset)
		}
	}
	return presets
}

// Toolchains returns the tool chains of presets, and those that are of none.
func Toolchains(presets []string) (rows []Toolchain) {
	for _, t := range all() {
		if t.Preset == "" || slices.Contains(presets, t.Preset) {
			rows = append(rows, t)
		}
	}
	return rows
}
