package domain

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// ResultStore keeps results that are too long for one answer, so that callers
// can page through them. It is bounded in number, memory and time, and shows a
// result only to the principal whose call made it.
type ResultStore struct {
	mu      sync.Mutex
	kept    map[string]*keptResult
	order   []string // ids, oldest first
	memory  int64
	now     func() time.Time
	perPage int // of results to come
}

type keptResult struct {
	principal string
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
	return &ResultStore{kept: map[string]*keptResult{}, now: time.Now, perPage: max(perPage, utf8.UTFMax)}
}

// Keep stores a text for principal p.
func (s *ResultStore) Keep(p Principal, text string) KeptResult {
	return s.keep(&keptResult{principal: p.Name, text: strings.NewReader(text), size: int64(len(text)), memory: int64(len(text))})
}

// KeepFile stores a text of size bytes that is read from r when asked for. The
// store closes r when it drops the text.
func (s *ResultStore) KeepFile(p Principal, r interface {
	io.ReaderAt
	io.Closer
}, size int64) KeptResult {
	return s.keep(&keptResult{principal: p.Name, text: r, size: size, closer: r})
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

// evict drops what has expired and then the oldest, down to the bounds. The
// newest stays, however large.
func (s *ResultStore) evict() {
	for len(s.order) > 1 {
		oldest := s.kept[s.order[0]]
		if len(s.order) <= MaxKeptResults && s.memory <= MaxKeptMemory && s.now().Before(oldest.expires) {
			return
		}
		s.drop(s.order[0])
		s.order = s.order[1:]
	}
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

// SetPageBytes changes how results to come are cut into pages.
func (s *ResultStore) SetPageBytes(perPage int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perPage = max(perPage, utf8.UTFMax)
}

func (k *keptResult) pages() int {
	return int(max(1, (k.size+int64(k.perPage)-1)/int64(k.perPage)))
}

// Page returns one page, counted from 1, and how many there are. Pages are cut
// between runes, and all of them together are exactly the result.
func (s *ResultStore) Page(p Principal, id string, page int) (text string, pages int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[id]
	if k == nil || k.principal != p.Name || !s.now().Before(k.expires) {
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
	b := make([]byte, end-start)
	if _, err := k.text.ReadAt(b, start); err != nil && err != io.EOF {
		return "", pages, fmt.Errorf("reading result %s: %w", id, err)
	}
	return string(b), pages, nil
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
