package call

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inFiles returns a store whose long texts are in files of a directory, and the file
// that was made last.
func inFiles(t *testing.T) (*ResultStore, func() *os.File) {
	s := NewResultStore(100_000)
	t.Cleanup(s.Close)
	var last *os.File
	s.Unnamed = func() (f *os.File, err error) {
		f, err = os.Create(filepath.Join(t.TempDir(), "text"))
		last = f
		return f, err
	}
	return s, func() *os.File { return last }
}

// TestKeptInFiles keeps texts of many lengths, more than are kept at a time, and reads each
// one that is.
func TestKeptInFiles(t *testing.T) {
	s, file := inFiles(t)
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string]string{}
	for i := range 3 * maxKeptResults {
		text := strings.Repeat(fmt.Sprintf("%06d|", i), 1+random.IntN(12_000))
		want[s.Keep(ann.Principal, text).ID] = text
	}
	kept := 0
	for id, text := range want {
		var got strings.Builder
		for page, pages := 1, 1; page <= pages; page++ {
			part, n, err := s.Page(ann.Principal, id, page)
			if err != nil {
				break
			}
			got.WriteString(part)
			pages = n
		}
		if got.Len() == 0 {
			continue
		}
		if kept++; got.String() != text {
			t.Fatalf("result %s reads %.40q..., which is not what was kept", id, got.String())
		}
	}
	if kept != maxKeptResults {
		t.Errorf("%d results can be read", kept)
	}
	s.Close()
	if _, err := file().Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the last file is still open: %v", err)
	}
	after := s.Keep(ann.Principal, strings.Repeat("x", 20_000))
	if text, _, err := s.Page(ann.Principal, after.ID, 1); err != nil || text != strings.Repeat("x", 20_000) {
		t.Errorf("a result kept later: %d bytes, %v", len(text), err)
	}
}

// TestKeptWithoutFiles keeps texts in memory that cannot be written to a file.
func TestKeptWithoutFiles(t *testing.T) {
	s, _ := inFiles(t)
	text := strings.Repeat("x", 50_000)
	s.Unnamed = func() (*os.File, error) { return nil, os.ErrPermission }
	after := s.Keep(ann.Principal, text)
	if got, _, err := s.Page(ann.Principal, after.ID, 1); err != nil || got != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
