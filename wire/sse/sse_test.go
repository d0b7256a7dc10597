package sse

import (
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readEvents returns the events of a stream and the error it ends with.
func readEvents(r io.Reader) (list []string, err error) {
	s := NewReader(r, 1<<20, 1<<25)
	for {
		ev, err := s.Next()
		if err != nil {
			return list, err
		}
		list = append(list, ev.Name+"|"+string(ev.Data))
	}
}

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"one", "event: a\ndata: b\n\n", []string{"a|b"}},
		{"CRLF", "event: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"a|b", "|c"}},
		{"CR", "event: a\rdata: b\r\rdata: c\r\r", []string{"a|b", "|c"}},
		{"mixed", "event: a\rdata: b\n\rdata: c\r\n\n", []string{"a|b", "|c"}},
		{"several data lines", "data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		{"space", "data:a\ndata:  b\n\n", []string{"|a\n b"}},
		{"colons", "data: {\"a\":1}\n\n", []string{`|{"a":1}`}},
		{"comments", ": hello\n:\ndata: a\n: more\n\n", []string{"|a"}},
		{"other fields", "id: 1\nretry: 5\nfoo: bar\ndata: a\n\n", []string{"|a"}},
		{"no data", "event: a\n\ndata: b\n\n", []string{"|b"}},
		{"empty data", "event: ping\ndata:\n\n", []string{"ping|"}},
		{"mark", "\xef\xbb\xbfdata: a\n\ndata: b\n\n", []string{"|a", "|b"}},
		{"mark later", "\n\xef\xbb\xbfdata: a\n\n", nil},
		{"cut off", "data: a\n\ndata: b\n", []string{"|a"}},
		{"last event wins", "event: a\nevent: b\ndata: c\n\n", []string{"b|c"}},
		{"blank lines", "\n\n\r\n\r\rdata: a\n\n\n\n", []string{"|a"}},
		{"nothing", "", nil},
	} {
		for split, r := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			if got, err := readEvents(r); err != io.EOF || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s, %s: %q, error %v; want %q", c.name, split, got, err, c.want)
			}
		}
	}
}

// TestEventsAtOnce checks that an event is there when its last byte is, although
// that is a CR and a LF might follow.
func TestEventsAtOnce(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r", "\r\r"} {
		nothingMore := iotest.ErrReader(errors.New("waited for more"))
		s := NewReader(io.MultiReader(strings.NewReader("data: a"+end), nothingMore), 10, 0)
		if ev, err := s.Next(); err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: %q, error %v", end, ev.Data, err)
		}
	}
}

// TestResumption checks what a stream says of how to go on after it.
func TestResumption(t *testing.T) {
	s := NewReader(strings.NewReader("id: a\nretry: 250\n\nid: b\x00\nretry: soon\ndata: x\n\nid\ndata: y\n\n"), 100, 0)
	for _, want := range []string{"a", ""} {
		if _, err := s.Next(); err != nil || s.LastID != want || s.Retry != 250*time.Millisecond {
			t.Errorf("ID %q, retry %v, error %v; want %q", s.LastID, s.Retry, err, want)
		}
	}
}

func TestEventsBounds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		stream     bool // it is the stream that becomes too long, not an event
	}{
		{"a line", "data: aaaaaaaaaaaaaaa", false}, {"lines of data", "data: aaaaaaaaaaaaaaaaaaaaaaaaaaa\n", false},
		{"comments", ": aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", true}, {"blank lines", "\n", true}, {"line feeds of no line", "\r\n", true},
	} {
		s := NewReader(&repeated{text: c.text}, 1<<10, 1<<14)
		if _, err := s.Next(); !errors.Is(err, ErrTooLong) || s.read > 1<<14 != c.stream {
			t.Errorf("%s: error %v, %d read", c.name, err, s.read)
		}
	}
}

// repeated is a text without end.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

var lineEnd = regexp.MustCompile("\r\n|\r|\n")

// plainEvents reads a stream that is all there, in the plainest way.
func plainEvents(in string) (list []string) {
	lines := lineEnd.Split(strings.TrimPrefix(in, "\xef\xbb\xbf"), -1)
	name, data := "", []string(nil)
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				list = append(list, name+"|"+strings.Join(data, "\n"))
			}
			name, data = "", nil
		case field == "event":
			name = value
		case field == "data":
			data = append(data, value)
		}
	}
	return list
}

// FuzzEvents compares the reader with a plain one, however the bytes arrive.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		"event: a\r\ndata: b\r\n\r\n", "\xef\xbb\xbfdata: a\rdata: b\r\r",
		": c\n\nevent:x\n\ndata\n\n", "data: {\"type\":\"ping\"}\n\n", "\r\n\r", "\n\xef\xbb\xbf\n",
	} {
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, in string, cut uint8) {
		want := plainEvents(in)
		n := min(int(cut), len(in))
		for _, r := range []io.Reader{
			iotest.OneByteReader(strings.NewReader(in)), io.MultiReader(strings.NewReader(in[:n]), strings.NewReader(in[n:])),
		} {
			if got, err := readEvents(r); err != io.EOF || !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: got %q, error %v; want %q", in, got, err, want)
			}
		}
	})
}
