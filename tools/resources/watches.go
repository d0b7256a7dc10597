package resources

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"time"

	"toolserver/filewatch"
)

// pollInterval is between two looks at a file that is watched.
const pollInterval = 2 * time.Second

// watches look at the files that are subscribed to from time to time: at each once,
// however many have subscribed to it.
type watches struct {
	look func(path string) fs.FileInfo

	mu    sync.Mutex
	files map[string]*watched // by path; poll runs while there are any
}

// watched is a file and who has subscribed to it.
type watched struct {
	seen        fs.FileInfo
	subscribers []subscriber
}

type subscriber struct {
	ctx     context.Context // ends the subscription
	changed func()
}

// add subscribes to a file as it was seen.
func (w *watches) add(path string, seen fs.FileInfo, s subscriber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[path]
	if f == nil {
		f = &watched{seen: seen}
		if w.files[path] = f; len(w.files) == 1 {
			go w.poll()
		}
	}
	f.subscribers = append(f.subscribers, s)
}

// poll looks until nobody is left who has subscribed to anything.
func (w *watches) poll() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for range tick.C {
		files := w.subscribed()
		if len(files) == 0 {
			return
		}
		for path, seen := range files {
			if now := w.look(path); !filewatch.Same(seen, now) {
				for _, s := range w.changed(path, now) {
					if s.ctx.Err() == nil {
						s.changed()
					}
				}
			}
		}
	}
}

// subscribed returns each file as it was seen, after it has forgotten those that
// nobody is subscribed to any more.
func (w *watches) subscribed() map[string]fs.FileInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	files := map[string]fs.FileInfo{}
	for path, f := range w.files {
		f.subscribers = slices.DeleteFunc(f.subscribers, func(s subscriber) bool { return s.ctx.Err() != nil })
		if files[path] = f.seen; len(f.subscribers) == 0 {
			delete(w.files, path)
			delete(files, path)
		}
	}
	return files
}

// changed notes how a file is now, and returns who is told.
func (w *watches) changed(path string, now fs.FileInfo) []subscriber {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.files[path]
	f.seen = now
	return slices.Clone(f.subscribers)
}
