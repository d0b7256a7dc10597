//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scopeFiles makes files of the server's user that commands do not read without
// configuration, and others that they do, by what they stand for.
func (g *ground) scopeFiles() (closed, open map[string]string) {
	other := filepath.Join(g.dir, "another")
	closed = map[string]string{
		"letter of the home": g.home + "/Documents/letter", "dot file": g.home + "/.private", "another home": other + "/.profile",
		"another project": g.out + "/project/.env", "its code": g.out + "/project/main.go", "GOPATH": g.home + "/go/src/own/main.go",
		"beside a program": g.home + "/.local/share/notes/note", "beside a linked program": g.home + "/Documents/tool/notes",
	}
	open = map[string]string{
		"git": g.home + "/.gitconfig", "rustup": g.home + "/.rustup/settings.toml", "editor": g.home + "/.vimrc", "module": g.home + "/go/pkg/mod/m/m.go",
		"prefix": g.home + "/apps/tool-1/lib/tool.rb", "version manager": g.home + "/.shimmer/versions/1/lib/x", "local program": g.home + "/.local/bin/mine",
		"linked program": g.home + "/apps/two/lib/two.rb", "work": g.work + "/file",
	}
	for _, list := range []map[string]string{closed, open} {
		for name, path := range list {
			g.file(path, "content of "+name+"\n", 0o644)
		}
	}
	g.file(open["git"], "[user]\n\tname = n\n", 0o644)
	for _, name := range []string{"/apps/tool-1/bin/tool", "/.shimmer/shims/x", "/.local/bin/mine", "/apps/two/bin/two", "/Documents/tool/three", "/go/bin/four"} {
		g.file(g.home+name, "#!/bin/sh\necho ran\n", 0o755)
	}
	must(g.t, os.Symlink("../../apps/two/bin/two", g.home+"/.local/bin/two"))
	must(g.t, os.Symlink(g.home+"/Documents/tool/three", g.home+"/.local/bin/three"))
	must(g.t, os.Symlink(g.out+"/project", g.home+"/.local/bin/directory"))
	g.file(g.home+"/.ssh/id_rsa", "key\n", 0o600)
	if g.who.id == 0 {
		mount := filepath.Join(freshDir(g.t, "/mnt"), "file")
		must(g.t, os.WriteFile(mount, []byte("content of a mount\n"), 0o644))
		closed["mount"], closed["passwords"] = mount, "/etc/shadow"
	}
	return closed, open
}

// scopeConfig has commands find the programs of scopeFiles.
func (g *ground) scopeConfig() string {
	var dirs []string
	for _, dir := range []string{"/apps/tool-1/bin", "/.shimmer/shims", "/.local/bin", "/go/bin"} {
		dirs = append(dirs, g.home+dir)
	}
	return "sandbox: {env: {PATH: '" + strings.Join(append(dirs, os.Getenv("PATH")), ":") + "'}}\n"
}

// TestReadScope reads what commands and file tools read without configuration, and what
// they do not; and then what a list opens.
func TestReadScope(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			g := newGround(t, who)
			closed, open := g.scopeFiles()
			b := g.open(setup{without: without, config: g.scopeConfig()})
			for name, path := range closed {
				dir, file := filepath.Split(path)
				computed := fmt.Sprintf(`python3 -c 'import sys; print(open(sys.argv[1] + "%s" + sys.argv[2]).read())' %s '%s'`, file[:1], dir, file[1:])
				for _, command := range []string{computed, "cat " + path, "cp " + path + " copy", "cd " + dir + " && cat ./" + file} {
					o := b.bash(command)
					said := strings.HasPrefix(command, "cd") || strings.Contains(o.text, "is protected") // of a name in another directory it is not known which
					if !o.failed || strings.Contains(o.text, "content of") || strings.Contains(o.text, "root:") ||
						!said && !strings.Contains(o.text, "tools.read_file.allowed_paths: ["+g.work+", ") {
						t.Errorf("%s: %s: %v", name, command, o)
					}
				}
				if o := b.call("read_file", map[string]any{"path": path}); !o.failed {
					t.Errorf("read_file of %s: %v", name, o)
				}
			}
			if o := b.bash("ls -A ~/.ssh"); without == "" && strings.Contains(o.text, "id_rsa") {
				t.Errorf("names of secrets: %v", o)
			}
			for name, path := range open {
				if o := b.bash("cat " + path); o.failed {
					t.Errorf("%s: %v", name, o)
				}
			}
			for _, command := range []string{
				"ls / && ls ~ && cd ~ && pwd && test -e ~/.private && stat -c %s ~/.private", "find / -maxdepth 1 | grep -q usr", "df / && which tool x mine two four",
				"tool && x && mine && two && three && four", "cat /etc/passwd /etc/os-release /usr/share/dict/../../lib/os-release /proc/self/status /proc/cpuinfo",
				"git config --global --list", "python3 -V && perl -v && gcc --version", "echo x >$TMPDIR/x && cat $TMPDIR/x",
				"mkdir -p $XDG_CACHE_HOME/x && echo x >$XDG_CACHE_HOME/x/x && cat $XDG_CACHE_HOME/x/x",
				"! test -e /var/lib/dpkg/status || head -1 /var/lib/dpkg/status",
			} {
				if o := b.bash(command); o.failed {
					t.Errorf("%s: %v", command, o)
				}
			}
			b.stop()
			for command, want := range map[string]int{"cat ~/.private": 1, "head -1 <" + g.out + "/project/main.go": 1, "ls -l ~/.private ~": 0, "cat ~/.vimrc file /etc/passwd": 0} {
				text, code := g.run(setup{without: without, config: g.scopeConfig(), command: []string{"explain", "bash", command}})
				if code != want || (want == 1) != strings.Contains(text, "tools.read_file.allowed_paths: [") {
					t.Errorf("explain %s: exit code %d\n%s", command, code, text)
				}
			}

			// A list that has everything opens it.
			b = g.open(setup{without: without, config: g.scopeConfig() + "tools: {read_file: {allowed_paths: [/]}}\n"})
			for name, path := range closed {
				if o := b.bash("cat " + path); o.failed != strings.HasSuffix(path, ".env") {
					t.Errorf("with a list, %s: %v", name, o)
				}
			}
			b.stop()
			// And so does the line of a refusal.
			b = g.open(setup{without: without, config: "tools: {read_file: {allowed_paths: [" + g.work + ", " + g.home + "/Documents]}}\n"})
			if o := b.bash("cat ~/Documents/letter"); o.failed {
				t.Errorf("with the line of the refusal: %v", o)
			}
			b.stop()
		})
	})
}

// TestReadScopeRepositories has repositories that reach out of the working directory.
func TestReadScopeRepositories(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		if text, complaints, code := g.plain(g.out, `set -e; git init -q main; cd main; mkdir sub; echo 1 >sub/f; git add .
			git -c user.name=n -c user.email=e commit -qm first; git worktree add -q ../linked; git init -q ../other; echo x >../other/f`); code != 0 {
			t.Fatal(text, complaints)
		}
		for _, dir := range []string{"/main/sub", "/linked"} {
			there := *g
			there.work = g.out + dir
			b := there.open(setup{})
			if o := b.bash("git log --format=%s && git status"); o.failed || !strings.Contains(o.text, "first") {
				t.Errorf("%s: %v", dir, o)
			}
			b.stop()
		}
		// A file that commands have written opens nothing.
		g.file(".git", "gitdir: "+g.out+"/other/.git\n", 0o644)
		b := g.open(setup{})
		if o := b.bash("cat " + g.out + "/other/.git/HEAD"); !o.failed {
			t.Errorf("planted: %v", o)
		}
		b.stop()
	})
}
