// Package search imitates the search services that web_search asks: Brave, SearXNG, Tavily and DuckDuckGo lite. Each is an
// http.Handler that holds requests to the service's published rules: method, path, headers, parameters and their bounds, keys,
// plans, rates and quotas. All search the same corpus.
//
// It imports nothing of the product, and serves tests within a package as well as tests of the whole program from outside.
package search

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Trouble is what a service does wrong on purpose.
type Trouble string

// The troubles. Those that need a service to be able to do so do nothing elsewhere.
const (
	None       Trouble = ""
	BadJSON    Trouble = "bad_json"    // 200 with half an object, or half a page
	OtherJSON  Trouble = "other_json"  // 200 with JSON, or a page, of another kind
	Page       Trouble = "page"        // 200 with a page for people: a challenge
	Forbidden  Trouble = "forbidden"   // 403: a challenge, or a format that is switched off
	TooMany    Trouble = "too_many"    // 429 that says nothing else
	Broken     Trouble = "broken"      // 500
	BrokenOnce Trouble = "broken_once" // 500, then answers
	Overloaded Trouble = "overloaded"  // 503
	Redirect   Trouble = "redirect"    // 302 to another host
	Hang       Trouble = "hang"        // no answer until the client leaves
	Drip       Trouble = "drip"        // a byte now and then, without end
	Large      Trouble = "large"       // 64 MiB of results, compressed
	NoPlan     Trouble = "no_plan"     // the key's plan does not include the request
	NoPayment  Trouble = "no_payment"  // 402, or what the service has instead
	Silent     Trouble = "silent"      // SearXNG: none of the engines answers
)

// Options are how a service is set up.
type Options struct {
	Key    string        // the one key that is good
	Rate   int           // requests that are answered in a window; 0 for any number
	Window time.Duration // that slides; 1 s if it is 0
	Quota  int           // requests that are answered at all; 0 for any number
	Reset  time.Duration // until the quota is renewed, as the service says
	Large  int           // bytes of the answer of Large; 64 MiB if it is 0
}

// Service is one search service.
type Service struct {
	o     Options
	serve func(s *Service, w http.ResponseWriter, r *http.Request)

	mu       sync.Mutex
	trouble  Trouble
	answered []time.Time // requests within the window
	used     int         // of the quota
	requests []Request
	arrived  int // requests that came in
	left     int // requests whose client went away
	troubled int // requests that were answered with trouble
}

// Request is a request as it came in.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         string
	Status       int // it was answered with; 0 if it was not
}

func newService(o Options, serve func(*Service, http.ResponseWriter, *http.Request)) *Service {
	if o.Window == 0 {
		o.Window = time.Second
	}
	if o.Large == 0 {
		o.Large = 64 << 20
	}
	return &Service{o: o, serve: serve}
}

// SetTrouble makes the service go wrong from now on, or right again.
func (s *Service) SetTrouble(t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble, s.troubled = t, 0
}

// Extend adds requests to the quota, as when somebody pays for another plan.
func (s *Service) Extend(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Quota += requests
}

// Requests returns the requests that are done with.
func (s *Service) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Arrived returns how many requests came in, answered or not.
func (s *Service) Arrived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// Left returns how many clients went away before they had their answer.
func (s *Service) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// ServeHTTP answers a request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := new(strings.Builder)
	if r.Body != nil {
		_, _ = fmt.Fprint(body, readAll(r.Body))
	}
	rec := &recorder{ResponseWriter: w}
	note := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body.String()}
	r.Body = nil
	r = withBody(r, note.Body)
	defer func() {
		note.Status = rec.status
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, note)
	}()
	if s.inTrouble(rec, r) {
		return
	}
	s.serve(s, rec, r)
}

// inTrouble answers a request in the way of the troubles that are the same for all services.
func (s *Service) inTrouble(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	t := s.trouble
	s.arrived++
	s.troubled++
	first := s.troubled == 1
	s.mu.Unlock()
	switch t {
	case Page:
		writePage(w, http.StatusOK)
	case TooMany:
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
	case Broken:
		http.Error(w, `{"error":"<b>internal</b>"}`, http.StatusInternalServerError)
	case BrokenOnce:
		if !first {
			return false
		}
		http.Error(w, "internal", http.StatusInternalServerError)
	case Overloaded:
		http.Error(w, "<html><body>503 try later</body></html>", http.StatusServiceUnavailable)
	case Redirect:
		http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
	case Hang:
		<-r.Context().Done()
		s.clientLeft()
	case Drip:
		s.drip(w, r)
	case Large:
		s.large(w, r)
	default:
		return false
	}
	return true
}

func (s *Service) clientLeft() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
}

func (s *Service) drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	for {
		if _, err := w.Write([]byte(" ")); err != nil {
			s.clientLeft()
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		select {
		case <-r.Context().Done():
			s.clientLeft()
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// large sends an answer that is small until it is decompressed.
func (s *Service) large(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	blanks := []byte(strings.Repeat(" ", 64<<10))
	for n := 0; n < s.o.Large && r.Context().Err() == nil; n += len(blanks) {
		if _, err := z.Write(blanks); err != nil {
			return
		}
	}
	_ = z.Close()
}

func (s *Service) is(t Trouble) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trouble == t
}

// admit counts a request that would be answered against the rate and the quota. It returns how many of each are left.
func (s *Service) admit() (ok, quota bool, inWindow, inQuota int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Quota > 0 && s.used >= s.o.Quota {
		return false, true, 0, 0
	}
	now := time.Now()
	s.answered = slices.DeleteFunc(s.answered, func(t time.Time) bool { return now.Sub(t) >= s.o.Window })
	if s.o.Rate > 0 && len(s.answered) >= s.o.Rate {
		return false, false, 0, s.o.Quota - s.used
	}
	s.answered = append(s.answered, now)
	s.used++
	return true, false, s.o.Rate - len(s.answered), s.o.Quota - s.used
}

// seconds rounds up, as services do.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
