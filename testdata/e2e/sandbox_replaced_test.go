//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSandboxReplaced has an operator replace protected files, as editors do, while
// a job runs that tries to read and change them. A mount goes with the file it is
// on; the protection must not.
func TestSandboxReplaced(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		secret, hook := g.file(".env", hush+"0-\n", 0o600), g.file(".git/hooks/hook", "hook\n", 0o755)
		file := g.file("toolserver.yaml", "working_directory: "+g.work+"\n", 0o644)
		b := g.open(setup{file: file})
		b.call("bash", map[string]any{"background": true, "command": "while :; do cat .env >> told; echo '# by the job' >> toolserver.yaml; echo x >> .git/hooks/hook; echo tick >> ticks; sleep 0.01; done 2>/dev/null"})
		ticks := func() int {
			content, _ := os.ReadFile(filepath.Join(g.work, "ticks")) // none is there at first
			return strings.Count(string(content), "tick")
		}
		eventually(t, "the job is at work", func() bool { return ticks() > 2 })
		for _, path := range []string{secret, hook, file} {
			content, err := os.ReadFile(path)
			must(t, err)
			g.file(path+"~", string(content), 0o755)
			must(t, os.Rename(path+"~", path))
		}
		before := ticks()
		eventually(t, "the job has tried again, or is ended", func() bool {
			return ticks() > before+3 || !strings.Contains(b.call("bash", map[string]any{"command": "", "job_action": "list"}).text, "running")
		})
		b.stop()
		for path, want := range map[string]string{filepath.Join(g.work, "told"): "", hook: "hook\n", file: fmt.Sprintf("working_directory: %s\n", g.work)} {
			if content, err := os.ReadFile(path); err != nil && want != "" || string(content) != want {
				t.Errorf("%s has %.200q, %v", path, content, err)
			}
		}
	})
}
