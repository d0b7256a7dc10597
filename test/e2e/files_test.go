package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLargeFile reads lines of a file of 1 GiB, and searches it, in bounded
// memory.
func TestLargeFile(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "large.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	line := bytes.Repeat([]byte("x"), 100)
	n := 0
	for size := 0; size < 1<<30; n++ {
		k, _ := fmt.Fprintf(w, "%d %s\n", n+1, line)
		size += k
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := start(t, dir)
	s.call("echo", map[string]any{})
	before := s.status("VmHWM")
	for _, first := range []int{1, n / 2, n - 200, n - 1} {
		a := s.call("read_file", map[string]any{"path": "large.txt", "offset": first, "limit": 200})
		if !strings.HasPrefix(a.text(), fmt.Sprintf("%d x", first)) {
			t.Errorf("line %d: %.60q", first, a.text())
		}
	}
	if a := s.call("read_file", map[string]any{"path": "large.txt", "offset": -1}); !strings.HasPrefix(a.text(), fmt.Sprintf("%d x", n)) {
		t.Errorf("last line: %.60q", a.text())
	}
	if a := s.call("grep", map[string]any{"pattern": fmt.Sprintf("^%d ", n-5)}); !strings.Contains(a.text(), fmt.Sprintf("large.txt:%d:", n-5)) {
		t.Errorf("grep: %.200q", a.text())
	}
	if grown := s.status("VmHWM") - before; grown > 32<<10 {
		t.Errorf("memory grew by %d kB", grown)
	}
}

// TestKilledWrite kills the server at random moments of a write: the file has
// its old content or the new one.
func TestKilledWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	version := func(i int) string { return strings.Repeat(fmt.Sprintf("%08d\n", i), 100_000) }
	if err := os.WriteFile(path, []byte(version(0)), 0o640); err != nil {
		t.Fatal(err)
	}
	current := 0
	for round := 1; round <= 200; round++ {
		s := start(t, dir)
		s.call("echo", map[string]any{})
		s.begin("write_file", map[string]any{"path": "file", "content": version(round)})
		time.Sleep(rand.N(12 * time.Millisecond)) // the moment is what is random here
		s.kill()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch string(b) {
		case version(round):
			current = round
		case version(current):
		default:
			t.Fatalf("round %d left %d bytes that are neither old nor new", round, len(b))
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if current == 0 || current == 200 {
		t.Logf("every write ended the same way (%d)", current)
	}
}
