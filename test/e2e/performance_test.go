//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// residentKB returns the resident memory of a process.
func residentKB(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	must(t, err)
	return kB
}

// TestLongResultMemory makes calls whose results are kept because they are too long,
// more than are kept. They are in a file, and each can be read.
func TestLongResultMemory(t *testing.T) {
	t.Parallel()
	next := regexp.MustCompile(`Page 1 of (\d+); to read on: read_large_result\(id="(lr_[0-9a-f]+)"`)
	for size, calls := range map[int]int{48 << 10: 1000, 64 << 10: 1000, 1 << 20: 300} {
		t.Run(fmt.Sprintf("%d KiB", size>>10), func(t *testing.T) {
			c := start(t, t.TempDir())
			message := func(i int) string { return strings.Repeat(fmt.Sprintf("%07d|", i), size/8) }
			var ids []string
			for i := range calls {
				a := c.call("echo", map[string]any{"message": message(i)})
				found := next.FindStringSubmatch(a.text())
				if found == nil {
					t.Fatalf("got %.100s ... %s", a.text(), a.text()[max(0, len(a.text())-300):])
				}
				ids = append(ids, found[2])
			}
			if kB := residentKB(t, c.cmd.Process.Pid); kB > 80<<10 {
				t.Errorf("%d kB", kB)
			}
			for i := calls - 50; i < calls; i++ {
				page := c.call("read_large_result", map[string]any{"id": ids[i], "page": 2}).text()
				if page = page[:7000]; !strings.Contains("Echo: "+message(i), page) {
					t.Fatalf("page 2 of result %d is %.100s", i, page)
				}
			}
			c.kill()
			<-c.exited
		})
	}
}

// TestWriteFileDoesNotList writes files in a directory and sees that it is looked
// through for abandoned files of a former process only once.
func TestWriteFileDoesNotList(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace: %v %s", err, out)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	sub, trace := filepath.Join(dir, "written"), filepath.Join(t.TempDir(), "trace")
	must(t, os.Mkdir(sub, 0o755))
	c := connect(t, "strace", "-f", "-qq", "-y", "-e", "trace=getdents64", "-o", trace, binary(), "serve", "--stdio", dir)
	listed := func() int {
		b, err := os.ReadFile(trace)
		must(t, err)
		return strings.Count(string(b), "<"+sub+">")
	}
	for i := range 20 {
		for _, content := range []string{"new", "replaced"} {
			if a := c.call("write_file", map[string]any{"path": filepath.Join(sub, strconv.Itoa(i)), "content": content}); a.Error != nil || a.Result.IsError {
				t.Fatal(a.text())
			}
		}
	}
	if n := listed(); n == 0 || n > 10 { // one look, and the survey of what to protect; each is several calls
		t.Errorf("%d calls of getdents64", n)
	}
}
