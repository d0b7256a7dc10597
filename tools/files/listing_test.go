package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolserver/domain"
	"toolserver/tools/files"
	"toolserver/tools/tooltest"
)

// results decodes structured content into v.
func results(t testing.TB, res domain.ToolResult, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(structured(t, res)), v); err != nil {
		t.Fatal(err)
	}
}

func TestListDirectory(t *testing.T) {
	b := newBench(t, files.Options{}, deny("secret", "sub/key"))
	b.put(t, "b.txt", "hello", "b/inner.txt", "x", "b-c", "", ".hidden", "h", "secret/x", "", "sub/key", "", "sub/open", "")
	stamp := time.Date(2024, 2, 29, 12, 0, 0, 0, time.FixedZone("", 3600))
	if err := os.Chtimes(filepath.Join(b.dir, "b.txt"), stamp, stamp); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"link": "b.txt", "out": "/etc", "gone": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	paths := func(want ...string) func(*testing.T, domain.ToolResult) {
		return func(t *testing.T, res domain.ToolResult) {
			t.Helper()
			var got struct {
				Entries   []struct{ Path string }
				Count     int
				Truncated bool
			}
			results(t, res, &got)
			var list []string
			for _, e := range got.Entries {
				list = append(list, e.Path)
			}
			if !slices.Equal(list, want) || got.Count != len(want) || !slices.IsSorted(list) {
				t.Errorf("%q (count %d); want %q", list, got.Count, want)
			}
		}
	}
	b.run(t, "list_directory", []tooltest.Case{
		{Name: "all", Want: `{"name":"b.txt","path":"b.txt","type":"file","size":5,"modified":"2024-02-29T11:00:00Z"}`,
			Check: paths(".hidden", "b", "b-c", "b.txt", "gone", "link", "out", "sub")},
		{Name: "links", Wants: []string{`"type":"symlink","size":0,`, `"target":"/etc"`, `"target":"nowhere"`}},
		{Name: "recursive", Args: `{"recursive":true,"include_hidden":false}`,
			Check: paths("b", "b-c", "b.txt", "b/inner.txt", "gone", "link", "out", "sub", "sub/open")},
		{Name: "in a directory", Args: `{"path":"b"}`, Check: paths("b/inner.txt")},
		{Name: "slash", Args: `{"path":"b/"}`, Check: paths("b/inner.txt")},
		{Name: "dot", Args: `{"path":"./"}`, Check: paths(".hidden", "b", "b-c", "b.txt", "gone", "link", "out", "sub")},
		{Name: "absolute", Args: `{"path":"` + b.dir + `/b"}`, Check: paths(b.dir + "/b/inner.txt")},
		{Name: "link to a file", Args: `{"path":"link"}`, Wants: []string{"not a directory", `read_file(path="link")`}, ErrorType: "not_a_directory"},
		{Name: "missing", Args: `{"path":"bb"}`, Wants: []string{"did you mean b"}, ErrorType: "not_found"},
		{Name: "first two", Args: `{"max_entries":2}`, Want: "\n[the first 2 entries; there are more: raise max_entries", Check: func(t *testing.T, res domain.ToolResult) {
			var got struct {
				Count     int
				Truncated bool
			}
			if results(t, res, &got); got.Count != 2 || !got.Truncated {
				t.Errorf("%+v", got)
			}
		}},
	})
	res := b.call(t, "list_directory", `{"path":"b"}`)
	var array []map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].Text), &array); err != nil || len(array) != 1 {
		t.Errorf("the text is no array of entries: %v: %s", err, res.Content[0].Text)
	}
	b.put(t, "void/", "")
	if text := tooltest.Text(b.call(t, "list_directory", `{"path":"void"}`)); text != "[]" {
		t.Errorf("an empty directory is %s", text)
	}
}

func TestLargeDirectory(t *testing.T) {
	b := newBench(t, files.Options{}, nil)
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(b.dir, fmt.Sprintf("f%05d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var list struct {
		Entries   []struct{ Path string }
		Count     int
		Truncated bool
	}
	results(t, b.call(t, "list_directory", `{"max_entries":50}`), &list)
	if list.Count != 50 || !list.Truncated || list.Entries[49].Path != "f00049" {
		t.Errorf("%+v", list)
	}
	var found struct {
		Matches   []string
		Count     int
		Truncated bool
	}
	results(t, b.call(t, "search_files", `{"pattern":"*9","max_results":1000}`), &found)
	if found.Count != 1000 || found.Truncated || found.Matches[999] != "f09999" {
		t.Errorf("%d, %v", found.Count, found.Truncated)
	}
	results(t, b.call(t, "search_files", `{"pattern":"f*","max_results":10}`), &found)
	if found.Count != 10 || !found.Truncated {
		t.Errorf("%+v", found)
	}
}

func TestSearchFiles(t *testing.T) {
	b := newBench(t, files.Options{}, deny("secret"))
	b.put(t, "main.go", "", "main_test.go", "", "web/app.ts", "", "web/lib/util.tsx", "", "web/app.css", "", ".env", "", ".github/ci.yml", "",
		"secret/key.go", "", "out/gen.go", "", ".gitignore", "out/\n", "web/.gitignore", "*.css\n")
	b.run(t, "search_files", []tooltest.Case{
		{Name: "name", Args: `{"pattern":"*.go"}`, Exact: `["main.go","main_test.go","out/gen.go"]`,
			Check: hasStructured(`{"matches":["main.go","main_test.go","out/gen.go"],"count":3,"truncated":false}`)},
		{Name: "braces", Args: `{"pattern":"**/*.{ts,tsx}"}`, Exact: `["web/app.ts","web/lib/util.tsx"]`},
		{Name: "path", Args: `{"pattern":"web/*.ts"}`, Exact: `["web/app.ts"]`},
		{Name: "below", Args: `{"path":"web","pattern":"lib/*"}`, Exact: `["web/lib/util.tsx"]`},
		{Name: "gitignore", Args: `{"gitignore":true,"type":"file"}`, Exact: `["main.go","main_test.go","web/app.ts","web/lib/util.tsx"]`},
		{Name: "directories", Args: `{"type":"directory"}`, Exact: `["out","web","web/lib"]`},
		{Name: "hidden", Args: `{"include_hidden":true,"pattern":"*gi*e*"}`, Exact: `[".gitignore","web/.gitignore"]`},
		{Name: "hidden by its name", Args: `{"pattern":".env*"}`, Exact: `[".env"]`},
		{Name: "hidden directory", Args: `{"pattern":".github/**"}`, Exact: `[".github/ci.yml"]`},
		{Name: "none", Args: `{"pattern":"*.rs"}`, Exact: `[]`, Check: hasStructured(`{"matches":[],"count":0,"truncated":false}`)},
		{Name: "truncated", Args: `{"pattern":"*.go","max_results":2}`, Exact: `["main.go","main_test.go"]` + "\n[the first 2 matches; there are more: narrow pattern or path, or raise max_results]",
			Check: hasStructured(`{"matches":["main.go","main_test.go"],"count":2,"truncated":true}`)},
		{Name: "bad glob", Args: `{"pattern":"[a"}`, Want: `"[a"`, ErrorType: "invalid_pattern"},
		{Name: "file", Args: `{"path":"main.go"}`, ErrorType: "not_a_directory"},
	})
}

// TestWalkStops checks that walks end with their context and tell how far they
// have got.
func TestWalkStops(t *testing.T) {
	b := newBench(t, files.Options{}, nil)
	for i := range 3000 {
		b.put(t, fmt.Sprintf("d%02d/f%d", i%50, i), "text\n")
	}
	for tool, args := range map[string]string{"list_directory": `{"recursive":true,"max_entries":10000}`, "search_files": `{"max_results":10000}`, "grep": `{"pattern":"text"}`} {
		exec := tooltest.Executor(t, b.tools[tool])
		reports := 0
		_, err := exec.Call(t.Context(), domain.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args), Client: domain.ProgressFunc(func(p domain.Progress) {
			if reports++; p.Done <= 0 || !strings.Contains(p.Message, "entries") {
				t.Errorf("%s: progress %+v", tool, p)
			}
		})})
		if err != nil || reports == 0 {
			t.Errorf("%s: %d reports, %v", tool, reports, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if res, err := exec.Call(ctx, domain.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args)}); err == nil {
			t.Errorf("%s: goes on without its caller: %.100s", tool, tooltest.Text(res))
		}
	}
}
