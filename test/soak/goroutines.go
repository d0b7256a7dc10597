//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// goroutines counts the goroutines of a process by what started them, without
// those of Go itself.
type goroutines map[string]int

// parseDump reads what Go prints on SIGQUIT.
func parseDump(dump string) goroutines {
	all := goroutines{}
	for part := range strings.SplitSeq(dump, "\n\n") {
		if !strings.HasPrefix(part, "goroutine ") || strings.HasPrefix(part, "goroutine 0 ") {
			continue
		}
		by := "main"
		if _, after, ok := strings.Cut(part, "\ncreated by "); ok {
			by, _, _ = strings.Cut(after, " in goroutine")
			by, _, _ = strings.Cut(by, "\n")
		}
		if !strings.HasPrefix(by, "runtime.") {
			all[by]++
		}
	}
	return all
}

func (g goroutines) total() (n int) {
	for _, count := range g {
		n += count
	}
	return n
}

// more returns an error if g has goroutines that fresh has not.
func (g goroutines) more(fresh goroutines) error {
	var lines []string
	for by, n := range g {
		if n > fresh[by] {
			lines = append(lines, fmt.Sprintf("  %d instead of %d by %s", n, fresh[by], by))
		}
	}
	if lines == nil {
		return nil
	}
	slices.Sort(lines)
	return fmt.Errorf("%d goroutines instead of the %d of a fresh server:\n%s", g.total(), fresh.total(), strings.Join(lines, "\n"))
}
