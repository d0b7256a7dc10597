//go:build linux

package e2e

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// zipped returns a zip archive of files, given as name and content in turn.
func zipped(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.Create(pairs[i])
		must(t, err)
		_, err = w.Write([]byte(pairs[i+1]))
		must(t, err)
	}
	must(t, z.Close())
	return b.String()
}

// longDocuments returns a document of each kind that has more than is read.
func longDocuments(t *testing.T) map[string]string {
	word := strings.Repeat("x", 999)
	const many = 18_000 // of these words go over 16 MiB
	fill := func(format string) string { return strings.Repeat(fmt.Sprintf(format, word), many) }
	odf := func(body string) string {
		return zipped(t, "content.xml", `<office:document-content><office:body>`+body+`</office:body></office:document-content>`)
	}
	slides, rels := []string{}, ""
	for i := range 2 {
		slides = append(slides, fmt.Sprintf("ppt/slides/s%d.xml", i), `<p:sld>`+fill(`<a:p><a:r><a:t>%s</a:t></a:r></a:p>`)+`</p:sld>`)
		rels += fmt.Sprintf(`<Relationship Id="r%d" Type="http://x/slide" Target="slides/s%d.xml"/>`, i, i)
	}
	chapter := `<p>` + strings.Repeat("word ", 1<<20) + `</p>`
	return map[string]string{
		"a.docx": zipped(t, "word/document.xml", `<w:document><w:body>`+fill(`<w:p><w:r><w:t>%s</w:t></w:r></w:p>`)+`</w:body></w:document>`),
		"a.xlsx": zipped(t, "xl/workbook.xml", `<workbook><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`,
			"xl/worksheets/sheet1.xml", `<worksheet><sheetData>`+fill(`<row><c t="str"><v>%s</v></c></row>`)+`</sheetData></worksheet>`),
		"a.pptx": zipped(t, append(slides, "ppt/presentation.xml", `<p:presentation xmlns:r="x"><p:sldId id="256" r:id="r0"/><p:sldId id="257" r:id="r1"/></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships>`+rels+`</Relationships>`)...),
		"a.odt": odf(`<office:text>` + fill(`<text:p>%s</text:p>`) + `</office:text>`),
		"a.odp": odf(`<office:presentation><draw:page>` + fill(`<text:p>%s</text:p>`) + `</draw:page></office:presentation>`),
		"a.ods": odf(`<office:spreadsheet><table:table>` + fill(`<table:table-row><table:table-cell><text:p>%s</text:p></table:table-cell></table:table-row>`) + `</table:table></office:spreadsheet>`),
		"a.epub": zipped(t, "META-INF/container.xml", `<container><rootfile full-path="c.opf"/></container>`,
			"c.opf", `<package><item id="a" href="a" media-type="html"/><item id="b" href="b" media-type="html"/><item id="c" href="c" media-type="html"/><item id="d" href="d" media-type="html"/><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/><itemref idref="d"/></package>`,
			"a", chapter, "b", chapter, "c", chapter, "d", chapter),
		"a.ipynb": `{"cells":[` + fill(`{"cell_type":"markdown","source":"%s"},`) + `{}]}`,
		"a.csv":   fill("%s,1\n"),
		"a.html":  fill("<p>%s</p>\n"),
		"a.eml":   "Subject: Hi\n\n" + strings.Repeat(strings.Repeat(word+"\n", 1000), 80),
	}
}

// A document that is not read to its end says so on its first and its last part, and its lines are no total.
func TestCutDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	total := regexp.MustCompile(` of \d+ \(`)
	s := start(t, dir)
	for name, data := range longDocuments(t) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
		for _, offset := range []int{1, -1} {
			a := s.call("read_file", map[string]any{"path": name, "format": "text", "offset": offset})
			meta := a.Result.Meta
			if a.failed() || !strings.Contains(a.text(), " of at least ") || !strings.Contains(a.text(), "The document has more than these lines: it goes over the limit of ") || total.MatchString(a.text()) {
				t.Errorf("%s from %d: ...%s", name, offset, a.text()[max(0, len(a.text())-400):])
			}
			if meta["total_lines"] != nil || meta["total_lines_at_least"] == nil || meta["incomplete"] == nil || meta["truncated"] != true {
				t.Errorf("%s from %d: %v", name, offset, meta)
			}
		}
	}
}

// What cannot be shown is said with a command only if that would run.
func TestSuggestedCommands(t *testing.T) {
	t.Parallel()
	dir, bin := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.doc"), []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "a.heic"), []byte("\x00\x00\x00\x1cftypheic\x00\x00\x00\x00mif1"), 0o644))
	for _, program := range []string{"soffice", "heif-convert"} {
		must(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\necho ran \"$@\"; d=${1#-env:UserInstallation=file://}; [ \"$d\" = \"$1\" ] || mkdir -p \"$d\"\n"), 0o755))
	}
	suggested := regexp.MustCompile("`(.*)`")
	for _, tc := range []struct{ name, config, path, doc, heic string }{
		{"installed", "", bin + ":/usr/bin:/bin", "ran -env:UserInstallation=file:///", "ran a.heic image.png"},
		{"not installed", "", t.TempDir(), "ask the user to install LibreOffice (soffice)", "install heif-convert"},
		{"not listed", "tools: {bash: {allowed_commands: [heif-convert]}}\n", bin + ":/usr/bin:/bin", "ask the user to install LibreOffice (soffice)", "ran a.heic image.png"},
		{"disabled", "tools: {bash: {enabled: false}}\n", bin + ":/usr/bin:/bin", "ask the user to install LibreOffice (soffice)", "install heif-convert"},
	} {
		config := filepath.Join(t.TempDir(), "c.yaml")
		must(t, os.WriteFile(config, []byte("working_directory: "+dir+"\n"+tc.config), 0o600))
		s := startAs(t, binary(), []string{"HOME=" + t.TempDir(), "PATH=" + tc.path}, "--config", config)
		for file, want := range map[string]string{"a.doc": tc.doc, "a.heic": tc.heic} {
			said := s.call("read_file", map[string]any{"path": file}).text()
			if m := suggested.FindStringSubmatch(said); m != nil {
				said = s.call("bash", map[string]any{"command": m[1]}).text()
			}
			if !strings.Contains(said, want) || strings.Contains(said, "sandbox") {
				t.Errorf("%s: %s: %s; want %q", tc.name, file, said, want)
			}
		}
	}
}

// A PDF whose time ends gives the pages that were read, and the call that reads on.
func TestPDFOutOfTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fast := "BT /F 1 Tf "
	for i := range 290 {
		fast += fmt.Sprintf("1 0 0 1 20 %d Tm (some words of a page) Tj ", 295-i)
	}
	fast += "ET"
	_, slow, _ := strings.Cut(string(slowPDF()), "stream\n")
	slow, _, _ = strings.Cut(slow, "\nendstream")
	must(t, os.WriteFile(filepath.Join(dir, "a.pdf"), pdfOf(fast, fast, fast, fast, slow), 0o644))
	text := ""
	for _, limit := range []string{"1s", "2s", "3s", "5s", "8s", "13s"} { // one lies between the fast pages and the slow one
		config := filepath.Join(t.TempDir(), "c.yaml")
		must(t, os.WriteFile(config, []byte("working_directory: "+dir+"\nlimits: {timeout: "+limit+"}\n"), 0o600))
		a := start(t, "--config", config).call("read_file", map[string]any{"path": "a.pdf"})
		if text = a.text(); !a.failed() && strings.Contains(text, "some words of a page") && strings.Contains(text, " of 5. No more was read because the time of the call ended. To read on: read_file(path=\"a.pdf\", offset=") {
			return
		}
	}
	t.Errorf("...%s", text[max(0, len(text)-400):])
}
