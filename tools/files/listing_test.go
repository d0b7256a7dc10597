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

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/domain/call"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// results decodes structured content into v.
func results(t testing.TB, res domain.ToolResult, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(structured(t, res)), v); err != nil {
		t.Fatal(err)
	}
}

func TestListDirectory(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, deny("secret", "sub/key"))
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
	names := func(want ...string) func(*testing.T, domain.ToolResult) {
		return func(t *testing.T, res domain.ToolResult) {
			t.Helper()
			if got := listed(t, res); !slices.Equal(got, want) {
				t.Errorf("%q; want %q", got, want)
			}
		}
	}
	b.run(t, "list_directory", []tooltest.Case{
		{Name: "all", Exact: ".hidden\t1\nb-c\t0\nb.txt\t5\nb/\ngone\tsymlink\nlink\tsymlink\nout\tsymlink\nsub/",
			Check: names(".hidden", "b-c", "b.txt", "b", "gone", "link", "out", "sub")},
		{Name: "details", Args: `{"details":true}`, Wants: []string{"b.txt\t5\t2024-02-29T11:00:00Z\t-rw-", "\t-> /etc", "\t-> nowhere", "\nsub/\t20"}},
		{Name: "recursive", Args: `{"recursive":true,"include_hidden":false}`,
			Check: names("b-c", "b.txt", "b", "b/inner.txt", "gone", "link", "out", "sub", "sub/open")},
		{Name: "in a directory", Args: `{"path":"b"}`, Exact: "inner.txt\t1", Check: names("inner.txt")},
		{Name: "slash", Args: `{"path":"b/"}`, Check: names("inner.txt")},
		{Name: "dot", Args: `{"path":"./","offset":6}`, Check: names("out", "sub")},
		{Name: "absolute", Args: `{"path":"` + b.dir + `/b"}`, Check: names("inner.txt")},
		{Name: "none", Args: `{"path":"sub/open","include_hidden":false}`, ErrorType: "not_a_directory"},
		{Name: "after the last", Args: `{"offset":8}`, Check: isEmpty("[no entries after the first 8]")},
		{Name: "link to a file", Args: `{"path":"link"}`, Wants: []string{"not a directory", `read_file(path="link")`}, ErrorType: "not_a_directory"},
		{Name: "missing", Args: `{"path":"bb"}`, Wants: []string{"did you mean b"}, ErrorType: "not_found"},
		{Name: "first two", Args: `{"max_entries":2}`, Exact: ".hidden\t1\nb-c\t0\n[entries 1 to 2; there are more: call again with offset=2]", Check: hasStructured(
			`{"path":".","entries":[{"name":".hidden","type":"file","size":1},{"name":"b-c","type":"file","size":0}],"next_offset":2,"truncated":true}`)},
	})
	b.put(t, "void/", "")
	if text := b.call(t, "list_directory", `{"path":"void"}`).Told()[0].Text; text != "[no entries]" {
		t.Errorf("an empty directory is %s", text)
	}
}

// isEmpty holds a result to have no text, and these words for models.
func isEmpty(words string) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		if text, told := tooltest.Text(res), res.Told()[0].Text; text != "" || told != words {
			t.Errorf("the text is %q, and models read %q; want %q", text, told, words)
		}
	}
}

// listed returns the names of a list, which both of its forms have.
func listed(t *testing.T, res domain.ToolResult) (names []string) {
	t.Helper()
	var got struct {
		Entries   []struct{ Name, Type string }
		Next      int `json:"next_offset"`
		Truncated bool
	}
	results(t, res, &got)
	var lines []string
	if len(got.Entries) > 0 {
		lines = strings.Split(res.Content[0].Text, "\n")
	}
	for i, e := range got.Entries {
		if names = append(names, e.Name); i >= len(lines) || !strings.HasPrefix(strings.Trim(lines[i], `"`), strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", e.Name), `"`, ""), `"`)) || strings.HasSuffix(lines[i], "/") != (e.Type == "directory") {
			t.Errorf("entry %d is %+v in one form; the other has %q", i, e, lines)
		}
	}
	if len(lines) != len(names) || (got.Next > 0) != got.Truncated {
		t.Errorf("%d lines of text for %d entries, next %d", len(lines), len(names), got.Next)
	}
	return names
}

// TestListPages reads lists that do not fit one result: pages have all entries once, and no
// form of them is cut.
func TestListPages(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	var want []string
	for i := range 1500 {
		name := fmt.Sprintf("%04d%s", i, strings.Repeat("ä", i%60))
		want = append(want, name)
		b.put(t, name, "")
	}
	b.put(t, "1500\nforged\t1", "")
	want = append(want, "1500\nforged\t1")
	for _, tool := range []string{"list_directory", "search_files"} {
		var got []string
		for pages := 1; ; pages++ {
			res := b.call(t, tool, fmt.Sprintf(`{"offset":%d,"max_%s":10000}`, len(got), map[string]string{"list_directory": "entries", "search_files": "results"}[tool]))
			text := tooltest.Text(res)
			if n, m := len([]rune(text)), len([]rune(structured(t, res))); max(n, m/2) > domain.DefaultMaxResultChars || strings.Contains(text, "read_large_result") || strings.Contains(text, "\nforged") {
				t.Errorf("%s: %d and %d characters: %.300s", tool, n, m, text)
			}
			if tool == "list_directory" {
				got = append(got, listed(t, res)...)
			} else {
				var found struct{ Matches []string }
				results(t, res, &found)
				got = append(got, found.Matches...)
			}
			more := fmt.Sprintf("call again with offset=%d]", len(got))
			if strings.Contains(text, more) {
				continue
			}
			if pages < 2 || strings.Contains(text, "call again") {
				t.Errorf("%s: page %d ends with %q", tool, pages, text[max(0, len(text)-100):])
			}
			break
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries in all pages; want %d", tool, len(got), len(want))
		}
	}
}

func TestLargeDirectory(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	for i := range 10_000 {
		if err := os.WriteFile(filepath.Join(b.dir, fmt.Sprintf("f%05d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var list struct {
		Entries   []struct{ Name string }
		Truncated bool
	}
	results(t, b.call(t, "list_directory", `{"max_entries":50}`), &list)
	if len(list.Entries) != 50 || !list.Truncated || list.Entries[49].Name != "f00049" {
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
	b := newBench(t, declare.From[files.Options]{}, deny("secret"))
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
		{Name: "none", Args: `{"pattern":"*.rs"}`, Check: hasStructured(`{"matches":[],"count":0,"truncated":false}`)},
		{Name: "truncated", Args: `{"pattern":"*.go","max_results":2}`, Exact: `["main.go","main_test.go"]` + "\n[entries 1 to 2; there are more: call again with offset=2]",
			Check: hasStructured(`{"matches":["main.go","main_test.go"],"count":2,"next_offset":2,"truncated":true}`)},
		{Name: "bad glob", Args: `{"pattern":"[a"}`, Want: `"[a"`, ErrorType: "invalid_pattern"},
		{Name: "file", Args: `{"path":"main.go"}`, ErrorType: "not_a_directory"},
	})
}

// TestWalkStops checks that walks end with their context and tell how far they
// have got.
func TestWalkStops(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	for i := range 3000 {
		b.put(t, fmt.Sprintf("d%02d/f%d", i%50, i), "text\n")
	}
	for tool, args := range map[string]string{"list_directory": `{"recursive":true,"max_entries":10000}`, "search_files": `{"max_results":10000}`, "grep": `{"pattern":"text"}`} {
		exec := tooltest.Executor(t, b.tools[tool])
		reports := 0
		_, err := exec.Call(t.Context(), call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args), Client: call.ProgressFunc(func(p call.Progress) {
			if reports++; p.Done <= 0 || !strings.Contains(p.Message, "entries") {
				t.Errorf("%s: progress %+v", tool, p)
			}
		})})
		if err != nil || reports == 0 {
			t.Errorf("%s: %d reports, %v", tool, reports, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if res, err := exec.Call(ctx, call.ExecuteToolCommand{Tool: tool, Arguments: json.RawMessage(args)}); err == nil {
			t.Errorf("%s: goes on without its caller: %.100s", tool, tooltest.Text(res))
		}
	}
}
