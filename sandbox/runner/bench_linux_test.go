package runner_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/process"
	"github.com/toolserver/toolserver/sandbox/runner"
)

// cpuTime is what this process has used, or its children have that are gone.
func cpuTime(b *testing.B, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkRun(b *testing.B) {
	env := process.MinimalEnv(nil)
	for _, method := range []process.Method{process.MethodNamespace, process.MethodSubreaper, process.MethodGroup} {
		for _, req := range []runner.Request{
			{Argv: []string{"true"}, Env: env}, {Shell: "true", Env: env},
			{Shell: "true", Env: env, Bounds: process.Bounds{Processes: 256, Memory: 1 << 30}},
		} {
			name := strings.ReplaceAll(string(method), " ", "-") + "/argv"
			if req.Shell != "" {
				name = strings.TrimSuffix(name, "argv") + "shell"
			}
			if req.Bounds.Memory > 0 {
				name = strings.TrimSuffix(name, "shell") + "bounded"
			}
			for _, at := range []struct {
				name string
				once int
			}{{"/1", 1}, {"/8", 8}} {
				b.Run(name+at.name, func(b *testing.B) {
					r := newRunner(b, method, runner.Options{})
					benchmarkRun(b, r, req, at.once)
				})
			}
		}
	}
}

func benchmarkRun(b *testing.B, r testRunner, req runner.Request, workers int) {
	run := func() {
		res, err := r.Run(b.Context(), req)
		if err != nil || res.Code != 0 {
			b.Errorf("%+v %v", res, err)
		}
	}
	run()
	b.ReportAllocs()
	b.ResetTimer()
	server, children := cpuTime(b, syscall.RUSAGE_SELF), cpuTime(b, syscall.RUSAGE_CHILDREN)
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range work {
				run()
			}
		})
	}
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	b.StopTimer()
	perCall := func(who int, since time.Duration) float64 {
		return float64((cpuTime(b, who) - since).Microseconds()) / float64(b.N)
	}
	b.ReportMetric(perCall(syscall.RUSAGE_SELF, server), "server-cpu-µs/op")
	r.Close() // and the supervisors, with what they waited for, are children that are gone
	b.ReportMetric(perCall(syscall.RUSAGE_CHILDREN, children), "children-cpu-µs/op")
}
