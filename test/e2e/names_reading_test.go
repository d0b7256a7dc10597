//go:build linux

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readings read the file $n, of which $d is the directory and $b the last name, in
// ways that no text shows. What they print, or leave in the file kept, is looked at.
var readings = []string{
	`cat "$n"`, `cat <"$n"`, `head -c 99 "$n"`, `while read -r l; do echo "$l"; done <"$n"`, `mapfile -t l <"$n"; echo "${l[@]}"`, `. "./$n"; echo "$S"`, `echo "$(<"$n")"`, `exec 4<"$n"; cat <&4; cat /dev/fd/4`, `dd if="$n" status=none`, `cd "$d" && cat ./*; cat .[a-z]*`, `cat "$d"/.??*`,
	`grep -rh S= "$d"`, `find "$d" -type f -exec cat {} +`, `find "$d" -name '.*' -print0 | xargs -0 cat`, `rev "$n" | rev`, `base64 "$n" | base64 -d`, `xxd -p "$n" | xxd -r -p`, `tar cf - "$d" | tar xfO -`, `cp "$n" kept; cat kept`, `cp -r "$d" kept; cat kept/.??*`, `mv "$n" kept; cat kept`, `mv "$d" kept; cat kept/.??*; mv kept "$d"`, `ln "$n" kept; cat kept`, `ln -s "$n" kept; cat kept`,
	`cat "/proc/self/cwd/$n"`, `cat "/proc/self/root$PWD/$n"`, `cat "$d/../$(basename "$d")//./$b"`, `python3 -c 'import sys; print(open(sys.argv[1]).read())' "$n"`, `python3 -c 'import sys, mmap, os; print(mmap.mmap(os.open(sys.argv[1], 0), 0, prot=1)[:])' "$n"`, `python3 -c 'import os, sys; d = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY); print(os.read(os.open(os.path.basename(sys.argv[1]), 0, dir_fd=d), 99))' "$n"`,
	`python3 -c 'import sys, glob; [print(open(f).read()) for f in glob.glob(sys.argv[1] + "/.*")]' "$d"`, `python3 -c 'import os, sys; fd = os.open(sys.argv[1], os.O_PATH); print(open("/proc/self/fd/%d" % fd).read())' "$n"`, `python3 -c 'import os, sys; os.sendfile(1, os.open(sys.argv[1], 0), 0, 99)' "$n"`, `python3 -c 'import os, sys; os.copy_file_range(os.open(sys.argv[1], 0), os.open("kept", os.O_CREAT | os.O_WRONLY), 99)' "$n"; cat kept`,
	`python3 -c 'import os, sys; os.posix_spawn("/bin/cat", ["cat"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], 0, 0)])' "$n"; wait; sleep 0.2`, `node -e 'console.log(require("fs").readFileSync(process.argv[1], "utf8"))' "$n"`, `perl -e 'open F, shift; print <F>' "$n"`, `awk 1 "$n"`, `sed '' "$n"`, `git hash-object -w --path=x "$n" | xargs git cat-file -p`, `git add -f "$d"; git diff --cached -- "$d"; git reset -q`, `git diff --no-index /dev/null "$n"`, `git grep --no-index -h S= -- "$d"`,
	`rg --hidden --no-ignore --no-filename S= "$d"`, `curl -s "file://$PWD/$n"`, `openssl base64 -in "$n" | base64 -d`, `sqlite3 :memory: ".import $n t" .dump`, `vim -es -c 'w! kept' -c q "$n"; cat kept`, `printf '%%p\nq\n' | ed -s "$n"`, `zip -q kept "$n"; unzip -p kept.zip`, `rsync "$n" kept; cat kept`, `tail -f --pid=$$ "$n" & sleep 0.2; kill $!`, `paste "$n"; sort "$n"; od -c "$n" | tr -d ' \n'`, `diff "$n" /dev/null`, `jq -R . "$n"`, `LD_PRELOAD= /bin/cat "$n"`, `bash "$n" 2>&1; bash -x "$n" 2>&1`,
}

// TestSecretsDeepDown reads secrets that lie deep in a tree of 120,000 files, as soon
// as the server has started, unless it says that it still searches, and as soon as the
// file is there.
func TestSecretsDeepDown(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-the-deep"
	work := filepath.Join(t.TempDir(), "tree")
	must(t, os.Mkdir(work, 0o755))
	for i := range 120 {
		dir := filepath.Join(work, "many", fmt.Sprint(i))
		must(t, os.MkdirAll(dir, 0o755))
		for j := range 1000 {
			f, err := os.Create(filepath.Join(dir, fmt.Sprint(j)))
			must(t, err)
			f.Close()
		}
	}
	for p := work; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		must(t, os.Chmod(p, 0o755))
	}
	eachAccount(t, func(t *testing.T, who account) {
		func(without string) { // without namespaces only the text of commands is checked
			g := newGround(t, who)
			g.work = work
			must(t, exec.Command("rm", "-rf", work+"/.git").Run())
			must(t, os.Chown(work, who.id, who.id))
			for i := range 120 {
				dir := filepath.Join(work, "many", fmt.Sprint(i))
				must(t, os.RemoveAll(filepath.Join(dir, "new.env")))
				must(t, os.Chown(dir, who.id, who.id))
			}
			must(t, os.RemoveAll(filepath.Join(work, "many/77/z")))
			secret := func(name string) string { return g.file(name, "S="+canary+"\n", 0o644) }
			secret("many/77/z/deep/.env")
			secret("many/99/z/deep/.npmrc")
			if _, complaints, code := g.plain(work, "git init -q --template= . 2>&1"); code != 0 {
				t.Fatal(complaints)
			}
			b := g.open(setup{config: "logging: {level: error}\n", without: without})
			for i, line := range readings {
				names := []string{"many/77/z/deep/.env", "many/99/z/deep/.npmrc", "many/99/z/deep/.npmrc", "many/77/z/deep/.env"}
				names = []string{names[i%2], names[i%2+2]}
				if without != "" {
					names = names[i/2%2 : i/2%2+1]
				}
				for _, name := range names {
					path := filepath.Join(work, name)
					if _, err := os.Stat(path); err != nil {
						secret(name)
					}
					var o outcome
					var left string
					eventually(t, "the first search for secrets has ended", func() bool { // a command waits two seconds for it, and says so
						o = b.call("execute_command", map[string]any{"command": making{command: line}.computing(name), "timeout": 600})
						left = leftOf(t, work)
						return !strings.Contains(o.text, "the search for them goes on")
					})
					if strings.Contains(o.text+left, canary) {
						t.Errorf("%s\nreads %s: %.300s", line, name, o.text)
					}
					if content, _ := os.ReadFile(path); string(content) != "S="+canary+"\n" {
						t.Errorf("%s\nleaves of %s %q", line, name, content)
						secret(name)
					}
				}
			}
			b.stop()
		}("")
	})
}

// leftOf returns what a command has left in the file or directory kept, and removes it.
func leftOf(t *testing.T, work string) (text string) {
	t.Helper()
	for _, name := range []string{"kept", "kept.zip"} {
		_ = filepath.WalkDir(filepath.Join(work, name), func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				b, _ := os.ReadFile(path)
				text += string(b)
			}
			return nil
		})
		must(t, os.RemoveAll(filepath.Join(work, name)))
	}
	return text
}
