package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
)

// TestConflict changes a file between the moment an edit reads it and the moment
// it writes, which a caller from outside cannot time.
func TestConflict(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box := tooltest.Sandbox(t, sandbox.Policy{WorkingDirectory: dir}, Family().Declared())
	c := box.For("edit_file")
	set, err := newToolset(declare.From[Options]{Sandbox: box})
	if err != nil {
		t.Fatal(err)
	}
	s := fileTool{set, c.Tool(), c, c.Reader(), c.Writer()}
	file := filepath.Join(dir, "f")
	write := func(content string) {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		meddle   func()
		conflict bool
	}{
		{"untouched", func() {}, false},
		{"written again with the same content", func() { write("old") }, false},
		{"same size", func() { write("OLD") }, true},
		{"longer", func() { write("older") }, true},
		{"removed", func() { os.Remove(file) }, true},
		{"replaced by a directory", func() { os.Remove(file); os.Mkdir(file, 0o755) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			write("old")
			old, err := s.readWhole("f")
			if err != nil {
				t.Fatal(err)
			}
			c.meddle()
			err = s.commitEdit(t.Context(), "f", old, []byte("new"))
			if (err != nil) != c.conflict {
				t.Fatal(err)
			}
			if content, _ := os.ReadFile(file); !c.conflict && string(content) != "new" || c.conflict && string(content) == "new" {
				t.Errorf("the file has %q", content)
			}
			os.Remove(file)
		})
	}
}
