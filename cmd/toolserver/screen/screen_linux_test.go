package screen

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolserver/toolserver/domain/call"
)

// terminal is a terminal and what a person sees and types.
type terminal struct {
	t            *testing.T
	person, user *os.File
	written      chan string
	seen         string
}

func newTerminal(t *testing.T, columns, lines uint16) *terminal {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	user, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close() })
	w := &terminal{t: t, person: person, user: user, written: make(chan string, 1000)}
	w.resize(columns, lines)
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := person.Read(b)
			if err != nil {
				return
			}
			w.written <- string(b[:n])
		}
	}()
	return w
}

func (w *terminal) resize(columns, lines uint16) {
	if err := unix.IoctlSetWinsize(int(w.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: lines}); err != nil {
		w.t.Fatal(err)
	}
}

// sees waits until a text is written, and returns what was until then.
func (w *terminal) sees(text string) (before string) {
	w.t.Helper()
	for late := time.After(30 * time.Second); ; {
		var rest string
		var found bool
		if before, rest, found = strings.Cut(w.seen, text); found {
			w.seen = rest
			return before
		}
		select {
		case more := <-w.written:
			w.seen += more
		case <-late:
			w.t.Fatalf("%q is not written, but %q", text, w.seen)
		}
	}
}

// TestFull draws, types, resizes and ends in every way, after which the terminal is as it was.
func TestFull(t *testing.T) {
	for _, end := range []string{"q", "\x03", "context", "panic"} {
		w := newTerminal(t, 20, 5)
		mode := func() unix.Termios {
			m, err := unix.IoctlGetTermios(int(w.user.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			return *m
		}
		before := mode()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan any, 1)
		var broken atomic.Bool
		go func() {
			defer func() { ended <- recover() }()
			keys := ""
			if err := Full(ctx, w.user, w.user, func(columns, lines int) []string {
				if broken.Load() {
					panic("oops")
				}
				return []string{fmt.Sprintf("%dx%d keys %s.", columns, lines, keys), strings.Repeat("日", 50), "", "", "", "too much"}
			}, func(key byte) { keys += string(key) }); err != nil {
				t.Error(err)
			}
		}()
		w.sees(enter)
		if got := w.sees("\x1b[J"); got != "\x1b[H20x5 keys .\x1b[K\r\n"+strings.Repeat("日", 10)+"\x1b[K\r\n\x1b[K\r\n\x1b[K\r\n\x1b[K" {
			t.Errorf("drawn: %q", got)
		}
		w.person.WriteString("x")
		w.sees("keys x.")
		w.resize(18, 3)
		w.sees("18x3 keys x.")
		switch end {
		case "context":
			cancel()
		case "panic":
			broken.Store(true)
		default:
			w.person.WriteString(end)
		}
		w.sees(leave)
		if is := <-ended; (is != nil) != (end == "panic") {
			t.Errorf("%q: it ended with %v", end, is)
		}
		cancel()
		if mode() != before {
			t.Errorf("%q: the terminal has another mode", end)
		}
	}
}

// TestBar shows a bar, and leaves nothing on the line.
func TestBar(t *testing.T) {
	w := newTerminal(t, 30, 5)
	t.Setenv("TERM", "dumb")
	if NewBar(w.user, nil) != nil {
		t.Error("there is a bar on a terminal that knows no control sequences")
	}
	t.Setenv("TERM", "xterm")
	b := NewBar(w.user, func() call.Progress { return call.Progress{Done: 1, Total: 2, Message: strings.Repeat("long ", 20)} })
	began := time.Now()
	got := w.sees("\x1b[K")
	if got != "\r[##########----------]  50%  " || time.Since(began) < barAfter/2 {
		t.Errorf("after %v: %q", time.Since(began), got)
	}
	b.Above(func() { w.user.WriteString("said\n") })
	w.sees("\r\x1b[Ksaid\r\n")
	w.sees("50%")
	b.Pause(true)
	w.sees("\r\x1b[K")
	b.Pause(false)
	w.sees("50%")
	b.Stop()
	w.user.WriteString("end")
	if rest := w.sees("end"); !strings.HasSuffix(rest, "\r\x1b[K") {
		t.Errorf("left: %q", rest)
	}

	short := newTerminal(t, 30, 5)
	NewBar(short.user, func() call.Progress { return call.Progress{} }).Stop()
	short.user.WriteString("end")
	if rest := short.sees("end"); rest != "" {
		t.Errorf("short work: %q", rest)
	}
}
