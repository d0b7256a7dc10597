package walk_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/glob"
	"github.com/toolserver/toolserver/sandbox/walk"
	"github.com/toolserver/toolserver/test/fakes/walktest"
)

// BenchmarkAgainstFind compares listing, globbing and gitignore filtering over
// 100,000 files with find and ripgrep, in CPU time and wall time of
// interleaved runs. The ratios are below 1 where the walk is the cheaper one.
func BenchmarkAgainstFind(b *testing.B) {
	dir := b.TempDir()
	if err := walktest.Build(dir, 100_000); err != nil {
		b.Fatal(err)
	}
	write(b, filepath.Join(dir, ".gitignore"), "*.o\n*.json\n!config_*.json\n/build/\nnode_modules/\ndir01*/*.txt\n**/tmp/**\nvendor\n*~\n.DS_Store\n")
	write(b, filepath.Join(dir, "dir0001", ".gitignore"), "*.md\n!the_*.md\n")
	goFiles, err := glob.Compile("**/*.go")
	if err != nil {
		b.Fatal(err)
	}
	all := walk.Options{Hidden: true}
	ignore := walk.Options{Hidden: true, Gitignore: true}
	files := func(e *walk.Entry) bool { return e.IsRegular() }
	goOnly := func(e *walk.Entry) bool { return e.IsRegular() && goFiles.MatchEntry(e.Name(), e.Rel) }
	for _, c := range []struct {
		name string
		opt  walk.Options
		want func(*walk.Entry) bool
		peer []string
	}{
		{"list/find", all, files, []string{"find", ".", "-type", "f"}},
		{"list/rg", all, files, []string{"rg", "--files", "-uuu"}},
		{"list_gitignore/rg", ignore, files, []string{"rg", "--files", "--hidden", "--no-require-git"}},
		{"glob/find", all, goOnly, []string{"find", ".", "-type", "f", "-name", "*.go"}},
		{"glob/rg", all, goOnly, []string{"rg", "--files", "-uuu", "-g", "**/*.go"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			if _, err := exec.LookPath(c.peer[0]); err != nil {
				b.Skip(err)
			}
			cmd := exec.Command(c.peer[0], c.peer[1:]...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if want := bytes.Count(out, []byte("\n")); err != nil || list(b, dir, c.opt, c.want) != want {
				b.Fatalf("not the %d files of %s, %v", want, c.peer[0], err)
			}
			compare(b, dir, c.peer, func() { list(b, dir, c.opt, c.want) })
		})
	}
}

func list(b *testing.B, dir string, opt walk.Options, want func(*walk.Entry) bool) (files int) {
	f, err := os.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(io.Discard, 64<<10) // the peers print the paths, so they are put together here too
	_, err = walk.Walk(context.Background(), f, dir, opt, func(e *walk.Entry) error {
		if want(e) {
			out.WriteString(e.Rel())
			out.WriteByte('\n')
			files++
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return files
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
		if err := cmd.Run(); err != nil {
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
