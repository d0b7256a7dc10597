//go:build unix

package appender

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// limited and writer make the test binary a program that appends to the file
// they name.
const limited, writer, inPlace = "APPENDER_TEST_LIMITED", "APPENDER_TEST_WRITER", "APPENDER_TEST_IN_PLACE"

func TestMain(m *testing.M) {
	switch {
	case IsChild():
		os.Exit(RunChild())
	case os.Getenv(limited) != "":
		os.Exit(appendLimited(os.Getenv(limited), os.Getenv(inPlace) == ""))
	case os.Getenv(writer) != "":
		os.Exit(appendForEver(os.Getenv(writer)))
	}
	os.Exit(m.Run())
}

// target returns a file with size bytes, open for appending, and a function
// that returns what was added.
func target(t *testing.T, size int) (f *os.File, added func() []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	old := bytes.Repeat([]byte("o"), size)
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := open(path)
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

func open(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) }

// marker is a program that cannot append. It notes that it was started.
func marker(t *testing.T) (program string, started func() bool) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "marker")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n: >'"+program+".started'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, func() bool {
		_, err := os.Stat(program + ".started")
		return err == nil
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		size, n int
		child   bool // one page is not enough
	}{{0, 4096, false}, {1, 4096, true}, {4095, 1, false}, {4095, 2, true}, {8000, 192, false}, {8000, 193, true}, {7, 0, false}, {4096, 4 << 20, true}} {
		data := bytes.Repeat([]byte("n"), c.n)
		useless, started := marker(t)
		for _, program := range []string{"", os.Args[0], "/no/such/program", useless} {
			f, added := target(t, c.size)
			if err := Append(f, data, program); err != nil || !bytes.Equal(added(), data) {
				t.Errorf("%d bytes after %d by %q: %d were added, %v", c.n, c.size, program, len(added()), err)
			}
		}
		if started() != c.child {
			t.Errorf("%d bytes after %d: child %t", c.n, c.size, started())
		}
	}
}

// TestConcurrent appends by many children at once: what each appends stays in
// one piece.
func TestConcurrent(t *testing.T) {
	f, added := target(t, 1)
	const n = 50_000
	var wg sync.WaitGroup
	for letter := byte('a'); letter < 'i'; letter++ {
		wg.Go(func() {
			if err := Append(f, bytes.Repeat([]byte{letter}, n), os.Args[0]); err != nil {
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

// appendLimited appends more than the size limit that it sets for its files,
// and prints the error.
func appendLimited(path string, child bool) int {
	f, err := open(path)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100_000, Max: 100_000})
	}
	if err != nil {
		return 1
	}
	program := ""
	if child {
		program = os.Args[0]
	}
	if err = Append(f, make([]byte, 200_000), program); err == nil {
		return 1
	}
	os.Stdout.WriteString(err.Error())
	return 0
}

const piece = 4 << 20

// appendForEver appends pieces until the process is killed.
func appendForEver(path string) int {
	f, err := open(path)
	if err != nil {
		return 1
	}
	for data := bytes.Repeat([]byte("n"), piece); ; {
		if Append(f, data, os.Args[0]) != nil {
			return 1
		}
	}
}

func TestTakeBackAtLimit(t *testing.T) {
	for _, mode := range []string{"", "1"} {
		f, added := target(t, 1000)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), limited+"="+f.Name(), inPlace+"="+mode)
		out, err := cmd.Output()
		if err != nil || string(out) != "was not appended to and is unchanged: file too large" || len(added()) != 0 {
			t.Errorf("in place %q: %q %v, %d bytes are left", mode, out, err, len(added()))
		}
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

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		report string
		grown  bool
		want   string // "" if it is no error
	}{
		{"w0 0 0\n", false, ""},
		{"w", false, "is unchanged: the process that was to append was killed"},
		{"w", true, "may have been appended to: the process that was to append was killed"},
		{"w" + reportOf(&Error{Err: syscall.ENOSPC}), false, "is unchanged: no space left on device"},
		{"w" + reportOf(&Error{Err: syscall.ENOSPC, Left: 5, Kept: errChanged}), true, "5 of 9 bytes: no space left on device; they could not be removed again: another process"},
		{"w" + reportOf(&Error{Err: syscall.EIO, Left: 5, Kept: syscall.EPERM}), true, "again: operation not permitted"},
	} {
		f, _ := target(t, 10)
		size := int64(10)
		if c.grown {
			size--
		}
		begun, err := outcome(f, size, 9, []byte(c.report))
		if !begun || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %t %v", c.report, begun, err)
		}
	}
	if begun, _ := outcome(nil, 0, 9, nil); begun {
		t.Error("a child without a report has begun")
	}
}

// TestChild withholds the last byte, terminates the child, which must not be
// impressed, and then sends the byte or goes away.
func TestChild(t *testing.T) {
	const n = 1 << 20
	for _, complete := range []bool{true, false} {
		f, added := target(t, 10)
		cmd := &exec.Cmd{Path: os.Args[0], Args: []string{childName, "1048576"}, ExtraFiles: []*os.File{f}}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: it reads, so it is prepared.
		if _, err := in.Write(make([]byte, n-1)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil || len(added()) != 0 {
			t.Errorf("%v, %d bytes were written too early", err, len(added()))
		}
		want := 0
		if complete {
			want = n
			if _, err := in.Write([]byte{0}); err != nil {
				t.Error(err)
			}
		}
		in.Close()
		var exit *exec.ExitError
		if err := cmd.Wait(); complete != (err == nil) || err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) || len(added()) != want {
			t.Errorf("complete %t: %v, %d bytes were added", complete, err, len(added()))
		}
	}
}
