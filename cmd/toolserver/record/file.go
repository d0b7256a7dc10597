// Package record keeps a record of what was done: lines of JSON that the processes of a user append to
// the same file, bounded, and readable while they do.
package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	current    = "record.jsonl"
	rotateAt   = 4 << 20 // bytes
	maxRotated = 64 << 20
	lookPause  = time.Second // between looks at whether another process has rotated the file
)

// A File is what a process appends to. It is not safe for concurrent use.
type File struct {
	Open func() (*os.Root, error) // the directory
	Head func() []byte            // the line that says what holds for those that follow; written to each file

	dir    *os.Root
	file   *os.File
	looked time.Time
}

// Write appends whole lines, in one call of the system. They begin a line even if a process was killed
// within its own.
func (f *File) Write(lines []byte) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	if err := f.ready(); err != nil {
		f.Close()
		return 0, err
	}
	n, err := f.file.Write(append([]byte{'\n'}, lines...))
	return max(0, n-1), err
}

// Close closes the file; Write opens it again.
func (f *File) Close() {
	_ = f.file.Close() // of nil, an error
	if f.dir != nil {
		f.dir.Close()
	}
	f.file, f.dir = nil, nil
}

// ready opens the file, unless it is open and still has its name and room.
func (f *File) ready() error {
	if f.file != nil && time.Since(f.looked) < lookPause {
		return nil
	}
	f.looked = time.Now()
	if f.file != nil {
		mine, err := f.file.Stat()
		now, missing := f.dir.Lstat(current)
		if err == nil && missing == nil && os.SameFile(mine, now) {
			if mine.Size() < rotateAt || !f.rotate() {
				return nil
			}
		}
		f.Close()
	}
	var err error
	if f.dir, err = f.Open(); err != nil {
		return err
	}
	if f.file, err = f.dir.OpenFile(current, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	_, err = f.file.Write(append([]byte{'\n'}, f.Head()...))
	return err
}

// rotate gives the file another name of its own, and removes the oldest. If another process has just done so, it is the
// next file that gets one, before it is full: its writers look for the name, too.
func (f *File) rotate() bool {
	name := fmt.Sprintf("record-%s-%d.jsonl", time.Now().UTC().Format("20060102T150405.000000000"), os.Getpid())
	if f.dir.Rename(current, name) != nil {
		return false
	}
	kept := int64(0)
	for _, old := range slices.Backward(files(f.dir)) {
		if kept += old.Size(); kept > maxRotated {
			_ = f.dir.Remove(old.Name()) // or the next time
		}
	}
	return true
}

// files returns the files of the record, the oldest first.
func files(dir *os.Root) (all []fs.FileInfo) {
	entries, _ := fs.ReadDir(dir.FS(), ".") // by name, and "-" comes before "."
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), "record") && strings.HasSuffix(e.Name(), ".jsonl") {
			all = append(all, info)
		}
	}
	return all
}

// Check reports why nothing can be kept in the directory.
func Check(open func() (*os.Root, error)) error {
	dir, err := open()
	if err != nil {
		return err
	}
	defer dir.Close()
	const probe = "check.tmp"
	err = dir.WriteFile(probe, []byte{'\n'}, 0o600) // a full disk takes names
	return errors.Join(err, dir.Remove(probe))
}
