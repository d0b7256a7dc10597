package files_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// meta returns the _meta of a result.
func meta(t testing.TB, res domain.ToolResult) map[string]any {
	t.Helper()
	b, err := json.Marshal(res.Meta)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func hasMeta(want string) func(*testing.T, domain.ToolResult) {
	return func(t *testing.T, res domain.ToolResult) {
		t.Helper()
		b, err := json.Marshal(res.Meta)
		if err != nil || string(b) != want {
			t.Errorf("_meta is %s, %v; want %s", b, err, want)
		}
	}
}

func utf16le(s string) string {
	b := []byte("\xFF\xFE")
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func TestReadFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "a.txt", "one\ntwo\nthree\n", "open.txt", "one\ntwo", "empty", "", "crlf", "a\r\nb\r\n", "sub/deep/x.go", "package x\n",
		"bom", "\xEF\xBB\xBFüber\n", "wide", utf16le("Grüße 日本 😀\n"), "latin", "Gr\xFC\xDFe aus K\xF6ln\n",
		"sjis", "\x93\xFA\x96{\x8C\xEA\n", "bin", "a\x00b", "data.csv", "a,b\n1,2\n", "say \"hi\".txt", "hi\n")
	b.run(t, "read_file", []tooltest.Case{
		{Name: "whole", Args: `{"path":"a.txt"}`, Exact: "one\ntwo\nthree\n",
			Check: hasMeta(`{"path":"a.txt","size_bytes":14,"total_lines":3,"start_line":1,"end_line":3,"truncated":false,"encoding":"utf-8"}`)},
		{Name: "no line end", Args: `{"path":"open.txt"}`, Exact: "one\ntwo",
			Check: hasMeta(`{"path":"open.txt","size_bytes":7,"total_lines":2,"start_line":1,"end_line":2,"truncated":false,"encoding":"utf-8"}`)},
		{Name: "empty", Args: `{"path":"empty"}`,
			Check: hasMeta(`{"path":"empty","size_bytes":0,"total_lines":0,"start_line":0,"end_line":0,"truncated":false,"encoding":"utf-8"}`)},
		{Name: "absolute", Args: `{"path":"` + b.dir + `/a.txt"}`, Exact: "one\ntwo\nthree\n"},
		{Name: "dots", Args: `{"path":"sub/../a.txt"}`, Exact: "one\ntwo\nthree\n"},
		{Name: "crlf stays", Args: `{"path":"crlf"}`, Exact: "a\r\nb\r\n"},
		{Name: "csv", Args: `{"path":"data.csv"}`, Exact: "a,b\n1,2\n"},

		{Name: "lines", Args: `{"path":"a.txt","offset":2,"limit":1}`,
			Exact: "two\n[Showed line 2 of 3 (4 bytes of 14 bytes). To read on: read_file(path=\"a.txt\", offset=3, limit=1)]"},
		{Name: "to the end", Args: `{"path":"a.txt","offset":2}`, Exact: "two\nthree\n",
			Check: hasMeta(`{"path":"a.txt","size_bytes":14,"total_lines":3,"start_line":2,"end_line":3,"truncated":false,"encoding":"utf-8"}`)},
		{Name: "offset 0", Args: `{"path":"a.txt","offset":0,"limit":3}`, Exact: "one\ntwo\nthree\n"},
		{Name: "tail", Args: `{"path":"a.txt","offset":-2}`, Exact: "two\nthree\n"},
		{Name: "tail of fewer", Args: `{"path":"a.txt","offset":-20}`, Exact: "one\ntwo\nthree\n"},
		{Name: "numbers", Args: `{"path":"a.txt","offset":2,"line_numbers":true}`, Exact: "     2\ttwo\n     3\tthree\n"},
		{Name: "numbers go on", Args: `{"path":"a.txt","limit":2,"line_numbers":true}`,
			Want: `read_file(path="a.txt", offset=3, limit=2, line_numbers=true)`},
		{Name: "past the end", Args: `{"path":"a.txt","offset":4}`, Wants: []string{"a.txt", "offset 4", "3 lines"}, ErrorType: "out_of_range"},
		{Name: "limit 0", Args: `{"path":"a.txt","limit":0}`, Want: "limit must be at least 1", Code: domain.CodeInvalidParams},
		{Name: "quoted in the call", Args: `{"path":"say \"hi\".txt","limit":1}`, Exact: "hi\n"},

		{Name: "bom", Args: `{"path":"bom"}`, Exact: "über\n"},
		{Name: "utf-16 by its mark", Args: `{"path":"wide"}`, Exact: "Grüße 日本 😀\n", Check: func(t *testing.T, res domain.ToolResult) {
			if e := meta(t, res)["encoding"]; e != "utf-16le" {
				t.Errorf("encoding %v", e)
			}
		}},
		{Name: "latin-1", Args: `{"path":"latin","encoding":"latin-1"}`, Exact: "Grüße aus Köln\n"},
		{Name: "windows-1252 lines", Args: `{"path":"latin","encoding":"cp1252","offset":1,"limit":5}`, Exact: "Grüße aus Köln\n"},
		{Name: "shift_jis", Args: `{"path":"sjis","encoding":"shift_jis"}`, Exact: "日本語\n"},
		{Name: "wrong encoding", Args: `{"path":"latin"}`, Wants: []string{"latin is not valid utf-8 at byte 2", `encoding="windows-1252"`}, ErrorType: "decode_error"},
		{Name: "unknown encoding", Args: `{"path":"a.txt","encoding":"utf8x"}`, Want: `did you mean "utf-8"`, Code: domain.CodeInvalidParams},
		{Name: "binary", Args: `{"path":"bin"}`, Wants: []string{"bin cannot be shown as text", "3 bytes): ask the user what it is"}, ErrorType: "is_binary"},

		{Name: "directory", Args: `{"path":"sub"}`, Wants: []string{"is a directory", `list_directory(path="sub")`}, ErrorType: "not_a_file"},
		{Name: "below a file", Args: `{"path":"a.txt/x"}`, Want: "a.txt", ErrorType: "not_a_directory"},
		{Name: "empty path", Args: `{"path":""}`, Code: domain.CodeInvalidParams},
		{Name: "NUL", Args: `{"path":"a\u0000b"}`, Want: "NUL", ErrorType: "invalid_path"},
		{Name: "unknown argument", Args: `{"path":"a.txt","lines":3}`, Code: domain.CodeInvalidParams},
	})
}

func TestReadMissing(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, deny("notes.secret"))
	b.put(t, "notes.txt", "x", "Readme.md", "x", "src/server.go", "x", "src/serverless.go", "x", "notes.secret", "x", "other", "x")
	b.run(t, "read_file", []tooltest.Case{
		{Name: "typing error", Args: `{"path":"nots.txt"}`, Wants: []string{"nots.txt does not exist", "did you mean notes.txt?", `Call read_file(path="notes.txt")`}, ErrorType: "not_found"},
		{Name: "case", Args: `{"path":"README.md"}`, Want: "did you mean Readme.md?", ErrorType: "not_found"},
		{Name: "extension", Args: `{"path":"src/server.ts"}`, Want: "did you mean src/server.go", ErrorType: "not_found"},
		{Name: "beginning", Args: `{"path":"src/serv"}`, Want: "did you mean src/server.go, src/serverless.go?", ErrorType: "not_found"},
		{Name: "directory", Args: `{"path":"scr/server.go"}`, Want: `did you mean src/server.go? Call read_file(path="src/server.go")`, ErrorType: "not_found"},
		{Name: "directory of another", Args: `{"path":"scr/nothing.x"}`, Want: `did you mean src? Call list_directory(path="src")`, ErrorType: "not_found"},
		{Name: "backslashes", Args: `{"path":"src\\server.go"}`, Want: "give src/server.go", ErrorType: "invalid_path"},
		{Name: "absolute", Args: `{"path":"` + b.dir + `/src/sever.go"}`, Want: "did you mean " + b.dir + "/src/server.go?", ErrorType: "not_found"},
		{Name: "nothing like it", Args: `{"path":"zzz/qqq"}`, Want: `list_directory(path=".") shows what there is`, ErrorType: "not_found"},
		{Name: "denied sibling", Args: `{"path":"notes.secrets"}`, Check: func(t *testing.T, res domain.ToolResult) {
			if text := tooltest.Text(res); strings.Contains(text, "notes.secret,") || strings.Contains(text, "notes.secret?") {
				t.Errorf("names a denied file: %s", text)
			}
		}, ErrorType: "not_found"},
		{Name: "dangling parent", Args: `{"path":"src/../none/x"}`, ErrorType: "not_found"},
	})
}

// TestReadWindows reads files window after window by the calls the markers
// name, and puts them together.
func TestReadWindows(t *testing.T) {
	long := func(n int) string {
		var s strings.Builder
		for i := range n {
			fmt.Fprintf(&s, "line %d %s\n", i+1, strings.Repeat("é", i%60))
		}
		return s.String()
	}
	contents := map[string]string{
		"exact": strings.Repeat("x\n", 1000), "over": strings.Repeat("x\n", 1001), "long": long(2000), "open": long(500) + "end",
		"blank": strings.Repeat("\n", 5000), "dir with space/q\"uote": long(300), "wide": utf16le(long(800)), "crlf": strings.ReplaceAll(long(400), "\n", "\r\n"),
	}
	const maxChars = 2000
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: maxChars}}, nil)
	marker := regexp.MustCompile(`(?s)\n\[Showed [^\n]*To read on: read_file\(path=("[^\n]*"), offset=(-?[0-9]+)(?:, limit=([0-9]+))?(?:, line_numbers=true)?\)\]$`)
	number := regexp.MustCompile(`(?m)^ *[0-9]+\t`)
	for name, content := range contents {
		b.put(t, name, content)
		want := content
		if name == "wide" {
			want = long(800)
		}
		for _, first := range []string{"", `,"limit":7`, `,"offset":1`, `,"line_numbers":true`} {
			if first == `,"limit":7` && len(content) > 20_000 {
				continue
			}
			args := fmt.Sprintf(`{"path":%q%s}`, name, first)
			var got strings.Builder
			windows := 0
			for ; args != "" && windows < 2000; windows++ {
				res := b.call(t, "read_file", args)
				text := tooltest.Text(res)
				if len([]rune(text)) > maxChars {
					t.Errorf("%s: window of %d characters", args, len([]rune(text)))
				}
				args = ""
				m := marker.FindStringSubmatch(text)
				if m != nil {
					text = strings.TrimSuffix(text, m[0]) + "\n"
					limit, numbers := "", ""
					if m[3] != "" {
						limit = `,"limit":` + m[3]
					}
					if strings.Contains(m[0], "line_numbers") {
						numbers = `,"line_numbers":true`
					}
					args = fmt.Sprintf(`{"path":%s,"offset":%s%s%s}`, m[1], m[2], limit, numbers)
				}
				if truncated := meta(t, res)["truncated"]; truncated != (m != nil) {
					t.Errorf("%s: truncated is %v", args, truncated)
				}
				if strings.Contains(first, "line_numbers") {
					text = number.ReplaceAllString(text, "")
				}
				got.WriteString(text)
			}
			if got.String() != want {
				t.Errorf("%s%s: %d windows make %d bytes of %d", name, first, windows, got.Len(), len(want))
			}
			if name == "exact" && first == "" && windows != 1 || name == "over" && windows < 2 {
				t.Errorf("%s%s: %d windows", name, first, windows)
			}
		}
	}
}

func TestReadLongLine(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	b.put(t, "min.js", strings.Repeat("ü", 5000)+"\nnext\n", "one.json", strings.Repeat("x", 5000))
	b.run(t, "read_file", []tooltest.Case{
		{Name: "first", Args: `{"path":"min.js"}`, Wants: []string{"[line cut:", "Line 1 is too long", "To read on: read_file(path=\"min.js\", offset=2)"}},
		{Name: "next", Args: `{"path":"min.js","offset":2}`, Exact: "next\n"},
		{Name: "only", Args: `{"path":"one.json","line_numbers":true}`, Wants: []string{"     1\txxx", "[line cut:", "Line 1 is too long"}},
	})
}

// TestReadLargeFile reads a piece of a sparse file of 1 GiB.
func TestReadLargeFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	path := filepath.Join(b.dir, "large")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	start := strings.Repeat("line\n", 10_000)
	if _, err := f.WriteString(start); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\nlast but one\nlast\n"), 1<<30); err != nil {
		t.Skip("no sparse files: ", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.run(t, "read_file", []tooltest.Case{
		{Name: "tail", Args: `{"path":"large","offset":-2}`, Exact: "last but one\nlast\n", Check: func(t *testing.T, res domain.ToolResult) {
			if m := meta(t, res); m["start_line"] != -2.0 || m["total_lines"] != nil {
				t.Errorf("_meta %v", m)
			}
		}},
		{Name: "tail, in part", Args: `{"path":"large","offset":-2,"limit":1}`, Want: "[Showed lines -2 to -2, counted from the end"},
		{Name: "head", Args: `{"path":"large","offset":9000,"limit":2}`, Wants: []string{"line\nline\n[Showed lines 9000-9001 (", "of 1.0 GB", "offset=9002, limit=2)]"}},
	})
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes allocated to read a few lines", used)
	}
}

func TestSearchParents(t *testing.T) {
	up := func(p *sandbox.Policy) { p.Roots = []string{filepath.Dir(p.WorkingDirectory)} }
	setup := func(b bench) {
		b.put(t, "../top.txt", "top\n", "here.txt", "here\n", "../here.txt", "no\n", "../../above.txt", "no\n")
	}
	off := newBench(t, declare.From[files.Options]{}, up)
	setup(off)
	off.run(t, "read_file", []tooltest.Case{{Name: "off", Args: `{"path":"top.txt"}`, ErrorType: "not_found"}})
	on := newBench(t, declare.From[files.Options]{Settings: declare.Settings{"read_file": &files.ReadSettings{SearchParents: true}}}, up)
	setup(on)
	on.run(t, "read_file", []tooltest.Case{
		{Name: "above", Args: `{"path":"top.txt"}`, Exact: "top\n", Check: func(t *testing.T, res domain.ToolResult) {
			if p := meta(t, res)["path"]; p != filepath.Join(filepath.Dir(on.dir), "top.txt") {
				t.Errorf("path %v", p)
			}
		}},
		{Name: "nearest wins", Args: `{"path":"here.txt"}`, Exact: "here\n"},
		{Name: "not beyond what is allowed", Args: `{"path":"above.txt"}`, ErrorType: "not_found"},
		{Name: "missing everywhere", Args: `{"path":"none.txt"}`, ErrorType: "not_found"},
		{Name: "not with dots", Args: `{"path":"../none"}`, ErrorType: "not_found"},
	})
	on.put(t, ".git/HEAD", "x")
	on.run(t, "read_file", []tooltest.Case{{Name: "not above the repository", Args: `{"path":"top.txt"}`, ErrorType: "not_found"}})
}
