//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A making is a command that makes or replaces the file $n, of which $d is the
// directory and $b the last name. Beside it is the file source. No name is in its
// text: it computes them.
type making struct {
	command string
	tracked bool // git does it, which has no names within .git in a work tree
	may     bool // whether it works without names being protected depends on the machine
}

// makings are those of programs. The C program names has more.
var makings = []making{
	{command: `echo made >"$n"`}, {command: `echo made >>"$n"`}, {command: `printf made >|"$n"`}, {command: `: <>"$n"`}, {command: `exec 5>"$n"; echo made >&5`}, {command: `touch "$n"`}, {command: `cp source "$n"`}, {command: `cp -l source "$n"`}, {command: `cp -s "$PWD/source" "$n"`}, {command: `mv source "$n"`},
	{command: `ln source "$n"`}, {command: `ln -s source "$n"`}, {command: `ln -sf "$PWD/source" "$n"`}, {command: `install source "$n"`}, {command: `install -D source "$n"`}, {command: `tee "$n" <source`}, {command: `dd if=source of="$n" status=none`}, {command: `truncate -s 3 "$n"`}, {command: `mknod "$n" p`}, {command: `mkfifo "$n"`}, {command: `mkdir "$n"`},
	{command: `sed -n "w $n" source`}, {command: `cp source x; sed -i s/x/y/ x; mv x "$n"`}, {command: `awk -v n="$n" '{print >n}' source`}, {command: `perl -e 'open F, ">", shift; print F 1' "$n"`}, {command: `perl -e 'rename "source", shift' "$n"`}, {command: `perl -e 'symlink "source", shift' "$n"`}, {command: `cd "$d" && echo made >"$b"`}, {command: `pushd "$d" && touch "$b"`},
	{command: `sort -o "$n" source`}, {command: `split -l 1 --filter='cat >"'"$n"'"' source`}, {command: `find source -fprintf "$n" made`}, {command: `bash -c 'echo made >$0' "$n"`}, {command: `echo "$n" | xargs touch`}, {command: `env x="$n" sh -c 'echo made >"$x"'`}, {command: `(sleep 0.1; echo made >"$n") & wait`}, {command: `setsid -w touch "$n"`}, {command: `printf 'H\n.\nw %s\nq\n' "$n" | ed -s source`}, {command: `vim -es -c "w $n" -c q source`, may: true},
	{command: `cp -r source "$d/tmp" && mv "$d/tmp" "$n"`}, {command: `mkdir -p q && cp source "q/$b" && cp -a q/. "$d"`}, {command: `mkdir -p q && cp source "q/$b" && mv "q/$b" "$d/"`}, {command: `mkdir -p q && cp source "q/$b" && rsync -a q/ "$d/"`}, {command: `mkdir -p q && cp source "q/$b" && tar cf - -C q . | tar xf - -C "$d"`},
	{command: `tar cf t.tar --transform "s,source,$n," -P source && tar xPf t.tar`}, {command: `tar cf t.tar -P --transform "s,source,$n," source && python3 -c 'import tarfile; tarfile.open("t.tar").extractall(filter="fully_trusted")'`, may: true}, {command: `python3 -c 'import sys, zipfile; zipfile.ZipFile("t.zip", "w").writestr(sys.argv[1], "made")' "$n" && unzip -qo t.zip; test -e "$n" || unzip -qo t.zip -d /`, may: true},
	{command: `echo source | cpio -o 2>/dev/null >c; cpio -idu --quiet <c; ln source "$n"`}, {command: `python3 -c 'import sys; open(sys.argv[1], "w").write("made")' "$n"`}, {command: `python3 -c 'import os, sys; os.rename("source", sys.argv[1])' "$n"`}, {command: `python3 -c 'import os, sys; os.link("source", sys.argv[1])' "$n"`}, {command: `python3 -c 'import os, sys; os.symlink("source", sys.argv[1])' "$n"`},
	{command: `python3 -c 'import sys, pathlib; pathlib.Path(sys.argv[1]).touch()' "$n"`}, {command: `python3 -c 'import sys, shutil; shutil.copy("source", sys.argv[1])' "$n"`}, {command: `python3 -c 'import os, sys; d = os.open(os.path.dirname(sys.argv[1]) or ".", os.O_RDONLY); os.close(os.open(os.path.basename(sys.argv[1]), os.O_CREAT | os.O_WRONLY, dir_fd=d))' "$n"`},
	{command: `python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("create table t(a)"); c.commit()' "$n"`}, {command: `python3 -c 'import sys, threading; t = threading.Thread(target=lambda: open(sys.argv[1], "w").write("x")); t.start(); t.join()' "$n"`}, {command: `python3 -c 'import sys, tempfile, os; f = tempfile.NamedTemporaryFile(dir=".", delete=False); os.replace(f.name, sys.argv[1])' "$n"`},
	{command: `node -e 'require("fs").writeFileSync(process.argv[1], "made")' "$n"`}, {command: `node -e 'require("fs").promises.copyFile("source", process.argv[1])' "$n"`}, {command: `node -e 'require("fs").renameSync("source", process.argv[1])' "$n"`}, {command: `node -e 'require("fs").createWriteStream(process.argv[1]).end("made")' "$n"`},
	{command: `printf -- '--- /dev/null\n+++ %s\n@@ -0,0 +1 @@\n+made\n' "$n" >p; patch -p0 <p`, may: true}, {command: `gcc -x c -E -o "$n" /dev/null`}, {command: `printf '%s:\n\techo made >$@\n' "$n" | make -sf - "$n"`}, {command: `curl -s -o "$n" "file://$PWD/source"`}, {command: `openssl rand -out "$n" 4`}, {command: `gzip -c source >"$n"`}, {command: `ssh-keygen -q -t ed25519 -N '' -f k && mv k "$n"`}, {command: `script -qc true "$n"`, may: true},
	{command: `git init -q . && git diff --no-index --output="$n" /dev/null source`, may: true}, {command: `git archive -o "$n" --format=tar HEAD`, tracked: true}, {command: `git config -f "$n" a.b c`, tracked: true}, {command: `git bundle create "$n" HEAD`, tracked: true}, {command: `git log --output="$n"`, tracked: true},
	{command: `git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git checkout-index -fa`, tracked: true}, {command: `git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git checkout -- "$n"`, tracked: true}, {command: `git update-index --add --cacheinfo 120000,$(git hash-object -w source),"$n" && git restore "$n"`, tracked: true},
	{command: `git checkout -q -b evil && git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git commit -qm evil && git checkout -q main -f && rm -rf "$n" && git merge -q evil`, tracked: true}, {command: `git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git commit -qm e && git reset -q HEAD~ && git checkout -q HEAD@{1}`, tracked: true},
	{command: `git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git stash -q; git stash pop -q`, tracked: true}, {command: `printf 'diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+made\n' "$n" "$n" "$n" | git apply`, tracked: true}, {command: `git update-index --add --cacheinfo 100644,$(git hash-object -w source),"$n" && git mv -f "$n" x; git commit -qm e; git checkout -q HEAD -- . ; cp source "$n"`, tracked: true},
}

// topNames are in the working directory; some of their directories are there. What
// exists is to keep its content.
var topNames = []string{
	".mcp.json", ".git/commondir", ".vscode/tasks.json", ".envrc", ".git/hooks/post-checkout", ".claude/settings.json", ".git/config.worktree", "toolserver.yaml", ".husky/pre-commit", ".npmrc", ".git/config", ".cargo/config.toml", ".bashrc", ".devcontainer/devcontainer.json", ".env", ".MCP.json", ".Vscode/settings.json",
	".git/modules/m/hooks/update", ".gitconfig", ".idea/workspace.xml", ".cursor/mcp.json",
}

// otherNames are elsewhere: at a root, deep down, in repositories in the tree and at home.
var otherNames = []string{
	"$ROOT/.mcp.json", "z/y/x/.mcp.json", "inner/.git/hooks/post-merge", "$HOME/.bashrc", "inner/.git/commondir", "$ROOT/deep/.vscode/tasks.json", "bare.git/hooks/update", "z/.envrc", "inner/.git/config", "$HOME/.config/autostart/x.desktop", "inner/.mcp.json", "$ROOT/.git/hooks/update", "bare.git/config", "z/y/.env", "$HOME/.profile", "inner/.git/config.worktree",
	"$ROOT/toolserver.yaml",
}

// inGit reports whether git itself refuses a name in a work tree.
func inGit(name string) bool { return strings.Contains(name, ".git/") || strings.HasPrefix(name, "$") }

// namesGround makes a ground with what the makings use, and a template to start each
// from.
func namesGround(t *testing.T, who account) (g *ground, template string) {
	g = newGround(t, who)
	template = filepath.Join(g.dir, "template")
	must(t, os.Mkdir(template, 0o755))
	must(t, os.Chown(template, who.id, who.id))
	_, complaints, code := g.plain(template, `mkdir -p work home/.config root/deep && cd work && git init -q --template= -b main . && git config user.name A && git config user.email a@b.c && echo source >source && git add source && git commit -qm first &&
		mkdir -p z/y/x .vscode .devcontainer .git/hooks .git/modules/m .git/worktrees/w node_modules/x && git init -q --template= -b main inner && git init -q --template= --bare bare.git && mkdir bare.git/hooks && (cd ../root && git init -q --template= . && cp ../work/source .)`)
	if code != 0 {
		t.Fatal(complaints)
	}
	return g, template
}

// refurnish brings back what there was. What a command makes first is cheap to undo.
func (g *ground) refurnish(template string) {
	g.t.Helper()
	for _, pair := range [][2]string{{"work", g.work}, {"home", g.home}, {"root", g.out}} {
		source, dir := filepath.Join(template, pair[0]), pair[1]
		if pictured(g.t, source) == pictured(g.t, dir) {
			continue
		}
		entries, err := os.ReadDir(dir)
		must(g.t, err)
		for _, e := range entries {
			if os.RemoveAll(filepath.Join(dir, e.Name())) != nil {
				must(g.t, exec.Command("chmod", "-R", "u+rwX", dir).Run())
				must(g.t, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
		}
		must(g.t, os.CopyFS(dir, os.DirFS(source)))
		must(g.t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, g.who.id, g.who.id))
		}))
	}
}

// pictured returns what is at a path: its kind, mode and content, and that of what lies beneath.
func pictured(t *testing.T, path string) (text string) {
	t.Helper()
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			text += "none\n" // for what is missing
			return nil
		}
		content := ""
		if e.Type().IsRegular() {
			b, _ := os.ReadFile(p)
			content = string(b)
		} else if e.Type()&os.ModeSymlink != 0 {
			content, _ = os.Readlink(p)
		}
		text += fmt.Sprintf("%s %s %q\n", strings.TrimPrefix(p, path), e.Type(), content)
		return nil
	})
	return text
}

// variants returns what of a tree has a name in any case of its letters.
func variants(t *testing.T, root, name string) (found []string) {
	t.Helper()
	_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err == nil && strings.EqualFold(e.Name(), name) {
			found = append(found, p)
		}
		return nil
	})
	return found
}

// located returns where a name is.
func (g *ground) located(name string) string {
	name = strings.NewReplacer("$ROOT", g.out, "$HOME", g.home).Replace(name)
	if !filepath.IsAbs(name) {
		return filepath.Join(g.work, name)
	}
	return name
}

// spelled is how a command names it: relative in the working directory, as git does.
func (g *ground) spelled(name string) string {
	if strings.HasPrefix(name, "$") {
		return g.located(name)
	}
	return name
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// computing returns the command with the name that it computes. The directory is
// made where it can be.
func (m making) computing(path string) string {
	return fmt.Sprintf(`n=$(echo '%s' | rev); d=$(dirname "$n"); b=$(basename "$n"); mkdir -p "$d"; `, reversed(path)) + m.command
}

// said is what a result says of what was refused: the rule.
var said = regexp.MustCompile(`protected: |is protected|\(rule: |denied by policy|of their own, as |is read-only for commands`)

// namesMade returns all makings: those of programs and those of the C program.
func namesMade(t *testing.T) (all []making, program string) {
	program = compiled(t, "names")
	ways, err := exec.Command(program, "ways").Output()
	must(t, err)
	all = slices.Clone(makings)
	for way := range strings.FieldsSeq(string(ways)) {
		all = append(all, making{command: program + " " + way + ` "$n"`, may: slices.Contains([]string{"byX32", "byOpen32", "byMkdir32", "bySymlink32", "root", "namespaced", "files"}, way)})
	}
	if len(all) < 80 {
		t.Errorf("%d", len(all))
	}
	return all, program
}

// runnable reports whether the programs of a making are installed.
func (m making) runnable() bool {
	for word := range strings.FieldsSeq(strings.NewReplacer(";", " ", "|", " ", "(", " ", "&", " ").Replace(m.command)) {
		if slices.Contains([]string{"rsync", "unzip", "node", "vim", "ed", "patch", "gcc", "make", "curl", "openssl", "ssh-keygen", "script", "cpio", "python3", "perl", "rev"}, word) {
			if _, err := exec.LookPath(word); err != nil {
				return false
			}
		}
	}
	return true
}

// TestNamesThatDoNotExist makes files of protected names that are not there, in each
// way, and finds none afterwards. What is refused is said in words.
func TestNamesThatDoNotExist(t *testing.T) {
	t.Parallel()
	all, _ := namesMade(t)
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			t.Parallel()
			g, template := namesGround(t, who)
			g.refurnish(template)
			b := g.open(setup{config: "logging: {level: error}\nroots: [" + g.out + "]\n", without: without})
			for i, m := range all {
				names := []string{topNames[i%len(topNames)], otherNames[i%len(otherNames)]}
				racing := strings.Contains(m.command, " race")
				if without != "" || racing {
					names = names[i%2 : i%2+1]
				}
				if without != "" && (racing || i%3 != 0) || racing && who.id != os.Geteuid() {
					continue // the layer is the same
				}
				for _, name := range names {
					if m.tracked && inGit(name) {
						name = "z/y/x/.mcp.json"
					}
					if !m.runnable() || racing && strings.HasSuffix(name, ".git/config") {
						continue
					}
					g.refurnish(template)
					m.try(t, b, name, without)
				}
			}
			b.stop()
		})
	})
}

// try runs a making for a name.
func (m making) try(t *testing.T, b *box, name, without string) {
	t.Helper()
	path := b.located(name)
	before, others := pictured(t, path), variants(t, b.work, filepath.Base(path))
	o := b.call("execute_command", map[string]any{"command": m.computing(b.spelled(name)), "timeout": 600})
	for _, p := range variants(t, b.work, filepath.Base(path)) {
		if !slices.Contains(others, p) && !harmlessVariant(p) {
			t.Errorf("%s\nfor %s makes %s", m.command, name, strings.TrimPrefix(p, b.dir))
		}
	}
	if after := pictured(t, path); after != before && after == pictured(t, path+"-none") {
		return // it may be removed
	} else if after != before {
		t.Errorf("%s\nmakes %s: %.300s%.300q", m.command, name, after, o.text)
		return
	}
	there := before != pictured(t, path+"-none") // what exists may be left alone without a refusal
	if there && (o.structure["exit_code"] == 0.0 || strings.Contains(o.text, "xists")) || m.may {
		return
	}
	silent := strings.Contains(o.text, "Function not implemented") || strings.Contains(m.command, "undumpable") // no such call, no reading of its arguments
	if !said.MatchString(o.text) && !silent {
		t.Errorf("%s\nfor %s does not say why: %.500s", m.command, name, o.text)
	}
}

// harmlessVariant reports whether a file of a last name such as config, hooks or
// tasks.json lies where that name is nobody's.
func harmlessVariant(path string) bool {
	for _, dir := range []string{"/q/", "/x/", "/moved/", "/harmless/", "/sub/", "/before/", "/after/"} {
		if strings.Contains(path, dir) && !strings.HasPrefix(filepath.Base(path), ".") {
			return true
		}
	}
	return !strings.HasPrefix(filepath.Base(path), ".") && filepath.Base(path) != "toolserver.yaml" && !strings.Contains(path, "/.")
}

// TestNamesCanBeMade checks the makings: each makes its file without the sandbox.
func TestNamesCanBeMade(t *testing.T) {
	t.Parallel()
	all, _ := namesMade(t)
	g, template := namesGround(t, account{"own", os.Geteuid()})
	for i, m := range all {
		if !m.runnable() {
			continue
		}
		g.refurnish(template)
		name := topNames[i%len(topNames)]
		if m.tracked && inGit(name) {
			name = ".mcp.json"
		}
		path := g.located(name)
		before := pictured(t, path)
		stdout, stderr, code := g.plain(g.work, m.computing(g.spelled(name)))
		if pictured(t, path) == before && !m.may && !strings.HasSuffix(name, ".git/config") {
			t.Errorf("%s\nmakes no %s: %d %.300s %.300s", m.command, name, code, stdout, stderr)
		}
	}
}
