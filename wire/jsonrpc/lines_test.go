package jsonrpc

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// plainLines returns the lines of input in the plainest way; "!" is one that is
// too long.
func plainLines(input string, limit int) (lines []string) {
	all := strings.Split(input, "\n")
	for i, line := range all {
		last := i == len(all)-1
		switch {
		case len(line) > limit:
			lines = append(lines, "!")
		case !last:
			lines = append(lines, strings.TrimSuffix(line, "\r"))
		case line != "":
			lines = append(lines, line)
		}
	}
	return lines
}

// FuzzLines compares the reader with a plain one, however the bytes arrive and
// wherever it is detached.
func FuzzLines(f *testing.F) {
	f.Add("a\n\nb\r\nlong line\nc", uint8(4), uint8(1))
	f.Add(strings.Repeat("x", 10_000)+"\ny\n", uint8(3), uint8(2))
	f.Add(strings.Repeat("0123456789\n", 2_000), uint8(100), uint8(7))
	f.Fuzz(func(t *testing.T, input string, limit, detach uint8) {
		want := plainLines(input, int(limit))
	inputs:
		for _, in := range []io.Reader{strings.NewReader(input), iotest.OneByteReader(strings.NewReader(input)), iotest.DataErrReader(strings.NewReader(input))} {
			r := NewLineReader(in, int(limit))
			var got []string
			for {
				line, err := r.Next()
				switch {
				case isTooLong(err):
					line = []byte("!")
				case err == io.EOF:
					if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) != len(want) {
						t.Fatalf("%q, limit %d: %q; want %q", input, limit, got, want)
					}
					continue inputs
				case err != nil:
					t.Fatal(err)
				}
				before := bytes.Clone(line)
				if detach > 0 && len(got)%int(detach) == 0 {
					r = r.Detach()
				}
				if !bytes.Equal(line, before) {
					t.Fatalf("a line became %q", line)
				}
				got = append(got, string(line))
			}
		}
	})
}
