package sandbox

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/sandbox/command"
)

// A toolchain is what programs need to do their work that policy does not list, since
// nobody thinks of it. Several rows may be of the same preset. See toolchains.txt.
type toolchain struct {
	preset, programs, starts, dirs, reads, hosts string

	caches []cache // what they keep for the next time
}

// A cache is a directory of a tool chain.
type cache struct {
	own, set, too string
	download      bool
}

//go:embed toolchains.txt
var toolchainLines string

// toolchains returns the rows of toolchains.txt, whose head describes them. The shells are
// always there: what they start is held to the list of commands itself.
var toolchains = sync.OnceValue(func() (all []toolchain) {
	_, rows, _ := strings.Cut(toolchainLines, "\n\n")
	for row := range strings.SplitSeq(rows, "\n\n") {
		var t toolchain
		fields := map[string]*string{"preset": &t.preset, "programs": &t.programs, "starts": &t.starts, "dirs": &t.dirs, "reads": &t.reads, "hosts": &t.hosts}
		for line := range strings.Lines(row) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if field := fields[name]; field != nil {
				*field += value + " "
			} else if words := append(strings.Fields(value), ""); name == "cache" || name == "download" {
				t.caches = append(t.caches, cache{words[0], words[1], words[2], name == "download"})
			}
		}
		t.preset = strings.TrimSpace(t.preset)
		all = append(all, t)
	}
	return all
})

// besideSecrets has git go on beside files that it may not open: those it knows are
// unchanged while their size and time are, and it adds all others.
const besideSecrets = `GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=core.checkStat GIT_CONFIG_VALUE_0=minimal
	GIT_CONFIG_KEY_1=core.trustctime GIT_CONFIG_VALUE_1=false GIT_CONFIG_KEY_2=add.ignoreErrors GIT_CONFIG_VALUE_2=true`

// has reports whether the row is about a program.
func (t toolchain) has(program string) bool {
	return slices.Contains(strings.Fields(t.programs), program)
}

// Presets returns what [Settings.Presets] can name.
func Presets() (all []string) {
	for _, t := range toolchains() {
		if t.preset != "" && !slices.Contains(all, t.preset) {
			all = append(all, t.preset)
		}
	}
	return all
}

// PresetHosts returns the hosts that presets get packages from.
func PresetHosts(presets []string) (hosts []string) {
	for _, t := range rowsOf(presets) {
		hosts = append(hosts, strings.Fields(t.hosts)...)
	}
	return hosts
}

// presets returns those in force: as set, or else those whose programs may run.
func (p Policy) presets(lists ToolPolicy) (all []string) {
	if p.Settings.Presets != nil {
		return p.Settings.Presets
	}
	if lists.AllowedCommands == nil || names(lists.AllowedCommands, "*") {
		return Presets()
	}
	for _, t := range toolchains() {
		listed := func(r command.Rule) bool {
			words := strings.Fields(r.Name)
			return len(words) > 0 && t.has(filepath.Base(words[0]))
		}
		if t.preset != "" && slices.ContainsFunc(lists.AllowedCommands, listed) {
			all = union(all, []string{t.preset})
		}
	}
	return all
}

// rowsOf returns the rows of presets, and those that are of none.
func rowsOf(presets []string) (rows []toolchain) {
	for _, t := range toolchains() {
		if t.preset == "" || slices.Contains(presets, t.preset) {
			rows = append(rows, t)
		}
	}
	return rows
}

// readable returns what tool chains read of the home directory of commands, which is
// what they are installed in and how they are set up. What git is set up by names more.
func (c *Commands) readable() (paths []string) {
	for _, t := range rowsOf(c.around().presets) {
		list, before := strings.Fields(t.reads), len(paths)
		for _, k := range t.caches {
			if k.download {
				list = append(list, k.own)
			}
		}
		for _, path := range list {
			paths = append(paths, c.around().atHome(path))
		}
		if t.preset == "git" {
			for _, file := range slices.Clone(paths[before:]) {
				paths = c.gitFiles(file, paths)
			}
		}
	}
	// What cannot be reached cannot be read anyway, and what commands write they read.
	return slices.DeleteFunc(paths, func(path string) bool {
		_, err := filepath.EvalSymlinks(path)
		return err != nil && !errors.Is(err, fs.ErrNotExist) || c.settled(path) == ""
	})
}

// gitNames are keys in the configuration of git whose values are files that it reads
// and does not do without. None of them has passwords.
var gitNames = []string{"path", "excludesfile", "attributesfile", "template", "ignorerevsfile"}

// gitFiles adds the files that a configuration file of git names to those that are
// known. What commands may write says nothing.
func (c *Commands) gitFiles(file string, known []string) []string {
	info, err := os.Stat(file)
	if err != nil || c.settled(realOr(file)) == "" || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return known
	}
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if value == "" || !slices.Contains(gitNames, strings.ToLower(strings.TrimSpace(key))) {
			continue
		}
		named := absolute(c.around().atHome(value), filepath.Dir(realOr(file)))
		if info, err := os.Stat(named); err == nil && info.Mode().IsRegular() && !slices.Contains(known, named) {
			known = c.gitFiles(named, append(known, named))
		}
	}
	return known
}
