package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"toolserver/sandbox/pathguard"
	"toolserver/sandbox/repository"
)

// maxIncluded bounds how many configurations of git are read for one directory.
const maxIncluded = 32

// references returns a function that returns what the configurations of git that hold in the
// directories where tools work name, and git obeys or runs by itself: it is as good as the
// configuration.
func (p Policy) references() func() []pathguard.ProtectedFile {
	if s := p.Settings.ProtectDefault; s != nil && !*s {
		return func() []pathguard.ProtectedFile { return nil }
	}
	var mu sync.Mutex
	var files []pathguard.ProtectedFile
	var looked map[string]fs.FileInfo // nil for what was not there
	return func() []pathguard.ProtectedFile {
		mu.Lock()
		defer mu.Unlock()
		same := looked != nil
		for path, was := range looked {
			now, _ := os.Stat(path)
			same = same && (now == nil) == (was == nil) && (now == nil || os.SameFile(now, was) && now.Size() == was.Size() && now.ModTime().Equal(was.ModTime()))
		}
		if !same {
			looked = map[string]fs.FileInfo{}
			files = p.readReferences(func(path string) string {
				looked[path], _ = os.Stat(path)
				if looked[path] == nil || looked[path].Size() > repository.MaxConfig {
					return ""
				}
				text, _ := os.ReadFile(path)
				return string(text)
			})
		}
		return files
	}
}

// readReferences is references with a function that reads files.
func (p Policy) readReferences(read func(path string) string) (files []pathguard.ProtectedFile) {
	home, _ := os.UserHomeDir()
	for _, dir := range union([]string{p.WorkingDirectory}, p.Roots) {
		git := filepath.Join(dir, ".git")
		if text := read(git); text != "" { // of a linked worktree, or a submodule
			git = absolute(strings.TrimSpace(strings.TrimPrefix(text, "gitdir:")), dir)
		}
		if common := read(filepath.Join(git, "commondir")); common != "" {
			git = absolute(strings.TrimSpace(common), git)
		}
		configs := []string{filepath.Join(git, "config"), filepath.Join(git, "config.worktree"), filepath.Join(dir, "config")}
		if home != "" {
			configs = append(configs, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config"))
		}
		for i := 0; i < len(configs) && i < maxIncluded; i++ {
			for _, r := range repository.References(read(configs[i])) {
				from := dir
				if r.Setting == repository.Include {
					from = filepath.Dir(configs[i])
				}
				if rest, ok := strings.CutPrefix(r.Path, "~/"); ok {
					r.Path = filepath.Join(home, rest)
				}
				file := pathguard.ProtectedFile{Path: filepath.Clean(absolute(r.Path, from)), Rule: r.Setting}
				if r.Setting == repository.Include && !slices.Contains(configs, file.Path) {
					configs = append(configs, file.Path)
				}
				if !slices.Contains(files, file) && file.Path != dir && !pathguard.Within(file.Path, dir) {
					files = append(files, file)
				}
			}
		}
	}
	return files
}
