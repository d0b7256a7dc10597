package resources

import (
	"context"
	"io/fs"
	"os"

	"toolserver/domain"
	"toolserver/filewatch"
)

// watch looks at a file from time to time, opening it anew: notifications of the
// system would bypass the guard. A file that cannot be read to begin with is an
// error; that it can no longer be read is a change like any other.
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
	look := func() fs.FileInfo { return r.look(path) }
	go filewatch.Poll(ctx, r.interval, seen, look, same, changed)
	return nil
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
