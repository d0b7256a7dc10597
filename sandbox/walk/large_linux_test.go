//go:build !portablewalk

package walk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"toolserver/sandbox/walk"
)

func TestLargeDirectoryStreams(t *testing.T) {
	const n = 20_000
	root := tree(t, "f")
	for i := range n {
		if err := os.Link(filepath.Join(root, "f"), filepath.Join(root, fmt.Sprintf("name%06d", i))); err != nil {
			t.Skip(err)
		}
	}
	dir := open(t, root)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	visits, calls := 0, 0
	opt := walk.Options{Progress: func(s walk.Stats) { calls++ }}
	stats, err := walk.Walk(context.Background(), dir, root, opt, func(*walk.Entry) error { visits++; return nil })
	runtime.ReadMemStats(&after)
	if err != nil || visits != n+1 || stats.Entries != n+1 || calls != n/4096 {
		t.Errorf("%d visits, %d calls, %+v, %v", visits, calls, stats, err)
	}
	perEntry := float64(after.TotalAlloc-before.TotalAlloc) / n
	if perEntry > 100 { // the names and the buffers; nothing is kept
		t.Errorf("%.0f bytes allocated per entry", perEntry)
	}
}
