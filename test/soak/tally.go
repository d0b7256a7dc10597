//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// tally counts what has been done.
type tally struct {
	rate float64 // calls a second
	took time.Duration

	mu     sync.Mutex
	counts map[string]map[string]int
	quiet  []string // what the servers used at quiet points
}

func (t *tally) add(group, name string) { t.sum(group, name, 1) }

func (t *tally) sum(group, name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]map[string]int{}
	}
	if t.counts[group] == nil {
		t.counts[group] = map[string]int{}
	}
	t.counts[group][name] += n
}

func (t *tally) calls() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, count := range t.counts["calls"] {
		if name[0] != ' ' { // those are counted already
			n += count
		}
	}
	return n
}

// note keeps what a server used at a quiet point.
func (t *tally) note(point, server string, u usage) {
	t.quiet = append(t.quiet, fmt.Sprintf("%-12s %-6s %s", point, server, u))
}

func (t *tally) print(w io.Writer) {
	for _, group := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(w, "%s\n", group)
		for _, name := range slices.Sorted(maps.Keys(t.counts[group])) {
			fmt.Fprintf(w, "  %-36s %9d\n", name, t.counts[group][name])
		}
	}
	fmt.Fprintln(w, "servers when all was quiet")
	for _, line := range t.quiet {
		fmt.Fprintf(w, "  %s\n", line)
	}
	fmt.Fprintf(w, "%d calls, %.0f a second, in %s\n", t.calls(), t.rate, t.took.Round(time.Second))
}
