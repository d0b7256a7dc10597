package sandbox

import (
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/sandbox/command"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/programs"
)

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

// A scope says what commands read where no list says it, beside the working directory
// and roots: what every user of the machine may read of the system, what the
// programs in PATH are installed in, and what tool chains are set up by.
type scope struct {
	policy *Policy
	files  access
	around *surroundings
	more   []string // directories of programs that configuration starts
}

// unlisted returns what commands read without a list of paths to read.
func (s *scope) unlisted() []string {
	paths, _ := public("/etc", readables("shared"), readables("secret"))
	if len(s.around.presets) > 0 {
		for _, path := range readables("everyday") {
			paths = append(paths, s.around.atHome(path))
		}
	}
	paths = s.installations(slices.DeleteFunc(paths, func(path string) bool { return !exists(path) }))
	for _, dir := range union([]string{s.policy.WorkingDirectory}, s.policy.Roots) {
		if slices.Contains(s.around.presets, "git") {
			paths = append(paths, repositories(s.around.atHome("~/."), pathguard.Real(dir))...)
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return s.settled(path) == "" })
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
func (s *scope) settled(path string) (real string) {
	own := append(s.files.writes.AllowedBelow(), s.files.scratch.Path(), s.around.caches)
	for _, dir := range slices.Clone(own) {
		own = append(own, pathguard.Real(dir))
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
func (s *scope) installations(known []string) []string {
	local := pathguard.Real(s.around.atHome("~/.local"))
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
	for _, dir := range slices.Concat(s.around.path(), s.more) {
		if dir = s.settled(dir); dir == "" || slices.Contains(seen, dir) {
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
			if target, _ := os.Readlink(file); have(pathguard.Absolute(target, dir)) {
				continue
			}
			switch file = s.settled(file); {
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

// readable returns what tool chains read of the home directory of commands, which is
// what they are installed in and how they are set up. What git is set up by names more.
func (s *scope) readable() (paths []string) {
	for _, t := range programs.Toolchains(s.around.presets) {
		list, before := strings.Fields(t.Reads), len(paths)
		for _, k := range t.Caches {
			if k.Download {
				list = append(list, k.Own)
			}
		}
		for _, path := range list {
			paths = append(paths, s.around.atHome(path))
		}
		if t.Preset == "git" {
			for _, file := range slices.Clone(paths[before:]) {
				paths = s.gitFiles(file, paths)
			}
		}
	}
	// What cannot be reached cannot be read anyway, and what commands write they read.
	return slices.DeleteFunc(paths, func(path string) bool {
		_, err := filepath.EvalSymlinks(path)
		return err != nil && !errors.Is(err, fs.ErrNotExist) || s.settled(path) == ""
	})
}

// gitNames are keys in the configuration of git whose values are files that it reads
// and does not do without. None of them has passwords.
var gitNames = []string{"path", "excludesfile", "attributesfile", "template", "ignorerevsfile"}

// gitFiles adds the files that a configuration file of git names to those that are
// known. What commands may write says nothing.
func (s *scope) gitFiles(file string, known []string) []string {
	info, err := os.Stat(file)
	if err != nil || s.settled(pathguard.Real(file)) == "" || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return known
	}
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if value == "" || !slices.Contains(gitNames, strings.ToLower(strings.TrimSpace(key))) {
			continue
		}
		named := pathguard.Absolute(s.around.atHome(value), filepath.Dir(pathguard.Real(file)))
		if info, err := os.Stat(named); err == nil && info.Mode().IsRegular() && !slices.Contains(known, named) {
			known = s.gitFiles(named, append(known, named))
		}
	}
	return known
}

// repositories returns where git keeps what a directory is part of: a repository around
// it, or the one whose linked worktree it is, if that says so itself. That of the home
// directory is about other things.
func repositories(home, dir string) (found []string) {
	text := func(file string) string { b, _ := os.ReadFile(file); return strings.TrimSpace(string(b)) }
	for ; !pathguard.Within(dir, pathguard.Real(home)) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return append(found, git)
		}
		linked := pathguard.Real(pathguard.Absolute(strings.TrimSpace(strings.TrimPrefix(text(git), "gitdir:")), dir))
		if all := filepath.Dir(linked); filepath.Base(all) == "worktrees" && pathguard.Real(text(filepath.Join(linked, "gitdir"))) == git {
			found = append(found, filepath.Dir(all))
		}
	}
	return found
}
