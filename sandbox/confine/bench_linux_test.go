package confine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkStart reports what confinement adds to starting /bin/true, as the
// median and the least of many starts by one supervisor. A supervisor of its own
// runs all of them, so b.N is not used for each.
func BenchmarkStart(b *testing.B) {
	g := newGround(b)
	list := programs("bash", "true", "cat", "ls", "grep", "sed", "awk", "git", "head", "sort")
	for _, bm := range []struct {
		name string
		w    where
		spec *Spec
	}{
		{"plain", inNamespace, nil},
		{"write", inNamespace, &Spec{Write: []string{g.work}}},
		{"write/no-mounts", refusing, &Spec{Write: []string{g.work}}},
		{"limits", inNamespace, &Spec{Write: []string{g.work}, Limits: Limits{OpenFiles: 100, FileSize: 1 << 30}}},
		{"list", inNamespace, &Spec{Write: []string{g.work}, Exec: list}},
		{"list/no-mounts", refusing, &Spec{Write: []string{g.work}, Exec: list, WithoutMounts: true}},
		{"list-read-all", inNamespace, &Spec{Read: []string{"/"}, Write: []string{g.work}, Exec: list}},
		{"nested", inNamespace, &Spec{Write: []string{g.work}, Deny: []string{g.work + "/file"}, ReadOnly: []string{g.work + "/a/b"}}},
		{"loopback", inNamespace, &Spec{Write: []string{g.work}, Network: Loopback}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			order := testOrder{Where: bm.w, Dir: g.work, Argv: []string{"/bin/true"}, Times: b.N + 1}
			if bm.spec != nil {
				order.Spec = mustEncode(b, *bm.spec)
			}
			b.ResetTimer()
			out, status := run(b, order)
			if status != 0 {
				b.Fatal(status, out)
			}
			var times []float64
			for _, line := range strings.Fields(out) {
				n, err := strconv.ParseFloat(line, 64)
				if err != nil {
					b.Fatal(fmt.Errorf("%q: %w", out, err))
				}
				times = append(times, n/1e6)
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2], "median-ms")
			b.ReportMetric(times[0], "min-ms")
			b.ReportMetric(times[len(times)*9/10], "p90-ms")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for b.Loop() {
		mustEncode(b, Spec{Read: []string{"/"}, Write: []string{"/tmp"}, Exec: programs("bash", "cat", "ls", "git")})
	}
}
