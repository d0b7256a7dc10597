//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// What commands put on a file system in memory, as working directory, for temporary files or
// as shared memory, counts as disk and as memory.
func TestLimitsInMemory(t *testing.T) {
	eachAccount(t, func(t *testing.T, who account) {
		for _, without := range []string{"", "namespaces"} {
			for _, limit := range []string{"disk", "memory"} {
				t.Run(limit+" without "+without, func(t *testing.T) {
					g := newGround(t, who)
					dir, err := os.MkdirTemp("/dev/shm", "e2e-")
					must(t, err)
					t.Cleanup(func() { os.RemoveAll(dir) })
					g.work, g.temp = filepath.Join(dir, "work"), filepath.Join(dir, "temp")
					for _, d := range []string{dir, g.work, g.temp} {
						must(t, os.MkdirAll(d, 0o755))
						must(t, os.Chown(d, who.id, who.id))
					}
					limits := map[string]string{"disk": "{disk: 64MiB, memory: 1GiB}", "memory": "{disk: 1GiB, memory: 64MiB}"}[limit]
					for _, to := range []string{"big", "$TMPDIR/big"} {
						b := g.open(setup{config: "sandbox:\n  limits: " + limits + "\n", without: without})
						o := b.bash("head -c 200M /dev/zero > " + to + "; sleep 60")
						if o.errorType != "limit_exceeded" {
							t.Errorf("%s: %v", to, o)
						}
						contain(t, to, o.text, "sandbox.limits."+limit)
						if o := b.bash("rm " + to + "; head -c 20M /dev/zero > " + to + " && sleep 1 && echo within; rm " + to); o.failed {
							t.Errorf("within the limit: %v", o)
						}
						b.stop()
					}
				})
			}
		}
	})
}
