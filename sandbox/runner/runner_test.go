package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

func TestMain(m *testing.M) {
	if process.IsSupervisor() {
		covered.Keep()
		os.Exit(process.Supervise(testConfiner))
	}
	if method := os.Getenv("RUNNER_TEST_SERVER"); method != "" {
		miniServer(process.Method(method))
	}
	covered.Start()
	os.Exit(m.Run())
}

// A testRunner is a Runner with the Launcher of its own.
type testRunner struct {
	*runner.Runner
	launcher *process.Launcher
}

func (r testRunner) Close() {
	r.Runner.Close()
	r.launcher.Close()
}

// newRunner returns a Runner that uses the given method, or skips the test where
// the system refuses it.
func newRunner(t testing.TB, method process.Method, o runner.Options) testRunner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are for a Unix shell")
	}
	self, err := process.Self()
	if err != nil {
		t.Fatal(err)
	}
	return newRunnerOf(t, process.Options{Supervisor: self, Method: method}, o)
}

func newRunnerOf(t testing.TB, how process.Options, o runner.Options) testRunner {
	t.Helper()
	r := testRunner{launcher: process.NewLauncher(how)}
	r.Runner = runner.New(r.launcher, o)
	t.Cleanup(r.Close)
	if method, err := r.launcher.Method(); how.Method != "" && method != how.Method {
		t.Skipf("no %s here: %v", how.Method, err)
	}
	return r
}

func eachMethod(t *testing.T, f func(t *testing.T, method process.Method)) {
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper, process.MethodGroup} {
		t.Run(strings.ReplaceAll(string(method), " ", "-"), func(t *testing.T) { f(t, method) })
	}
}

func shell(text string) runner.Request {
	return runner.Request{Shell: text, Env: process.MinimalEnv(nil), Timeout: 20 * time.Second}
}

func mustRun(t testing.TB, r testRunner, req runner.Request) runner.Result {
	t.Helper()
	res, err := r.Run(t.Context(), req)
	if err != nil {
		t.Fatalf("%s%q: %v", req.Shell, req.Argv, err)
	}
	t.Cleanup(func() { res.Close() })
	return res
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	tests := []struct {
		name string
		req  runner.Request
		out  string
		code int
		sig  string
	}{
		{name: "argv", req: runner.Request{Argv: []string{"echo", "a b", "$HOME", ";"}}, out: "a b $HOME ;\n"},
		{name: "shell", req: runner.Request{Shell: "echo $((1+2)) | cat"}, out: "3\n"},
		{name: "dash text", req: runner.Request{Shell: "-x; echo after"}, out: "after"},
		{name: "order", req: runner.Request{Shell: "echo 1; echo 2 >&2; echo 3; echo 4 >&2"}, out: "1\n2\n3\n4\n"},
		{name: "exit code", req: runner.Request{Shell: "exit 42"}, code: 42},
		{name: "exec", req: runner.Request{Shell: "exec sh -c 'exit 3'"}, code: 3},
		{name: "unknown program", req: runner.Request{Shell: "no-such-program-at-all"}, out: "no-such-program-at-all", code: 127},
		{name: "self TERM", req: runner.Request{Shell: "kill -TERM $$; echo alive"}, code: 143, sig: "SIGTERM"},
		{name: "self KILL", req: runner.Request{Shell: "kill -KILL $$; echo alive"}, code: 137, sig: "SIGKILL"},
		{name: "self ABRT", req: runner.Request{Argv: []string{"sh", "-c", "kill -ABRT $$; echo alive"}}, code: 134, sig: "SIGABRT"},
		{name: "child signal", req: runner.Request{Shell: "sh -c 'kill -TERM $$'; echo $?"}, out: "143\n"},
		{name: "trap", req: runner.Request{Shell: "trap 'echo trapped' TERM; kill -TERM $$; echo on"}, out: "trapped\non\n"},
		{name: "wait", req: runner.Request{Shell: "(exit 5) & wait $!; echo $?"}, out: "5\n"},
		{name: "kill child", req: runner.Request{Shell: "sleep 100 & kill $!; wait $!; echo $?"}, out: "143\n"},
		{name: "own proc", req: runner.Request{Shell: "[ -e /proc/self ] || exit 0; readlink /proc/self/cwd"}, out: dir},
		{name: "process substitution", req: runner.Request{Shell: "cat <(echo one) <(echo two)"}, out: "one\ntwo\n"},
		{name: "pipe signal", req: runner.Request{Shell: "yes | head -1; echo ${PIPESTATUS[0]}"}, out: "y\n141\n"},
		{name: "directory", req: runner.Request{Shell: "pwd; echo $PWD"}, out: dir + "\n" + dir + "\n"},
		{name: "no stdin", req: runner.Request{Argv: []string{"cat"}}},
		{name: "stdin", req: runner.Request{Argv: []string{"cat"}, Stdin: []byte("in\x00put")}, out: "in\x00put"},
		{name: "empty stdin", req: runner.Request{Argv: []string{"wc", "-c"}, Stdin: []byte{}}, out: "0"},
		{name: "unread stdin", req: runner.Request{Argv: []string{"true"}, Stdin: bytes.Repeat([]byte("x"), 1<<20)}},
		{name: "env", req: runner.Request{Argv: []string{"env"}, Env: []string{"A=1", "B=two words"}}, out: "A=1\nB=two words\n"},
		{name: "no terminal", req: runner.Request{Shell: "(: </dev/tty) 2>/dev/null && echo terminal || echo none"}, out: "none\n"},
		{name: "invalid UTF-8", req: runner.Request{Shell: `printf 'a\377b\303'`}, out: "a\uFFFDb\uFFFD"},
	}
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				req := test.req
				req.Dir, req.Timeout = dir, 20*time.Second
				if req.Env == nil {
					req.Env = process.MinimalEnv(nil)
				}
				res := mustRun(t, r, req)
				text := res.Output.Text()
				if !strings.Contains(text, test.out) || test.out == "" && text != "" || strings.Contains(text, "alive") {
					t.Errorf("output %q; want %q", text, test.out)
				}
				if res.Code != test.code || res.Signal != test.sig || res.TimedOut || res.Canceled {
					t.Errorf("got %d %q %+v; want %d %q", res.Code, res.Signal, res, test.code, test.sig)
				}
			})
		}
	})
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "text", 0o644)
	tests := []struct {
		name string
		req  runner.Request
		want []string
		is   error
	}{
		{"nothing", runner.Request{}, []string{"command", "empty"}, nil},
		{"both", runner.Request{Shell: "true", Argv: []string{"true"}}, []string{"both"}, nil},
		{"NUL", runner.Request{Shell: "a\x00b"}, []string{"NUL"}, nil},
		{"NUL in argument", runner.Request{Argv: []string{"echo", "a\x00b"}}, []string{"argument 1", "NUL"}, nil},
		{"negative timeout", runner.Request{Shell: "true", Timeout: -1}, []string{"timeout"}, nil},
		{"bad env", runner.Request{Shell: "true", Env: []string{"NOVALUE"}}, []string{"env", "NAME=value"}, nil},
		{"no directory", runner.Request{Shell: "true", Dir: filepath.Join(dir, "gone")}, []string{"working directory", "gone"}, fs.ErrNotExist},
		{"file as directory", runner.Request{Shell: "true", Dir: plain}, []string{"plain", "not a directory"}, nil},
		{"no program", runner.Request{Argv: []string{"no-such-program"}}, []string{"find the program", "no-such-program"}, fs.ErrNotExist},
		{"no path", runner.Request{Argv: []string{"./none"}, Dir: dir}, []string{"none"}, fs.ErrNotExist},
		{"not executable", runner.Request{Argv: []string{plain}}, []string{"plain", "not an executable"}, nil},
		{"no format", runner.Request{Argv: []string{write("odd", "odd", 0o755)}}, []string{"odd", "exec format error"}, nil},
		{"no interpreter", runner.Request{Argv: []string{write("lost", "#!/no/such\n", 0o755)}}, []string{"lost", "no such file"}, fs.ErrNotExist},
		{"too long", runner.Request{Argv: []string{"echo", strings.Repeat("x", 1<<20)}}, []string{"echo", "argument list too long"}, nil},
	}
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		for _, test := range tests {
			_, err := r.Run(t.Context(), test.req)
			if err == nil {
				t.Errorf("%s: no error", test.name)
				continue
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not say %q", test.name, err, want)
				}
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%s: %v is not %v", test.name, err, test.is)
			}
		}
		// The supervisor is as good as new after each.
		if res := mustRun(t, r, shell("echo ok")); res.Output.Text() != "ok\n" {
			t.Errorf("after the errors: %q", res.Output.Text())
		}
	})
}

func TestTimeoutAndCancel(t *testing.T) {
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{Grace: 500 * time.Millisecond})
		t.Run("obeys TERM", func(t *testing.T) {
			req := shell("trap 'echo bye; exit 7' TERM; echo begun; while :; do sleep 0.01; done")
			req.Timeout = 700 * time.Millisecond
			res := mustRun(t, r, req)
			if !res.TimedOut || res.Code != 7 || !strings.HasSuffix(res.Output.Text(), "bye\n") {
				t.Errorf("got %+v %q", res, res.Output.Text())
			}
		})
		t.Run("ignores TERM", func(t *testing.T) {
			req := shell("trap '' TERM; echo begun; while :; do sleep 0.01; done")
			req.Timeout = 700 * time.Millisecond
			res := mustRun(t, r, req)
			if !res.TimedOut || res.Code != 137 || res.Output.Text() != "begun\n" || res.Duration > 5*time.Second {
				t.Errorf("got %+v %q", res, res.Output.Text())
			}
		})
		t.Run("cancel", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			req := shell("trap '' TERM; echo begun; sleep 100")
			req.OnOutput = func(string) { cancel() }
			res, err := r.Run(ctx, req)
			if err != nil || !res.Canceled || res.TimedOut || res.Output.Text() != "begun\n" {
				t.Errorf("got %+v %q %v", res, res.Output.Text(), err)
			}
		})
		t.Run("canceled before", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := r.Run(ctx, shell("true")); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("background holds the output", func(t *testing.T) {
			res := mustRun(t, r, shell("sleep 100 & echo main"))
			if res.Code != 0 || res.TimedOut || res.Output.Text() != "main\n" || res.Duration > 5*time.Second {
				t.Errorf("got %+v %q", res, res.Output.Text())
			}
		})
		t.Run("background finishes soon", func(t *testing.T) {
			r := newRunner(t, method, runner.Options{Drain: 10 * time.Second})
			res := mustRun(t, r, shell("(sleep 0.02; echo late) & echo main"))
			if res.Output.Text() != "main\nlate\n" {
				t.Errorf("got %q", res.Output.Text())
			}
		})
	})
}

func TestConcurrent(t *testing.T) {
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{MaxConcurrent: 8})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				res, err := r.Run(t.Context(), shell(fmt.Sprintf("sleep 1; echo %d", i)))
				if err != nil || res.Output.Text() != fmt.Sprintf("%d\n", i) {
					t.Errorf("%d: %q %v", i, res.Output.Text(), err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("8 commands of a second took %v", took)
		}
		for range 200 {
			wg.Go(func() {
				if res, err := r.Run(t.Context(), runner.Request{Argv: []string{"echo", "x"}, Timeout: time.Hour}); err != nil || res.Output.Text() != "x\n" {
					t.Errorf("%q %v", res.Output.Text(), err)
				}
			})
		}
		wg.Wait()
	})
}

// TestOwners has one owner run all it can, and others run commands meanwhile.
func TestOwners(t *testing.T) {
	r := newRunner(t, "", runner.Options{MaxConcurrent: 8, MaxJobs: 2, MaxOwnerJobs: 3, Timeout: 10 * time.Millisecond})
	of := func(owner, text string) runner.Request {
		req := shell(text)
		req.Owner = owner
		return req
	}
	var jobs []*runner.Job
	for i := range 3 {
		job, err := r.Start(t.Context(), fmt.Sprint("bob's session ", i/2), of("bob", "sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, job)
	}
	for i, want := range []string{"2 are running in this session", "3 are running in your sessions together"} {
		_, err := r.Start(t.Context(), fmt.Sprint("bob's session ", 2*i), of("bob", "true"))
		if !errors.Is(err, runner.ErrTooManyJobs) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{}, 20)
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			req := of("bob", "echo begun; exec sleep 1000")
			req.Timeout = time.Hour
			req.OnOutput = func(string) { begun <- struct{}{} }
			if res, err := r.Run(ctx, req); err == nil && !res.Canceled || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("got %+v %v", res, err)
			}
		})
	}
	for range 3 { // three quarters, with the jobs
		<-begun
	}
	if res := mustRun(t, r, of("alice", "echo hi")); res.Output.Text() != "hi\n" {
		t.Errorf("got %q", res.Output.Text())
	}
	if _, err := r.Start(t.Context(), "alice's session", of("alice", "sleep 1000")); err != nil {
		t.Errorf("a job: %v", err)
	}
	req := of("bob", "true")
	req.Timeout = 10 * time.Millisecond
	if _, err := r.Run(t.Context(), req); !errors.Is(err, process.ErrBusy) {
		t.Errorf("bob's next command: %v", err)
	}
	jobs[0].Stop()
	if _, err := r.Start(t.Context(), "bob's session 9", of("bob", "true")); !errors.Is(err, process.ErrBusy) {
		t.Errorf("a job instead, after %d commands that wait: %v", 17, err)
	}
	cancel()
	calls.Wait()
	mustRun(t, r, of("bob", "true"))
}

func TestClose(t *testing.T) {
	eachMethod(t, func(t *testing.T, method process.Method) {
		r := newRunner(t, method, runner.Options{})
		begun := make(chan struct{})
		done := make(chan runner.Result)
		go func() {
			req := shell("echo begun; sleep 100")
			req.OnOutput = func(string) { close(begun) }
			res, err := r.Run(context.Background(), req)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		<-begun
		go r.Close()
		if res := <-done; !res.Canceled || res.Output.Text() != "begun\n" {
			t.Errorf("got %+v %q", res, res.Output.Text())
		}
		r.Close()
		if _, err := r.Run(t.Context(), shell("true")); !errors.Is(err, process.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if _, err := r.Start(t.Context(), "o", shell("true")); !errors.Is(err, process.ErrClosed) {
			t.Errorf("job after Close: %v", err)
		}
	})
}

func TestMinimalEnv(t *testing.T) {
	t.Setenv("RUNNER_TEST_SECRET", "s3cret")
	t.Setenv("LC_TIME", "C")
	t.Setenv("PATH", "")
	t.Setenv("TERM", "xterm")
	env := process.MinimalEnv(map[string]string{"PAGER": "cat", "": "x", "A=B": "x", "N": "\x00"})
	for _, want := range []string{"LC_TIME=C", "TERM=dumb", "PAGER=cat"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q lacks %s", env, want)
		}
	}
	if runtime.GOOS != "windows" && !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "PATH=/") }) {
		t.Errorf("%q has no PATH", env)
	}
	for _, v := range env {
		if strings.Contains(v, "s3cret") || strings.HasPrefix(v, "=") || strings.Contains(v, "\x00") || strings.HasPrefix(v, "A=") {
			t.Errorf("the environment has %q", v)
		}
	}
}

// TestWrap confines where there is no supervisor.
func TestWrap(t *testing.T) {
	wrap := func(spec []byte, path string, argv []string) (string, []string, error) {
		if string(spec) != "good" {
			return "", nil, errors.New("cannot wrap")
		}
		env, err := exec.LookPath("env")
		return env, append([]string{"env", "WRAPPED=yes", path}, argv[1:]...), err
	}
	r := newRunnerOf(t, process.Options{Wrap: wrap, Method: process.MethodGroup}, runner.Options{})
	req := runner.Request{Shell: "echo $WRAPPED", Confine: []byte("good")}
	if got := mustRun(t, r, req).Output.Text(); got != "yes\n" {
		t.Errorf("got %q", got)
	}
	req.Confine = []byte("bad")
	if _, err := r.Run(t.Context(), req); !errors.Is(err, process.ErrNoConfinement) || !strings.Contains(err.Error(), "cannot wrap") {
		t.Errorf("got %v", err)
	}
}

// TestInterruptAtStart interrupts a command at the moment that it has started.
func TestInterruptAtStart(t *testing.T) {
	r := newRunner(t, process.MethodGroup, runner.Options{}) // which says so before it returns
	if res, err := r.RunAt(t.Context(), shell("sleep 1000"), r.Interrupt); err != nil || !res.Canceled {
		t.Errorf("got %+v %v", res, err)
	}
}

func TestInterrupt(t *testing.T) {
	r := newRunner(t, "", runner.Options{})
	job, err := r.Start(t.Context(), "somebody", runner.Request{Shell: "echo begun; sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	r.Interrupt()
	<-job.Done()
	if res, _, err := job.Result(); err != nil || !res.Canceled {
		t.Errorf("got %+v %v", res, err)
	}
	if got := mustRun(t, r, runner.Request{Shell: "echo next"}).Output.Text(); got != "next\n" {
		t.Errorf("afterwards: %q", got)
	}
}
