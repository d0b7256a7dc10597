package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

// testSupervisor is argv[0] of this program when it stands for a runner's supervisor.
const testSupervisor = "confine test: supervisor"

func TestMain(m *testing.M) {
	if os.Args[0] == testSupervisor {
		os.Exit(supervise())
	}
	if process.IsSupervisor() {
		covered.Keep()
		os.Exit(process.Supervise(Confiner()))
	}
	covered.Start()
	os.Exit(m.Run())
}

// A testOrder is what the supervisor is to do: start a command, Times times.
type testOrder struct {
	Spec  []byte // nil starts it without
	Where where
	Probe bool // only say what Probe says
	Argv  []string
	Dir   string
	Env   []string
	Times int
}

// where says what the supervisor is allowed.
type where string

const (
	inNamespace where = "namespace" // as the runner's supervisors are by default
	noNamespace where = "host"      // as they are where PID namespaces are refused
	refusing    where = "refusing"  // as in a container that refuses namespaces
)

// supervise is the life of the supervisor. It returns the command's exit status.
func supervise() int {
	runtime.LockOSThread()
	var order testOrder
	if err := json.NewDecoder(os.NewFile(3, "order")).Decode(&order); err != nil {
		fmt.Fprintln(os.Stderr, "supervisor:", err)
		return 201
	}
	switch order.Where {
	case inNamespace:
		if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			fmt.Fprintln(os.Stderr, "supervisor: mount proc:", err)
			return 201
		}
	case refusing:
		if err := refuseNamespaces(); err != nil {
			fmt.Fprintln(os.Stderr, "supervisor:", err)
			return 201
		}
	}
	if order.Probe {
		_ = json.NewEncoder(os.Stdout).Encode(Probe())
		return 0
	}
	status := 0
	for range order.Times {
		begin := time.Now()
		var err error
		if status, err = startOne(order); err != nil {
			fmt.Fprintln(os.Stderr, "supervisor:", err)
			return 200
		}
		if order.Times > 1 {
			fmt.Println(time.Since(begin).Nanoseconds())
		}
	}
	return status
}

func startOne(order testOrder) (status int, err error) {
	var pid int
	done := make(chan struct{})
	process.GoOnThread(func() {
		defer close(done)
		attr := &syscall.ProcAttr{Dir: order.Dir, Env: order.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
		if order.Spec != nil {
			var c process.Confined
			if c, err = Confiner()(order.Spec, order.Argv[0], order.Argv, attr, func(int) error { return nil }); c.Serve != nil && err == nil {
				stop, _ := unix.Eventfd(0, 0)
				go func() {
					var ws unix.Siginfo
					_ = unix.Waitid(unix.P_PID, c.Pid, &ws, unix.WEXITED|unix.WNOWAIT, nil)
					_, _ = unix.Write(stop, []byte{1, 0, 0, 0, 0, 0, 0, 0})
				}()
				c.Serve(stop)
			}
			pid = c.Pid
			return
		}
		pid, err = syscall.ForkExec(order.Argv[0], order.Argv, attr)
	})
	<-done
	if err != nil {
		return 0, err
	}
	var ws unix.WaitStatus
	for {
		if _, err = unix.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	if ws.Signaled() {
		return 128 + int(ws.Signal()), err
	}
	return ws.ExitStatus(), err
}

// refuseNamespaces makes this process one that may not make any.
func refuseNamespaces() error {
	var rules []rule
	for _, call := range []uint32{unix.SYS_UNSHARE, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE} {
		rules = append(rules, rule{call: call, outcome: fail(unix.EPERM)})
	}
	f := compile(append(rules, rule{unix.SYS_CLONE, fail(unix.EPERM), []condition{hasAny(0, newNamespace)}}))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(f.code)), Filter: &f.code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// run hands an order to a supervisor and returns what the command wrote and its
// exit status; 200 is that it was not started.
func run(t testing.TB, order testOrder) (output string, status int) {
	t.Helper()
	if order.Times == 0 {
		order.Times = 1
	}
	if order.Env == nil {
		order.Env = testEnv(order.Dir)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := &exec.Cmd{Path: self, Args: []string{testSupervisor}, Env: append(covered.Env(), "SECRET=of the server", "GOMAXPROCS=2"), Dir: "/", ExtraFiles: []*os.File{r}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	if order.Where == inNamespace {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
		if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
			cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
			cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
		} else {
			cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS // makes its mounts private
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runtime.LockOSThread() // the parent of the process is this thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		w.Close()
		if order.Where == inNamespace && errors.Is(err, unix.EPERM) {
			t.Skip("namespaces are refused here:", err)
		}
		t.Fatal(err)
	}
	if err := json.NewEncoder(w).Encode(order); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_ = cmd.Wait()
	return out.String(), cmd.ProcessState.ExitCode()
}

func testEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + home, "GOTOOLCHAIN=local"}
}

// A ground is a directory that a command may write, beside one it may not.
type ground struct{ work, outside, secret string }

func newGround(t testing.TB) ground {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := ground{work: filepath.Join(dir, "work"), outside: filepath.Join(dir, "outside")}
	g.secret = filepath.Join(g.outside, "secret")
	for _, d := range []string{g.work, g.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, g.secret, "secret\n")
	write(t, filepath.Join(g.work, "file"), "content\n")
	return g
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unchanged fails the test if what is outside is not what it was.
func (g ground) unchanged(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(g.outside)
	if err != nil || len(entries) != 1 {
		t.Fatalf("outside: %v %v", entries, err)
	}
	var st unix.Stat_t
	content, err := os.ReadFile(g.secret)
	if err != nil || string(content) != "secret\n" {
		t.Errorf("outside: %q %v", content, err)
	}
	if err := unix.Stat(g.secret, &st); err != nil || st.Mode&0o7777 != 0o644 || int64(st.Mtim.Sec) < time.Now().Unix()-24*3600 || st.Nlink != 1 || int(st.Uid) != os.Geteuid() {
		t.Errorf("outside: %+v %v", st, err)
	}
	if size, err := unix.Listxattr(g.secret, nil); err == nil && size > 0 {
		t.Errorf("outside: has attributes")
	}
}

func mustEncode(t testing.TB, s Spec) []byte {
	t.Helper()
	b, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// programs returns the paths of those of the names that are there.
func programs(names ...string) []string {
	list := []string{}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			list = append(list, path)
		}
	}
	return list
}

func needs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here", name)
		}
	}
}

func bash(g ground, spec []byte, w where, script string) testOrder {
	return testOrder{Spec: spec, Where: w, Dir: g.work, Argv: []string{"/bin/bash", "-c", script}}
}

// everywhere runs a test with each kind of supervisor. mounted says whether a mount
// namespace is to be had.
func everywhere(t *testing.T, f func(t *testing.T, w where, mounted bool)) {
	if landlockABI() == 0 || !Probe().Seccomp {
		t.Skip("no Landlock or no seccomp here")
	}
	needs(t, "bash")
	have := Probe()
	for _, w := range []where{inNamespace, noNamespace, refusing} {
		t.Run(string(w), func(t *testing.T) {
			if testing.Short() && w != inNamespace {
				t.Skip("short: what differs is in the kernel")
			}
			if w == inNamespace && !have.MountNamespace {
				t.Skip("no mount namespaces here")
			}
			f(t, w, w == inNamespace || w == noNamespace && os.Geteuid() == 0 && have.MountNamespace)
		})
	}
}

// All tests hold for a user without privileges.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("all other tests do it")
	}
	if testing.Short() {
		t.Skip("short: what differs is in the kernel")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "confine")
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
	binary := filepath.Join(dir, "confine.test")
	if err := os.WriteFile(binary, program, 0o755); err != nil {
		t.Fatal(err)
	}
	counting, err := covered.Args(dir, nobody)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, append(counting, "-test.v", "-test.timeout=15m")...)
	cmd.Dir = dir
	path := []string{}
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if !strings.HasPrefix(d, os.Getenv("HOME")+"/") {
			path = append(path, d)
		}
	}
	cmd.Env = []string{"PATH=" + strings.Join(path, ":"), "TMPDIR=" + dir, "HOME=" + dir, "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("--- PASS")); n < 5 {
		t.Errorf("only %d tests passed\n%s", n, out)
	}
	t.Logf("%d passed, %d skipped", bytes.Count(out, []byte("--- PASS")), bytes.Count(out, []byte("--- SKIP")))
}
