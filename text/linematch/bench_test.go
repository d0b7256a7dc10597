package linematch_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/walk"
	"github.com/toolserver/toolserver/test/fakes/walktest"
	"github.com/toolserver/toolserver/text/linematch"
)

// BenchmarkGrepAgainstRipgrep searches 100,000 files and compares the CPU time
// and the wall time of interleaved runs with ripgrep. The ratios are below 1
// where this package, on top of package walk, is the cheaper one.
func BenchmarkGrepAgainstRipgrep(b *testing.B) {
	if _, err := exec.LookPath("rg"); err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	if err := walktest.Build(dir, 100_000); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, pattern string
		opt           linematch.Options
		flag          string
	}{
		{"literal", "needleLiteral", linematch.Options{}, "-e"},
		{"absent", "notInAnyFile", linematch.Options{}, "-e"},
		{"regexp", `foo\w+bar`, linematch.Options{}, "-e"},
		{"ignore_case", "NEEDLEliteral", linematch.Options{IgnoreCase: true}, "-ie"},
		{"alternation", "needleLiteral|fooXYZbar|zzzzz", linematch.Options{}, "-e"},
		{"no_literal", `[0-9]{4}-[0-9]{2}`, linematch.Options{}, "-e"},
		{"no_literal_fold", `[xyz]{3}[ab]{2}r`, linematch.Options{IgnoreCase: true}, "-ie"},
		{"common", "response (return|nil)", linematch.Options{}, "-e"},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := linematch.Compile(c.pattern, c.opt)
			if err != nil {
				b.Fatal(err)
			}
			peer := []string{"rg", "-uuu", "-n", "--no-heading", c.flag, c.pattern, "."}
			cmd := exec.Command(peer[0], peer[1:]...)
			cmd.Dir = dir
			out, _ := cmd.Output() // exit status 1 where nothing matches
			if got, want := grep(b, dir, m), bytes.Count(out, []byte("\n")); got != want {
				b.Fatalf("%d matching lines, rg has %d", got, want)
			}
			compare(b, dir, peer, func() { grep(b, dir, m) })
		})
	}
}

func grep(b *testing.B, dir string, m *linematch.Matcher) (matches int) {
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	type found struct {
		path   string
		result linematch.Result
	}
	_, err = walk.Map(context.Background(), f, dir, walk.Options{Hidden: true},
		func(e *walk.Entry) (bool, error) { return e.IsRegular(), nil },
		func() func(*walk.Entry) (found, bool) {
			s := m.Searcher()
			return func(e *walk.Entry) (found, bool) {
				f, err := e.Open()
				if err != nil {
					return found{}, false
				}
				defer f.Close()
				r, err := s.Search(f, f.Info().Size, linematch.SearchOptions{})
				if err != nil || r.Matches == 0 {
					return found{}, false
				}
				return found{e.Rel(), r}, true
			}
		},
		func(x found) error { matches += x.result.Matches; return nil })
	if err != nil {
		b.Fatal(err)
	}
	return matches
}

// compare runs ours and the peer in turn and reports the ratios of the medians.
func compare(b *testing.B, dir string, peer []string, ours func()) {
	b.ReportAllocs()
	var wall, cpu, peerWall, peerCPU []time.Duration
	for b.Loop() {
		b.StopTimer()
		cmd := exec.Command(peer[0], peer[1:]...)
		cmd.Dir = dir
		start := time.Now()
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 { // 1: no match
			b.Fatal(peer, err)
		}
		peerWall = append(peerWall, time.Since(start))
		peerCPU = append(peerCPU, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		b.StartTimer()
		before, start := walktest.CPUTime(), time.Now()
		ours()
		wall = append(wall, time.Since(start))
		cpu = append(cpu, walktest.CPUTime()-before)
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return d[len(d)/2].Seconds()
	}
	b.ReportMetric(1000*median(cpu), "cpu-ms")
	b.ReportMetric(1000*median(wall), "wall-ms")
	b.ReportMetric(median(cpu)/median(peerCPU), "cpu/peer")
	b.ReportMetric(median(wall)/median(peerWall), "wall/peer")
}

// BenchmarkScan measures the search in memory alone.
func BenchmarkScan(b *testing.B) {
	text := bytes.Repeat([]byte("\tif err := handler(context, request); err != nil { return 2024, err }\n"), 4000)
	for _, c := range []struct {
		name, pattern string
		fold          bool
	}{
		{"literal", "needleLiteral", false}, {"fold", "needleLiteral", true},
		{"automaton", "[0-9]{4}-[0-9]{2}", false}, {"every_line", "return", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := linematch.Compile(c.pattern, linematch.Options{IgnoreCase: c.fold})
			if err != nil {
				b.Fatal(err)
			}
			s := m.Scanner()
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.Reset(text)
				for ok := true; ok; {
					_, _, ok = s.Next()
				}
			}
		})
	}
}
