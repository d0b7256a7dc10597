package appender

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKill kills a program that appends at many moments, every second time while
// the file grows. When the child that it may have left has ended, what it has
// appended is whole.
func TestKill(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	kills := 60
	if testing.Short() {
		kills = 10
	}
	torn := 0
	for kill := range kills {
		f, added := target(t, 17)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writer+"="+f.Name())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		size := func() int64 {
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		for stuck := time.Now().Add(30 * time.Second); size() == 17; {
			if time.Now().After(stuck) {
				t.Fatal("nothing was appended")
			}
		}
		if kill%2 == 0 {
			for range rand.N(1 << 18) { // a random moment: spins for up to the time of an append
				_ = time.Now()
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		var status syscall.WaitStatus
		for {
			if _, err := syscall.Wait4(-1, &status, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
				break // no child is left
			}
		}
		if n := len(added()); n == 0 || n%piece != 0 {
			torn++
		}
		if err := os.Truncate(f.Name(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if torn > 0 {
		t.Errorf("%d of %d appends are torn", torn, kills)
	}
}
