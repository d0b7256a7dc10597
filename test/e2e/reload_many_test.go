package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestManyReloads reloads the settings of all families in turn, in both ways,
// while calls run in both protocol versions. No call may fail, and no descriptor
// may be left. The soak does so a thousand times.
func TestManyReloads(t *testing.T) {
	t.Parallel()
	const reloads = 60
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "toolserver.yaml")
	settings := []string{
		"users: {ann: {groups: [staff]}}\n", "tools: {linkedin_jobs: {groups: [none]}}\n", "tools: {read_file: {denied_paths: [/nonexistent/%d]}}\n",
		"tools: {bash: {denied_commands: [none-%d]}}\n", "web: {user_agent: test/%d}\n", "anthropic: {model: model-%d}\n", "limits: {per_tool: 10%d}\n", "errors: result\n",
	}
	configure := func(n int, old bool) {
		setting := strings.Replace(settings[n%len(settings)], "%d", fmt.Sprint(n), 1)
		text := fmt.Sprintf("working_directory: %s\nlogging: {level: warn}\n%s# %d\n", dir, withTokens("ann", "anns", "other", fmt.Sprint(n))+setting, n)
		must(t, os.WriteFile(file+".new", []byte(text), 0o600))
		if old { // which a hangup does not wait for
			past := time.Now().Add(-time.Minute)
			must(t, os.Chtimes(file+".new", past, past))
		}
		must(t, os.Rename(file+".new", file))
	}
	configure(0, false)
	s := launchHTTP(t, nil, binary(), "--config", file)
	touch(t, filepath.Join(dir, "f"))
	stop, done := make(chan struct{}), make(chan int, len(eras))
	for _, version := range eras {
		p := s.newPeer(t, version, "anns")
		go func() {
			calls := 0
			defer func() { done <- calls }()
			for ; ; calls += 3 {
				select {
				case <-stop:
					return
				default:
				}
				for tool, args := range map[string]map[string]any{"echo": {"message": "x"}, "read_file": {"path": "f"}, "bash": {"command": "true"}} {
					if r := <-p.send(t.Context(), p.callMessage("1", tool, args, "")); r.status != 200 || strings.Contains(r.body, `"error"`) || strings.Contains(r.body, `"isError":true`) {
						t.Errorf("%s: %d %s", tool, r.status, r.body)
						return
					}
				}
			}
		}()
	}
	descriptors := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
		if err != nil {
			t.Skipf("no /proc here: %v", err)
		}
		return len(entries)
	}
	before := 0
	for n := 1; n <= reloads; n++ {
		hangup := n%6 != 0
		configure(n, hangup)
		if hangup {
			must(t, s.cmd.Process.Signal(syscall.SIGHUP))
		}
		p := s.newPeer(t, modernVersion, fmt.Sprint(n)) // the token of this version alone
		eventually(t, fmt.Sprintf("reload %d is in force", n), func() bool {
			return p.post(t, p.message("1", "tools/list", "", ""), nil).status == 200
		})
		if n == reloads/6 {
			before = descriptors()
		}
	}
	close(stop)
	for range eras {
		if <-done == 0 {
			t.Error("nothing was called")
		}
	}
	s.client.CloseIdleConnections()
	t.Logf("%d descriptors after %d reloads, %d after %d", before, reloads/6, descriptors(), reloads)
	eventually(t, fmt.Sprintf("there are no more descriptors than the %d of the beginning", before), func() bool { return descriptors() <= before+10 }) // some are of supervisors that wait for commands
	if strings.Contains(s.log(), "stays in force") {
		t.Errorf("a reload failed:\n%s", s.log())
	}
}
