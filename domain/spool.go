package domain

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// maxSpool bounds the file of a [spool]: what is kept, and gaps that were too small
// for what came later.
const maxSpool = 2 * maxKeptBytes

var errSpoolFull = errors.New("no room for a text that long")

// spool keeps texts in one temporary file without a name: making a file for each would cost
// several times what writing the text does. The place of a text that was closed is
// written over. The file is closed with the last text, and made for the next one.
type spool struct {
	mu     sync.Mutex
	file   *os.File
	places []*place // in use, by offset
}

// place is where a text is.
type place struct {
	*io.SectionReader
	in         *spool
	start, end int64
}

// keep writes a text to the file, which unnamed makes if there is none: in parts, because
// writing a string whole would copy it.
func (s *spool) keep(text string, unnamed func() (*os.File, error)) (*place, error) {
	p, file, err := s.take(int64(len(text)), unnamed)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.NewOffsetWriter(file, p.start), io.LimitReader(strings.NewReader(text), p.Size())); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// take takes the first place that has room for size bytes.
func (s *spool) take(size int64, unnamed func() (*os.File, error)) (*place, *os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, start := 0, int64(0)
	for ; at < len(s.places) && s.places[at].start-start < size; at++ {
		start = s.places[at].end
	}
	if start+size > maxSpool {
		return nil, nil, errSpoolFull
	}
	if s.file == nil {
		file, err := unnamed()
		if err != nil {
			return nil, nil, err
		}
		s.file = file
	}
	p := &place{io.NewSectionReader(s.file, start, size), s, start, start + size}
	s.places = slices.Insert(s.places, at, p)
	return p, s.file, nil
}

// Close frees the place of a text. A read that is not over may return what is
// written there next: its caller has to look whether the text is still kept.
func (p *place) Close() error {
	s := p.in
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.places, p)
	if i < 0 {
		return os.ErrClosed
	}
	if s.places = slices.Delete(s.places, i, i+1); len(s.places) > 0 {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}
