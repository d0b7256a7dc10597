//go:build linux

package files_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// TestCopyHoles copies files with holes, alone and in a directory. The holes take no space and no time.
func TestCopyHoles(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	if err := os.Mkdir(filepath.Join(b.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	const tera = int64(1) << 40
	if sparse := filepath.Join(b.dir, "d", "empty"); os.WriteFile(sparse, nil, 0o600) != nil || os.Truncate(sparse, tera) != nil || used(t, sparse) > 1<<20 {
		t.Skip("no file with holes can be made here")
	}
	f, err := os.Create(filepath.Join(b.dir, "d", "some"))
	if err != nil {
		t.Fatal(err)
	}
	at := map[int64]string{0: "first", 1 << 30: "second", 1<<30 + 1<<16: "third"}
	for offset, text := range at {
		if _, err := f.WriteAt([]byte(text), offset); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(2 << 30); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	b.put(t, "d/full", string(bytes.Repeat([]byte("x"), 100_000)), "d/nothing", "")
	start := time.Now()
	b.run(t, "copy_file", []tooltest.Case{
		{Name: "empty", Args: `{"source":"d/empty","destination":"e"}`, Want: "Copied d/empty to e (1024.0 GB)"},
		{Name: "some", Args: `{"source":"d/some","destination":"s"}`, Want: "Copied d/some to s"},
		{Name: "directory", Args: `{"source":"d","destination":"c"}`, Want: "4 files"},
	})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	for from, copies := range map[string][]string{"d/empty": {"e", "c/empty"}, "d/some": {"s", "c/some"}, "d/full": {"c/full"}, "d/nothing": {"c/nothing"}} {
		want, err := os.Stat(filepath.Join(b.dir, from))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range copies {
			path := filepath.Join(b.dir, name)
			if got, err := os.Stat(path); err != nil || got.Size() != want.Size() || used(t, path) > 1<<20 {
				t.Errorf("%s has %v, of which %d are used; %v", name, got, used(t, path), err)
			}
		}
	}
	for _, name := range []string{"s", "c/some"} {
		f, err := os.Open(filepath.Join(b.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for offset, text := range at {
			got := make([]byte, len(text))
			if _, err := f.ReadAt(got, offset); err != nil || string(got) != text {
				t.Errorf("%s has %q at %d, %v", name, got, offset, err)
			}
		}
		f.Close()
	}
}

func used(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal(fmt.Errorf("no blocks of %s", path))
	}
	return st.Blocks * 512
}
