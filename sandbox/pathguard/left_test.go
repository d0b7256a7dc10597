package pathguard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// stuck is a file system that gives names and takes none away.
type stuck struct{ portable }

type stuckDir struct{ portableDir }

func (s stuck) openDir(real string) (dir, error) {
	root, err := s.openRoot(real)
	return stuckDir{portableDir{root, real}}, err
}

func (stuckDir) Remove(string) error { return fs.ErrPermission }

func (d stuckDir) move(name string, to dir, as string, replace bool) error {
	if replace {
		return errors.ErrUnsupported
	}
	if err := linkBetween(d.portableDir, name, to.(stuckDir).portableDir, as); err != nil {
		return err
	}
	return &twoNamesError{d.Remove(name)}
}

// A temporary file that cannot be removed is reported, and the file is as if it had been.
func TestLeftFilesAreReported(t *testing.T) {
	work := t.TempDir()
	var left []string
	g, err := New(work, Rules{Allow: []string{work}, Left: func(path string, err error) {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", path, err)
		}
		left = append(left, path)
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.files = stuck{}
	g = g.With() // which reports, too
	done, err := g.Replace("a.txt", []byte("x"), ReplaceOptions{})
	if err != nil || !done || len(left) != 1 || !isTemp(filepath.Base(left[0])) {
		t.Fatalf("%+v %v; left: %q", done, err, left)
	}
	if data, err := os.ReadFile(left[0]); string(data) != "x" {
		t.Errorf("%s: %q %v", left[0], data, err)
	}
	if _, err := g.Replace("a.txt", []byte("y"), ReplaceOptions{}); err == nil || len(left) != 2 {
		t.Errorf("a replacement that fails: %v; left: %q", err, left)
	}
	if data, _ := os.ReadFile(filepath.Join(work, "a.txt")); string(data) != "x" {
		t.Errorf("a.txt: %q", data)
	}
}
