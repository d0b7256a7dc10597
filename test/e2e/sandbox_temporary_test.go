//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestTemporaryFilesRead reads what a command has left in its /tmp with the file tools, and
// nothing that links there lead to.
func TestTemporaryFilesRead(t *testing.T) {
	t.Parallel()
	eachAccount(t, func(t *testing.T, who account) {
		eachMachine(t, func(t *testing.T, without string) {
			g := newGround(t, who)
			g.file(g.home+"/letter", "secret\n", 0o644)
			b := g.open(setup{without: without})
			read := func(path string) outcome { return b.call("read_file", map[string]any{"path": path}) }
			dir := "/tmp"
			if without != "" { // where commands have no /tmp of their own
				dir = "$TMPDIR"
			}
			o := b.bash(strings.ReplaceAll("mkdir DIR/d && echo written >DIR/d/out.txt && ln -s "+g.home+"/letter DIR/link && ln -s ../../../../../../.. DIR/root && ln -s d/out.txt DIR/near && mkfifo DIR/fifo && echo DIR", "DIR", dir))
			if o.failed {
				t.Fatal(o)
			}
			dir, _, _ = strings.Cut(o.text, "\n")
			for _, path := range []string{"/d/out.txt", "/near", "/d/../d/out.txt"} {
				if o := read(dir + path); o.failed || o.text != "written\n" {
					t.Errorf("%s: %v", path, o)
				}
			}
			for _, path := range []string{"/link", "/root/etc/passwd", "/fifo", "/none", "/../etc/passwd", "/d/../../etc/passwd"} {
				if o := read(dir + path); !o.failed || strings.Contains(o.text, "private") || !strings.Contains(o.text, dir+path) {
					t.Errorf("%s: %v", path, o)
				}
			}
			for tool, pattern := range map[string]string{"grep": "written", "search_files": "*.txt"} {
				if o := b.call(tool, map[string]any{"path": dir, "pattern": pattern}); o.failed || !strings.Contains(o.text, dir+"/d/out.txt") {
					t.Errorf("%s: %v", tool, o)
				}
			}
			if o := b.call("list_directory", map[string]any{"path": dir}); o.failed || !strings.Contains(o.text, "near") {
				t.Errorf("list_directory: %v", o)
			}
			if o := b.call("write_file", map[string]any{"path": dir + "/new", "content": "x"}); !o.failed {
				t.Errorf("written: %v", o)
			}
			b.stop()

			// Who may not run commands reads nothing of them.
			b = g.open(setup{without: without, config: "users: {local: {groups: [staff]}}\ntools: {bash: {groups: [staff]}, execute_command: {groups: [staff]}}\n"})
			o = b.bash("echo $TMPDIR; echo written >$TMPDIR/out.txt; echo written >/tmp/out.txt")
			own, _, _ := strings.Cut(o.text, "\n")
			for _, path := range []string{"/tmp/out.txt", own + "/out.txt"} {
				if o := read(path); !o.failed || o.errorType != "denied" {
					t.Errorf("with groups: %s: %v", path, o)
				}
			}
			b.stop()
		})
	})
}
