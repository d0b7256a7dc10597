package runner

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// FuzzOutput compares an Output with the stream it was given.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("hello, world\nä€😀"), 3, 5, int64(7))
	f.Add([]byte("000000\xe20"), 3, -3, int64(7))
	f.Add([]byte("\xff\xc3\x00\n"), 1, 1, int64(-1))
	f.Add(bytes.Repeat([]byte("0123456789\n"), 50), 13, 64, int64(200))
	f.Fuzz(func(t *testing.T, stream []byte, chunk, inline int, spill int64) {
		chunk, inline = 1+abs(chunk)%100, 1+abs(inline)%100
		o := &Output{limits: Limits{Inline: inline, Spill: spill % 1000}, spills: new(atomic.Int64)}
		defer o.close()
		for rest := stream; len(rest) > 0; {
			n := min(chunk, len(rest))
			o.write(rest[:n])
			rest = rest[n:]
		}
		o.finish()
		head, cut, tail := o.Parts(o.limits.Inline)
		if !utf8.ValidString(o.Text()) || o.Total() != int64(len(stream)) {
			t.Fatalf("text %q, total %d of %d", o.Text(), o.Total(), len(stream))
		}
		if utf8.Valid(stream) {
			if !strings.HasPrefix(string(stream), head) || !strings.HasSuffix(string(stream), tail) {
				t.Errorf("%q is not between %q and %q", stream, head, tail)
			}
			if cut.Bytes != int64(len(stream)-len(head)-len(tail)) {
				t.Errorf("cut %d bytes of %d, %d and %d remain", cut.Bytes, len(stream), len(head), len(tail))
			}
			middle := stream[len(head) : len(stream)-len(tail)]
			if cut.Lines != int64(bytes.Count(middle, []byte{'\n'})) {
				t.Errorf("cut %d lines in %q", cut.Lines, middle)
			}
		}
		kept := make([]byte, o.Size())
		if n, err := o.ReadAt(kept, 0); int64(n) != o.Size() || err != nil && n > 0 || !bytes.HasPrefix(stream, kept) {
			t.Errorf("kept %q of %q: %v", kept, stream, err)
		}
		offset, turns := int64(0), 0
		for ; ; turns++ {
			page, err := o.Page(offset, chunk)
			if err != nil || page.Start < offset || page.Next < page.Start {
				t.Fatalf("at %d: %+v, %v", offset, page, err)
			}
			if page.Next == offset {
				break
			}
			offset = page.Next
		}
		if offset != int64(len(stream)) {
			t.Errorf("pages end at %d of %d", offset, len(stream))
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

// The temporary files of all outputs together are bounded.
func TestSpills(t *testing.T) {
	spills := new(atomic.Int64)
	write := func() *Output {
		o := &Output{limits: Limits{Inline: 10, Spill: 1000}, spills: spills}
		for range 10 {
			o.write(bytes.Repeat([]byte("x"), 50))
		}
		o.finish()
		t.Cleanup(func() { o.close() })
		return o
	}
	first := write()
	if first.Size() != 500 || spills.Load() != 500 {
		t.Fatalf("%d bytes, %d in files", first.Size(), spills.Load())
	}
	spills.Add(maxSpills)
	if o := write(); o.Size() == 500 || o.Total() != 500 {
		t.Errorf("%d of %d bytes", o.Size(), o.Total())
	}
	spills.Add(-maxSpills)
	if first.close(); spills.Load() >= 500 || write().Size() != 500 {
		t.Errorf("%d in files", spills.Load())
	}
}
