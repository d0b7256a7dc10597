package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// What commands have left counts as written by the next, which may write a little in any
// case.
func TestDiskBound(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	k := NewKernel(nil)
	t.Cleanup(func() { _ = k.Close() })
	bound := func(limit int64) int64 {
		c := &Commands{kernel: k, policy: &Policy{WorkingDirectory: "/", Settings: Settings{Limits: Limits{Disk: limit}}}}
		return c.bounds().Disk
	}
	if got := bound(100 << 20); got != 100<<20 {
		t.Errorf("before the first command: %d", got)
	}
	if got := bound(0); got <= 0 {
		t.Errorf("unset: %d", got)
	}
	if err := k.scratch.Make(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(k.scratch.Temporary(), "file")
	if err := os.WriteFile(file, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := bound(100 << 20); got < 89<<20 || got > 90<<20 {
		t.Errorf("10 MiB are left: %d", got)
	}
	if got := bound(5 << 20); got != minDisk {
		t.Errorf("more than the limit is left: %d", got)
	}
}
