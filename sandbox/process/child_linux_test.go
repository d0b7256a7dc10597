package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

func TestMain(m *testing.M) {
	if process.IsSupervisor() {
		covered.Keep()
		os.Exit(process.Supervise(confineByPrivileges))
	}
	if method := os.Getenv("PROCESS_TEST_SERVER"); method != "" {
		holdAndWait(process.Method(method), os.Getenv("PROCESS_TEST_MARKER"))
	}
	covered.Start()
	os.Exit(m.Run())
}

// confineByPrivileges is a Confiner that only forbids new privileges.
func confineByPrivileges(spec []byte, path string, argv []string, attr *syscall.ProcAttr, handOver func(int) error) (c process.Confined, err error) {
	if text := string(spec); text == "listen" || text == "hang" {
		return serving(text == "hang", path, argv, attr, handOver)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return c, err
	}
	c.Pid, err = syscall.ForkExec(path, argv, attr)
	return c, err
}

// echoServer is a long-lived program that answers each line, and starts processes that
// try to outlive it, all with the marker in their command line.
func echoServer(marker string) process.Spec {
	script := `
echo "starting" >&2
setsid bash -c 'exec -a MARK sleep 1001' </dev/null >/dev/null 2>&1 &
(setsid bash -c '(trap "" TERM HUP; exec -a MARK sleep 1002) & exit' </dev/null >/dev/null 2>&1 &)
grep NoNewPrivs /proc/self/status
while read line; do echo "got $line: MARK"; done
echo "stopping" >&2`
	return process.Spec{Shell: strings.ReplaceAll(script, "MARK", marker), Env: process.MinimalEnv(nil), Confine: []byte("x")}
}

// holdAndWait is a server to be killed: it holds a child until then.
func holdAndWait(method process.Method, marker string) {
	child, err := process.NewChildren(newLauncher(method), 1).Start(context.Background(), echoServer(marker), nil)
	if err != nil {
		panic(err)
	}
	io.WriteString(child.Stdin, "hello\n")
	io.Copy(os.Stdout, child.Stdout)
	os.Exit(1)
}

func newLauncher(method process.Method) *process.Launcher {
	self, err := process.Self()
	if err != nil {
		panic(err)
	}
	return process.NewLauncher(process.Options{Supervisor: self, Method: method})
}

// supervised runs a test with each method that leaves no process behind.
func supervised(t *testing.T, f func(t *testing.T, l *process.Launcher, method process.Method)) {
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper} {
		t.Run(strings.ReplaceAll(string(method), " ", "-"), func(t *testing.T) {
			l := newLauncher(method)
			t.Cleanup(l.Close)
			if got, err := l.Method(); got != method {
				t.Skipf("no %s here: %v", method, err)
			}
			f(t, l, method)
		})
	}
}

func newMarker() string { return "child-" + strconv.FormatUint(rand.Uint64(), 36) }

// marked returns how many processes have the marker in their command line.
func marked(marker string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && bytes.Contains(b, []byte(marker)) {
			n++
		}
	}
	return n
}

func wantGone(t *testing.T, marker string, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); marked(marker) > 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are left", marked(marker))
		}
	}
}

// hold starts an echoServer and waits until all its processes are there.
func hold(t *testing.T, ctx context.Context, c *process.Children, marker string) (*process.Child, *bufio.Scanner) {
	t.Helper()
	child, err := c.Start(ctx, echoServer(marker), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Close() })
	lines := bufio.NewScanner(child.Stdout)
	if !lines.Scan() || lines.Text() != "NoNewPrivs:\t1" {
		t.Fatalf("it is not confined: %q", lines.Text())
	}
	for deadline := time.Now().Add(10 * time.Second); marked(marker) < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return child, lines
}

// A child ends with everything it started, however it ends.
func TestChildEnds(t *testing.T) {
	supervised(t, func(t *testing.T, l *process.Launcher, method process.Method) {
		ends := map[string]func(child *process.Child, cancel func()){
			"close":   func(child *process.Child, _ func()) { child.Close() },
			"context": func(_ *process.Child, cancel func()) { cancel() },
			"stdin":   func(child *process.Child, _ func()) { child.Stdin.Close() },
			"signal":  func(child *process.Child, _ func()) { child.Signal(syscall.SIGINT); child.Signal(syscall.SIGKILL) },
		}
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				marker := newMarker()
				child, lines := hold(t, ctx, process.NewChildren(l, 1), marker)
				for i := range 3 {
					fmt.Fprintf(child.Stdin, "%d\n", i)
					if !lines.Scan() || lines.Text() != fmt.Sprintf("got %d: %s", i, marker) {
						t.Fatalf("answer %q", lines.Text())
					}
				}
				end(child, cancel)
				exit, err := child.Wait()
				if want := map[bool]int{true: 0, false: 137}[name == "stdin"]; name != "signal" && exit.Code != want || err != nil {
					t.Errorf("%+v %v", exit, err)
				}
				wantGone(t, marker, 0)
				if name == "stdin" {
					wantStderr(t, child, "starting\nstopping\n")
				}
			})
		}
		t.Run("launcher", func(t *testing.T) {
			l := newLauncher(method)
			marker := newMarker()
			child, _ := hold(t, t.Context(), process.NewChildren(l, 1), marker)
			l.Close()
			child.Wait()
			wantGone(t, marker, 0)
		})
	})
}

func wantStderr(t *testing.T, child *process.Child, want string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); child.Stderr.String() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("stderr %q; want %q", child.Stderr.String(), want)
		}
	}
}

// No process of a child outlives a server that is killed.
func TestChildServerKilled(t *testing.T) {
	supervised(t, func(t *testing.T, _ *process.Launcher, method process.Method) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		marker := newMarker()
		server := exec.Command(self)
		server.Env = append(os.Environ(), "PROCESS_TEST_SERVER="+string(method), "PROCESS_TEST_MARKER="+marker)
		out, err := server.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 2 {
			if !lines.Scan() {
				t.Fatal("the server holds no child")
			}
		}
		_ = server.Process.Kill()
		_ = server.Wait()
		wantGone(t, marker, 10*time.Second)
	})
}

// Children have places of their own, given back when they are gone.
func TestChildPlaces(t *testing.T) {
	supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
		c := process.NewChildren(l, 2)
		first, _ := hold(t, t.Context(), c, newMarker())
		hold(t, t.Context(), c, newMarker())
		if _, err := c.Start(t.Context(), echoServer("none"), nil); !errors.Is(err, process.ErrBusy) || !strings.Contains(err.Error(), "2 long-lived") {
			t.Errorf("a third: %v", err)
		}
		first.Close()
		for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
			third, err := c.Start(t.Context(), echoServer(newMarker()), nil)
			if err == nil {
				third.Close()
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("in place of one that is gone: %v", err)
			}
		}
	})
}

// What fails to start is an error, and holds no place.
func TestChildStartErrors(t *testing.T) {
	supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
		c := process.NewChildren(l, 1)
		odd := filepath.Join(t.TempDir(), "odd")
		if err := os.WriteFile(odd, []byte("odd"), 0o755); err != nil {
			t.Fatal(err)
		}
		for want, s := range map[string]process.Spec{
			"find the program":  {Argv: []string{"no-such-program"}},
			"exec format error": {Argv: []string{odd}},
			"is empty":          {},
		} {
			if _, err := c.Start(t.Context(), s, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Start(canceled, process.Spec{Argv: []string{"cat"}}, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		hold(t, t.Context(), c, newMarker())
	})
}

// The child never blocks on what it writes to its standard error: the end is kept.
func TestChildStderr(t *testing.T) {
	supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
		var all bytes.Buffer
		s := process.Spec{Shell: "seq 1 200000 >&2; echo done"}
		child, err := process.NewChildren(l, 1).Start(t.Context(), s, &limitedWriter{&all, 100_000})
		if err != nil {
			t.Fatal(err)
		}
		defer child.Close()
		if out, err := io.ReadAll(child.Stdout); string(out) != "done\n" || err != nil {
			t.Errorf("%q %v", out, err)
		}
		child.Wait()
		for deadline := time.Now().Add(5 * time.Second); !strings.HasSuffix(child.Stderr.String(), "\n199999\n200000\n") && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if tail := child.Stderr.String(); !strings.HasSuffix(tail, "\n199999\n200000\n") || len(tail) != 16<<10 {
			t.Errorf("%d bytes, ending %q", len(tail), tail[max(0, len(tail)-20):])
		}
	})
}

// A limitedWriter fails after a number of bytes.
type limitedWriter struct {
	to   *bytes.Buffer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("full")
	}
	return w.to.Write(p)
}
