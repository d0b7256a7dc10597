package yamlconf

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPolling is inside the package to take the system's events away.
func TestPolling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := make(chan struct{}, 10)
	w := &watcher{files: absolute([]string{file}), poll: 10 * time.Millisecond, dirs: map[string]bool{}}
	done := w.start(ctx, func(settled bool) {
		if settled {
			calls <- struct{}{}
		}
	})
	for _, text := range []string{"1", "2"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-calls:
		case <-time.After(20 * time.Second):
			t.Fatal("the change was not found")
		}
	}
	cancel()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the goroutine did not end")
	}
}
