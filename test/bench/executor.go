package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// measureExecutor runs the benchmarks of the executor, which count
// allocations, too, and that of sealed sessions.
func measureExecutor(ctx context.Context, l *lab) error {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(StartEcho|CallEcho|InvalidArguments|Open)$",
		"-benchmem", "-benchtime", l.time.String(), "-count", strconv.Itoa(l.rounds), "./domain/call", "./server/passport").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w\n%s", err, out)
	}
	for _, b := range []struct {
		benchmark, what string
		time            time.Duration
		allocs          float64 // allowed; 0 for any number
	}{
		{"StartEcho", "executor: echo, on the goroutine that reads", 10 * time.Microsecond, 40},
		{"CallEcho", "executor: echo, waited for", 10 * time.Microsecond, 40},
		{"InvalidArguments", "executor: arguments refused", 30 * time.Microsecond, 0},
		{"Open", "the ID of a session that another replica made", 2 * time.Microsecond, 0},
	} {
		c, allocs, err := benchmarkResults(string(out), b.benchmark)
		if err != nil {
			return err
		}
		bars := []bar{atMost("time", c.median("executor", p50), float64(b.time), nanos)}
		if b.allocs > 0 {
			bars = append(bars, atMost("allocations", allocs, b.allocs, number))
		}
		l.table.add(b.what, c, bars...)
	}
	return nil
}

// benchmarkResults reads the lines of one benchmark from the output of go test.
func benchmarkResults(out, name string) (c contest, allocs float64, err error) {
	line := regexp.MustCompile(`(?m)^Benchmark` + name + `(?:-\d+)?\s+\d+\s+(\S+) ns/op\s.*\s(\d+) allocs/op`)
	var counts []float64
	c = contest{names: []string{"executor"}, samples: map[string][]sample{}}
	for _, m := range line.FindAllStringSubmatch(out, -1) {
		ns, err1 := strconv.ParseFloat(m[1], 64)
		n, err2 := strconv.ParseFloat(m[2], 64)
		if err1 != nil || err2 != nil {
			return c, 0, fmt.Errorf("benchmark line %q", m[0])
		}
		c.samples["executor"] = append(c.samples["executor"], sample{p50: time.Duration(ns)})
		counts = append(counts, n)
	}
	if len(counts) == 0 {
		return c, 0, fmt.Errorf("no result of Benchmark%s in %s", name, strings.TrimSpace(out))
	}
	return c, median(counts), nil
}
