package sandbox

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolserver/toolserver/sandbox/broker"
	"github.com/toolserver/toolserver/sandbox/pathguard"
	"github.com/toolserver/toolserver/sandbox/repository"
)

// Settings are the section sandbox of the configuration.
type Settings struct {
	ProtectDefault *bool    `yaml:"protect_default"`
	Unprotected    []string `yaml:"unprotected" format:"protected"`
	Enforcement    string   `yaml:"enforcement" enum:"required|best_effort|parse_only"`
	Network        Network  `yaml:"network"`
	UnixSockets    bool     `yaml:"unix_sockets"`
	Ask            []string `yaml:"ask" enum:"commands|writes|network"`
	PrivateHosts   []string `yaml:"private_hosts" format:"private_host"`
	Limits         Limits   `yaml:"-"`

	Env     map[string]string `yaml:"env"`
	Presets []string          `yaml:"presets" format:"preset"`
}

// The settings of Enforcement.
const (
	EnforceRequired   = "required"
	EnforceBestEffort = "best_effort"
	EnforceParseOnly  = "parse_only"
)

// Limits bounds what a command uses. Zero means no bound, except for Memory and Disk.
type Limits struct {
	Processes int   // running at the same time
	Memory    int64 // bytes of all of them; zero means half of what the machine has
	Disk      int64 // bytes it writes and commands keep for it; zero means half of what is free
	OpenFiles int   // of each process
	FileSize  int64 // bytes, of each file that is written
}

//go:embed protected.txt
var protectedLines string

// protectedNames returns the names of protected.txt, whose head describes its lines, by what they are protected from. All policies share them.
var protectedNames = sync.OnceValue(func() [2][]pathguard.Name {
	var all [2][]pathguard.Name
	for line := range strings.Lines(protectedLines) {
		kind, names, ok := strings.Cut(line, ":")
		if !ok || line[0] == '#' {
			continue
		}
		names, except, _ := strings.Cut(names, " except ")
		for _, pattern := range strings.Fields(names) {
			name := pathguard.Name{Pattern: pattern, Except: strings.Fields(except), Only: strings.HasSuffix(kind, " file")}
			if all[writing] = append(all[writing], name); strings.HasPrefix(kind, "secret") {
				all[reading] = append(all[reading], name)
			}
		}
	}
	return all
})

// repositoryLock is the file of [pathguard.Protection.Lock].
func (p Policy) repositoryLock() string {
	if p.StateDirectory == "" {
		return ""
	}
	return filepath.Join(p.StateDirectory, "repositories.lock")
}

// protected returns the names that are protected from reading, or from
// writing, except those that configuration leaves out.
func (p Policy) protected(u use) pathguard.Protection {
	if s := p.Settings.ProtectDefault; s != nil && !*s {
		return pathguard.Protection{}
	}
	protection := pathguard.Protection{
		Workspaces: append([]string{p.WorkingDirectory}, p.Roots...), Repositories: u == writing, Lock: p.repositoryLock(), Hint: allowing,
	}
	protection.Names = protectedNames()[u]
	if len(p.Settings.Unprotected) > 0 {
		protection.Names = slices.DeleteFunc(slices.Clone(protection.Names), func(n pathguard.Name) bool {
			return slices.Contains(p.Settings.Unprotected, n.Pattern)
		})
	}
	if u == writing {
		protection.Named = p.references()
	}
	for _, own := range p.Own {
		if u == writing || own.Secret {
			protection.Files = append(protection.Files, pathguard.ProtectedFile{Path: own.Path, Rule: own.What})
		}
	}
	return protection
}

// brokered returns what a broker protects of files that commands make or change, except
// in directories for nothing else. What git runs it knows itself.
func (p Policy) brokered(writes *pathguard.Guard, exempt ...string) broker.Rules {
	protection := p.protected(writing)
	r := broker.Rules{Packages: packaged, Allowed: writes.AllowedPaths()}
	r.AllowedGlobs, r.DeniedGlobs = writes.Patterns()
	for _, dir := range exempt {
		if dir != "" {
			r.Exempt = append(r.Exempt, pathguard.Real(dir))
		}
	}
	for _, n := range protection.Names {
		if n.Pattern != ".git" && !strings.HasPrefix(n.Pattern, ".git/") && !strings.HasPrefix(n.Pattern, "*.git/") {
			r.Names = append(r.Names, n)
		}
	}
	for _, f := range protection.Files {
		r.Files = append(r.Files, pathguard.Real(f.Path))
	}
	for _, dir := range protection.Workspaces {
		r.Workspaces = append(r.Workspaces, pathguard.Real(dir))
	}
	return r
}

// allowing says what an operator sets so that a rule does not protect.
func allowing(rule string) string {
	if slices.Contains(ProtectedNames(), rule) {
		return fmt.Sprintf("the operator can allow it with sandbox.unprotected: [%q]", rule)
	}
	return "the operator can allow it with sandbox.protect_default: false"
}

// ProtectedNames returns what [Settings.Unprotected] can name.
func ProtectedNames() (names []string) {
	for _, n := range protectedNames()[writing] {
		names = append(names, n.Pattern)
	}
	return names
}

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
			git = pathguard.Absolute(strings.TrimSpace(strings.TrimPrefix(text, "gitdir:")), dir)
		}
		if common := read(filepath.Join(git, "commondir")); common != "" {
			git = pathguard.Absolute(strings.TrimSpace(common), git)
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
				file := pathguard.ProtectedFile{Path: filepath.Clean(pathguard.Absolute(r.Path, from)), Rule: r.Setting}
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
