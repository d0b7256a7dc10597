package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/sandbox/command"
)

// A toolchain is what programs need to do their work that policy does not list, since
// nobody thinks of it. Several rows may be of the same preset.
type toolchain struct {
	preset   string  // see [Settings.Presets]; empty if it is none
	programs string  // which those are, with spaces between; NAME/ for all in a directory of that name
	starts   string  // programs, by name
	dirs     string  // directories of programs; see [programFinder.dir]
	reads    string  // files and directories besides those of the system; ~ is the home directory
	caches   []cache // what they keep for the next time
	hosts    string  // where they get packages from
}

// A cache is a directory of a tool chain.
type cache struct {
	own string // where it is unless a variable says otherwise
	set string // the variable that does; $DIR is another directory, $OWN the own one as a URL
	too string // a variable that goes with it if there is an own one
	// download says that the own one serves as well while nothing can be downloaded.
	download bool
}

const (
	compiler     = "cc gcc c++ g++ clang cpp as ld ld.bfd ld.gold ld.lld lld collect2 ar ranlib strip nm pkg-config "
	compilerDirs = "/usr/lib/gcc /usr/libexec/gcc /usr/lib/gcc-cross "
)

// toolchains says it of all. The shells are always there: what they start is held to
// the list of commands itself.
var toolchains = []toolchain{
	{caches: []cache{{own: "~/.cache", set: "XDG_CACHE_HOME=$DIR"}}}, // pip, uv, yarn, go build, ccache ...
	{preset: "git", programs: "git", starts: "sh sed less", dirs: "/usr/lib/git-core /usr/libexec/git-core /usr/local/libexec/git-core",
		reads: "~/.gitconfig ~/.config/git/config ~/.config/git/ignore ~/.config/git/attributes", hosts: "github.com gitlab.com bitbucket.org codeberg.org"},
	{preset: "go", programs: "go", starts: "git gofmt " + compiler, dirs: "@/pkg/tool @/bin $TMPDIR $CACHE/go-build " + compilerDirs,
		reads: "~/sdk ~/.config/go/env", hosts: "proxy.golang.org sum.golang.org", caches: []cache{
			{own: "~/go/pkg/mod", set: "GOMODCACHE=$DIR", too: "GOPROXY=$OWN/cache/download,$GOPROXY", download: true}}},
	{preset: "node", programs: "npm npx yarn pnpm", starts: "node sh env", dirs: "@ ./node_modules",
		reads: "~/.nvm ~/.volta ~/.fnm ~/.local/share/fnm", hosts: "registry.npmjs.org registry.yarnpkg.com nodejs.org", caches: []cache{
			{own: "~/.npm", set: "npm_config_cache=$DIR"},
			{own: "~/.yarn/berry", set: "YARN_GLOBAL_FOLDER=$DIR"},
			{own: "~/.local/share/pnpm", set: "PNPM_HOME=$DIR"},
			{own: "~/.bun/install/cache", set: "BUN_INSTALL_CACHE_DIR=$DIR"}}},
	{preset: "node", programs: "node corepack bun"},
	{preset: "python", programs: "python python3 pip pip3 uv", reads: "~/.pyenv ~/.local/lib ~/.local/share/uv", hosts: "pypi.org files.pythonhosted.org"},
	{preset: "rust", programs: "cargo", starts: "rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver " + compiler, dirs: "@/bin ./target " + compilerDirs,
		reads: "~/.rustup ~/.cargo/bin ~/.cargo/config ~/.cargo/config.toml ~/.cargo/git", hosts: "index.crates.io static.crates.io static.rust-lang.org",
		caches: []cache{{own: "~/.cargo/registry", set: "CARGO_HOME=$DIR", download: true}}},
	{preset: "rust", programs: "rustc", starts: compiler, dirs: compilerDirs},
	{preset: "java", programs: "java", dirs: "@/lib", reads: "~/.sdkman ~/.jdks",
		hosts: "repo.maven.apache.org repo1.maven.org plugins.gradle.org services.gradle.org", caches: []cache{
			{own: "~/.m2/repository", set: "MAVEN_OPTS=-Dmaven.repo.local=$DIR", download: true},
			{own: "~/.gradle", set: "GRADLE_USER_HOME=$DIR"}}},
	{preset: "java", programs: "javac mvn gradle"},
	{programs: "gcc cc g++ c++", starts: compiler, dirs: compilerDirs},
	{programs: "clang", starts: compiler, dirs: "@/bin " + compilerDirs},
	{programs: "man", starts: "groff nroff troff grotty tbl eqn preconv col less more pager cat locale zsoelim", dirs: "/usr/lib/man-db /usr/libexec/man-db"},
	{programs: "zgrep", starts: "gzip grep sed expr"},
	{programs: "zcat gunzip", starts: "gzip"},
	{programs: "tar", starts: "gzip bzip2 xz zstd"},
	{programs: "ldd", starts: "cat"},
	{programs: "lsb_release", starts: "python3"},
	// Version managers have scripts that stand for one of several versions of a
	// program. They look the version up, also in a file.
	{programs: "shims/", starts: "env bash readlink sed head tail grep sort tr cut awk basename dirname cat uname expr",
		dirs: "@/version @/bin @/libexec @/plugins @/versions @/installs"},
}

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
	for _, t := range toolchains {
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
	for _, t := range toolchains {
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
	for _, t := range toolchains {
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
