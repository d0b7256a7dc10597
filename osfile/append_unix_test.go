//go:build unix

package osfile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// limited makes the test binary a program that appends to the file that it names.
const limited = "OSFILE_TEST_LIMITED"

func TestMain(m *testing.M) {
	if path := os.Getenv(limited); path != "" {
		os.Exit(appendLimited(path))
	}
	os.Exit(m.Run())
}

// target returns a file with size bytes, open for appending, and a function that returns what was added.
func target(t *testing.T, size int) (f *os.File, added func() []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	old := bytes.Repeat([]byte("o"), size)
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, func() []byte {
		all, err := os.ReadFile(path)
		after, ok := bytes.CutPrefix(all, old)
		if err != nil || !ok {
			t.Fatalf("the old content is damaged: %d bytes, %v", len(all), err)
		}
		return after
	}
}

// TestAppendConcurrent appends by many at once: what each appends stays in one piece.
func TestAppendConcurrent(t *testing.T) {
	f, added := target(t, 1)
	const n = 50_000
	var wg sync.WaitGroup
	for letter := byte('a'); letter < 'i'; letter++ {
		wg.Go(func() {
			own, err := os.OpenFile(f.Name(), os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				defer own.Close()
				err = Append(own, bytes.Repeat([]byte{letter}, n))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all := added()
	if len(all) != 8*n {
		t.Fatalf("%d bytes", len(all))
	}
	for i := 0; i < len(all); i += n {
		if piece := all[i : i+n]; len(bytes.Trim(piece, string(piece[:1]))) > 0 {
			t.Errorf("the piece at %d is mixed", i)
		}
	}
}

// appendLimited appends more than the size limit that it sets for its files, and prints the error.
func appendLimited(path string) int {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000})
	}
	if err != nil {
		return 1
	}
	if err = Append(f, make([]byte, 200_000)); err == nil {
		return 1
	}
	os.Stdout.WriteString(err.Error())
	return 0
}

func TestTakeBackAtLimit(t *testing.T) {
	f, added := target(t, 1000)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), limited+"="+f.Name())
	out, err := cmd.Output()
	if err != nil || string(out) != "was not appended to and is unchanged: file too large" || len(added()) != 0 {
		t.Errorf("%q %v, %d bytes are left", out, err, len(added()))
	}
}

func TestTakeBack(t *testing.T) {
	for _, c := range []struct {
		others string
		left   int
		err    error
	}{{"", 0, nil}, {"more", 9, errChanged}} {
		f, added := target(t, 10)
		if _, err := f.WriteString("added" + c.others); err != nil {
			t.Fatal(err)
		}
		if err := takeBack(f, 10, 5); err != c.err || len(added()) != c.left {
			t.Errorf("%q: %v, %d bytes are left", c.others, err, len(added()))
		}
	}
}
