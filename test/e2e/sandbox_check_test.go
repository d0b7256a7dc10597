//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSandboxCheck reads what check says where something is not as usual, and what a
// command then does.
func TestSandboxCheck(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		check := func(g *ground, s setup) (string, int) {
			s.command = []string{"check"}
			return g.run(s)
		}
		t.Run("loopback without namespaces", func(t *testing.T) {
			g := newGround(t, who)
			s := setup{config: "sandbox: {network: loopback}\n", without: "namespaces"}
			text, code := check(g, s)
			contain(t, "check", text, "network: loopback cannot be enforced", "commands have none at all")
			if found := lines(text, "in force"); code == 0 || !strings.Contains(strings.Join(found, "\n"), "network: none") || strings.Contains(strings.Join(found, "\n"), "loopback") {
				t.Errorf("exit code %d: %q", code, found)
			}
		})
		t.Run("a directory for temporary files that cannot be written", func(t *testing.T) {
			g := newGround(t, who)
			must(t, os.Remove(g.temp))
			if text, code := check(g, setup{}); code != 0 {
				t.Errorf("check: %s", text)
			}
			b := g.open(setup{})
			if o := b.bash("echo x > $(mktemp) && dirname $TMPDIR"); o.failed || strings.Contains(o.text, g.temp) {
				t.Errorf("got %v", o)
			}
			b.stop()
		})
		t.Run("a program whose interpreter cannot be examined", func(t *testing.T) {
			if who.id == 0 {
				t.Skip("root may examine everything")
			}
			g := newGround(t, who)
			g.file("tool", "#!"+g.dir+"/closed/interpreter\n", 0o755)
			must(t, os.Mkdir(filepath.Join(g.dir, "closed"), 0))
			s := setup{config: "tools: {bash: {allowed_commands: [ls, ./tool]}, read_file: {denied_paths: [" + g.dir + "/closed/x]}}\n"}
			text, code := check(g, s)
			if contain(t, "check", text, g.work+"/tool cannot be started: its interpreter", "permission denied"); code == 0 {
				t.Errorf("check: %s", text)
			}
			b := g.open(s)
			if o := b.bash("ls"); o.failed || !strings.Contains(o.text, "tool") {
				t.Errorf("got %v", o)
			}
			o := b.bash("ls; ./tool")
			contain(t, "the denial", o.text, g.work+"/tool cannot be started: its interpreter", "permission denied")
			if o.errorType != "denied" {
				t.Errorf("got %v", o)
			}
			b.stop()
		})
		t.Run("a masked /proc, as in containers", func(t *testing.T) {
			g := newGround(t, who)
			script := `mount -t tmpfs none /proc/irq && exec unshare -U --map-user=1000 --map-group=1000 "$@"`
			run := func(args ...string) string {
				cmd := exec.Command("unshare", append([]string{"-Urm", "sh", "-c", script, "sh", g.exe, "-C", g.work}, args...)...)
				cmd.Env = append(os.Environ(), "HOME="+g.dir, "TMPDIR="+g.temp)
				if who.id != os.Geteuid() {
					cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(who.id), Gid: uint32(who.id)}}
				}
				text, _ := cmd.CombinedOutput()
				return string(text)
			}
			text := run("check")
			if strings.Contains(text, "unshare: ") || strings.Contains(text, "subreaper") {
				t.Skipf("no user namespaces: %s", text)
			}
			contain(t, "check", text, "that no file gets a protected name cannot be enforced: calls cannot be brokered", "procMount: Unmasked")
			contain(t, "a command", run("call", "bash", "echo written >file && cat file"), "written", "not enforced by the kernel: that no file gets a protected name")
		})
		t.Run("chroot", func(t *testing.T) {
			if who.id != os.Geteuid() || who.id != 0 {
				t.Skip("only root can change its root directory")
			}
			g := newGround(t, who)
			program, err := os.ReadFile(g.exe)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(g.work, "toolserver"), program, 0o755))
			for _, name := range []string{"proc", "dev", "tmp", "project"} {
				must(t, os.Mkdir(filepath.Join(g.work, name), 0o755))
			}
			cmd := exec.Command("sh", "-c", `mount -t proc proc "$1/proc" && : > "$1/dev/null" && mount --bind /dev/null "$1/dev/null" && exec chroot "$1" /toolserver -C /project check`, "sh", g.work)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			text, _ := cmd.CombinedOutput() // it misses a shell and more
			contain(t, "check", string(text), "/ is no mount point, as in a chroot", "mount --bind")
		})
	})
}
