package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolserver/sandbox/pathguard"
)

// This file says what commands read where no list says it, beside the working directory
// and roots: what every user of the machine may read of the system, and what the
// programs in PATH are installed in.

const (
	// shared are directories of the system that hold nothing of a single user, besides those
	// that every program needs.
	shared = `/opt /nix /gnu /snap /home/linuxbrew /var/lib/dpkg /var/lib/apt /var/cache/apt /var/lib/rpm /var/lib/pacman /var/lib/alternatives
		/var/lib/ca-certificates /var/lib/flatpak /var/lib/texmf /var/lib/ghc /var/lib/gems /var/lib/locales /var/lib/dbus/machine-id
		/var/cache/man /var/cache/fontconfig /run/utmp /run/udev /run/systemd/resolve /run/resolvconf /run/NetworkManager/resolv.conf /run/current-system
		/run/opengl-driver /run/wrappers`
	// everyday is what common programs are set up by, and where version managers install others.
	everyday = `~/.terminfo ~/.inputrc ~/.vimrc ~/.vim ~/.config/nvim ~/.nanorc ~/.config/nano ~/.tmux.conf ~/.config/tmux ~/.screenrc ~/.gdbinit
		~/.config/gdb ~/.dircolors ~/.ripgreprc ~/.config/ripgrep ~/.config/fd ~/.config/bat ~/.fonts ~/.local/share/fonts ~/.config/fontconfig
		~/.asdf ~/.tool-versions ~/.local/share/mise ~/.config/mise ~/.local/share/pipx ~/.local/pipx ~/.deno ~/.bun ~/.rbenv ~/.rvm ~/.gem
		~/.local/share/gem/ruby ~/.bundle/cache ~/.composer/vendor ~/.dotnet/sdk ~/.dotnet/shared ~/.dotnet/host ~/.dotnet/packs ~/.dotnet/tools
		~/.nuget/packages ~/.ghcup ~/.cabal/packages ~/.stack ~/.opam ~/.julia/packages ~/.julia/artifacts ~/.julia/compiled ~/.julia/registries ~/.julia/environments ~/.juliaup
		~/.elan ~/.swiftly ~/.conda ~/miniconda3 ~/anaconda3 ~/miniforge3 ~/mambaforge ~/micromamba ~/.nix-profile ~/.local/state/nix ~/.linuxbrew
		~/R ~/perl5 ~/.luarocks ~/flutter ~/Android/Sdk`
)

// secretConfiguration is what is not read in /etc, whatever its mode.
var secretConfiguration = strings.Fields(`/etc/shadow* /etc/gshadow* /etc/sudoers* /etc/ssl/private /etc/ssh/ssh_host_*_key /etc/krb5.keytab /etc/wireguard
	/etc/openvpn /etc/ppp /etc/ipsec.secrets /etc/NetworkManager/system-connections /etc/kubernetes /etc/rancher /etc/docker/key.json`)

// ofSystem are the directories whose programs need nothing that lies elsewhere.
var ofSystem = append([]string{"/usr", "/bin", "/sbin", "/lib", "/System", "/Library"}, strings.Fields(shared)...)

// unlisted returns what commands read without a list of paths to read.
func (c *Commands) unlisted() []string {
	paths, _ := public("/etc", strings.Fields(shared))
	if len(c.around().presets) > 0 {
		for path := range strings.FieldsSeq(everyday) {
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
// so of all of it that this user may read.
func public(path string, paths []string) (all []string, whole bool) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type()&^fs.ModeDir != 0 {
		return paths, true // what a link leads to is granted where it lies
	}
	open := fs.FileMode(0o004)
	if info.IsDir() {
		open = 0o005
	}
	named := func(pattern string) bool { matched, _ := filepath.Match(pattern, path); return matched }
	if info.Mode()&open != open || slices.ContainsFunc(secretConfiguration, named) {
		return paths, !readable(path)
	}
	all, whole = paths, true
	entries, _ := os.ReadDir(path) // none of a file
	for _, e := range entries {
		more, wholly := public(filepath.Join(path, e.Name()), all)
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
	for links := 0; path != "" && links < 40; {
		name, rest, _ := strings.Cut(path, "/")
		next := filepath.Join("/", real, name)
		if slices.ContainsFunc(own, func(dir string) bool { return pathguard.Within(dir, next) }) {
			return ""
		}
		target, err := os.Readlink(next)
		if err != nil {
			real, path = next, rest
			continue
		}
		if links++; filepath.IsAbs(target) {
			real = "/"
		}
		path = target + "/" + rest
	}
	return real
}

// installations adds to known what the programs in PATH, and others that configuration
// names, are installed in, also those that are links to programs elsewhere.
func (c *Commands) installations(known []string) []string {
	local := realOr(c.around().atHome("~/.local"))
	have := func(path string) bool {
		within := func(dir string) bool { return pathguard.Within(dir, path) }
		return slices.ContainsFunc(ofSystem, within) || slices.ContainsFunc(known, within)
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
	for _, open := range slices.Concat(spec.Read, spec.Write, spec.Exec, ofSystem, []string{"/dev", "/proc", "/sys"}) {
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
