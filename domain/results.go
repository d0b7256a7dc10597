package domain

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// ResultStore keeps results that are too long for one answer, so that callers
// can page through them. It is bounded in number, memory and time, and shows a
// result only to the principal whose call made it. When it is full, what goes is
// the oldest result of the principal that has the most.
type ResultStore struct {
	mu       sync.Mutex
	kept     map[string]*keptResult
	order    []string // ids, oldest first
	memory   int64
	now      func() time.Time
	perPage  int // of results to come
	redactor *redactor
}

type keptResult struct {
	principal string // ID
	text      io.ReaderAt
	size      int64
	perPage   int
	memory    int64 // 0 if the text is in a file
	closer    io.Closer
	expires   time.Time
}

// Bounds of a [ResultStore].
const (
	MaxKeptResults = 256
	MaxKeptMemory  = 64 << 20
	KeptFor        = 30 * time.Minute
)

// The ways reading a kept result can fail.
var (
	ErrUnknownResult  = errors.New("no such result, or it has expired")
	ErrPageOutOfRange = errors.New("no such page")
)

// A KeptResult says how to read a result that is in the store.
type KeptResult struct {
	ID    string
	Pages int
}

// Call returns the literal call that reads a page.
func (k KeptResult) Call(page int) string {
	return fmt.Sprintf("read_large_result(id=%q, page=%d)", k.ID, page)
}

// NewResultStore returns a store that cuts results into pages of at most
// perPage bytes.
func NewResultStore(perPage int) *ResultStore {
	return &ResultStore{kept: map[string]*keptResult{}, now: time.Now, perPage: max(perPage, utf8.UTFMax), redactor: &redactor{}}
}

// Keep stores a text for principal p.
func (s *ResultStore) Keep(p Principal, text string) KeptResult {
	return s.keep(&keptResult{principal: p.ID, text: strings.NewReader(text), size: int64(len(text)), memory: int64(len(text))})
}

// KeepFile stores a text of size bytes that is read from r when asked for. The
// store closes r when it drops the text.
func (s *ResultStore) KeepFile(p Principal, r interface {
	io.ReaderAt
	io.Closer
}, size int64) KeptResult {
	return s.keep(&keptResult{principal: p.ID, text: r, size: size, closer: r})
}

func (s *ResultStore) keep(k *keptResult) KeptResult {
	var random [6]byte
	rand.Read(random[:]) // never fails
	id := "lr_" + hex.EncodeToString(random[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	k.expires, k.perPage = s.now().Add(KeptFor), s.perPage
	s.memory += k.memory
	s.kept[id] = k
	s.order = append(s.order, id)
	s.evict()
	return KeptResult{ID: id, Pages: k.pages()}
}

// evict drops what has expired, and then down to the bounds what is oldest of
// whoever has the most. The newest stays, however large.
func (s *ResultStore) evict() {
	for len(s.order) > 1 {
		evicted := 0
		switch {
		case !s.now().Before(s.kept[s.order[0]].expires):
		case len(s.order) > MaxKeptResults:
			evicted = s.oldestOfLargest(func(*keptResult) int64 { return 1 })
		case s.memory > MaxKeptMemory:
			evicted = s.oldestOfLargest(func(k *keptResult) int64 { return k.memory })
		default:
			return
		}
		s.drop(s.order[evicted])
		s.order = slices.Delete(s.order, evicted, evicted+1)
	}
}

// oldestOfLargest returns where in the order the oldest result is, the newest of
// all aside, that belongs to the principal with the most of what size measures
// and has some of it.
func (s *ResultStore) oldestOfLargest(size func(*keptResult) int64) int {
	has := map[string]int64{}
	for _, id := range s.order {
		has[s.kept[id].principal] += size(s.kept[id])
	}
	largest := -1
	for i, id := range s.order[:len(s.order)-1] {
		k := s.kept[id]
		if size(k) > 0 && (largest < 0 || has[k.principal] > has[s.kept[s.order[largest]].principal]) {
			largest = i
		}
	}
	return max(largest, 0)
}

func (s *ResultStore) drop(id string) {
	k := s.kept[id]
	delete(s.kept, id)
	s.memory -= k.memory
	if k.closer != nil {
		k.closer.Close()
	}
}

// Close drops everything.
func (s *ResultStore) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.order {
		s.drop(id)
	}
	s.order = nil
}

// configure changes how results to come are cut into pages, and what is taken
// out of every page that is read.
func (s *ResultStore) configure(perPage int, r *redactor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perPage, s.redactor = max(perPage, utf8.UTFMax), r
}

func (k *keptResult) pages() int {
	return int(max(1, (k.size+int64(k.perPage)-1)/int64(k.perPage)))
}

// Page returns one page, counted from 1, and how many there are. Pages are cut
// between runes, and all of them together are exactly the result, with secrets
// redacted.
func (s *ResultStore) Page(p Principal, id string, page int) (text string, pages int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[id]
	if k == nil || k.principal != p.ID || !s.now().Before(k.expires) {
		return "", 0, ErrUnknownResult
	}
	pages = k.pages()
	if page < 1 || page > pages {
		return "", pages, ErrPageOutOfRange
	}
	start, err := runeStart(k.text, int64(page-1)*int64(k.perPage), k.size)
	if err != nil {
		return "", pages, err
	}
	end, err := runeStart(k.text, int64(page)*int64(k.perPage), k.size)
	if err != nil {
		return "", pages, err
	}
	// A secret may lie across the edge of two pages: what is around is read, too.
	around := 2 * int64(s.redactor.longest())
	from, to := max(0, start-around), min(k.size, end+around)
	b := make([]byte, to-from)
	if _, err := k.text.ReadAt(b, from); err != nil && err != io.EOF {
		return "", pages, fmt.Errorf("reading result %s: %w", id, err)
	}
	return s.redactor.part(string(b), int(start-from), int(end-from)), pages, nil
}

// runeStart returns where the rune that the byte at offset belongs to starts.
func runeStart(r io.ReaderAt, offset, size int64) (int64, error) {
	if offset <= 0 || offset >= size {
		return min(max(offset, 0), size), nil
	}
	from := max(0, offset-utf8.UTFMax+1)
	b := make([]byte, offset-from+1)
	if _, err := r.ReadAt(b, from); err != nil && err != io.EOF {
		return 0, fmt.Errorf("reading result: %w", err)
	}
	for i := len(b) - 1; i >= 0; i-- {
		if utf8.RuneStart(b[i]) {
			return from + int64(i), nil
		}
	}
	return offset, nil // not UTF-8
}
