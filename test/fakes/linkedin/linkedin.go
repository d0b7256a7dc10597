// Package linkedin stands in for the pages that LinkedIn shows to guests: the
// results of a search, page by page, and jobs in both forms. It keeps to
// LinkedIn's rules: at most ten cards a page, HTTP 400 behind the last, 404 for a
// job that is not there, redirects to its login wall, and its statuses 429 and
// 999 when a test says so.
package linkedin

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The paths of the pages.
const (
	SearchPath  = "/jobs-guest/jobs/api/seeMoreJobPostings/search"
	PostingPath = "/jobs-guest/jobs/api/jobPosting/" // and the id
	ViewPath    = "/jobs/view/"                      // and the id, perhaps behind words: go-developer-at-example-4012345678
)

// perPage is how many cards LinkedIn puts on a page; maxStart is where it ends.
const (
	perPage  = 10
	maxStart = 1000
)

// Options say what is on the site.
type Options struct {
	Jobs []Job // in the order of every search
	// Pages are the numbers of cards of the pages, at most ten each; nil for ten.
	Pages []int
	// Answer returns what to say instead of a page; it, or what it returns, may be
	// nil. N counts the requests from 1.
	Answer func(n int, r *http.Request) *Answer
}

// An Answer is what is said instead of a page.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
}

// Request is a request as it was received.
type Request struct {
	Path   string
	Query  url.Values
	Header http.Header
}

// Site is the handler.
type Site struct {
	options Options

	mu       sync.Mutex
	requests []Request
}

// Handler returns a site.
func Handler(o Options) *Site { return &Site{options: o} }

// Requests returns what was asked so far.
func (s *Site) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Site) note(r *http.Request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.URL.Path, r.URL.Query(), r.Header.Clone()})
	return len(s.requests)
}

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.note(r)
	if s.options.Answer != nil {
		if a := s.options.Answer(n, r); a != nil {
			a.write(w)
			return
		}
	}
	path := r.URL.Path
	switch {
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case path == SearchPath:
		s.search(w, r.URL.Query())
	case strings.HasPrefix(path, PostingPath):
		s.job(w, strings.TrimPrefix(path, PostingPath), fragment)
	case strings.HasPrefix(path, ViewPath):
		s.job(w, lastNumber.FindString(path), page)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

var lastNumber = regexp.MustCompile(`[0-9]+$`)

func (a *Answer) write(w http.ResponseWriter) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	}
	w.WriteHeader(a.Status)
	w.Write([]byte(a.Body)) // who left does not read it
}

// search writes the page of cards that begins at start.
func (s *Site) search(w http.ResponseWriter, q url.Values) {
	start, err := strconv.Atoi(q.Get("start"))
	end := s.pageEnd(start)
	if q.Get("start") == "" {
		start, err, end = 0, nil, s.pageEnd(0)
	}
	if err != nil || start < 0 || start >= maxStart || start > 0 && start >= end || q.Get("keywords") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write([]byte("<!DOCTYPE html>\n\n<!---->"))
	for _, job := range s.options.Jobs[start:end] {
		job.card(w)
	}
}

// pageEnd returns where the page ends that start is on.
func (s *Site) pageEnd(start int) (end int) {
	for _, cards := range s.options.Pages {
		if end += min(cards, perPage); end > start {
			return min(end, len(s.options.Jobs))
		}
	}
	return min(max(start, 0)+perPage, len(s.options.Jobs))
}

// job writes a job's page in one of its forms.
func (s *Site) job(w http.ResponseWriter, id string, form form) {
	for _, job := range s.options.Jobs {
		if job.ID == id {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			job.page(w, form)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}
