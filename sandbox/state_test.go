package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolserver/toolserver/sandbox/confine"
	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/test/fakes/covered"
)

// TestMain lets the test binary be a supervisor, or hold a lock for another process.
func TestMain(m *testing.M) {
	if process.IsSupervisor() {
		covered.Keep()
		os.Exit(process.Supervise(confine.Confiner()))
	}
	if dir := os.Getenv("TEST_LOCK_STATE"); dir != "" {
		s := &State{base: dir, owner: "keeper"}
		unlock, err := s.Lock(context.Background(), "refresh")
		fmt.Println(err)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		if err == nil {
			unlock()
		}
		os.Exit(0)
	}
	os.Setenv("XDG_CACHE_HOME", "/dev/null/x") // commands keep nothing in the home directory of who tests
	covered.Start()
	os.Exit(m.Run())
}

func newState(t *testing.T, base string) *State {
	t.Helper()
	s, err := New(Policy{WorkingDirectory: t.TempDir(), StateDirectory: base, Owners: []Owner{{Tool: "keeper", Keeps: "keeper"}, {Tool: "other"}}}, newKernel(t))
	if err != nil {
		t.Fatal(err)
	}
	if state := s.For("other").State(); state.Write("a", nil) == nil {
		t.Error("a tool keeps state that it does not declare")
	}
	return s.For("keeper").State()
}

func TestState(t *testing.T) {
	base := filepath.Join(t.TempDir(), "deep", "state")
	s := newState(t, base)
	if _, err := s.Read("token.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	if err := s.Remove("token.json"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(base); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made to read from: %v", err)
	}
	for _, want := range []string{"one", "", "two\x00"} {
		if err := s.Write("token.json", []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Read("token.json"); err != nil || string(got) != want {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{base: 0o700 | fs.ModeDir, base + "/keeper": 0o700 | fs.ModeDir, base + "/keeper/token.json": 0o600} {
			if info, err := os.Lstat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Join(base, "keeper")); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := s.Remove("token.json"); err != nil {
		t.Error(err)
	}
	if _, err := s.Read("token.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was removed: %v", err)
	}
	if err := s.Write("large", make([]byte, MaxState+1)); err == nil {
		t.Error("there is no bound")
	}
	for _, name := range []string{"", ".", "..", "a/b", "/a", `a\b`, ".lock-a", ".tmp-a", "a.", "a\x00", "ü", strings.Repeat("a", maxStateName+1)} {
		if err := s.Write(name, nil); err == nil || !strings.Contains(err.Error(), "cannot be the name of state") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := newState(t, "").Write("a", nil); err == nil || !strings.Contains(err.Error(), "state_directory") {
		t.Errorf("without a directory: %v", err)
	}
}

// TestStateRefuses has directories that are not for this user alone.
func TestStateRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are those of POSIX")
	}
	for name, test := range map[string]struct {
		prepare func(base, elsewhere string) error
		want    string
	}{
		"base for others":  {func(base, _ string) error { return os.Mkdir(base, 0o755) }, "chmod 700"},
		"owner for others": {func(base, _ string) error { return errors.Join(os.Mkdir(base, 0o700), os.Mkdir(base+"/keeper", 0o710)) }, "chmod 700"},
		"base a symlink":   {func(base, elsewhere string) error { return os.Symlink(elsewhere, base) }, "is a symlink"},
		"owner a symlink": {func(base, elsewhere string) error {
			return errors.Join(os.Mkdir(base, 0o700), os.Symlink(elsewhere, base+"/keeper"))
		}, "is a symlink"},
		"owner inside": {func(base, _ string) error {
			return errors.Join(os.MkdirAll(base+"/b", 0o700), os.Symlink("b", base+"/keeper"))
		}, "is a symlink"},
		"a file": {func(base, _ string) error { return os.WriteFile(base, nil, 0o600) }, ""},
		"a symlink to read": {func(base, elsewhere string) error {
			return errors.Join(os.MkdirAll(base+"/keeper", 0o700), os.WriteFile(base+"/keeper/b", nil, 0o600), os.Symlink("b", base+"/keeper/a"))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			base, elsewhere := filepath.Join(t.TempDir(), "state"), t.TempDir()
			if err := os.Chmod(elsewhere, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.prepare(base, elsewhere); err != nil {
				t.Fatal(err)
			}
			s := newState(t, base)
			if _, err := s.Read("a"); err == nil || errors.Is(err, fs.ErrNotExist) && test.want != "" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("read: %v", err)
			}
			if name == "a symlink to read" {
				return // a write replaces it
			}
			if err := s.Write("a", []byte("x")); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("write: %v", err)
			}
			if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
				t.Errorf("written elsewhere: %v", entries)
			}
		})
	}
}

// TestStateAtomic reads while others write.
// TestStatePrivate reads a file that everybody could read, and makes it private.
func TestStatePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such permissions")
	}
	dir := filepath.Join(t.TempDir(), "state")
	s := NewState(dir, "google")
	if err := s.Write("grant", []byte("x")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "google", "grant")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read("grant"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestStateAtomic(t *testing.T) {
	s := newState(t, filepath.Join(t.TempDir(), "state"))
	versions := [][]byte{bytes.Repeat([]byte("a"), 100_000), bytes.Repeat([]byte("b"), 50_000)}
	if err := s.Write("x", versions[0]); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	done := make(chan struct{})
	for _, v := range versions {
		writers.Go(func() {
			for range 20 {
				if err := s.Write("x", v); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { writers.Wait(); close(done) }()
	for {
		got, err := s.Read("x")
		if err != nil || !bytes.Equal(got, versions[0]) && !bytes.Equal(got, versions[1]) {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestStateLock holds locks here and in another process.
func TestStateLock(t *testing.T) {
	base := filepath.Join(t.TempDir(), "state")
	s := newState(t, base)
	ended, end := context.WithCancel(t.Context())
	end()
	unlock, err := s.Lock(t.Context(), "refresh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lock(ended, "refresh"); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is held: %v", err)
	}
	if other, err := s.Lock(ended, "another"); err != nil {
		t.Errorf("another lock: %v", err)
	} else {
		other()
	}
	unlock()
	unlock()

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_LOCK_STATE="+base)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	if _, err := s.Lock(ended, "refresh"); !errors.Is(err, context.Canceled) {
		t.Errorf("a lock of another process: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	stdin.Close()
	if unlock, err = s.Lock(t.Context(), "refresh"); err != nil {
		t.Fatalf("a lock whose holder was killed: %v", err)
	}
	unlock()
}

// TestStateOutOfReach has neither tools nor commands reach the state directory.
func TestStateOutOfReach(t *testing.T) {
	dir := workspace(t)
	base := filepath.Join(dir, "kept")
	p := Policy{WorkingDirectory: dir, StateDirectory: base, Own: []OwnFile{{Path: base, What: "the state directory", Secret: true}}}
	s := newSandbox(t, p)
	for _, there := range []bool{false, true} {
		if there {
			if err := (&State{base: base, owner: "keeper"}).Write("token", []byte("secret")); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"kept", "kept/keeper", "kept/keeper/token"} {
			for _, tool := range []string{"read_file", "grep", "edit_file"} {
				if allowed(t, s.For(tool).Reader(), path) {
					t.Errorf("%s may read %s (there: %v)", tool, path, there)
				}
			}
			if allowed(t, s.For("write_file").Writer(), path) {
				t.Errorf("write_file may write %s (there: %v)", path, there)
			}
		}
		for _, text := range []string{"cat kept/keeper/token", "ls kept", "echo x > kept/keeper/token", "rm -r kept", "cat k*/keeper/token"} {
			v, _, err := s.For("bash").Commands().Decide(CommandRequest{Command: text})
			nothing := strings.Contains(text, "*") || !there && text == "ls kept" // that it would find
			if err != nil || v.Allowed && !nothing {
				t.Errorf("%s (there: %v): %+v, %v", text, there, v, err)
			}
		}
	}
}
