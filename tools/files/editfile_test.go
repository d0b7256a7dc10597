package files_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

func TestEditFile(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	const program = "package main\n\nfunc main() {\n\tprintln(\"a\")\n\tprintln(\"b\")\n\tprintln(\"a\")\n}\n"
	cases := []struct {
		name, content, edits string
		tooltest.Case
		after string // "" is unchanged
	}{
		{name: "one", content: program, edits: `{"old_text":"\"b\"","new_text":"\"c\""}`,
			Case:  tooltest.Case{Exact: "--- f\n+++ f\n@@ -2,6 +2,6 @@\n \n func main() {\n \tprintln(\"a\")\n-\tprintln(\"b\")\n+\tprintln(\"c\")\n \tprintln(\"a\")\n }\n"},
			after: strings.Replace(program, `"b"`, `"c"`, 1)},
		{name: "in order", content: "a\n", edits: `{"old_text":"a","new_text":"b"},{"old_text":"b","new_text":"c"}`,
			Case: tooltest.Case{Exact: "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+c\n"}, after: "c\n"},
		{name: "all or nothing", content: "a\n", edits: `{"old_text":"a","new_text":"b"},{"old_text":"zzz","new_text":"c"}`,
			Case: tooltest.Case{Wants: []string{"edits[1].old_text does not occur in f", "nothing was written"}, ErrorType: "no_match"}},
		{name: "replace all", content: "x\nx\nx\n", edits: `{"old_text":"x","new_text":"yy","replace_all":true}`,
			Case: tooltest.Case{Want: "@@ -1,3 +1,3 @@\n-x\n-x\n-x\n+yy\n+yy\n+yy\n"}, after: "yy\nyy\nyy\n"},
		{name: "ambiguous", content: program, edits: `{"old_text":"\"a\"","new_text":"\"c\""}`,
			Case: tooltest.Case{Wants: []string{"edits[0].old_text occurs more than once", "lines 4, 6"}, ErrorType: "ambiguous_match"}},
		{name: "ambiguous by overlap", content: "aaa\n", edits: `{"old_text":"aa","new_text":"b"}`,
			Case: tooltest.Case{Want: "line 1", ErrorType: "ambiguous_match"}},
		{name: "delete", content: "a\nb\nc", edits: `{"old_text":"b\n","new_text":""}`,
			Case: tooltest.Case{Exact: "--- f\n+++ f\n@@ -1,3 +1,2 @@\n a\n-b\n c\n\\ No newline at end of file\n"}, after: "a\nc"},
		{name: "delete all", content: "a\n", edits: `{"old_text":"a\n","new_text":""}`,
			Case: tooltest.Case{Exact: "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n"}, after: "EMPTY"},
		{name: "end of file", content: "a", edits: `{"old_text":"a","new_text":"a\n"}`,
			Case: tooltest.Case{Want: "-a\n\\ No newline at end of file\n+a\n"}, after: "a\n"},
		{name: "cancelled out", content: "a\n", edits: `{"old_text":"a","new_text":"b"},{"old_text":"b","new_text":"a"}`,
			Case: tooltest.Case{Want: "No change"}},
		{name: "two hunks", content: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", edits: `{"old_text":"1\n","new_text":"one\n"},{"old_text":"9\n","new_text":"nine\n"}`,
			Case:  tooltest.Case{Exact: "--- f\n+++ f\n@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+nine\n"},
			after: "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"},
		{name: "hunks that overlap", content: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", edits: `{"old_text":"1\n","new_text":"one\n"},{"old_text":"7\n","new_text":"seven\n"}`,
			Case:  tooltest.Case{Exact: "--- f\n+++ f\n@@ -1,9 +1,9 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n-7\n+seven\n 8\n 9\n"},
			after: "one\n2\n3\n4\n5\n6\nseven\n8\n9\n"},
		{name: "far down", content: strings.Repeat("x\n", 100) + "1\n2\n" + strings.Repeat("x\n", 100), edits: `{"old_text":"1\n2\n","new_text":"3\n"}`,
			Case:  tooltest.Case{Exact: "--- f\n+++ f\n@@ -98,8 +98,7 @@\n x\n x\n x\n-1\n-2\n+3\n x\n x\n x\n"},
			after: strings.Repeat("x\n", 100) + "3\n" + strings.Repeat("x\n", 100)},
		{name: "same texts", content: "a\n", edits: `{"old_text":"a","new_text":"a"}`, Case: tooltest.Case{Want: "edits[0]", Code: domain.CodeInvalidParams}},
		{name: "empty old text", content: "a\n", edits: `{"old_text":"","new_text":"a"}`, Case: tooltest.Case{Want: "edits[0].old_text must not be empty", Code: domain.CodeInvalidParams}},
		{name: "no edits", content: "a\n", edits: ``, Case: tooltest.Case{Want: "edits", Code: domain.CodeInvalidParams}},

		{name: "crlf", content: "a\r\nb\r\nc\r\n", edits: `{"old_text":"a\nb\n","new_text":"x\ny\nz\n"}`, Case: tooltest.Case{Want: "+x\r\n"}, after: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "crlf from one line", content: "a\r\nb\r\n", edits: `{"old_text":"a","new_text":"x\ny"}`, after: "x\r\ny\r\nb\r\n"},
		{name: "crlf as given", content: "a\r\nb\r\n", edits: `{"old_text":"\r\n","new_text":"\n","replace_all":true}`, after: "a\nb\n"},
		{name: "mixed line ends", content: "a\r\nb\nc\n", edits: `{"old_text":"a\nb","new_text":"x\ny"}`, after: "x\r\ny\nc\n"},
		{name: "mixed, elsewhere", content: "a\r\nb\nc\n", edits: `{"old_text":"b\nc","new_text":"x\ny"}`, after: "a\r\nx\ny\n"},
		{name: "bom", content: "\xEF\xBB\xBFa\n", edits: `{"old_text":"a","new_text":"b"}`, after: "\xEF\xBB\xBFb\n"},
		{name: "utf-16", content: utf16le("Grüße 😀\n"), edits: `{"old_text":"Grüße","new_text":"日本 𝄞"}`, Case: tooltest.Case{Want: "+日本 𝄞 😀"}, after: utf16le("日本 𝄞 😀\n")},
		{name: "utf-16be", content: "\xFE\xFF\x00a\x00\n", edits: `{"old_text":"a","new_text":"b"}`, after: "\xFE\xFF\x00b\x00\n"},
		{name: "utf-32", content: "\xFF\xFE\x00\x00a\x00\x00\x00", edits: `{"old_text":"a","new_text":"b"}`, Case: tooltest.Case{Want: "f is in utf-32le, and only utf-8", ErrorType: "decode_error"}},
		{name: "latin-1", content: "Gr\xFC\xDFe\n", edits: `{"old_text":"e","new_text":"b"}`, Case: tooltest.Case{Want: "f is not valid utf-8 at byte 2", ErrorType: "decode_error"}},
		{name: "binary", content: "a\x00b", edits: `{"old_text":"a","new_text":"b"}`, Case: tooltest.Case{Want: "f is a binary file", ErrorType: "is_binary"}},
		{name: "pdf", content: "%PDF-1.4\n", edits: `{"old_text":"P","new_text":"b"}`, Case: tooltest.Case{Want: "PDF", ErrorType: "is_binary"}},
	}
	for _, c := range cases {
		b.put(t, "f", c.content)
		c.Case.Args = `{"path":"f","edits":[` + c.edits + `]}`
		want := c.content
		switch c.after {
		case "":
		case "EMPTY":
			want = ""
		default:
			want = c.after
		}
		dry := c.Case
		dry.Name, dry.Exact = c.name+", dry", ""
		dry.Args = strings.TrimSuffix(dry.Args, "}") + `,"dry_run":true}`
		b.run(t, "edit_file", []tooltest.Case{dry})
		if got := b.get(t, "f"); got != c.content {
			t.Errorf("%s: dry_run wrote %q", c.name, got)
		}
		c.Case.Name = c.name
		b.run(t, "edit_file", []tooltest.Case{c.Case})
		if got := b.get(t, "f"); got != want {
			t.Errorf("%s: the file has %q; want %q", c.name, got, want)
		}
	}
	readable := newBench(t, declare.From[files.Options]{}, func(p *sandbox.Policy) { p.Tools["write_file"] = sandbox.ToolPolicy{AllowedPaths: []string{}} })
	readable.put(t, "f", "a\n")
	b.run(t, "edit_file", []tooltest.Case{
		{Name: "missing", Args: `{"path":"none","edits":[{"old_text":"a","new_text":"b"}]}`, Want: "none does not exist", ErrorType: "not_found"},
	})
	readable.run(t, "edit_file", []tooltest.Case{
		{Name: "only readable", Args: `{"path":"f","edits":[{"old_text":"a","new_text":"b"}]}`, ErrorType: "denied"},
		{Name: "only readable, dry", Args: `{"path":"f","edits":[{"old_text":"a","new_text":"b"}],"dry_run":true}`, ErrorType: "denied"},
	})
}

func TestNearMiss(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	b.put(t, "f.go", "package f\n\nfunc first() {\n\tif ok {\n\t\treturn compute(1, 2)\n\t}\n}\n\nfunc second() {\n\treturn \u201Cquoted\u201D\n}\n", "crlf", "a\r\nb\r\n", "lf", "a\nb\n", "nfc", "the caf\u00e9 here\n")
	edit := func(path, old string) string {
		quoted, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		return `{"path":"` + path + `","edits":[{"old_text":` + string(quoted) + `,"new_text":"x"}]}`
	}
	cases := []struct {
		name, args string
		wants      []string
	}{
		{"indentation", edit("f.go", "    if ok {\n        return compute(1, 2)\n"), []string{"line 4 to 5", "4\t\tif ok {\n5\t\t\treturn compute(1, 2)\n", "Line 4 differs in indentation", `in the file: "\tif ok {"`, `in old_text: "    if ok {"`}},
		{"composition", edit("nfc", "the cafe\u0301 here"), []string{"Unicode NFC or NFD", `in the file: "the caf\u00e9 here"`, `in old_text: "the cafe\u0301 here"`}},
		{"text", edit("f.go", "\t\treturn compute(1, 3)\n"), []string{"The closest place is line 5:", "Line 5 differs in text"}},
		{"white space", edit("f.go", "return compute(1,  2)"), []string{"line 5", "differs in"}},
		{"case", edit("f.go", "FUNC second() {"), []string{"line 9", "upper and lower case"}},
		{"quotation marks", edit("f.go", "\treturn \"quoted\""), []string{"line 10", "quotation marks"}},
		{"line numbers", edit("f.go", "     3\tfunc first() {"), []string{"line 3", "a line number"}},
		{"white space at the end", edit("f.go", "func first() {  \n\tif ok {"), []string{"line 3 to 4", "white space at the end"}},
		{"nothing", edit("f.go", "zzzzzzzz qqqqqq"), []string{"nothing in it is much like it"}},
		{"cr in an lf file", edit("lf", "a\r\nb"), []string{"line ends LF"}},
	}
	for _, c := range cases {
		b.run(t, "edit_file", []tooltest.Case{{Name: c.name, Args: c.args, Wants: c.wants, ErrorType: "no_match"}})
	}
	b.put(t, "empty", "", "large", strings.Repeat("\tsome statement(with, arguments)\n", 100_000))
	b.run(t, "edit_file", []tooltest.Case{
		{Name: "empty file", Args: edit("empty", "a"), Want: "does not occur in empty", ErrorType: "no_match"},
		{Name: "large file", Args: edit("large", strings.Repeat("  some statement(with, argument)\n", 100)), Want: "The closest place is line 1 to 100", ErrorType: "no_match"},
	})
}

// TestEditDiffBounds checks that a diff of any size fits an answer and that the
// work for it is bounded.
func TestEditDiffBounds(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	b.put(t, "f", strings.Repeat("same\nold\n", 20_000))
	res := b.call(t, "edit_file", `{"path":"f","edits":[{"old_text":"old","new_text":"new","replace_all":true}]}`)
	text := tooltest.Text(res)
	if len(text) > 2000 || !strings.HasPrefix(text, "--- f\n+++ f\n@@ -1,40000 +1,40000 @@\n same\n-old\n") || !strings.HasSuffix(text, " more lines of the diff]\n") {
		t.Errorf("%d bytes: %.300s ... %s", len(text), text, text[max(0, len(text)-100):])
	}
	if m := meta(t, res); m["replacements"] != 20_000.0 {
		t.Errorf("_meta %v", m)
	}
}

// FuzzEditDiff edits a file and lets patch(1) make the same of the diff.
func FuzzEditDiff(f *testing.F) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		f.Skip(err)
	}
	f.Add("a\nb\nc\n", "b", "x\ny")
	f.Add("a", "a", "")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n1\n", "1\n", "one\nand more\n")
	f.Add("x\n\n\nx\n\n", "\n\n", "\n")
	f.Add("same\nold\nsame\nold", "old", "new\n")
	f.Fuzz(func(t *testing.T, content, old, new string) {
		if !utf8.ValidString(old) || !utf8.ValidString(new) || strings.ContainsAny(content+old+new, "\x00\r\\") || old == "" || old == new {
			t.Skip()
		}
		b := newBench(t, declare.From[files.Options]{}, nil)
		b.put(t, "f", content, "orig", content)
		args, err := json.Marshal(map[string]any{"path": "f", "edits": []any{map[string]any{"old_text": old, "new_text": new, "replace_all": true}}})
		if err != nil {
			t.Skip(err)
		}
		res := b.call(t, "edit_file", string(args))
		text := tooltest.Text(res)
		if res.IsError || strings.HasPrefix(text, "No change") {
			return
		}
		after := b.get(t, "f")
		cmd := exec.Command(patch, "-s", "-p0", filepath.Join(b.dir, "orig"))
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v: %s\n%s", err, out, text)
		}
		got, err := os.ReadFile(filepath.Join(b.dir, "orig"))
		if err != nil && after != "" { // patch removes a file it empties
			t.Fatal(err)
		}
		if string(got) != after {
			t.Errorf("patch makes %q; the file has %q; the diff:\n%s", got, after, text)
		}
	})
}
