package walk_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolserver/toolserver/sandbox/walk"
)

func TestDenyHardlinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "two"), filepath.Join(root, "three")); err != nil {
		t.Skip(err)
	}
	d, err := os.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, deny := range []bool{false, true} {
		visit := func(e *walk.Entry) error {
			f, err := e.Open()
			if err == nil {
				f.Close()
			}
			if refused := deny && e.Name() != "one"; refused != errors.Is(err, walk.ErrHardlinks) || !refused && err != nil {
				t.Errorf("deny %v: %s: %v", deny, e.Name(), err)
			}
			return nil
		}
		if stats, err := walk.Walk(t.Context(), d, root, walk.Options{DenyHardlinks: deny}, visit); err != nil || stats.Entries != 3 {
			t.Errorf("%+v, %v", stats, err)
		}
		// What is handed to workers knows it too.
		pick := func(*walk.Entry) (bool, error) { return true, nil }
		worker := func() func(*walk.Entry) (bool, bool) {
			return func(e *walk.Entry) (bool, bool) { return false, visit(e) == nil }
		}
		if _, err := walk.Map(t.Context(), d, root, walk.Options{DenyHardlinks: deny}, pick, worker, func(bool) error { return nil }); err != nil {
			t.Error(err)
		}
	}
}
