package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// Each part of a document that cannot be read to its end says so.
func TestReadDamaged(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	whole := `<w:document xmlns:w="x"><w:body>` + strings.Repeat(paragraph("some words"), 500)
	b.put(t, "a.docx", archive(t, "word/document.xml", whole), "b.docx", archive(t, "word/document.xml", "<w:document>"))
	const note = "The document has more than these lines: the rest of it cannot be read: word/document.xml: "
	cut := func(t *testing.T, res domain.ToolResult) {
		m := meta(t, res)
		if reason, _ := m["incomplete"].(string); m["total_lines"] != nil || m["total_lines_at_least"] != 500.0 || m["truncated"] != true || !strings.HasPrefix(reason, "the rest of it") {
			t.Errorf("_meta %v", m)
		}
	}
	b.run(t, "read_file", []tooltest.Case{
		{Name: "first", Args: `{"path":"a.docx"}`, Wants: []string{"[Showed lines 1-", " of at least 500 (", note, "To read on:"}, Check: cut},
		{Name: "middle", Args: `{"path":"a.docx","offset":200,"limit":1}`, Wants: []string{"[Showed line 200 of at least 500 (", note}, Check: cut},
		{Name: "last", Args: `{"path":"a.docx","offset":-1}`, Wants: []string{"[Showed line 500 of at least 500 (", note}, Check: cut},
		{Name: "past it", Args: `{"path":"a.docx","offset":501}`, Wants: []string{"offset 501 is past the 500 lines that were read", note}, ErrorType: "out_of_range"},
		{Name: "nothing", Args: `{"path":"b.docx"}`, Want: "b.docx is not a readable .docx file", ErrorType: "is_binary"},
	})
}

// What was made of a document serves the calls that read on, until the file changes.
func TestReadOn(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	file := filepath.Join(b.dir, "a.csv")
	at := time.Now().Add(-time.Hour)
	write := func(word string, at time.Time) {
		t.Helper()
		b.put(t, "a.csv", strings.Repeat(word+"\n", 500))
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	last := func() string {
		return strings.SplitN(b.call(t, "read_file", `{"path":"a.csv","offset":-1,"format":"text"}`).Content[0].Text, "\n", 2)[0]
	}
	write("first", at)
	if got := last(); got != "first" {
		t.Fatal(got)
	}
	write("other", at) // nobody can tell
	if got := last(); got != "first" {
		t.Errorf("the document was converted again: %q", got)
	}
	write("other", at.Add(time.Second))
	if got := last(); got != "other" {
		t.Errorf("the file has changed, and the answer is %q", got)
	}
	write("fresh", time.Now())
	last()
	write("newer", time.Now())
	if got := last(); got != "newer" {
		t.Errorf("a file that has just changed is %q", got)
	}
}
