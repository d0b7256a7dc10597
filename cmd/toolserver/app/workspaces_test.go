package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/config"
	"github.com/toolserver/toolserver/domain"
)

// apart returns a program whose principals have a workspace each, and the file of its configuration.
func apart(t testing.TB) (*App, string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"work", "base"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "c.yaml")
	text := fmt.Sprintf("working_directory: %s/base\nstate_directory: %[1]s/state\nprofiles: [{name: all, working_directory: '%[1]s/work/{principal}'}]\n", dir)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Overrides{File: file})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Program{HTTP: true}, cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a, file
}

// TestWorkspacesComeAndGo has people come at the same time, stay away, and come back, while the configuration is reloaded.
func TestWorkspacesComeAndGo(t *testing.T) {
	a, _ := apart(t)
	ann := domain.Principal{ID: "token:ann"}
	find := func(p domain.Principal) *workspace {
		w, err := a.workspaces.find(p)
		if err != nil {
			t.Error(err)
		}
		return w
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() { find(domain.Principal{ID: fmt.Sprint("token:", i%20)}) })
	}
	all.Go(func() {
		for range 20 {
			cfg, err := a.Config().Again(nil)
			if err == nil {
				err = a.apply(cfg)
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	first := find(ann)
	if _, ok := first.registry.Get("read_file"); !ok || find(ann) != first || first.box.WorkingDirectory() == find(domain.Principal{ID: "token:bob"}).box.WorkingDirectory() {
		t.Error("not a workspace of her own that stays")
	}
	if find(a.User()) != nil {
		t.Error("who starts the server has another workspace than that of the configuration")
	}
	a.workspaces.idle = 0
	a.workspaces.clean()
	if again := find(ann); again == first || again.box.WorkingDirectory() != first.box.WorkingDirectory() {
		t.Error("who comes back finds another directory, or what was let go")
	}
	if _, ok := first.registry.Get("read_file"); !ok { // a request may be about to use it
		t.Error("what is let go is empty at once")
	}
	first.used.Store(time.Now().UnixNano())
	a.workspaces.close()
	if _, ok := first.registry.Get("read_file"); ok {
		t.Error("what was let go is open when the program has ended")
	}
}

// BenchmarkWorkspaces makes the workspaces of people who come, and finds them again.
func BenchmarkWorkspaces(b *testing.B) {
	a, _ := apart(b)
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	n := 0
	come := func() domain.Principal {
		n++
		p := domain.Principal{ID: fmt.Sprint("token:", n)}
		if _, err := a.workspaces.registryOf(p); err != nil {
			b.Fatal(err)
		}
		return p
	}
	b.Run("make", func(b *testing.B) {
		before := memory()
		for b.Loop() {
			come()
		}
		b.ReportMetric(float64(memory()-before)/float64(b.N), "B/workspace")
	})
	p := come()
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = a.workspaces.registryOf(p)
		}
	})
}
