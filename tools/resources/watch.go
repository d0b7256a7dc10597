package resources

import (
	"context"
	"io/fs"
	"os"
	"time"

	"toolserver/domain"
)

// watch looks at a file from time to time, because the file is judged anew each
// time and notifications of the system would go round the guard. One that
// cannot be read to begin with is refused; later on, that it can no longer be
// read is a change like any other.
func (r *fileReader) watch(ctx context.Context, at domain.Location, changed func()) error {
	f, path, err := r.open(at)
	if err != nil {
		return err
	}
	seen, err := f.Stat()
	f.Close()
	if err != nil {
		return unreadable(at.URI, path, err)
	}
	go r.poll(ctx, path, seen, changed)
	return nil
}

// poll calls changed whenever the file at path is not what was seen there.
func (r *fileReader) poll(ctx context.Context, path string, seen fs.FileInfo, changed func()) {
	tick := time.NewTicker(r.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := r.look(path)
		if same(seen, now) {
			continue
		}
		seen = now
		if ctx.Err() == nil {
			changed()
		}
	}
}

// look returns what is known of the file at path, or nil if it cannot be read.
// Only an open file tells which one it is.
func (r *fileReader) look(path string) fs.FileInfo {
	f, err := r.read.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return info
}

// same reports whether nothing tells two looks at a file apart.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
