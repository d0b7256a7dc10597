package process_test

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/sandbox/process"
)

// perl returns a process that runs code.
func perl(code string) process.Spec {
	return process.Spec{Argv: []string{"perl", "-e", code}, Env: process.MinimalEnv(nil)}
}

// end starts a process and waits for its end.
func end(t *testing.T, l *process.Launcher, s process.Spec) (process.Exit, error) {
	t.Helper()
	p, err := l.Start(t.Context(), s)
	if err != nil {
		return process.Exit{}, err
	}
	defer p.Close()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return p.Exit()
}

// A tree that passes one of its bounds is killed, whichever way it goes, and one that does
// not ends by itself. Of a vfork(2) that takes long the memory counts once.
func TestBoundsOfTrees(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("no perl here")
	}
	dir, err := os.MkdirTemp("/var/tmp", "bounds-") // on a disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	const memory = 64 << 20
	memfd := `$n = "x"; $f = syscall(319, $n, 0); open(F, ">&=", $f); `
	for _, tt := range []struct {
		name, code, exceeded string
		bounds               process.Bounds
	}{
		{"few processes", `for (1..5) { fork or sleep(1), exit } 1 while wait > 0`, "", process.Bounds{Processes: 20}},
		{"processes", `for (1..200) { fork or sleep(20), exit } sleep 20`, process.ExceededProcesses, process.Bounds{Processes: 20}},
		{"processes in sessions", `use POSIX; for (1..200) { fork or setsid, sleep(20), exit } sleep 20`, process.ExceededProcesses, process.Bounds{Processes: 20}},
		{"little memory", `$x = "a" x (16 << 20); sleep 1`, "", process.Bounds{Memory: memory}},
		{"memory", `$x = "a" x (128 << 20); sleep 20`, process.ExceededMemory, process.Bounds{Memory: memory}},
		{"memory of many", `for (1..6) { fork or $x = "a" x (20 << 20), sleep(20), exit } sleep 20`, process.ExceededMemory, process.Bounds{Memory: memory}},
		{"memory shared with children", `$n = 40; $x = "a" x ($n << 20); for (1..5) { fork or sleep(1), exit } 1 while wait > 0`, "", process.Bounds{Memory: memory}},
		{"memory files", memfd + `print F "a" x (1 << 20) for 1..128; sleep 20`, process.ExceededMemory, process.Bounds{Memory: memory}},
		{"few memory files", memfd + `print F "a" x (1 << 20) for 1..16; $n = 20; $x = "a" x ($n << 20); sleep 1`, "", process.Bounds{Memory: memory}},
		{"vfork", `$n = 40; $x = "a" x ($n << 20); if (syscall(58) == 0) { select(undef, undef, undef, 2.5); syscall(231, 0) }`, "", process.Bounds{Memory: memory}},
		{"disk", `open(F, ">", "big"); print F "a" x (1 << 20) for 1..64; close F; sleep 20`, process.ExceededDisk, process.Bounds{Disk: 16 << 20}},
		{"disk at the end", `open(F, ">", "big"); print F "a" x (1 << 20) for 1..64`, process.ExceededDisk, process.Bounds{Disk: 16 << 20}},
		{"little disk", `open(F, ">", "big"); print F "a" x (1 << 20) for 1..4; sleep 1`, "", process.Bounds{Disk: 16 << 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
				if l.BoundsMethod() == "" {
					t.Fatal("bounds are not kept")
				}
				s := perl(tt.code)
				s.Dir, s.Bounds = dir, tt.bounds
				exit, err := end(t, l, s)
				if err != nil || exit.Exceeded != tt.exceeded || tt.exceeded == "" && exit.Code != 0 {
					t.Errorf("got %+v %v", exit, err)
				}
			})
		})
	}
}

// Processes that could not be started say why, signals reach the whole tree, and what outlives
// the main process is counted.
func TestEndsOfTrees(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"broken": "\x00\x01", "script": "#!/missing/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
		for _, tt := range []struct{ program, says string }{{"/etc/passwd", "not an executable file"}, {"/missing/program", "no such file"}, {"./broken", "neither a program"}, {"./script", "the file or the interpreter it names is missing"}} {
			if _, err := end(t, l, process.Spec{Argv: []string{tt.program}, Env: process.MinimalEnv(nil), Dir: dir}); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.program, err)
			}
		}
		left, err := l.Start(t.Context(), process.Spec{Shell: "sleep 100 & exit 3", Env: process.MinimalEnv(nil)})
		if err != nil {
			t.Fatal(err)
		}
		<-left.Exited()
		left.Close()
		if exit, err := left.Exit(); err != nil || exit.Code != 3 || exit.LeftOver == 0 {
			t.Errorf("left over: %+v %v", exit, err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		both := perl(`$SIG{USR1} = sub { syswrite(STDOUT, "got"); exit }; fork; syswrite(STDOUT, "r"); sleep 1 while 1`)
		both.Stdout = w
		p, err := l.Start(t.Context(), both)
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = io.ReadFull(r, make([]byte, 2))
		p.Signal(syscall.SIGUSR1)
		text, _ := io.ReadAll(r)
		if <-p.Done(); err != nil || string(text) != "gotgot" {
			t.Errorf("a signal to both: %q %v", text, err)
		}
	})
}

// A listening socket that the Confiner makes is served by whoever started the process, until
// that is gone, and what serves it may hang without keeping anybody.
func TestServed(t *testing.T) {
	supervised(t, func(t *testing.T, l *process.Launcher, _ process.Method) {
		served := make(chan struct{})
		s := process.Spec{Shell: "sleep 0.2", Env: process.MinimalEnv(nil), Confine: []byte("listen"), Serve: func(ctx context.Context, l net.Listener) {
			<-ctx.Done()
			l.Close()
			close(served)
		}}
		if exit, err := end(t, l, s); err != nil || exit.Code != 0 || len(exit.Refused) != 1 {
			t.Errorf("got %+v %v", exit, err)
		}
		select {
		case <-served:
		case <-time.After(10 * time.Second):
			t.Error("it was not served")
		}
		began := time.Now()
		s.Confine, s.Serve = []byte("hang"), nil
		if exit, err := end(t, l, s); err != nil || exit.Code != 0 {
			t.Errorf("with a thread that hangs: %+v %v", exit, err)
		}
		t.Logf("a thread that hangs kept it for %v", time.Since(began))
		if exit, err := end(t, l, process.Spec{Shell: "true", Env: process.MinimalEnv(nil)}); err != nil || exit.Code != 0 {
			t.Errorf("afterwards: %+v %v", exit, err)
		}
	})
}

// serving is a Confiner of processes that are served.
func serving(hang bool, path string, argv []string, attr *syscall.ProcAttr, handOver func(fd int) error) (c process.Confined, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return c, err
	}
	f, err := l.(*net.TCPListener).File()
	l.Close()
	if err != nil {
		return c, err
	}
	if err = handOver(int(f.Fd())); err != nil {
		return c, err
	}
	f.Close()
	c.Serve = func(stop int) ([]process.Refusal, bool) {
		var b [8]byte
		_, _ = unix.Read(stop, b[:])
		for hang {
			time.Sleep(time.Hour)
		}
		return []process.Refusal{{Call: "open", Path: "/x"}}, true
	}
	c.Pid, err = syscall.ForkExec(path, argv, attr)
	return c, err
}

// Without a supervisor a process group is killed, and a Wrap confines.
func TestGroup(t *testing.T) {
	l := process.NewLauncher(process.Options{Wrap: func(spec []byte, path string, argv []string) (string, []string, error) {
		return path, argv, nil
	}})
	defer l.Close()
	if m, err := l.Method(); m != process.MethodGroup || err != nil || l.BoundsMethod() != "" {
		t.Errorf("got %s %v", m, err)
	}
	marker := newMarker()
	p, err := l.Start(t.Context(), process.Spec{Shell: "sh -c ': " + marker + "; sleep 100' & sleep 100; : " + marker, Env: process.MinimalEnv(nil), Confine: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); marked(marker) < 2 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	p.Signal(syscall.SIGCONT)
	p.Close()
	wantGone(t, marker, 10*time.Second)
	if exit, err := p.Exit(); err != nil || exit.Signal != "SIGKILL" {
		t.Errorf("got %+v %v", exit, err)
	}
	if _, err := end(t, l, process.Spec{Argv: []string{"/missing"}, Env: process.MinimalEnv(nil)}); err == nil {
		t.Error("a missing program started")
	}
}
