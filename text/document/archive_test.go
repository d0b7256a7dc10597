package document_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolserver/toolserver/text/document"
)

// pack makes an archive of parts, given as name and content in turn.
func pack(t testing.TB, parts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// docx makes a Word document of a body, and of further parts.
func docx(t testing.TB, body string, parts ...string) []byte {
	t.Helper()
	return pack(t, append([]string{"word/document.xml", wordXML("document", "<w:body>"+body+"</w:body>")}, parts...)...)
}

// wordXML makes a part of a Word document.
func wordXML(root, content string) string {
	return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n" +
		`<w:` + root + ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"` +
		` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"` +
		` xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">` + content + `</w:` + root + `>`
}

// relsXML makes a .rels part of entries "id kind target", external where the
// target is a URL.
func relsXML(entries ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`)
	for _, e := range entries {
		f := strings.Fields(e)
		mode := ""
		if strings.Contains(f[2], ":") {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"%s/>`, f[0], f[1], f[2], mode)
	}
	return b.String() + `</Relationships>`
}

func wordText(t testing.TB, file []byte) string {
	t.Helper()
	text, err := docxText(bytes.NewReader(file), int64(len(file)), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type converter = func(r io.ReaderAt, size int64, limits document.Limits) (string, error)

// check holds what is made of a file to the limit of text and to UTF-8.
func check(t *testing.T, convert converter, file []byte) {
	t.Helper()
	text, err := convert(bytes.NewReader(file), int64(len(file)), document.Limits{Unpacked: 1 << 20, Text: 1 << 16})
	if len(text) > 1<<16 {
		t.Fatalf("%d bytes of text, error %v", len(text), err)
	}
	if !utf8.ValidString(text) {
		t.Fatalf("not UTF-8: %q", text)
	}
}

func measure(b *testing.B, convert converter, file []byte) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := convert(bytes.NewReader(file), int64(len(file)), document.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// archives are what converts zip archives.
var docxText, xlsxRows, pptxText, openDocumentText, epubText = of(document.Docx), of(document.Xlsx), of(document.Pptx), of(document.OpenDocument), of(document.Epub)

// of returns what reads documents of a kind.
func of(k document.Kind) converter {
	return func(r io.ReaderAt, size int64, limits document.Limits) (string, error) {
		return document.Text(k, r, size, limits)
	}
}

var archives = []converter{docxText, xlsxRows, pptxText, openDocumentText, epubText}

// without returns an archive without one of its parts.
func without(t *testing.T, file []byte, part string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var rest []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != part {
			rest = append(rest, f.Name, string(content))
		}
	}
	if len(rest) == 2*len(z.File) {
		t.Fatalf("there is no %s", part)
	}
	return pack(t, rest...)
}

// A part that is not there is missed, and the others are read.
func TestMissingParts(t *testing.T) {
	slides := pack(t, "ppt/presentation.xml", `<p:presentation xmlns:r="x"><p:sldId id="1" r:id="a"/><p:sldId id="2" r:id="b"/></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", relsXML("a slide slides/a.xml", "b slide slides/b.xml"),
		"ppt/slides/a.xml", `<p:sld><a:p><a:r><a:t>first</a:t></a:r></a:p></p:sld>`, "ppt/slides/b.xml", `<p:sld><a:p><a:r><a:t>second</a:t></a:r></a:p></p:sld>`)
	cells := `<row><c t="s"><v>0</v></c><c><v>7</v></c></row>`
	for _, tc := range []struct {
		name       string
		read       converter
		file       []byte
		part       string
		text, miss string
	}{
		{"slide", pptxText, slides, "ppt/slides/a.xml", "## Slide 2\nsecond", "ppt/slides/a.xml"},
		{"chapter", epubText, book(t, "a", "<p>one</p>", "b", "<p>two</p>"), "OEBPS/a", "two", "OEBPS/a"},
		{"sheet", xlsxRows, workbook(t), "xl/worksheets/sheet2.xml", "## Zwei & mehr\n\n## Eins (hidden)\n1904-01-01\n\n## Lost", "a sheet"},
		{"strings", xlsxRows, xlsx(t, cells), "xl/sharedStrings.xml", "## Data\n\t7", "the text of a cell"},
		{"names of the parts", xlsxRows, xlsx(t, cells), "xl/_rels/workbook.xml.rels", "## Data\nalpha\t7", ""},
	} {
		file := without(t, tc.file, tc.part)
		got, err := tc.read(bytes.NewReader(file), int64(len(file)), document.Limits{})
		if !strings.HasSuffix(got, tc.text) || (err == nil) != (tc.miss == "") || err != nil && !strings.Contains(err.Error(), "lacks a part: "+tc.miss) {
			t.Errorf("%s: %q, %v; want %q without %q", tc.name, got, err, tc.text, tc.miss)
		}
	}
}

// Rows of sheets may unpack to more than what is kept of a document.
func TestRowsUnpack(t *testing.T) {
	limits := document.Limits{Unpacked: 100_000}
	for _, tc := range []struct {
		name string
		read converter
		file func(n int) []byte
	}{
		{"xlsx", xlsxRows, func(n int) []byte { return xlsx(t, strings.Repeat(`<row><c><v>1</v></c></row>`, n)) }},
		{"ods", openDocumentText, func(n int) []byte {
			return openDocument(t, "spreadsheet", `<table:table>`+strings.Repeat(`<table:table-row><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row>`, n)+`</table:table>`)
		}},
	} {
		for rows, cut := range map[int]bool{3_500: false, 40_000: true} {
			file := tc.file(rows)
			text, err := tc.read(bytes.NewReader(file), int64(len(file)), limits)
			if cut != (err != nil) || !cut && strings.Count(text, "\n") != rows || cut && !strings.Contains(err.Error(), "limit of 400000 bytes unpacked") {
				t.Errorf("%s of %d rows: %d lines, %v", tc.name, rows, strings.Count(text, "\n"), err)
			}
		}
	}
}

// The text of a cell counts once.
func TestSheetText(t *testing.T) {
	file := openDocument(t, "spreadsheet", `<table:table>`+strings.Repeat(`<table:table-row><table:table-cell><text:p>`+strings.Repeat("x", 100)+`</text:p></table:table-cell></table:table-row>`, 100)+`</table:table>`)
	if text, err := openDocumentText(bytes.NewReader(file), int64(len(file)), document.Limits{Text: 12_000}); err != nil || len(text) < 10_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestNotADocument(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"empty", "", "not a readable .docx file"},
		{"text", "hello", "not a readable .docx file"},
		{"ole", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1" + strings.Repeat("\x00", 600), "protected by a password"},
		{"zip without the part", string(pack(t, "hello.txt", "x")), "word/document.xml"},
		{"broken XML", string(pack(t, "word/document.xml", "<w:document><w:body><w:p")), "word/document.xml"},
		{"cut XML", string(pack(t, "word/document.xml", "<w:document><w:body>")), "unexpected EOF"},
		{"no XML", string(pack(t, "word/document.xml", "")), "unexpected EOF"},
		{"only an end", string(pack(t, "word/document.xml", "</w:document>")), "unexpected end"},
		{"cut zip", string(docx(t, "<w:p/>")[:200]), "not a readable .docx file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := docxText(strings.NewReader(tc.file), int64(len(tc.file)), document.Limits{})
			var format *document.FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("docx: %v, want a FormatError with %q", err, tc.want)
			}
			for i, convert := range archives {
				if _, err := convert(strings.NewReader(tc.file), int64(len(tc.file)), document.Limits{}); !errors.As(err, &format) {
					t.Errorf("converter %d: %v, want a FormatError", i, err)
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("customXml/item%d.xml", i), "")
	}
	deep := strings.Repeat("<w:sdt>", 300) + strings.Repeat("</w:sdt>", 300)
	word := `<w:p><w:r><w:t>word</w:t></w:r></w:p>`
	for _, tc := range []struct {
		name   string
		file   []byte
		limits document.Limits
		want   string // in the error
		text   string // what is read before
	}{
		{"file", docx(t, word), document.Limits{File: 10}, "10 bytes in the file", ""},
		{"entries", docx(t, word, many...), document.Limits{Entries: 100}, "100 files", ""},
		{"unpacked", docx(t, word+strings.Repeat(" ", 1<<20)), document.Limits{Unpacked: 1 << 18}, "262144 bytes unpacked", "word"},
		{"unpacked by many parts", docx(t, `<w:p><w:r><w:t>x</w:t><w:footnoteReference w:id="1"/></w:r></w:p>`,
			"word/_rels/document.xml.rels", relsXML("a footnotes footnotes.xml"),
			"word/footnotes.xml", wordXML("footnotes", strings.Repeat(" ", 200000))), document.Limits{Unpacked: 100000}, "bytes unpacked", "x[^1]"},
		{"depth", docx(t, word+deep), document.Limits{}, "256 nested XML elements", "word"},
		{"text", docx(t, strings.Repeat(word, 1000)), document.Limits{Text: 50}, "50 bytes of text", "word\nword"},
		{"labels are text", docx(t, strings.Repeat(`<w:p><w:pPr><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>`, 1000)),
			document.Limits{Text: 5000}, "5000 bytes of text", "                - a"},
		{"spans are text", docx(t, "<w:tbl><w:tr>"+strings.Repeat(`<w:tc><w:tcPr><w:gridSpan w:val="63"/></w:tcPr></w:tc>`, 1000)+"</w:tr></w:tbl>"),
			document.Limits{Text: 5000}, "5000 bytes of text", ""},
		{"one tag", docx(t, `<w:p a="`+strings.Repeat("x", 3<<20)+`"/>`), document.Limits{}, "one XML tag", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := docxText(bytes.NewReader(tc.file), int64(len(tc.file)), tc.limits)
			var limit *document.LimitError
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want a LimitError with %q", err, tc.want)
			}
			if !strings.HasPrefix(text, tc.text) {
				t.Errorf("text begins with %.60q, want %q", text, tc.text)
			}
			if tc.limits.Text > 0 && len(text) > tc.limits.Text {
				t.Errorf("%d bytes of text", len(text))
			}
		})
	}
}

// A small file must not cost much memory, whatever it unpacks to.
func TestBombs(t *testing.T) {
	limits := document.Limits{Text: 2 << 20}
	attrs := `<w:p ` + strings.Repeat(`a="" `, 350_000) + `/>`
	cells := `<sheetData><row r="1">` + strings.Repeat(`<c t="s"><v>0</v></c>`, 1000) + `</row></sheetData>`
	for _, tc := range []struct {
		name string
		file []byte
		want string
	}{
		{"white space", docx(t, strings.Repeat(" ", 4<<20)), "bytes"},
		{"attributes", docx(t, attrs), ""},
		{"text", docx(t, `<w:p><w:r>`+strings.Repeat(`<w:t>`+strings.Repeat("x", 1<<20)+`</w:t>`, 3)+`</w:r></w:p>`), "bytes of text"},
		{"shared string", pack(t,
			"xl/workbook.xml", `<workbook><sheets><sheet name="a" id="s"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", relsXML("s worksheet worksheets/sheet1.xml", "t sharedStrings sharedStrings.xml"),
			"xl/sharedStrings.xml", `<sst><si><t>`+strings.Repeat("x", 1<<20)+`</t></si></sst>`,
			"xl/worksheets/sheet1.xml", `<worksheet>`+cells+`</worksheet>`), "bytes of text"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var err error
			if tc.name == "shared string" {
				_, err = xlsxRows(bytes.NewReader(tc.file), int64(len(tc.file)), limits)
			} else {
				_, err = docxText(bytes.NewReader(tc.file), int64(len(tc.file)), limits)
			}
			runtime.ReadMemStats(&after)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 100<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// broken fails where it is read.
type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestReaderError(t *testing.T) {
	cause := errors.New("cancelled")
	if _, err := docxText(broken{cause}, 1000, document.Limits{}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}
