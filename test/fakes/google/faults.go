package google

import (
	"net/http"
	"slices"
)

type fault struct {
	match  func(*http.Request) bool
	times  int
	answer Answer
}

// Fail answers the next requests that match, so many of them, with answer. Match is called with the fake's lock held; its
// request has no body. A nil match is all requests.
func (f *Fake) Fail(match func(*http.Request) bool, times int, answer Answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{match, times, answer})
}

// faultFor returns the answer to a request that is to fail, or nil.
func (f *Fake) faultFor(r *http.Request) *Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := r.Clone(r.Context())
	seen.Body = http.NoBody
	for i, fault := range f.faults {
		if fault.match != nil && !fault.match(seen) {
			continue
		}
		fault.times--
		if fault.times <= 0 {
			f.faults = slices.Delete(f.faults, i, i+1)
		}
		return &fault.answer
	}
	return nil
}

// wait returns false if the client left first.
func wait[T any](r *http.Request, until <-chan T) bool {
	select {
	case <-until:
		return true
	case <-r.Context().Done():
		return false
	}
}

// nowhere is where the answer of a request goes that is carried out and answered otherwise.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}
