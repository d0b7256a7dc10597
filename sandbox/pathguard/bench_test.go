//go:build unix

package pathguard_test

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/toolserver/toolserver/sandbox/pathguard"
)

// BenchmarkOpen compares Open with os.Open of the same file, five directories
// deep, under a policy of two allowed and twenty denied paths.
func BenchmarkOpen(b *testing.B) {
	root := tree(b, "file w/one/two/three/four/file x", "dir other")
	deny := make([]string, 20)
	for i := range deny {
		deny[i] = "w/.denied/" + string(rune('a'+i))
	}
	g := guard(b, pathguard.New, root, []string{"other", "w"}, deny)
	abs := root + "/w/one/two/three/four/file"
	for _, c := range []struct {
		name string
		open func() (interface{ Close() error }, error)
	}{
		{"os", func() (interface{ Close() error }, error) { return os.Open(abs) }},
		{"guard", func() (interface{ Close() error }, error) { return g.Open(abs) }},
		{"guard-relative", func() (interface{ Close() error }, error) { return g.Open("one/two/three/four/file") }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime(b)
			for b.Loop() {
				f, err := c.open()
				if err != nil {
					b.Fatal(err)
				}
				f.Close()
			}
			b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is the user and system time of the process, which other processes on
// the machine disturb less than the clock.
func cpuTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func BenchmarkCheck(b *testing.B) {
	root := tree(b, "file w/a x")
	g := guard(b, pathguard.New, root, []string{"w"}, []string{"w/.env"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Check("a"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplace(b *testing.B) {
	root := tree(b, "file w/a x")
	g := guard(b, pathguard.New, root, []string{"w"}, nil)
	content := make([]byte, 8<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Replace("a", content, pathguard.ReplaceOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
