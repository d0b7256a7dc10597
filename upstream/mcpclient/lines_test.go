package mcpclient

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzLines compares the reader with a plain one, however the bytes arrive.
func FuzzLines(f *testing.F) {
	f.Add("a\n\nb\r\nlong line\nc", uint16(4))
	f.Add(strings.Repeat("x", 3000)+"\ny\n"+strings.Repeat("z", 600), uint16(1000))
	f.Add(strings.Repeat("0123456789\n", 200), uint16(100))
	f.Add(strings.Repeat("x", 511)+"\n"+strings.Repeat("y", 512)+"\r\n"+strings.Repeat("z", 1024), uint16(600))
	f.Fuzz(func(t *testing.T, input string, limit uint16) {
		var want []string
		all := strings.Split(input, "\n")
		for i, line := range all {
			switch {
			case len(line) > int(limit):
				want = append(want, "!"+line[:min(len(line), 100)]+line[max(0, len(line)-100):])
			case i < len(all)-1 || line != "":
				want = append(want, strings.TrimSuffix(line, "\r"))
			}
		}
		for _, in := range []io.Reader{strings.NewReader(input), iotest.OneByteReader(strings.NewReader(input)), iotest.DataErrReader(strings.NewReader(input))} {
			r := lineReader{in: bufio.NewReaderSize(in, 512), limit: int(limit)}
			var got []string
			var owned [][]byte
			var copies []string
			for {
				line, mine, err := r.next()
				if err == io.EOF {
					break
				}
				if mine {
					owned, copies = append(owned, line), append(copies, string(line))
				}
				text := string(line)
				if err == errLineTooLong {
					text = "!" + text[:min(len(text), 100)] + text[max(0, len(text)-100):]
				}
				got = append(got, text)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("limit %d, %q: %q; want %q", limit, input, got, want)
			}
			for i, line := range owned {
				if string(line) != copies[i] {
					t.Fatalf("a line became %q", line)
				}
			}
		}
	})
}
