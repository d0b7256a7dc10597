package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// testConfiner obeys a spec of one word.
func testConfiner(spec []byte, path string, argv []string, attr *syscall.ProcAttr, _ func(int) error) (c process.Confined, err error) {
	switch string(spec) {
	case "no new privileges":
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return c, fmt.Errorf("prctl: %w", err)
		}
	case "no session":
		attr.Sys.Setsid = false
	default:
		return c, fmt.Errorf("cannot confine by %q", spec)
	}
	c.Pid, err = syscall.ForkExec(path, argv, attr)
	return c, err
}

// runaways is a script whose processes try to outlive it, each in its own way.
// All have the marker in their command line, and so has the script.
func runaways(marker, end string) string {
	script := `
sleeper() { exec -a MARK sleep 1000; }
sleeper &
setsid bash -c 'exec -a MARK sleep 1001' &
(setsid bash -c '(exec -a MARK sleep 1002) & exit' &) 
nohup bash -c 'exec -a MARK sleep 1003' >/dev/null 2>&1 & disown
(trap '' TERM HUP INT; exec -a MARK sleep 1004) &
bash -c 'trap "" TERM; while :; do (: MARK); sleep 0.01; done' &
if command -v perl >/dev/null; then
  perl -MPOSIX -e 'exit if fork; POSIX::setsid(); exit if fork; while (1) { exit if fork; select undef, undef, undef, 0.02 }' MARK
fi
` + end
	return strings.ReplaceAll(script, "MARK", marker)
}

func newMarker() string { return "runaway-" + strconv.FormatUint(rand.Uint64(), 36) }

// marked returns the processes with the marker in their command line.
func marked(marker string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(marker)) {
			list = append(list, f+": "+string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
		}
	}
	return list
}

// wantGone waits for the marked processes to be gone, and kills them if not.
func wantGone(t *testing.T, marker string, within time.Duration) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		if left = marked(marker); len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	t.Errorf("%d still there: %q", len(left), left[:min(3, len(left))])
	for range 100 {
		for _, p := range marked(marker) {
			pid, _ := strconv.Atoi(strings.Split(p, "/")[2])
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func supervised(t *testing.T, f func(t *testing.T, method process.Method)) {
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper} {
		t.Run(strings.ReplaceAll(string(method), " ", "-"), func(t *testing.T) { f(t, method) })
	}
}

// No process of a command is there when its call returns.
func TestNoSurvivor(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Log("no perl here: the process that forks for ever is left out")
	}
	supervised(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{Grace: 50 * time.Millisecond, Drain: 20 * time.Millisecond})
		for _, how := range []string{"end", "timeout", "cancel"} {
			t.Run(how, func(t *testing.T) {
				marker := newMarker()
				req := shell(runaways(marker, map[string]string{"end": "echo ready", "timeout": "echo ready; sleep 100", "cancel": "echo ready; sleep 100"}[how]))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req.OnOutput = func(string) {
					if how == "cancel" {
						cancel()
					}
				}
				if how == "timeout" {
					req.Timeout = 1500 * time.Millisecond
				}
				res, err := r.Run(ctx, req)
				if err != nil || !strings.HasPrefix(res.Output.Text(), "ready") || res.Unkillable {
					t.Errorf("got %+v %q %v", res, res.Output.Text(), err)
				}
				if res.TimedOut != (how == "timeout") || res.Canceled != (how == "cancel") {
					t.Errorf("got %+v", res)
				}
				wantGone(t, marker, 0)
			})
		}
	})
}

// The process group still catches what stays in it.
func TestGroupKills(t *testing.T) {
	r := newRunner(t, process.MethodGroup, runner.Options{})
	marker := newMarker()
	res := mustRun(t, r, shell(strings.ReplaceAll("(exec -a MARK sleep 1000) & (trap '' TERM; exec -a MARK sleep 1001) & echo ok", "MARK", marker)))
	if res.Output.Text() != "ok\n" {
		t.Errorf("got %q", res.Output.Text())
	}
	wantGone(t, marker, 5*time.Second)
}

// miniServer is a server to be killed: it runs one command until then.
func miniServer(method process.Method) {
	self, err := process.Self()
	if err != nil {
		panic(err)
	}
	r := runner.New(process.NewLauncher(process.Options{Supervisor: self, Method: method}), runner.Options{})
	for range 3 { // so that there are supervisors with and without work
		if _, err := r.Start(context.Background(), "owner", shell("true")); err != nil {
			panic(err)
		}
	}
	req := shell(os.Getenv("RUNNER_TEST_SCRIPT"))
	req.OnOutput = func(text string) { os.Stdout.WriteString(text) }
	if _, err := r.Run(context.Background(), req); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// No process of a command outlives a server that is killed, at any moment.
func TestServerKilled(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	supervised(t, func(t *testing.T, method process.Method) {
		newRunner(t, method, runner.Options{}) // or skip
		for round := range rounds {
			marker := newMarker()
			server := exec.Command(self)
			server.Env = append(os.Environ(), "RUNNER_TEST_SERVER="+string(method), "RUNNER_TEST_SCRIPT="+runaways(marker, "echo ready; sleep 100"))
			out, err := server.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			if round%2 == 0 { // when all is up
				if _, err := out.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			} else { // at any moment of the start
				time.Sleep(rand.N(60 * time.Millisecond))
			}
			_ = server.Process.Kill()
			_ = server.Wait()
			wantGone(t, marker, 10*time.Second)
		}
	})
}

// A supervisor that is killed takes the command along, and the next command gets
// another one.
func TestSupervisorKilled(t *testing.T) {
	r := newRunner(t, process.MethodSubreaper, runner.Options{})
	marker := newMarker()
	res, err := r.Run(t.Context(), shell("exec 2>&1; (exec -a "+marker+" sleep 1000) & echo before; sleep 0.2; kill -KILL $PPID; sleep 10; echo after"))
	if err == nil || res.Output.Text() != "before\n" || res.Signal != "SIGKILL" {
		t.Errorf("got %+v %q %v", res, res.Output.Text(), err)
	}
	wantGone(t, marker, 5*time.Second)
	if res := mustRun(t, r, shell("echo next")); res.Output.Text() != "next\n" {
		t.Errorf("got %q", res.Output.Text())
	}
}

// From inside a namespace its init is not to be killed.
func TestNamespaceInit(t *testing.T) {
	r := newRunner(t, process.MethodNamespace, runner.Options{})
	res := mustRun(t, r, shell("kill -KILL 1; kill -STOP 1; kill -TERM 1; kill -INT 1; sleep 0.05; echo alive; kill -KILL -1 2>/dev/null"))
	if res.Output.Text() != "alive\n" || res.Code != 1 {
		t.Errorf("got %+v %q", res, res.Output.Text())
	}
	res = mustRun(t, r, shell(`sleep 5 & [ -d /proc/$! ] && [ "$(cat /proc/$$/comm)" = bash ] && pkill -P $$; wait $!; echo $?`))
	if got := res.Output.Text(); got != "143\n" {
		t.Errorf("/proc is not that of the namespace: %q", got)
	}
}

func TestForkBomb(t *testing.T) {
	supervised(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{Grace: -1})
		marker := newMarker()
		// Bounded by its own depth, should the killing fail.
		req := shell(strings.ReplaceAll(`bomb() { [ $1 -gt 8 ] && sleep 60; (bomb $(($1+1))) & (bomb $(($1+1))) & : MARK; sleep 60; }; bomb 1`, "MARK", marker))
		req.Timeout = 300 * time.Millisecond
		res := mustRun(t, r, req)
		if !res.TimedOut || res.Unkillable {
			t.Errorf("got %+v", res)
		}
		wantGone(t, marker, 0)
	})
}

// A command has three descriptors, no terminal, and signals as at login.
func TestCleanStart(t *testing.T) {
	leak, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // not close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		res := mustRun(t, r, shell("for f in /proc/$BASHPID/fd/*; do [ -e $f ] && echo ${f##*/}; done; readlink /proc/self/fd/0"))
		if method != process.MethodGroup {
			lines := strings.Fields(res.Output.Text())
			for _, l := range lines {
				if n, err := strconv.Atoi(l); err == nil && n > 2 && n != 255 { // bash itself may use 255
					t.Errorf("descriptors %q", lines)
				}
			}
			if lines[len(lines)-1] != "/dev/null" {
				t.Errorf("stdin is %q", lines)
			}
		}
		// Of signals that whoever started the tests ignores, as nohup does, some
		// may stay ignored; the server itself adds none.
		status := mustRun(t, r, runner.Request{Argv: []string{"cat", "/proc/self/status"}}).Output.Text()
		own, err := exec.Command("cat", "/proc/self/status").Output()
		if err != nil {
			t.Fatal(err)
		}
		blocked, ignored := signalMask(t, status, "SigBlk"), signalMask(t, status, "SigIgn")
		if plain := signalMask(t, string(own), "SigIgn"); blocked != 0 || ignored&^plain != 0 {
			t.Errorf("signals blocked %x, ignored %x; a plain child ignores %x", blocked, ignored, plain)
		}
	})
}

// signalMask reads a set of signals from a process's status.
func signalMask(t *testing.T, status, name string) uint64 {
	t.Helper()
	_, rest, _ := strings.Cut(status, name+":\t")
	digits, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		t.Fatalf("%s in %q: %v", name, status, err)
	}
	return mask
}

// A closed Runner leaves no goroutine and no descriptor.
func TestNothingLeft(t *testing.T) {
	count := func() (fds, goroutines int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries), runtime.NumGoroutine()
	}
	eachMethod(t, func(t *testing.T, method process.Method) {
		newRunner(t, method, runner.Options{}).Close()
		fds, goroutines := count()
		r := newRunner(t, method, runner.Options{Drain: 5 * time.Millisecond})
		for range 5 {
			res := mustRun(t, r, runner.Request{Shell: "sleep 1000 & seq 100", Stdin: []byte("x"), Split: true, Limits: runner.Limits{Inline: 10}, OnOutput: func(string) {}})
			res.Close()
		}
		if _, err := r.Start(t.Context(), "owner", shell("seq 100; sleep 1000")); err != nil {
			t.Fatal(err)
		}
		r.Close()
		var nowFDs, nowGoroutines int
		for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			if nowFDs, nowGoroutines = count(); nowFDs <= fds && nowGoroutines <= goroutines {
				return
			}
		}
		t.Errorf("%d descriptors, were %d; %d goroutines, were %d", nowFDs, fds, nowGoroutines, goroutines)
	})
}

func TestConfine(t *testing.T) {
	flag := func(t *testing.T, r testRunner, spec []byte) string {
		return mustRun(t, r, runner.Request{Argv: []string{"sed", "-n", "s/^NoNewPrivs:\t//p", "/proc/self/status"}, Confine: spec}).Output.Text()
	}
	supervised(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		for range 3 { // what confines one command does not stay for the next
			if got := flag(t, r, []byte("no new privileges")); got != "1\n" {
				t.Errorf("confined: %q", got)
			}
			if got := flag(t, r, nil); got != "0\n" {
				t.Errorf("not confined: %q", got)
			}
		}
		_, err := r.Run(t.Context(), runner.Request{Shell: "true", Confine: []byte("magic")})
		if err == nil || !strings.Contains(err.Error(), `cannot confine by "magic"`) {
			t.Errorf("got %v", err)
		}
	})
	if _, err := newRunner(t, process.MethodGroup, runner.Options{}).Run(t.Context(), runner.Request{Shell: "true", Confine: []byte("x")}); err == nil {
		t.Error("a command that must be confined ran without")
	}
}
