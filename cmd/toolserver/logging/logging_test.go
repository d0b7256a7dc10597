package logging

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// reportLost is the line that a writer under test reports dropped lines with.
func reportLost(lines int) []byte { return fmt.Appendf(nil, "dropped %d\n", lines) }

// TestLogNotRead logs more than a pipe and the buffer hold, and then reads it.
func TestLogNotRead(t *testing.T) {
	for _, direct := range []bool{true, false} {
		t.Run(fmt.Sprintf("direct %t", direct), func(t *testing.T) {
			r, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer out.Close()
			write, free := output(out)
			if !direct {
				write, free = output(struct{ io.Writer }{out})
			}
			defer free()
			w := newWriter(write, reportLost)
			line := []byte(strings.Repeat("x", 999) + "\n")
			logged := 3 * maxLogPending / len(line)
			for range logged {
				w.Write(line)
				w.Sync()
			}
			read, lines := 0, bufio.NewReader(r)
			for {
				text, err := lines.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if count, ok := strings.CutPrefix(text, "dropped "); ok {
					dropped, err := strconv.Atoi(strings.TrimSpace(count))
					if err != nil || dropped == 0 || read+dropped != logged {
						t.Errorf("%d lines read, %d dropped, %v; %d were logged", read, dropped, err, logged)
					}
					break
				}
				if text != string(line) {
					t.Fatalf("got the line %q", text)
				}
				read++
			}
			w.close()
		})
	}
}

// TestLogFails drops what cannot be written, and goes on in a line of its own.
func TestLogFails(t *testing.T) {
	var got strings.Builder
	room := 8 // bytes before the disk is full
	write := func(b []byte) (int, error) {
		n := min(room, len(b))
		got.Write(b[:n])
		if room -= n; n < len(b) {
			return n, errors.New("no space left on device")
		}
		return n, nil
	}
	w := newWriter(write, reportLost)
	for _, line := range []string{"one\n", "two, torn\nthree\n", "four\n"} {
		w.Write([]byte(line))
		w.Sync()
	}
	room = 1000
	w.Write([]byte("five\n"))
	w.Sync()
	w.Write([]byte("six\n"))
	w.Sync()
	w.close()
	w.Write([]byte("late\n"))
	w.Sync()
	if want := "one\ntwo,\nfive\ndropped 3\nsix\n"; got.String() != want {
		t.Errorf("the log is %q; want %q", got.String(), want)
	}
}

// TestLogStuck closes a log whose writes never return.
func TestLogStuck(t *testing.T) {
	r, out := io.Pipe()
	defer r.Close()
	write, _ := output(out)
	w := newWriter(write, reportLost)
	w.Write([]byte("line\n"))
	w.close()
}
