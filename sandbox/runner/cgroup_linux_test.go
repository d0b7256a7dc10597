package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// ownCgroup returns the directory of the cgroup of this process.
func ownCgroup(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut("\n"+string(b), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	return filepath.Join("/sys/fs/cgroup", path)
}

func cgroupsBelow(t *testing.T, dir, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "toolserver-"+pattern))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Cgroups go with the Runner, and those of a server that was killed when the next
// one starts.
func TestCgroupsRemoved(t *testing.T) {
	supervised(t, func(t *testing.T, method process.Method) {
		before := ownCgroup(t)
		r := newRunner(t, method, runner.Options{})
		if how := r.launcher.BoundsMethod(); how != process.BoundsCgroup {
			t.Skip("no cgroup is delegated here; bounds are", how)
		}
		if got := filepath.Dir(ownCgroup(t)); got != before {
			t.Errorf("the server moved below %s; want %s", got, before)
		}
		mustRun(t, r, shell("sleep 100 & setsid sleep 100 &"))

		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		server := exec.Command(self)
		server.Env = append(os.Environ(), "RUNNER_TEST_SERVER="+string(method), "RUNNER_TEST_SCRIPT=echo ready; sleep 100")
		out, err := server.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		theirs := fmt.Sprintf("*-%d-*", server.Process.Pid)
		if len(cgroupsBelow(t, before, theirs)) == 0 {
			t.Error("the other server has no cgroup")
		}
		// A server that starts beside one that lives takes nothing from it.
		newRunner(t, method, runner.Options{}).Close()
		if len(cgroupsBelow(t, before, theirs)) == 0 {
			t.Error("the cgroups of a living server are gone")
		}
		_ = server.Process.Kill()
		_ = server.Wait()
		newRunner(t, method, runner.Options{}).Close()
		if left := cgroupsBelow(t, before, theirs); len(left) > 0 {
			t.Errorf("%q are left of a server that was killed", left)
		}
		r.Close()
		if left := cgroupsBelow(t, before, "*"); len(left) > 0 || ownCgroup(t) != before {
			t.Errorf("%q are left, and this process is in %s; it was in %s", left, ownCgroup(t), before)
		}
	})
}
