package sandbox

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// This file says what commands read where no list says it, beside the working directory
// and roots: what every user of the machine may read of the system, and what the
// programs in PATH are installed in.

//go:embed readable.txt
var readableLines string

// readables returns the paths of a kind in readable.txt, whose head describes them.
func readables(kind string) (paths []string) {
	for line := range strings.Lines(readableLines) {
		if rest, ok := strings.CutPrefix(line, kind+": "); ok {
			paths = append(paths, strings.Fields(rest)...)
		}
	}
	return paths
}

// ofSystem returns the directories whose programs need nothing that lies elsewhere.
func ofSystem() []string {
	return append([]string{"/usr", "/bin", "/sbin", "/lib", "/System", "/Library"}, readables("shared")...)
}

// unlisted returns what commands read without a list of paths to read.
func (c *Commands) unlisted() []string {
	paths, _ := public("/etc", readables("shared"), readables("secret"))
	if len(c.around().presets) > 0 {
		for _, path := range readables("everyday") {
			paths = append(paths, c.around().atHome(path))
		}
	}
	paths = c.installations(slices.DeleteFunc(paths, func(path string) bool { return !exists(path) }))
	for _, dir := range union([]string{c.policy.WorkingDirectory}, c.policy.Roots) {
		if slices.Contains(c.around().presets, "git") {
			paths = append(paths, c.repositories(realOr(dir))...)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return c.settled(path) == "" })
}

// public adds to paths what every user of the machine may read at path: as one if that is
// so of all of it that this user may read, and none of it is secret.
func public(path string, paths, secret []string) (all []string, whole bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type()&^fs.ModeDir != 0 {
		return paths, true // what a link leads to is granted where it lies
	}
	open := fs.FileMode(0o004)
	if info.IsDir() {
		open = 0o005
	}
	named := func(pattern string) bool { matched, _ := filepath.Match(pattern, path); return matched }
	if info.Mode()&open != open || slices.ContainsFunc(secret, named) {
		return paths, !readable(path)
	}
	all, whole = paths, true
	entries, _ := os.ReadDir(path) // none of a file
	for _, e := range entries {
		more, wholly := public(filepath.Join(path, e.Name()), all, secret)
		all, whole = more, whole && wholly
	}
	if whole {
		all = append(paths, path)
	}
	return all, whole
}

// settled returns where a path leads, or nothing if it or a link on its way is where
// commands write: what such a link leads to is for them to say.
func (c *Commands) settled(path string) (real string) {
	own := append(c.writes.AllowedBelow(), c.kernel.scratch.path(), c.around().caches)
	for _, dir := range slices.Clone(own) {
		own = append(own, realOr(dir))
	}
	real = command.RealPath(path, func(at string) bool {
		if slices.ContainsFunc(own, func(dir string) bool { return pathguard.Within(dir, at) }) {
			path = ""
		}
		return path != ""
	})
	if path == "" {
		return ""
	}
	return real
}

// installations adds to known what the programs in PATH, and others that configuration
// names, are installed in, also those that are links to programs elsewhere.
func (c *Commands) installations(known []string) []string {
	local := realOr(c.around().atHome("~/.local"))
	system := ofSystem()
	have := func(path string) bool {
		within := func(dir string) bool { return pathguard.Within(dir, path) }
		return slices.ContainsFunc(system, within) || slices.ContainsFunc(known, within)
	}
	add := func(bin string) {
		prefix, base := filepath.Dir(bin), filepath.Base(bin)
		beside := base == "shims" || base == "bin" && slices.ContainsFunc([]string{"lib", "lib64", "libexec", "include", "packages"},
			func(name string) bool { return exists(filepath.Join(prefix, name)) })
		if !beside || pathguard.Within(prefix, local) || filepath.Dir(prefix) == "/" {
			prefix = bin // what is beside it may be anything
		}
		if !have(prefix) && !pathguard.Within(prefix, local) {
			known = append(known, prefix)
		}
	}
	var seen []string
	for _, dir := range slices.Concat(c.around().path(), c.programs) {
		if dir = c.settled(dir); dir == "" || slices.Contains(seen, dir) {
			continue
		}
		seen = append(seen, dir)
		add(dir)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			file := filepath.Join(dir, e.Name())
			if e.Type() != fs.ModeSymlink {
				continue
			}
			if target, _ := os.Readlink(file); have(absolute(target, dir)) {
				continue
			}
			switch file = c.settled(file); {
			case have(file) || !isRegular(file):
			case filepath.Base(filepath.Dir(file)) == "bin":
				add(filepath.Dir(file))
			default:
				known = append(known, file)
			}
		}
	}
	return known
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// repositories returns where git keeps what a directory is part of: a repository around
// it, or the one whose linked worktree it is, if that says so itself. That of the home
// directory is about other things.
func (c *Commands) repositories(dir string) (found []string) {
	text := func(file string) string { b, _ := os.ReadFile(file); return strings.TrimSpace(string(b)) }
	for ; !pathguard.Within(dir, realOr(c.around().atHome("~/."))) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return append(found, git)
		}
		linked := realOr(absolute(strings.TrimSpace(strings.TrimPrefix(text(git), "gitdir:")), dir))
		if all := filepath.Dir(linked); filepath.Base(all) == "worktrees" && realOr(text(filepath.Join(linked, "gitdir"))) == git {
			found = append(found, filepath.Dir(all))
		}
	}
	return found
}

// unreadable says why commands do not read what the server could, which is [ThePath] there, and what would let them.
func (c *Commands) unreadable(path string) string {
	spec, real, dir := c.confinement.spec(), realOr(path), filepath.Dir(path)
	for _, open := range slices.Concat(spec.Read, spec.Write, spec.Exec, ofSystem(), []string{"/dev", "/proc", "/sys"}) {
		if pathguard.Within(realOr(open), real) {
			return ""
		}
	}
	if spec.WithoutLandlock && !c.kernel.support.Seatbelt || c.temporary(path) || c.inOwnTemp(path) || !readable(path) {
		return ""
	}
	if pathguard.Within(dir, c.around().lookup("HOME")) || pathguard.Within("/etc", dir) {
		dir = path // and no more
	}
	return fmt.Sprintf("the sandbox lets commands read only %s and what programs need of the system, and %s is none of that; "+
		"the operator can allow it with tools.%s.allowed_paths: [%s] (rule: tools.%[3]s.allowed_paths)",
		c.places(union(c.reads.AllowedBelow(), spec.Write)), ThePath, c.owner.Reads, strings.Join(append(c.reads.Allowed(), dir), ", "))
}
