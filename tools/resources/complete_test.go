package resources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
)

// complete returns the completions of the path of a file.
func (b bench) complete(t *testing.T, argument, typed string) (values []string) {
	t.Helper()
	q := domain.CompleteQuery{Template: "file:///{path}", Argument: argument, Typed: typed}
	answered := false
	b.exec.Complete(t.Context(), q, func(c domain.Completions, err error) {
		if values, answered = c.Values, true; err != nil {
			t.Errorf("%q: %v", typed, err)
		}
	})
	if !answered {
		t.Fatalf("%q: not answered", typed)
	}
	return values
}

func TestComplete(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "more")
	b := newBench(t, func(p *sandbox.Policy) {
		p.Roots = []string{root}
		p.Tools["read_file"] = sandbox.ToolPolicy{DeniedPaths: []string{filepath.Join(p.WorkingDirectory, "docs", "secret")}}
		p.Tools["list_directory"] = sandbox.ToolPolicy{DeniedPaths: []string{filepath.Join(p.WorkingDirectory, "unlisted")}}
	})
	b.put(t, "README.md", "", "docs/b.txt", "", "docs/a.txt", "", "docs/secret/key", "", "docs/sub/x", "", ".hidden", "", ".git/config", "",
		"unlisted/x", "", "ä ö.txt", "", "../outside/out.txt", "", "docs.md", "")
	if err := os.MkdirAll(filepath.Join(root, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.link(t, "out", "../outside", "dangling", "none", "inside", "docs")
	slash := func(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
	work, more := slash(b.dir), slash(root)
	tests := []struct {
		typed string
		want  []string
	}{
		{"", []string{"README.md", "docs.md", "docs/", "inside/", more + "/", "ä ö.txt"}},
		{"doc", []string{"docs.md", "docs/"}},
		{"RE", []string{"README.md"}},
		{"docs/", []string{"docs/a.txt", "docs/b.txt", "docs/sub/"}},
		{"docs/se", nil},
		{"docs/secret/", nil},
		{"docs/a.txt", []string{"docs/a.txt"}},
		{"inside/", []string{"inside/a.txt", "inside/b.txt", "inside/sub/"}},
		{"docs/../RE", []string{"docs/../README.md"}},
		{".", []string{".git/", ".hidden"}},
		{"ä", []string{"ä ö.txt"}},
		{"out/", nil},
		{"unlisted/", nil},
		{"../", nil},
		{"none/", nil},
		{"README.md/", nil},
		{"etc/pass", nil},
		{"\x00", nil},
		{more[:len(more)-2], []string{more + "/"}},
		{"/" + more[:len(more)-2], []string{"/" + more + "/"}},
		{more + "/", []string{more + "/deep/"}},
		{work[:len(work)-1], []string{work + "/"}},
		{work + "/RE", []string{work + "/README.md"}},
		{"/" + work + "/RE", []string{"/" + work + "/README.md"}},
	}
	for _, test := range tests {
		slices.Sort(test.want)
		if got := b.complete(t, "path", test.typed); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q; want %q", test.typed, got, test.want)
		}
		for _, value := range test.want {
			if strings.HasSuffix(value, "/") {
				continue
			}
			if _, err := read(t, b.exec, "file:///"+value); err != nil {
				t.Errorf("%q is a completion, and: %v", value, err)
			}
		}
	}
	if got := b.complete(t, "name", "RE"); len(got) != 0 {
		t.Errorf("completions of another variable: %q", got)
	}
}

func TestCompleteManyNames(t *testing.T) {
	b := newBench(t, nil)
	for i := range 1500 { // more than are read at a time
		b.put(t, fmt.Sprintf("many/%04d", i), "")
	}
	got := b.complete(t, "path", "many/")
	if len(got) != 100 || got[0] != "many/0000" || got[99] != "many/0099" {
		t.Errorf("%d: %.100q", len(got), got)
	}
	if got := b.complete(t, "path", "many/149"); len(got) != 10 || got[9] != "many/1499" {
		t.Errorf("%q", got)
	}
}
