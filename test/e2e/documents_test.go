package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// words are the words of a text in which each counts once.
func words(text string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		all[w] = true
	}
	return all
}

// holdsWords reports the words that are missing from a text, or too many.
func holdsWords(t *testing.T, what, text, theirs string) {
	t.Helper()
	got, want := words(text), words(theirs)
	for w := range want {
		if !got[w] {
			t.Errorf("%s: the word %q is missing in\n%s", what, w, text)
		}
	}
	if len(want) == 0 {
		t.Errorf("%s: nothing to compare with", what)
	}
}

// TestOfficeDocuments compares documents that LibreOffice has written with the text that it
// has exported of them; testdata/documents/make made both.
func TestOfficeDocuments(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs("testdata/documents")
	must(t, err)
	s := start(t, dir)
	for file, export := range map[string]string{
		"text.odt": "text.txt", "text.docx": "text.txt", "text.pdf": "text.txt", "talk.odp": "talk.txt", "talk.pptx": "talk.txt", "sheet.ods": "sheet.txt", "sheet.xlsx": "sheet.txt",
	} {
		theirs, err := os.ReadFile(filepath.Join(dir, export))
		must(t, err)
		holdsWords(t, file, s.call("read_file", map[string]any{"path": file}).text(), string(theirs))
	}
	const sheet = "name\tnumber\tdate\tnote\nalpha\t1.5\t2024-01-02\ntwo lines\t0.1\t2024-12-31\tZürich €\n\nend\t-3\t1999-12-31\tx"
	for _, file := range []string{"sheet.ods", "sheet.xlsx"} {
		if got := s.call("read_file", map[string]any{"path": file}).text(); !strings.HasSuffix(got, sheet) {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, sheet)
		}
	}
}

// TestPandocDocuments compares documents that pandoc writes with the text that it makes of
// their source.
func TestPandocDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pandoc := func(args ...string) string {
		out, err := exec.Command("pandoc", append([]string{"testdata/documents/source.md", "--metadata=title:Report"}, args...)...).Output()
		if err != nil {
			t.Fatalf("pandoc %q: %v", args, err)
		}
		return string(out)
	}
	theirs := pandoc("-t", "plain")
	s := start(t, dir)
	for _, format := range []string{"docx", "odt", "pptx", "epub", "html", "ipynb"} {
		pandoc("-o", filepath.Join(dir, "a."+format))
		holdsWords(t, format, s.call("read_file", map[string]any{"path": "a." + format, "format": "text"}).text(), theirs)
	}
}

// pdf returns a PDF of that many pages, whose text is their number; page 2 has none.
func pdf(pages int) []byte {
	var contents []string
	for i := range pages {
		text := fmt.Sprintf("BT /F 12 Tf 20 200 Td (number %d of many) Tj ET", i+1)
		if i == 1 {
			text = ""
		}
		contents = append(contents, text)
	}
	return pdfOf(contents...)
}

// pdfOf returns a PDF with the contents of its pages, in PDF's language.
func pdfOf(contents ...string) []byte {
	var b bytes.Buffer
	offsets := []int{}
	object := func(text string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), text)
	}
	kids := ""
	for i := range contents {
		kids += fmt.Sprintf("%d 0 R ", 4+2*i)
	}
	b.WriteString("%PDF-1.4\n")
	object("<</Type/Catalog/Pages 2 0 R>>")
	object(fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", len(contents), kids))
	object("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
	for i, text := range contents {
		object(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", 5+2*i))
		object(fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(text), text))
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// TestPDF reads pages of PDFs, whatever the lists of commands say unless they deny poppler's.
func TestPDF(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) { must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644)) }
	write("many.pdf", pdf(90))
	write("cut.pdf", pdf(90)[:900])
	write("-x.pdf", pdf(1))
	must(t, os.Symlink("many.pdf", filepath.Join(dir, "link.pdf")))
	locked, err := os.ReadFile("testdata/documents/locked.pdf")
	must(t, err)
	write("locked.pdf", locked)
	allowed := "## Page 1\nnumber 1 of many\n\n## Page 2\n[no text]\n\n## Page 3\nnumber 3 of many"
	for _, policy := range []struct{ name, lists, want string }{
		{"none", "", allowed},
		{"no commands", "  bash: {allowed_commands: []}\n", allowed},
		{"bash disabled", "  bash: {enabled: false}\n  execute_command: {enabled: false}\n", allowed},
		{"only this file", "  read_file: {allowed_paths: [many.pdf, '*.pdf']}\n", allowed},
		{"denied program", "  bash: {denied_commands: [pdftotext]}\n", "denied by policy"},
	} {
		config := filepath.Join(t.TempDir(), "c.yaml")
		must(t, os.WriteFile(config, []byte("working_directory: "+dir+"\nlimits: {max_result_chars: 4000}\ntools:\n  echo: {enabled: true}\n"+policy.lists), 0o600))
		s := start(t, "--config", config)
		if got := s.call("read_file", map[string]any{"path": "many.pdf"}).text(); !strings.HasPrefix(got, policy.want) && !strings.Contains(got, policy.want) {
			t.Errorf("%s: %s", policy.name, got)
		}
		if policy.want != allowed {
			continue
		}
		for _, tc := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"path": "many.pdf", "offset": 89}, "## Page 89\nnumber 89 of many\n\n## Page 90\nnumber 90 of many\n[Showed pages 89-90 of 90.]"},
			{map[string]any{"path": "link.pdf", "offset": -1}, "## Page 90\nnumber 90 of many\n[Showed page 90 of 90.]"},
			{map[string]any{"path": "many.pdf", "offset": 5, "limit": 1, "line_numbers": true}, "## Page 5\n     1\tnumber 5 of many\n[Showed page 5 of 90. To read on: read_file(path=\"many.pdf\", offset=6, limit=1, line_numbers=true)]"},
			{map[string]any{"path": "many.pdf", "offset": 91}, "many.pdf: offset 91 is past the last page, 90"},
			{map[string]any{"path": "many.pdf", "offset": 2, "limit": 1}, "many.pdf has no text on page 2 and no image, as if blank or drawn: " + map[bool]string{
				true:  "make images of its pages, and read them with read_file: call bash with command `pdftoppm -r 150 -png -f 2 -l 2 many.pdf page`",
				false: "ask the user for a copy with text, or to install poppler-utils where commands run",
			}[policy.lists == "" || strings.Contains(policy.lists, "read_file")]},
			{map[string]any{"path": "-x.pdf"}, "## Page 1\nnumber 1 of many"},
			{map[string]any{"path": "locked.pdf"}, "locked.pdf is protected by a password"},
			{map[string]any{"path": "cut.pdf"}, ""},
		} {
			if a := s.call("read_file", tc.args); tc.want != "" && a.text() != tc.want || tc.want == "" && !a.failed() {
				t.Errorf("%s: %v: got\n%s\nwant\n%s", policy.name, tc.args, a.text(), tc.want)
			}
		}
	}
}
