//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// takeover is a configuration that somebody inside would like to have.
const takeover = "sandbox: {enforcement: parse_only, network: all, protect_default: false}\n"

// tampering are calls that would change FILE in DIR if they could. NAME and
// FOLDER are what the two are called, PARENT is where the directory is.
var tampering = []struct {
	tool string
	args map[string]any
}{
	{"write_file", map[string]any{"path": "FILE", "content": takeover, "on_conflict": "overwrite"}},
	{"append_file", map[string]any{"path": "FILE", "content": takeover}},
	{"edit_file", map[string]any{"path": "FILE", "edits": []any{map[string]any{"old_text": "working_directory", "new_text": "# working_directory"}}}},
	{"write_file", map[string]any{"path": "DIR/../FOLDER/./NAME", "content": takeover, "on_conflict": "overwrite"}},
}

// tamperings are command lines of the same kind.
var tamperings = []string{
	"echo x >> FILE", "cd DIR && echo x >> NAME", ": > FILE", "rm -f FILE", "unlink FILE", "truncate -s 0 FILE", "chmod 666 FILE", "touch FILE", "mv FILE FILE.old", "cp FILE copy; echo x >> copy; mv copy FILE", "cp FILE copy2; cp copy2 FILE", "sed -i s/a/b/ FILE",
	"mv DIR PARENT/moved; mkdir DIR; echo x > FILE", "rm -rf DIR; mkdir -p DIR; echo x > FILE", "cp -r DIR PARENT/other && rm -rf DIR && mv PARENT/other DIR", "mv -T --exchange PARENT/other DIR",
	"ln -sf evil FILE", "ln -f evil FILE", "ln FILE hard; echo x >> hard", "ln -s FILE soft; echo x >> soft", "ln -s DIR folder; rm folder/NAME; echo x > folder/NAME", "ln -sfn evil DIR", "install evil FILE", "dd if=evil of=FILE", "tee FILE < evil", "tar cf e.tar evil; tar xf e.tar -C DIR --transform s/evil/NAME/",
	"git init -q PARENT/repo; git -C PARENT/repo worktree add DIR", "cp -r DIR FOLDER2; rm -rf DIR; mv FOLDER2 DIR", "python3 -c 'import os, sys; f = bytes.fromhex(sys.argv[1]); open(f, \"ab\").write(b\"x\")' HEX", "python3 -c 'import os, sys; f = bytes.fromhex(sys.argv[1]); open(\"evil\", \"w\").write(\"x\"); os.replace(\"evil\", f)' HEX", "python3 -c 'import os, sys; f = bytes.fromhex(sys.argv[1]); os.unlink(f); open(f, \"wb\").write(b\"x\")' HEX",
	"python3 -c 'import os, sys; f = bytes.fromhex(sys.argv[1]); d = os.path.dirname(f); os.rename(d, d + b\"-old\"); os.mkdir(d); open(f, \"wb\").write(b\"x\")' HEX", "python3 -c 'import ctypes, sys; f = bytes.fromhex(sys.argv[1]); open(\"evil\", \"w\").write(\"x\"); print(ctypes.CDLL(None).renameat2(-100, b\"evil\", -100, f, 2))' HEX",
	"perl -e 'unlink pack(q(H*), shift)' HEX", "umount FILE; echo x > FILE", "mount --bind evil FILE; cp evil FILE", "unshare -rm sh -c 'umount FILE; echo x > FILE'", "exec 3<FILE; echo x > /proc/self/fd/3", "echo x > /proc/1/rootFILE", "setsid sh -c 'sleep 0.05; echo x > FILE' & disown", "trap 'echo x > FILE' EXIT",
}

// tamper makes the calls, and checks that nothing at the path has changed, nor
// what it leads to.
func (b *box) tamper(path string) {
	b.t.Helper()
	before := b.standing(path)
	fill := strings.NewReplacer("FILE", path, "DIR", filepath.Dir(path), "NAME", filepath.Base(path), "FOLDER", filepath.Base(filepath.Dir(path)),
		"PARENT", filepath.Dir(filepath.Dir(path)), "HEX", fmt.Sprintf("%x", path))
	check := func(what string) bool {
		if after := b.standing(path); after != before {
			b.t.Errorf("%s\nchanged %s from %s\nto %s", what, path, before, after)
			return false
		}
		return true
	}
	for _, c := range tampering {
		args := map[string]any{}
		for name, value := range c.args {
			if text, ok := value.(string); ok {
				value = fill.Replace(text)
			}
			args[name] = value
		}
		if o := b.call(c.tool, args); !o.failed || !check(fmt.Sprint(c.tool, args)) {
			b.t.Errorf("%s %v: %v", c.tool, args, o)
			return
		}
	}
	for _, line := range tamperings {
		b.bash("echo x > evil")
		command := fill.Replace(line)
		b.bash(command)
		if _, err := os.Lstat(path); os.IsNotExist(err) && strings.HasSuffix(path, "/.git/config") && strings.Contains(command, "os.unlink") {
			b.t.Skip("a computed name may be removed; nothing came in its place")
		}
		if !check(command) {
			return // what follows would say the same
		}
	}
}

// standing says what is at a path: whether it is a link, and the content.
func (b *box) standing(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%v %q %v", info.Mode(), content, err)
}

// TestSandboxPolicyStays tries to change what the server obeys, which is where
// commands may write.
func TestSandboxPolicyStays(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"toolserver.yaml", "settings.yaml", "etc/conf/settings.yaml"} {
		t.Run(name, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				file := g.file(name, fmt.Sprintf("working_directory: %s\nlogging: {level: error}\n", g.work), 0o644)
				b := g.open(setup{file: file})
				b.tamper(file)
				if o := b.bash("echo x > " + g.out + "/x"); !o.failed {
					t.Errorf("another policy is in force: %v", o)
				}
				b.stop()
			})
		})
	}
}

// TestSandboxLinkedPolicy has links on the way to the configuration, which the
// kernel cannot keep from being replaced: that is said, and it does not help.
func TestSandboxLinkedPolicy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, link, to string }{
		{"a link", "settings.yaml", "settings.yaml", "conf/real.yaml"},
		{"a link to a directory", "conf/settings.yaml", "conf", "real"},
		{"a link from outside", "conf/settings.yaml", "conf", "../out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachAccount(t, func(t *testing.T, who account) {
				g := newGround(t, who)
				dir := filepath.Join(g.work, tt.to)
				if filepath.Ext(tt.to) != "" {
					dir = filepath.Dir(dir)
				}
				must(t, os.MkdirAll(dir, 0o755))
				must(t, os.Chown(dir, who.id, who.id))
				must(t, os.Symlink(tt.to, filepath.Join(g.work, tt.link)))
				content := fmt.Sprintf("working_directory: %s\n", g.work)
				file := g.file(tt.file, content, 0o644)
				real, err := filepath.EvalSymlinks(file)
				must(t, err)
				b := g.open(setup{file: file})
				link := filepath.Join(g.work, tt.link)
				if o := b.bash("true"); !strings.Contains(o.text, link+" stays the link it is") {
					t.Errorf("nothing is said of the link: %v", o)
				}
				if o := b.bash("rm " + link); link == file && (!o.failed || !strings.Contains(o.text, "configuration file")) {
					t.Errorf("%v", o)
				}
				// Names that are known only when the command runs.
				b.bash(fmt.Sprintf("f=$(printf %s | tr A A); cp $f evil; printf '%s' >> evil; mv -T $(dirname $f) moved; rm -f $f; mkdir -p $(dirname $f); mv evil $f", file, strings.TrimSpace(takeover)))
				if got, err := os.ReadFile(real); err != nil || string(got) != content {
					t.Errorf("the file has %q, %v", got, err)
				}
				must(t, os.WriteFile(real, []byte(content+"# by the operator\n"), 0o644))
				eventually(t, "the configuration is read again", func() bool { return strings.Contains(b.log(), "configuration reloaded") })
				if o := b.bash("echo x > " + g.out + "/x"); !o.failed {
					t.Errorf("another policy is in force: %v", o)
				}
				b.stop()
			})
		})
	}
}

// TestSandboxControlFiles tries to change what makes programs of others run code.
func TestSandboxControlFiles(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.home = g.work
		files := []string{".git/hooks/pre-commit", ".git/config", ".bashrc", ".vscode/tasks.json", "sub/.git/hooks/pre-commit"}
		for _, name := range files {
			g.file(name, "# before working_directory\n", 0o755)
		}
		b := g.open(setup{config: "logging: {level: error}\n"})
		for _, name := range files {
			b.tamper(filepath.Join(g.work, name))
		}
		b.stop()
	})
}

// TestSandboxLinkedControlFiles has links, as those who keep their settings in a
// repository do. What they lead to stays as it is, and that the links themselves
// are protected from plain text only is said.
func TestSandboxLinkedControlFiles(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.home = g.work
		targets := map[string]string{".bashrc": "dotfiles/bashrc", ".git/hooks/pre-commit": "tools/hooks/pre-commit"}
		for _, to := range targets {
			g.file(to, "# before working_directory\n", 0o755)
		}
		g.file(".git/HEAD", "ref: refs/heads/main\n", 0o644)
		must(t, os.Symlink("dotfiles/bashrc", filepath.Join(g.work, ".bashrc")))
		must(t, os.Symlink("../tools/hooks", filepath.Join(g.work, ".git/hooks")))
		b := g.open(setup{config: "logging: {level: error}\n"})
		for name, to := range targets {
			b.tamper(filepath.Join(g.work, to))
			if o := b.bash("rm " + name); !o.failed {
				t.Errorf("rm %s: %v", name, o)
			}
		}
		o := b.bash("true")
		for _, link := range []string{".bashrc", ".git/hooks"} {
			if !strings.Contains(o.text, filepath.Join(g.work, link)+" stays the link it is") {
				t.Errorf("nothing is said of %s: %v", link, o)
			}
		}
		b.stop()
	})
}

// TestSandboxNewControlFiles tries to make what is not there.
func TestSandboxNewControlFiles(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		g.home = g.work
		b := g.open(setup{config: "logging: {level: error}\n"})
		for _, name := range []string{".bashrc", ".zshenv", ".vscode/tasks.json", ".mcp.json", "toolserver.yaml", ".config/toolserver/config.yaml", ".envrc"} {
			b.bash("mkdir -p " + filepath.Dir(name) + "; echo x > " + name)
			if _, err := os.Lstat(filepath.Join(g.work, name)); err == nil {
				t.Errorf("%s can be made", name)
			}
		}
		b.bash("git init -q . && echo x > .git/hooks/pre-commit")
		if _, err := os.Lstat(filepath.Join(g.work, ".git/hooks/pre-commit")); err == nil {
			t.Error("a hook can be made in a new repository")
		}
		b.stop()
	})
}

// TestSandboxFilesForDirectories has files, and links to files, with the names of directories
// that hold protected ones, and links in a circle: commands run, and still make none of those.
func TestSandboxFilesForDirectories(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		for _, linked := range []bool{false, true} {
			g := newGround(t, who)
			g.home = g.work
			g.file("program", "#!/bin/sh\n", 0o755)
			names := []string{"toolserver/config.yaml", "toolserver/tokens/x", ".vscode/tasks.json", ".config/toolserver/config.yaml"}
			for _, name := range names {
				top, _, _ := strings.Cut(name, "/")
				if linked {
					_ = os.Symlink("program", filepath.Join(g.work, top)) // the second of a name exists
				} else {
					g.file(top, "#!/bin/sh\n", 0o755)
				}
			}
			for _, name := range []string{".env", ".envrc"} { // links that lead nowhere
				must(t, os.Symlink(name, filepath.Join(g.work, name)))
			}
			b := g.open(setup{config: "logging: {level: error}\n"})
			if o := b.bash("echo hi"); o.failed || strings.Contains(o.text, "/toolserver stays") {
				t.Errorf("linked %t: %v", linked, o)
			}
			for _, name := range names {
				top, _, _ := strings.Cut(name, "/")
				b.bash(fmt.Sprintf("n=$(printf %s | tr A A); rm -rf $n; mkdir -p $(dirname %s | tr A A); echo x > $(printf %s | tr A A)", top, name, name))
				if _, err := os.Lstat(filepath.Join(g.work, name)); err == nil {
					t.Errorf("linked %t: %s can be made", linked, name)
				}
			}
			b.stop()
		}
	})
}

// TestSandboxReload changes the policy as its operator does: it holds from the next
// call on.
func TestSandboxReload(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		key := g.file("key", "content", 0o644)
		file := filepath.Join(g.dir, "conf", "settings.yaml")
		must(t, os.Mkdir(filepath.Dir(file), 0o755))
		g.configure(file, "tools: {}\n")
		b := g.open(setup{file: file})
		b.bash("true")
		last, reloads := "none yet", 0
		for _, step := range []struct {
			config, command string
			fails           bool
		}{
			{"", "cat key", false},
			{"tools: {read_file: {denied_paths: [" + key + "]}}\n", "cat key", true},
			{"", "cat key", false},
			{"tools: {write_file: {allowed_paths: [" + g.out + "]}}\n", "echo x > new", true},
			{"tools: {write_file: {allowed_paths: [" + g.out + "]}}\n", "echo x > " + g.out + "/new", false},
			{"tools: {bash: {allowed_commands: [ls]}}\n", "cat key", true},
			{"tools: {bash: {denied_commands: [cat]}}\n", "python3 -c 'import os; os.execvp(chr(99) + \"at\", [\"cat\", \"key\"])'", true},
			{"sandbox: {limits: {open_files: 20}}\n", "ulimit -n | grep -qx 20", false},
			{"sandbox: {network: all}\n", "perl -e 'socket(my $s, 2, 1, 0) or die $!'", false},
			{"sandbox: {network: none}\n", "perl -e 'socket(my $s, 2, 1, 0) or die $!'", true},
			{"sandbox: {presets: [node], env: {A_WORD: word}}\n", "test $A_WORD = word && test -n \"$npm_config_cache\"", false},
			{"sandbox: {presets: []}\n", "test -n \"$npm_config_cache$A_WORD\"", true},
			{"sandbox: {network: none}\n", "test -n \"$npm_config_cache\"", false},
			{"sandbox: {network: nowhere}\n", "perl -e 'socket(my $s, 2, 1, 0) or die $!'", true},
		} {
			if step.config != last { // or there is nothing to read
				g.configure(file, step.config)
				last, reloads = step.config, reloads+1
			}
			eventually(t, "the configuration is read", func() bool {
				return strings.Count(b.log(), "configuration reloaded")+strings.Count(b.log(), "the old one stays in force") >= reloads
			})
			if o := b.bash(step.command); o.failed != step.fails {
				t.Errorf("%q: %s: %v", step.config, step.command, o)
			}
		}
		b.stop()
	})
}
