package main

import (
	"fmt"
	"strings"
)

// bar is something we want to reach, and whether we do.
type bar struct {
	text string
	ok   bool
}

func (b bar) String() string {
	if b.ok {
		return b.text + " ok"
	}
	return b.text + " MISS"
}

// unit says how figures of a kind are written.
type unit func(float64) string

func times(v float64) string  { return fmt.Sprintf("%.2fx", v) }
func number(v float64) string { return fmt.Sprintf("%.0f", v) }
func kilo(v float64) string   { return fmt.Sprintf("%.1f kB", v/1e3) }
func mebi(v float64) string   { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }

func nanos(v float64) string {
	switch {
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.1f µs", v/1e3)
	case v < 1e9:
		return fmt.Sprintf("%.2f ms", v/1e6)
	}
	return fmt.Sprintf("%.2f s", v/1e9)
}

// atMost is a bar that got must not exceed.
func atMost(what string, got, limit float64, u unit) bar {
	return bar{fmt.Sprintf("%s %s ≤ %s", what, u(got), u(limit)), got <= limit}
}

// atLeast is a bar that got must reach.
func atLeast(what string, got, limit float64, u unit) bar {
	return bar{fmt.Sprintf("%s %s ≥ %s", what, u(got), u(limit)), got >= limit}
}

// lowest is the bar that a target needs less CPU than every other, round by
// round. A ratio below 1 says how much less.
func lowest(c contest, name string) []bar {
	var bars []bar
	for _, other := range c.names {
		if other != name && !strings.HasSuffix(other, earlier) {
			bars = append(bars, atMost("CPU to "+other, c.ratio(name, other, cpu), 1, times))
		}
	}
	return bars
}

// asBefore are the bars that a target needs no more than it did at the commit to
// compare with, if that was measured.
func asBefore(c contest, name string) []bar {
	if len(c.samples[name+earlier]) == 0 {
		return nil
	}
	var bars []bar
	for _, f := range []struct {
		what string
		m    metric
	}{{"CPU", cpu}, {"p50", p50}, {"RSS", rss}} {
		bars = append(bars, atMost(name+" "+f.what+" to before", c.ratio(name, name+earlier, f.m), 1.05, times))
	}
	return bars
}
