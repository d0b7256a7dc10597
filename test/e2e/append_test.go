package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAppendKilled kills the server as soon as a file grows that it appends to.
// What it has begun to append is soon there whole.
func TestAppendKilled(t *testing.T) {
	t.Parallel()
	const old, added = 17, 4 << 20
	for range 10 {
		dir := t.TempDir()
		path := filepath.Join(dir, "log")
		if err := os.WriteFile(path, make([]byte, old), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, dir)
		s.begin("append_file", map[string]any{"path": "log", "content": strings.Repeat("n", added)})
		size := func(enough int64) int64 {
			for deadline := time.Now().Add(30 * time.Second); ; {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				if info.Size() >= enough || time.Now().After(deadline) {
					return info.Size()
				}
			}
		}
		size(old + 1)
		s.kill()
		if n := size(old + added); n != old+added {
			t.Errorf("the file has %d bytes, %d of those appended", n, n-old)
		}
	}
}
