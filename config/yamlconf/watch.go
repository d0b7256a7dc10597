package yamlconf

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quietFor  = 300 * time.Millisecond // without events before files are looked at: one that is truncated and then written has settled
	busyFor   = 3 * time.Second        // after which they are looked at although there are events, which may be of other files
	pollEvery = 2 * time.Second        // where the system reports no events
)

// Watch calls onChange whenever the content of one of the files has changed,
// appeared or disappeared since Watch was called: by writing in place, by a
// rename over it as editors do, or by the swap of a symbolic link anywhere on
// its path, as Kubernetes does for a ConfigMap. Changes within 300 ms make one
// call, and touching a file makes none. Where the system cannot report events
// the files are looked at every 2 s. A file that is written all the time makes a
// call every 3 s or so that says that the files have not settled.
//
// onChange runs in the one goroutine that Watch starts, never twice at once. The
// goroutine ends after ctx does, and then closes done, on which the caller
// waits.
func Watch(ctx context.Context, files []string, onChange func(settled bool)) (done <-chan struct{}) {
	w := &watcher{files: absolute(files), poll: pollEvery, dirs: map[string]bool{}}
	if events, err := fsnotify.NewWatcher(); err == nil {
		w.events = events
	}
	return w.start(ctx, onChange)
}

type watcher struct {
	files  []string
	poll   time.Duration
	events *fsnotify.Watcher // nil where the system has none
	dirs   map[string]bool   // folders being watched
	seen   []state           // what the last call was about
	found  []state           // at the last look
}

// Settled waits until a file has not been written for 300 ms, and reports
// whether that came to be within 3 s. A file that is not there is settled.
func Settled(ctx context.Context, file string) bool {
	for start := time.Now(); ; {
		info, err := os.Stat(file)
		if err != nil {
			return true
		}
		age := time.Since(info.ModTime())
		if age < 0 || age >= quietFor { // a time to come is that of another clock
			return true
		}
		if time.Since(start) > busyFor {
			return false
		}
		select {
		case <-time.After(quietFor - age):
		case <-ctx.Done():
			return false
		}
	}
}

// state is the content of a file in brief. Absent and unreadable files are all
// alike.
type state struct {
	exists bool
	sum    [sha256.Size]byte
}

func (w *watcher) start(ctx context.Context, onChange func(settled bool)) <-chan struct{} {
	blind := !w.follow() // before the files are read, so that no change is missed
	w.seen = w.look()
	w.found = w.seen
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx, blind, onChange)
	}()
	return done
}

func (w *watcher) run(ctx context.Context, blind bool, onChange func(settled bool)) {
	var events <-chan fsnotify.Event
	var failures <-chan error
	if w.events != nil {
		defer w.events.Close()
		events, failures = w.events.Events, w.events.Errors
	}
	wait := w.poll
	if !blind {
		wait = -1
	}
	timer := newTimer(wait)
	defer func() { timer.Stop() }()
	var first, last time.Time // of the events that are not yet acted on
	for {
		select {
		case <-ctx.Done():
			return
		case <-events:
		case <-failures: // events may have been lost
		case <-timer.C:
			blind = !w.follow()
			changed, same := w.changed()
			if quiet := !first.IsZero() && time.Since(last) >= quietFor; changed && !quiet && !same {
				onChange(false)
				first = time.Now().Add(quietFor - busyFor) // look again, whatever happens meanwhile
				timer.Reset(quietFor)
				continue
			}
			if changed {
				w.seen = w.found
				onChange(true)
			}
			first = time.Time{}
			timer.Stop()
			if timer = newTimer(-1); blind {
				timer = newTimer(w.poll)
			}
			continue
		}
		last = time.Now()
		if first.IsZero() {
			first = last
		}
		timer.Reset(max(min(quietFor, busyFor-time.Since(first)), 0))
	}
}

// newTimer returns a timer that fires after d, or never when d is negative.
func newTimer(d time.Duration) *time.Timer {
	t := time.NewTimer(max(d, 0))
	if d < 0 {
		t.Stop()
	}
	return t
}

// changed looks at the files and reports whether any differs from what the last
// call was about, and whether all are the same as at the last look.
func (w *watcher) changed() (changed, same bool) {
	before := w.found
	w.found = w.look()
	return !slices.Equal(w.found, w.seen), slices.Equal(w.found, before)
}

func (w *watcher) look() []state {
	all := make([]state, len(w.files))
	for i, file := range w.files {
		all[i] = stateOf(file)
	}
	return all
}

func stateOf(file string) state {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return state{}
	}
	f, err := os.Open(file)
	if err != nil {
		return state{}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, MaxFile+1)); err != nil {
		return state{}
	}
	s := state{exists: true}
	h.Sum(s.sum[:0])
	return s
}

// follow watches the folders through which the files are found at this moment
// and reports whether all of them could be. Adding a folder again is what finds
// one that was replaced by another of the same name.
func (w *watcher) follow() bool {
	if w.events == nil {
		return false
	}
	needed := map[string]bool{}
	for _, file := range w.files {
		folders(file, needed)
	}
	for dir := range w.dirs {
		if !needed[dir] {
			_ = w.events.Remove(dir) // gone already if the folder is
			delete(w.dirs, dir)
		}
	}
	all := true
	for dir := range needed {
		if w.events.Add(dir) != nil {
			all = false
			continue
		}
		w.dirs[dir] = true
	}
	return all
}

// maxLinks bounds the symbolic links on one path, as Linux does.
const maxLinks = 40

// folders adds to set the folder that holds the file and those that hold the
// symbolic links on the way to it, so that the swap of any of them is seen.
func folders(file string, set map[string]bool) {
	for range maxLinks {
		link, rest := firstLink(file)
		if link == "" {
			set[filepath.Dir(file)] = true
			return
		}
		set[filepath.Dir(link)] = true
		to, err := os.Readlink(link)
		if err != nil {
			return
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		file = filepath.Join(to, rest)
	}
}

// firstLink splits path after its first component that is a symbolic link. The
// link is empty when there is none.
func firstLink(path string) (link, rest string) {
	for at := len(filepath.VolumeName(path)) + 1; at <= len(path); at++ {
		if at < len(path) && !os.IsPathSeparator(path[at]) {
			continue
		}
		info, err := os.Lstat(path[:at])
		if err != nil {
			return "", ""
		}
		if info.Mode()&os.ModeSymlink != 0 {
			return path[:at], path[at:]
		}
	}
	return "", ""
}

// absolute makes the names independent of later changes of directory.
func absolute(files []string) []string {
	all := make([]string, len(files))
	for i, file := range files {
		all[i] = file
		if abs, err := filepath.Abs(file); err == nil {
			all[i] = abs
		}
	}
	return all
}
