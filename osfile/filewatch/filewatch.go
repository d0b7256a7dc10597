// Package filewatch notices changes of files by looking at them from time to
// time. That works on network file systems and for links anywhere on a path,
// for which notifications of the system are missing or need a watch on each
// folder; and each look can check whether the file may be read.
package filewatch

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	interval = 500 * time.Millisecond // between two looks at a file that Watch watches
	quiet    = 300 * time.Millisecond // without a change after which a file that was truncated and then written has settled
	patience = 3 * time.Second        // for which a file may go on changing
	coarse   = 3 * time.Second        // more than any file system rounds times to
	maxSize  = 2 << 20                // bytes of a file that are compared
)

// Poll calls changed whenever look returns something other than seen or what it
// returned last. It looks at regular intervals until ctx ends.
func Poll[T any](ctx context.Context, interval time.Duration, seen T, look func() T, same func(a, b T) bool, changed func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := look(); ctx.Err() == nil && !same(seen, now) {
			seen = now
			changed()
		}
	}
}

// Watch calls onChange whenever the content of the file has changed, appeared or
// disappeared since Watch was called: by writing in place, by a rename over it as
// editors do, or by the swap of a symbolic link anywhere on its path, as
// Kubernetes does for a ConfigMap. Changes within 300 ms make one call, and
// touching the file makes none. A file that is written all the time makes a call
// every 3 s or so that says that it has not settled.
//
// onChange runs in the one goroutine that Watch starts, never twice at once. The
// goroutine ends after ctx does, and then closes done, on which the caller
// waits.
func Watch(ctx context.Context, file string, onChange func(settled bool)) (done <-chan struct{}) {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	var info os.FileInfo
	var now state
	look := func() state {
		before := info
		if info, _ = os.Stat(file); !surelySame(before, info) {
			now = stateOf(file)
		}
		return now
	}
	reported, ended := look(), make(chan struct{})
	// What is compared is what was reported last: what a look saw may have changed
	// while the file settled, and back again since.
	same := func(_, now state) bool { return now == reported }
	go func() {
		defer close(ended)
		Poll(ctx, interval, reported, look, same, func() {
			now, settled := settle(ctx, file)
			if ctx.Err() != nil {
				return
			}
			changed := now.content != reported.content
			if settled {
				reported = now
			}
			if changed {
				onChange(settled)
			}
		})
	}()
	return ended
}

// surelySame reports whether a file need not be read again. One that was written a
// moment ago may have been written once more at what its file system takes for
// the same time.
func surelySame(a, b os.FileInfo) bool {
	return a != nil && b != nil && Same(a, b) && time.Since(b.ModTime()) > coarse
}

// Same reports whether nothing tells two looks at a file apart; nil is one that is absent.
func Same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Settled waits until a file has not changed for 300 ms, and reports whether
// that came to be within 3 s. One that was written before, or is not there, is
// settled at once.
func Settled(ctx context.Context, file string) bool {
	info, err := os.Stat(file)
	if err != nil || time.Since(info.ModTime()).Abs() >= quiet {
		return true
	}
	_, settled := settle(ctx, file)
	return settled
}

// settle returns the state of a file once that has been the same for a while. One
// that is written all the time may have settled all the same, on a content.
func settle(ctx context.Context, file string) (now state, settled bool) {
	before := stateOf(file)
	for waited := time.Duration(0); ; before = now {
		select {
		case <-ctx.Done():
			return before, false
		case <-time.After(quiet):
		}
		waited += quiet
		if now = stateOf(file); now == before || waited >= patience {
			return now, now.content == before.content
		}
	}
}

// state is a file in brief; zero for all that are absent or cannot be read.
type state struct {
	content [sha256.Size]byte
	written int64 // when, in nanoseconds
}

func stateOf(file string) (s state) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return s
	}
	f, err := os.Open(file)
	if err != nil {
		return s
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSize)); err == nil {
		s.written = info.ModTime().UnixNano()
		h.Sum(s.content[:0])
	}
	return s
}
