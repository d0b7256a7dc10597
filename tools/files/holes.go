package files

import (
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"syscall"
)

// copyNext copies the data that comes next in a file from an offset on, at most so many bytes, and returns where it
// stopped. Holes stay holes where the platform tells them. At the end the error is io.EOF.
func copyNext(to *os.File, from io.ReadSeeker, at, most int64) (next, copied int64, err error) {
	start, end := extent(from, at)
	if start > at {
		if err := to.Truncate(start); err != nil { // makes it longer
			return at, 0, err
		}
	}
	if start == end {
		return start, 0, io.EOF
	}
	for _, f := range []io.Seeker{to, from} {
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return at, 0, err
		}
	}
	copied, err = io.CopyN(to, from, min(most, end-start))
	return start + copied, copied, err
}

// extent returns where the next data of a file begins and ends. Where there is none, both are the end of the file; where
// the platform does not tell, all that follows is data.
func extent(f io.Seeker, at int64) (start, end int64) {
	data, hole := 3, 4 // SEEK_DATA, SEEK_HOLE
	if runtime.GOOS == "darwin" {
		data, hole = hole, data
	}
	start, err := f.Seek(at, data)
	if errors.Is(err, syscall.ENXIO) {
		if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 { // files without a size may have content
			return max(at, size), max(at, size)
		}
	}
	if err == nil {
		end, err = f.Seek(start, hole)
	}
	if err != nil {
		return at, math.MaxInt64
	}
	return start, end
}
