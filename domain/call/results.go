package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/redact"
	"github.com/toolserver/toolserver/domain/share"
	"github.com/toolserver/toolserver/store"
)

// ResultStore keeps results that are too long for one answer, so that callers
// can page through them. It is bounded in number, size and time, and returns a
// result only to the principal whose call made it. When it is full, what goes is
// the oldest result of the principal that has the most.
type ResultStore struct {
	// Unnamed makes a temporary file, gone when it is closed, for long texts; without
	// it all are kept in memory. It is set before the first use.
	Unnamed func() (*os.File, error)

	shared *store.Store
	kept   share.Store[string, keptResult] // by ID
	rules  atomic.Pointer[pageRules]
}

// pageRules say how results are cut into pages.
type pageRules struct {
	perPage  int              // bytes, of results to come
	redactor *redact.Redactor // of every page that is read
}

type keptResult struct {
	text    io.ReaderAt // closed, if it is an [io.Closer], when it leaves the store
	size    int64
	perPage int
	spans   []span // of it that are marked
}

// Bounds of a [ResultStore].
const (
	maxKeptResults = 256
	maxKeptBytes   = 64 << 20
	maxInMemory    = 16 << 10 // bytes of one text that is kept in memory, not in the file
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
	first int // bytes in the first page of a text
	spans []span
}

// Call returns the literal call that reads a page.
func (k KeptResult) Call(page int) string {
	return fmt.Sprintf("read_large_result(id=%q, page=%d)", k.ID, page)
}

// NewResultStore returns a store that cuts results into pages of at most
// perPage bytes.
func NewResultStore(perPage int) *ResultStore {
	s := &ResultStore{shared: store.New(), kept: share.Store[string, keptResult]{
		MaxEntries: maxKeptResults, MaxSize: maxKeptBytes, MaxAge: KeptFor,
		Dropped: func(k keptResult) {
			if file, ok := k.text.(io.Closer); ok {
				file.Close()
			}
		},
	}}
	s.configure(perPage, &redact.Redactor{})
	return s
}

// configure changes how results to come are cut into pages, and what is taken
// out of every page that is read.
func (s *ResultStore) configure(perPage int, r *redact.Redactor) {
	s.rules.Store(&pageRules{max(perPage, utf8.UTFMax), r})
}

// Close drops everything.
func (s *ResultStore) Close() { s.kept.Clear() }

// Keep stores a text for principal p.
func (s *ResultStore) Keep(p domain.Principal, text string) KeptResult {
	return s.keepText(p, text, nil)
}

func (s *ResultStore) keepText(p domain.Principal, text string, marked []span) KeptResult {
	size := int64(len(text))
	k := s.keep(p, s.readable(text), size, size, marked...)
	k.first = runeStart(text, k.first)
	return k
}

// readable returns what a text is read from: a file, if it is long and one can be
// written. Memory that many of them take would be some times as much until garbage is
// collected.
func (s *ResultStore) readable(text string) io.ReaderAt {
	if s.Unnamed == nil || len(text) <= maxInMemory {
		return strings.NewReader(text)
	}
	file, err := s.Unnamed()
	if err != nil {
		return strings.NewReader(text)
	}
	if _, err := io.Copy(file, strings.NewReader(text)); err != nil {
		file.Close()
		return strings.NewReader(text)
	}
	return file
}

// KeepFile stores a text of size bytes that is read from r when asked for. The
// store closes r when it drops the text.
func (s *ResultStore) KeepFile(p domain.Principal, r interface {
	io.ReaderAt
	io.Closer
}, size int64) KeptResult {
	return s.keep(p, r, size, 0)
}

func (s *ResultStore) keep(p domain.Principal, text io.ReaderAt, size, counted int64, marked ...span) KeptResult {
	id := idPrefix + s.shared.NewHandle(p.ID)
	k := keptResult{text, size, s.rules.Load().perPage, marked}
	if len(marked) > 0 {
		k.perPage = max(k.perPage-MarkRoom, k.perPage/2, utf8.UTFMax)
	}
	s.kept.Put(p.ID, id, k, counted)
	s.share(p.ID, id, k)
	return KeptResult{id, k.pages(), k.perPage, marked}
}

const idPrefix = "lr_" // of the IDs of results

// maxShared bounds a result that replicas share.
const maxShared = 4 << 20

// sharedHead is the first line of a result as replicas share it; the text follows.
type sharedHead struct {
	PerPage int
	Spans   [][2]int
	Marks   [][2]string
}

// share lets other replicas have a result, if it is not too long for that.
func (s *ResultStore) share(owner, id string, k keptResult) {
	if !s.shared.Shared() || k.size > maxShared {
		return
	}
	text, err := k.read(id, 0, k.size)
	if err != nil {
		return // as whoever reads it here will find out
	}
	r := sharedHead{PerPage: k.perPage}
	for _, m := range k.spans {
		r.Spans, r.Marks = append(r.Spans, [2]int{m.from, m.to}), append(r.Marks, [2]string{m.open, m.close})
	}
	b, _ := json.Marshal(r)                                                                                // nothing of it can fail
	_ = s.shared.Put(context.Background(), owner, "result:"+id, append(append(b, '\n'), text...), KeptFor) // whose failure other replicas say
}

// find returns a result of a principal, also of another replica.
func (s *ResultStore) find(p domain.Principal, id string) (keptResult, error) {
	k, ok := s.kept.Get(p.ID, id)
	if ok {
		return k, nil
	}
	var r sharedHead
	b, _ := s.shared.Get(context.Background(), p.ID, "result:"+id)
	head, text, _ := bytes.Cut(b, []byte{'\n'})
	if b == nil || json.Unmarshal(head, &r) != nil || len(r.Spans) != len(r.Marks) {
		if where := s.shared.Whereabouts(p.ID, strings.TrimPrefix(id, idPrefix), KeptFor); where != "" {
			return k, fmt.Errorf("%w: %s", ErrUnknownResult, where)
		}
		return k, ErrUnknownResult
	}
	k = keptResult{text: s.readable(string(text)), size: int64(len(text)), perPage: max(r.PerPage, utf8.UTFMax)}
	for i, at := range r.Spans {
		k.spans = append(k.spans, span{mark{r.Marks[i][0], r.Marks[i][1]}, at[0], at[1]})
	}
	s.kept.Put(p.ID, id, k, k.size)
	return k, nil
}

func (k keptResult) pages() int {
	return int(max(1, (k.size+int64(k.perPage)-1)/int64(k.perPage)))
}

// Page returns one page, counted from 1, and how many there are. Pages are cut
// between runes, and all of them together are exactly the result, with secrets
// redacted. A page that begins or ends within marked text has the marks besides.
func (s *ResultStore) Page(p domain.Principal, id string, page int) (text string, pages int, err error) {
	k, err := s.find(p, id)
	if err != nil {
		return "", 0, err
	}
	pages = k.pages()
	if page < 1 || page > pages {
		return "", pages, ErrPageOutOfRange
	}
	// A secret may lie across the edge of two pages: what is around is read, too.
	redactor := s.rules.Load().redactor
	start, around := int64(page-1)*int64(k.perPage), int64(2*redactor.Longest()+utf8.UTFMax)
	from := max(0, start-around)
	b, err := k.read(id, from, min(k.size, start+int64(k.perPage)+around))
	if err != nil {
		return "", 0, err
	}
	first, last := runeStart(b, int(start-from)), runeStart(b, int(start-from)+k.perPage)
	before, behind := marksAround(k.spans, int(from)+first, int(from)+last)
	return before + redactor.Part(string(b), first, last) + behind, pages, nil
}

// ErrTooLong is the error of a result that is too long to be returned as a whole.
var ErrTooLong = errors.New("the result is too long")

// All returns a whole result of up to most bytes, and whether text in it is marked.
func (s *ResultStore) All(p domain.Principal, id string, most int64) (all []byte, marked bool, err error) {
	k, err := s.find(p, id)
	switch {
	case err != nil:
		return nil, false, err
	case k.size > most:
		return nil, false, ErrTooLong
	}
	if all, err = k.read(id, 0, k.size); err != nil {
		return nil, false, err
	}
	return []byte(s.rules.Load().redactor.Text(string(all))), len(k.spans) > 0, nil
}

// read reads a part of the text.
func (k keptResult) read(id string, from, to int64) ([]byte, error) {
	b := make([]byte, to-from)
	switch _, err := k.text.ReadAt(b, from); {
	case errors.Is(err, os.ErrClosed): // it has just left the store
		return nil, ErrUnknownResult
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("reading result %s: %w", id, err)
	}
	return b, nil
}

// runeStart returns where the rune that the byte at an offset belongs to starts.
func runeStart[T string | []byte](b T, offset int) int {
	if offset >= len(b) {
		return len(b)
	}
	for i := offset; i >= 0 && i > offset-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return offset // not UTF-8
}
