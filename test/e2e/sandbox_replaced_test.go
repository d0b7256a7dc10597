//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSandboxReplaced has an operator replace the configuration, as editors do,
// while a job runs that tries to change it. A mount goes with the file it is on, so
// the job can write the new one; but nobody obeys that, and the job is ended. What is
// below a protected directory stays protected.
func TestSandboxReplaced(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		g := newGround(t, who)
		hook := g.file(".git/hooks/hook", "hook\n", 0o755)
		file := g.file("toolserver.yaml", "working_directory: "+g.work+"\n", 0o644)
		b := g.open(setup{file: file})
		b.call("bash", map[string]any{"background": true, "command": "f=$(echo toolserver | tr s s).yaml; h=.git/$(echo hooks | tr h h)/hook; " +
			"while :; do echo '" + strings.TrimSpace(takeover) + "' >> $f; echo x >> $h; echo tick >> ticks; sleep 0.01; done 2>/dev/null"})
		eventually(t, "the job is at work", func() bool {
			content, _ := os.ReadFile(filepath.Join(g.work, "ticks")) // none is there at first
			return strings.Count(string(content), "tick") > 2
		})
		for _, path := range []string{hook, file} {
			content, err := os.ReadFile(path)
			must(t, err)
			g.file(path+"~", string(content), 0o755)
			must(t, os.Rename(path+"~", path))
		}
		ticks := func() int {
			content, _ := os.ReadFile(filepath.Join(g.work, "ticks"))
			return strings.Count(string(content), "tick")
		}
		before := ticks()
		eventually(t, "the job has tried again", func() bool { return ticks() > before+5 })
		if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), "parse_only") {
			t.Errorf("the configuration has %.200q, %v", content, err)
		}
		jobs := b.call("bash_jobs", map[string]any{"action": "list"}).text
		id, _, _ := strings.Cut(jobs, ":")
		b.call("bash_jobs", map[string]any{"action": "stop", "job": id})
		if o := b.bash("echo x > " + g.out + "/x"); !o.failed {
			t.Errorf("another policy is in force: %v", o)
		}
		if content, err := os.ReadFile(hook); err != nil || string(content) != "hook\n" {
			t.Errorf("the hook has %.200q, %v", content, err)
		}
		eventually(t, "the configuration is read again", func() bool {
			g.file("toolserver.yaml~", "working_directory: "+g.work+"\n# again\n", 0o644)
			must(t, os.Rename(file+"~", file))
			return strings.Contains(b.log(), "configuration reloaded")
		})
		b.stop()
	})
}
