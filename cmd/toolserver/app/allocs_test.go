//go:build !race

package app

import (
	"io"
	"runtime"
	"runtime/debug"
	"testing"
)

// TestAllocations bounds what a call over stdio allocates, with the log on: allocating and
// collecting is a quarter of what a short call costs. The race detector has pools forget.
func TestAllocations(t *testing.T) {
	const calls, most = 5_000, 28
	a := served(t)
	serve := func() {
		in := &repeated{line: []byte(echoCall(5, "") + "\n"), left: calls}
		if err := a.server.ServeStdio(t.Context(), a.User, in, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	serve()                                          // fills pools and caches
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pools
	var n, size uint64
	for range 5 { // on a busy machine, calls are handed to goroutines of their own
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		serve()
		runtime.ReadMemStats(&after)
		if n, size = (after.Mallocs-before.Mallocs)/calls, (after.TotalAlloc-before.TotalAlloc)/calls; n <= most {
			break
		}
	}
	if t.Logf("%d allocations of %d bytes", n, size); n > most {
		t.Errorf("a call makes %d allocations of %d bytes; at most %d are expected", n, size, most)
	}
}
