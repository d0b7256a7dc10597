package runner_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

// A command that passes a bound is killed, all of it, and one that does not is left
// alone.
func TestBounds(t *testing.T) {
	const mebi = 1 << 20
	tests := []struct {
		name   string
		needs  string
		disk   bool // files must not be in memory
		hides  bool // the supervisor must be root
		first  bool // the supervisor must come before the command's processes
		script string
		bounds process.Bounds
		want   string
	}{
		// The bombs end by themselves at some depth, should the killing fail.
		{name: "fork bomb", script: `b() { [ $1 -gt 10 ] && sleep 60; b $(($1+1)) | b $(($1+1)) & }; b 1`, bounds: process.Bounds{Processes: 100}, want: process.ExceededProcesses},
		{name: "fork bomb of sessions", script: `b() { [ $1 -gt 10 ] && sleep 60; for i in 1 2; do setsid bash -c "b $(($1+1))" & done; wait; }; export -f b; b 1`,
			needs: "setsid", first: true, bounds: process.Bounds{Processes: 100}, want: process.ExceededProcesses},
		{name: "many sleep", script: `for i in {1..30}; do sleep 100 & done; wait`, bounds: process.Bounds{Processes: 20}, want: process.ExceededProcesses},
		{name: "threads", needs: "python3", script: `python3 -c '
import threading, time
for i in range(50): threading.Thread(target=time.sleep, args=(100,)).start()'`, bounds: process.Bounds{Processes: 20}, want: process.ExceededProcesses},
		{name: "one after the other", script: `for i in {1..200}; do (:); done; echo done`, bounds: process.Bounds{Processes: 20, Memory: 1024 * mebi}},
		{name: "as many as may be", script: `for i in {1..9}; do sleep 0.1 & done; wait; echo done`, bounds: process.Bounds{Processes: 20}},
		{name: "hog", needs: "perl", script: `perl -e '$x .= "x" x 1e7 while 1'`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "hog left behind", needs: "perl", script: `perl -e '$x .= "x" x 1e7 while 1' & exit 0`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "many small", needs: "perl", script: `for i in {1..12}; do perl -e '$x = "x" x 2e7; sleep 100' & done; wait`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "both", needs: "perl", script: `for i in {1..12}; do perl -e '$x = "x" x 2e7; sleep 100' & done; wait`, bounds: process.Bounds{Memory: 200 * mebi, Processes: 100}, want: process.ExceededMemory},
		{name: "shared by fork", needs: "perl", script: `perl -e '$x = "x" x 5e7; for (1..9) { $p = fork; die "fork: $!" unless defined $p; $p or do { select undef, undef, undef, 0.3; exit } } 1 while wait > 0; print "done\n"'`,
			bounds: process.Bounds{Memory: 200 * mebi}},
		{name: "shared map", needs: "python3", script: `python3 -c '
import mmap, time
m = mmap.mmap(-1, 300 << 20)
for i in range(0, 300 << 20, 4096): m[i] = 1
time.sleep(100)'`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "memory files", needs: "python3", script: `python3 -c '
import os, time
f = [os.memfd_create("x") for i in range(4)]
for i in range(300): os.write(f[i % 4], bytes(1 << 20))
time.sleep(100)'`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "memory file as standard input of one that hides", needs: "python3", hides: true, script: `python3 -c '
import ctypes, os, time
os.dup2(os.memfd_create("x"), 0)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
for i in range(300): os.write(0, bytes(1 << 20))
time.sleep(100)'`, bounds: process.Bounds{Memory: 200 * mebi}, want: process.ExceededMemory},
		{name: "memory file that two have mapped", needs: "python3", script: `python3 -c '
import mmap, os, time
f = os.memfd_create("x")
os.ftruncate(f, 120 << 20)
m = mmap.mmap(f, 120 << 20)
child = os.fork()
for i in range(0, 120 << 20, 4096): m[i] = 1
time.sleep(0.5)
if child:
    os.wait()
    print("done")'`, bounds: process.Bounds{Memory: 200 * mebi}},
		{name: "written", disk: true, script: `head -c 300M /dev/zero >file; sleep 100`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "written by many", disk: true, script: `for i in {1..12}; do head -c 25M /dev/zero >$i & done; wait; sleep 100`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "written by one after the other", disk: true, script: `for i in {1..60}; do head -c 5M /dev/zero >file$((i % 4)); rm file$((i % 4)); done; sleep 100`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "written at the end", disk: true, script: `head -c 5M /dev/zero >file`, bounds: process.Bounds{Disk: 4 * mebi}, want: process.ExceededDisk},
		{name: "written and left behind", disk: true, script: `(sleep 0.1; head -c 300M /dev/zero >file; sleep 100) & exit 0`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "written by children that nobody waits for", needs: "python3", disk: true, script: `python3 -c '
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for i in range(100):
    if os.fork() == 0:
        with open(str(i), "wb") as f: f.write(bytes(10 << 20))
        time.sleep(0.5)
        os._exit(0)
    time.sleep(0.1)
time.sleep(100)'`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "written by one that hides", needs: "python3", disk: true, hides: true, script: `python3 -c '
import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
with open("file", "wb") as f: f.write(bytes(300 << 20))
time.sleep(100)'`, bounds: process.Bounds{Disk: 200 * mebi}, want: process.ExceededDisk},
		{name: "less written", disk: true, script: `for i in {1..10}; do head -c 10M /dev/zero >$i & sleep 0.1; done; wait; truncate -s 1G sparse; echo done`,
			bounds: process.Bounds{Disk: 200 * mebi}},
		{name: "mapped file", needs: "python3", disk: true, script: `head -c 100000000 /dev/zero >file; python3 -c '
import mmap, time
with open("file", "rb") as f:
    m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    sum(m[i] for i in range(0, len(m), 4096))
    time.sleep(0.3)
print("done")'`, bounds: process.Bounds{Memory: 60 * mebi}},
		{name: "start within a large process", needs: "python3", script: `python3 -c '
import os
x = bytearray(120 << 20)
for i in range(200): os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
print("done")'`, bounds: process.Bounds{Memory: 200 * mebi}},
	}
	supervised(t, func(t *testing.T, method process.Method) {
		if testing.Short() && method != process.MethodNamespace {
			t.Skip("sets off every bomb again")
		}
		// Only the bounds end the command.
		r := newRunner(t, method, runner.Options{Drain: time.Minute})
		kept := r.launcher.BoundsMethod()
		if kept == "" {
			t.Fatal("bounds are not kept")
		}
		t.Log(kept)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				if _, err := exec.LookPath(test.needs); test.needs != "" && err != nil {
					t.Skip(err)
				}
				if test.first && method == process.MethodSubreaper && !mayGoFirst() {
					t.Skip("a supervisor has no precedence here")
				}
				if test.hides && os.Geteuid() != 0 {
					t.Skip("such processes cannot be looked into here")
				}
				req := shell(test.script)
				req.Dir = t.TempDir()
				if test.disk && inMemory(t, req.Dir) {
					t.Skip("temporary files are in memory here")
				}
				req.Bounds, req.Timeout = test.bounds, time.Minute
				res := mustRun(t, r, req)
				if res.Exceeded != test.want || res.TimedOut || res.Canceled || res.Unkillable {
					t.Errorf("got %+v %q; want exceeded %q", res, res.Output.Text(), test.want)
				}
				if test.want == "" && (res.Code != 0 || res.Output.Text() != "done\n") {
					t.Errorf("got %+v %q", res, res.Output.Text())
				}
				// The supervisor serves the next one as ever.
				if res := mustRun(t, r, shell("echo next")); res.Output.Text() != "next\n" || res.Exceeded != "" {
					t.Errorf("next: %+v %q", res, res.Output.Text())
				}
			})
		}
	})
}

func inMemory(t *testing.T, dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.TMPFS_MAGIC
}

// mayGoFirst says whether threads may be given a real-time policy.
func mayGoFirst() bool {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
	}()
	return <-done == nil
}

// The main process of a command that was killed for a bound ended by a signal.
func TestBoundsResult(t *testing.T) {
	supervised(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		req := shell("for i in {1..30}; do sleep 100 & done; echo all; sleep 100")
		req.Bounds.Processes = 20
		res := mustRun(t, r, req)
		if res.Exceeded != process.ExceededProcesses || res.Code != 137 || res.Signal != "SIGKILL" || res.TimedOut || res.Canceled || res.Unkillable {
			t.Errorf("got %+v", res)
		}
		j, err := r.Start(t.Context(), "owner", req)
		if err != nil {
			t.Fatal(err)
		}
		<-j.Done()
		if res, _, err := j.Result(); err != nil || res.Exceeded != process.ExceededProcesses || res.Code != 137 {
			t.Errorf("job: %+v %v", res, err)
		}
		req.Bounds.Memory = -1
		if _, err := r.Run(t.Context(), req); err == nil || !strings.Contains(err.Error(), "bounds") {
			t.Errorf("negative bounds: %v", err)
		}
	})
	if got := newRunner(t, process.MethodGroup, runner.Options{}).launcher.BoundsMethod(); got != "" {
		t.Errorf("a process group: %q", got)
	}
}

// Bounds hold for a user without privileges.
func TestBoundsUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the other tests do it")
	}
	if testing.Short() {
		t.Skip("starts every bomb again")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "runner")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chown(dir, nobody, nobody), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "runner.test")
	if err := os.WriteFile(binary, program, 0o755); err != nil {
		t.Fatal(err)
	}
	counting, err := covered.Args(dir, nobody)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, append(counting, "-test.v", "-test.run=TestBounds", "-test.timeout=5m")...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir, "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("--- PASS")); n < 10 {
		t.Errorf("only %d tests passed\n%s", n, out)
	}
}
