package command_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/command"
)

// BenchmarkDecide decides on every row of the corpus; p50 and p99 are over rows.
func BenchmarkDecide(b *testing.B) {
	policies, rows := corpus(b)
	type job struct {
		p   *command.Policy
		req command.Request
	}
	var jobs []job
	for _, r := range rows {
		ws := workspace(b, r.Setup)
		jobs = append(jobs, job{policies[r.Policy].compile(b, ws), command.Request{Command: r.Command, Dir: ws}})
	}
	best := make([]time.Duration, len(jobs))
	b.ReportAllocs()
	for b.Loop() {
		for i, j := range jobs {
			start := time.Now()
			j.p.Decide(j.req)
			if d := time.Since(start); best[i] == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	slices.Sort(best)
	b.ReportMetric(float64(best[len(best)/2].Nanoseconds()), "ns-p50")
	b.ReportMetric(float64(best[len(best)*99/100].Nanoseconds()), "ns-p99")
	b.ReportMetric(float64(best[len(best)-1].Nanoseconds()), "ns-max")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := command.Compile(command.Config{Denied: rulesOf([]string{"rm", "sudo", "chmod"}), Path: system()}); err != nil {
			b.Fatal(err)
		}
	}
}
