//go:build linux

package e2e

import (
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// In a linked worktree commands read the repository, are told what would let them commit, and
// do so once that is named, without a way to its hooks and configuration.
func TestLinkedWorktree(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces"} {
			g := newGround(t, who)
			must(t, exec.Command("rmdir", g.work).Run())
			main := filepath.Join(g.dir, "main")
			for _, line := range []string{
				"git init -q " + main, "git -C " + main + " -c user.email=a@b -c user.name=n commit -q --allow-empty -m 1",
				"git -C " + main + " worktree add -q " + g.work, "git -C " + main + " config user.email a@b", "git -C " + main + " config user.name n",
				"chown -R " + strconv.Itoa(who.id) + ":" + strconv.Itoa(who.id) + " " + g.dir,
			} {
				if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
					t.Fatalf("%s: %s", line, out)
				}
			}
			git := filepath.Join(main, ".git")
			commit := "git log --oneline && echo x >> file && git add file && git commit -qm 2 && git status --short && echo committed"
			b := g.open(setup{without: without})
			contain(t, "what is not named", b.bash(commit).text, "roots: ["+git+"]")
			b.stop()
			b = g.open(setup{without: without, config: "roots: [" + git + "]\n"})
			contain(t, "what is named", b.bash(commit).text, "committed")
			for _, name := range []string{"hooks/pre-commit", "config", "worktrees/work/commondir", "worktrees/work/gitdir", "info/attributes", "objects/info/alternates"} {
				file := filepath.Join(git, name)
				if o := b.bash("python3 -c 'open(bytes.fromhex(\"" + hex.EncodeToString([]byte(file)) + "\"), \"a\")'"); !o.failed {
					t.Errorf("a command wrote %s", name)
				}
				if o := b.call("write_file", map[string]any{"path": file, "content": "x"}); !o.failed {
					t.Errorf("write_file wrote %s", name)
				}
			}
			b.stop()
		}
	})
}
