package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fake is a server that does as it is told.
type fake struct {
	pid      int
	calls    []Call
	canceled chan string
}

func (f *fake) Process() Process {
	return Process{PID: f.pid, Started: time.Unix(int64(f.pid), 0), Transport: "stdio"}
}
func (f *fake) Calls() []Call              { return f.calls }
func (f *fake) Clients() []Client          { return nil }
func (f *fake) Upstreams() json.RawMessage { return json.RawMessage("[]") }

func (f *fake) Cancel(id string) error {
	if id != "x&y" {
		return errors.New("it is not in flight any more")
	}
	f.canceled <- id
	return nil
}

func opener(dir string) func() (*os.Root, error) {
	return func() (*os.Root, error) { return os.OpenRoot(dir) }
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestServe looks at two servers, in a directory with a short path and one whose path no socket could have.
func TestServe(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("path", 20))
	must(t, os.MkdirAll(deep, 0o700))
	for name, dir := range map[string]string{"short": t.TempDir(), "long": deep} {
		t.Run(name, func(t *testing.T) {
			if name == "long" && runtime.GOOS != "linux" {
				_, err := Serve(opener(dir), &fake{pid: 1})
				if err == nil || !strings.Contains(err.Error(), "state_directory") {
					t.Fatal(err)
				}
				return
			}
			open := opener(dir)
			busy := &fake{pid: os.Getpid(), canceled: make(chan string, 1)}
			for i := range maxListed + 2 {
				busy.calls = append(busy.calls, Call{ID: fmt.Sprint(i)})
			}
			stop, err := Serve(open, busy)
			must(t, err)
			stopOther, err := Serve(open, &fake{pid: 2})
			must(t, err)
			all, err := Processes(open)
			if err != nil || len(all) != 2 {
				t.Fatalf("%d processes, %v", len(all), err)
			}
			for _, r := range all {
				s, err := r.Get(t.Context())
				if err != nil || s.Process.PID != r.PID || s.Calls == nil || s.Clients == nil {
					t.Errorf("%+v, %v", s, err)
				}
				if r.PID != busy.pid {
					continue
				}
				if len(s.Calls) != maxListed || s.MoreCalls != 2 {
					t.Errorf("%d calls, and %d more", len(s.Calls), s.MoreCalls)
				}
				must(t, r.Cancel(t.Context(), "x&y"))
				if id := <-busy.canceled; id != "x&y" {
					t.Errorf("canceled: %s", id)
				}
				if err := r.Cancel(t.Context(), "gone"); err == nil || !strings.Contains(err.Error(), "not in flight") {
					t.Errorf("of what is not in flight: %v", err)
				}
				root, _ := open()
				must(t, root.WriteFile(r.name+keySuffix, []byte("guessed"), 0o600))
				root.Close()
				if _, err := r.Get(t.Context()); err == nil || !strings.Contains(err.Error(), "key") {
					t.Errorf("with another key: %v", err)
				}
			}
			stop()
			stopOther()
			if left, _ := fs.ReadDir(os.DirFS(dir), "."); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			if _, err := all[0].Get(t.Context()); err == nil {
				t.Error("a server that has ended answers")
			}
		})
	}
}

// TestLeft finds what killed processes have left, and what others have put there.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	leave := func(name string, age time.Duration) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, name)})
		must(t, err)
		l.SetUnlinkOnClose(false)
		must(t, l.Close())
		must(t, os.WriteFile(filepath.Join(dir, name+keySuffix), nil, 0o600))
		then := time.Now().Add(-age)
		must(t, os.Chtimes(filepath.Join(dir, name), then, then))
	}
	leave("999999999-x.sock", time.Hour)                    // is gone
	leave("999999998-x.sock", 0)                            // may be about to listen
	leave(fmt.Sprintf("%d-x.sock", os.Getpid()), time.Hour) // runs
	must(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))
	all, err := Processes(opener(dir))
	if err != nil || len(all) != 0 {
		t.Errorf("%d processes, %v", len(all), err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if runtime.GOOS != "windows" && (len(left) != 5 || strings.Contains(strings.Join(left, " "), "999999999")) {
		t.Errorf("left: %v", left)
	}
	if _, err := Processes(func() (*os.Root, error) { return nil, errors.New("none") }); err == nil {
		t.Error("without a directory there is no error")
	}
}

// TestDeaf asks a process that accepts and never answers.
func TestDeaf(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "1-x.sock"))
	must(t, err)
	defer l.Close()
	must(t, os.WriteFile(filepath.Join(dir, "1-x.sock.key"), nil, 0o600))
	all, err := Processes(opener(dir))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d processes, %v", len(all), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := all[0].Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
