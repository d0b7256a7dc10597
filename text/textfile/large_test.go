package textfile_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/toolserver/toolserver/text/textfile"
)

// lineLength is the length of every line of a generated file, in characters.
const lineLength = 64

// generated is a file that exists only where it is read: numbered lines of
// lineLength characters of unit bytes each, little-endian.
type generated struct {
	size int64
	unit int
}

func (g generated) ReadAt(p []byte, off int64) (int, error) {
	if off >= g.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), g.size-off))
	var err error
	if n < len(p) {
		err = io.EOF
	}
	line := make([]byte, lineLength*g.unit)
	for i := range lineLength - 1 {
		line[i*g.unit] = '.'
	}
	line[(lineLength-1)*g.unit] = '\n'
	for done := 0; done < n; {
		at := off + int64(done)
		for i, number := 15, at/int64(len(line))+1; i >= 0 && (number > 0 || line[i*g.unit] != '.'); i-- {
			line[i*g.unit] = '.'
			if number > 0 {
				line[i*g.unit] = byte('0' + number%10)
			}
			number /= 10
		}
		done += copy(p[done:n], line[at%int64(len(line)):])
	}
	return n, err
}

// oneLine is a file without a line feed.
type oneLine struct{ size int64 }

func (o oneLine) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), o.size-off))
	for i := range n {
		p[i] = 'x'
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// counted counts what is read.
type counted struct {
	io.ReaderAt
	bytes int64
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.bytes += int64(n)
	return n, err
}

// A range costs what it returns: memory does not follow the depth of the range
// nor the length of a line, and a tail does not read what is in front of it.
func TestLinesOfLargeFiles(t *testing.T) {
	const gib = 1 << 30
	const memory = 4 << 20
	size := int64(gib)
	if testing.Short() {
		size = gib / 8
	}
	lines := int(size / lineLength)
	for _, tc := range []struct {
		name    string
		file    io.ReaderAt
		charset string
		rg      textfile.Range
		want    textfile.Window
		reads   int64
	}{
		{"front", generated{size, 1}, "", textfile.Range{Offset: 5, Limit: 3},
			textfile.Window{Start: 5, End: 7, TotalLines: -1, More: true}, 600 << 10},
		{"deep", generated{size, 1}, "", textfile.Range{Offset: lines * 3 / 4, Limit: 2000},
			textfile.Window{Start: lines * 3 / 4, End: lines*3/4 + 1999, TotalLines: -1, More: true}, size*3/4 + 2<<20},
		{"near the end", generated{size, 1}, "", textfile.Range{Offset: lines - 9},
			textfile.Window{Start: lines - 9, End: lines, TotalLines: lines}, size + 2<<20},
		{"tail", generated{size, 1}, "", textfile.Range{Offset: -100},
			textfile.Window{Start: -100, End: -1, TotalLines: -1}, 1 << 20},
		{"limited tail", generated{size, 1}, "", textfile.Range{Offset: -100, Limit: 30},
			textfile.Window{Start: -100, End: -71, TotalLines: -1, More: true}, 1 << 20},
		{"tail of utf-16", generated{size, 2}, "utf-16le", textfile.Range{Offset: -100},
			textfile.Window{Start: -100, End: -1, TotalLines: -1}, 1 << 20},
		{"deep in utf-16", generated{size / 4, 2}, "utf-16le", textfile.Range{Offset: lines / 20, Limit: 5},
			textfile.Window{Start: lines / 20, End: lines/20 + 4, TotalLines: -1, More: true}, size/10 + 2<<20},
		{"one line", oneLine{size / 4}, "", textfile.Range{},
			textfile.Window{Start: 1, End: 1, TotalLines: 1, Cut: true}, size/4 + 2<<20},
		{"tail of one line", oneLine{size / 4}, "", textfile.Range{Offset: -3},
			textfile.Window{Start: 1, End: 1, TotalLines: 1, Cut: true}, size/2 + 2<<20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := &counted{ReaderAt: tc.file}
			fileSize := size / 4
			if g, ok := tc.file.(generated); ok {
				fileSize = g.size
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w, err := textfile.Lines(file, fileSize, charset(t, tc.charset), tc.rg)
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			got := textfile.Window{Start: w.Start, End: w.End, TotalLines: w.TotalLines, More: w.More, Cut: w.Cut}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > memory {
				t.Errorf("allocated %d bytes", used)
			}
			if file.bytes > tc.reads {
				t.Errorf("read %d bytes, more than %d", file.bytes, tc.reads)
			}
			if w.Start > 0 && !w.Cut {
				if want := fmt.Sprintf("%d....", w.Start); len(w.Text) < 30 || string(w.Text[16-len(want)+4:20]) != want {
					t.Errorf("text begins with %.40q, want line %d", w.Text, w.Start)
				}
			}
		})
	}
}

func BenchmarkLinesDeep(b *testing.B) {
	file := generated{64 << 20, 1}
	b.ReportAllocs()
	b.SetBytes(file.size)
	for b.Loop() {
		if _, err := textfile.Lines(file, file.size, textfile.Charset{}, textfile.Range{Offset: int(file.size/lineLength) - 100, Limit: 100}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLinesTail(b *testing.B) {
	file := generated{1 << 30, 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := textfile.Lines(file, file.size, textfile.Charset{}, textfile.Range{Offset: -100}); err != nil {
			b.Fatal(err)
		}
	}
}
