package files_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/sandbox/declare"
	"github.com/toolserver/toolserver/test/tooltest"
	"github.com/toolserver/toolserver/tools/files"
)

// archive returns a zip archive of files, given as name and content in turn.
func archive(t *testing.T, pairs ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.Create(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func docx(t *testing.T, body string) string {
	return archive(t, "word/document.xml",
		`<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`+body+`</w:body></w:document>`)
}

func paragraph(text string) string { return `<w:p><w:r><w:t>` + text + `</w:t></w:r></w:p>` }

func TestReadDocuments(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	table := `<w:tbl><w:tr><w:tc>` + paragraph("a") + `</w:tc><w:tc>` + paragraph("b") + `</w:tc></w:tr></w:tbl>`
	sheet := archive(t,
		"_rels/.rels", `<Relationships><Relationship Id="r" Type="http://x/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml", `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="http://x/worksheet" Target="worksheets/s.xml"/></Relationships>`,
		"xl/worksheets/s.xml", `<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>k</t></is></c><c r="B1"><v>42</v></c></row></sheetData></worksheet>`)
	b.put(t, "report.docx", docx(t, paragraph("Hello")+table), "sheet.xlsx", sheet, "long.docx", docx(t, strings.Repeat(paragraph(strings.Repeat("word ", 10)), 200)),
		"fake.docx", archive(t, "x", "y"), "text.docx", "plain\n", "paper.pdf", "%PDF-1.7\n\x00", "a.zip", archive(t, "x", "y"),
		"text.odt", archive(t, "content.xml", `<office:document-content><office:body><office:text><text:h text:outline-level="1">T</text:h><text:p>x</text:p></office:text></office:body></office:document-content>`),
		"talk.pptx", archive(t, "ppt/presentation.xml", `<p:presentation><p:sldIdLst><p:sldId id="256" r:id="r1"/></p:sldIdLst></p:presentation>`,
			"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="r1" Type="http://x/slide" Target="slides/s.xml"/></Relationships>`,
			"ppt/slides/s.xml", `<p:sld><a:p><a:r><a:t>Hi</a:t></a:r></a:p></p:sld>`),
		"book.epub", archive(t, "META-INF/container.xml", `<container><rootfile full-path="c.opf"/></container>`,
			"c.opf", `<package><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><itemref idref="a"/></package>`, "a.xhtml", "<p>Call me Ishmael.</p>"))
	format := func(want string) func(t *testing.T, res domain.ToolResult) {
		return func(t *testing.T, res domain.ToolResult) {
			if m := meta(t, res); m["format"] != want {
				t.Errorf("_meta %v", m)
			}
		}
	}
	b.run(t, "read_file", []tooltest.Case{
		{Name: "docx", Args: `{"path":"report.docx"}`, Exact: "Hello\na\tb", Check: func(t *testing.T, res domain.ToolResult) {
			if m := meta(t, res); m["format"] != "docx" || m["total_lines"] != 2.0 || m["truncated"] != false {
				t.Errorf("_meta %v", m)
			}
		}},
		{Name: "docx lines", Args: `{"path":"report.docx","offset":2,"limit":1}`, Exact: "a\tb"},
		{Name: "docx window", Args: `{"path":"long.docx"}`, Wants: []string{"[Showed lines 1-", "of 200 (", `read_file(path="long.docx", offset=`}},
		{Name: "xlsx", Args: `{"path":"sheet.xlsx"}`, Exact: "## S\nk\t42"},
		{Name: "odt", Args: `{"path":"text.odt"}`, Exact: "# T\nx", Check: format("odt")},
		{Name: "pptx", Args: `{"path":"talk.pptx"}`, Exact: "## Slide 1\nHi", Check: format("pptx")},
		{Name: "epub", Args: `{"path":"book.epub"}`, Exact: "Call me Ishmael.", Check: format("epub")},
		{Name: "zip called docx", Args: `{"path":"fake.docx"}`, Want: "fake.docx is not a readable .docx file", ErrorType: "is_binary"},
		{Name: "text called docx", Args: `{"path":"text.docx"}`, Exact: "plain\n"},
		{Name: "pdf without poppler", Args: `{"path":"paper.pdf"}`, Wants: []string{"paper.pdf is a PDF document, and pdfinfo is not installed", "poppler-utils", "brew install poppler"}, ErrorType: "is_binary"},
		{Name: "zip", Args: `{"path":"a.zip"}`, Want: "(zip archive, application/zip, 123 bytes): ask the user what is in it", ErrorType: "is_binary"},
	})
}

// Text that is the source of what people see.
func TestReadSources(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 10, 10))); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, declare.From[files.Options]{Config: files.Options{MaxChars: 2000}}, nil)
	plot := `{"data":{"image/png":"` + base64.StdEncoding.EncodeToString(picture.Bytes()) + `"}}`
	notebook := `{"cells":[{"cell_type":"markdown","source":"Hi"},{"cell_type":"code","source":"plot()","outputs":[` + plot + strings.Repeat(","+plot, 9) + `,{"data":{"image/png":"aGk="}}]}],"metadata":{}}`
	const page = "<h1>Title</h1>\n<p>some <a href=\"https://example.org/\">link</a></p>\n"
	b.put(t, "n.ipynb", notebook, "bad.ipynb", "{}", "empty.ipynb", "", "p.html", page, "long.html", strings.Repeat("<p>word</p>\n", 1000), "latin.html", "<p>caf\xe9 cr\xe8me</p>",
		"t.csv", "a;b\n1;\"x\ny\"\n", "r.rtf", `{\rtf1 hello}`, "plain.txt", "plain\n",
		"m.eml", "From: a@example.org\nSubject: Hi\nX-Mailer: x\n\nHello\n")
	images := func(want int, texts ...string) func(t *testing.T, res domain.ToolResult) {
		return func(t *testing.T, res domain.ToolResult) {
			got := 0
			for _, c := range res.Content[1:] {
				if c.Type == domain.ImageContent {
					got++
				} else if len(texts) == 0 || !strings.Contains(c.Text, texts[0]) {
					t.Errorf("text %q, want %q", c.Text, texts)
				} else {
					texts = texts[1:]
				}
			}
			if got != want || len(texts) > 0 {
				t.Errorf("%d images, want %d; missing %q", got, want, texts)
			}
		}
	}
	b.run(t, "read_file", []tooltest.Case{
		{Name: "notebook", Args: `{"path":"n.ipynb"}`, Want: "Hi\n\n```\nplot()\n```\n\n[image 1: image/png]\n\n[image 2", Check: images(8, "[3 more images")},
		{Name: "lines of a notebook", Args: `{"path":"n.ipynb","offset":7,"limit":3}`, Want: "[image 1: image/png]\n\n[image 2", Check: images(2)},
		{Name: "broken image", Args: `{"path":"n.ipynb","offset":-1}`, Want: "[image 11: image/png]", Check: images(0, "[image 11 is not a whole")},
		{Name: "source of a notebook", Args: `{"path":"n.ipynb","format":"raw","limit":1}`, Want: `{"cells":[{"cell_type":"markdown"`},
		{Name: "no notebook", Args: `{"path":"bad.ipynb"}`, Want: "bad.ipynb is not a readable .ipynb file: it has no cells", ErrorType: "is_binary"},
		{Name: "empty notebook", Args: `{"path":"empty.ipynb"}`},
		{Name: "html", Args: `{"path":"p.html"}`, Exact: page},
		{Name: "text of html", Args: `{"path":"p.html","format":"text"}`, Exact: "Title\n\nsome link (https://example.org/)"},
		{Name: "html window", Args: `{"path":"long.html"}`, Wants: []string{`offset=`, `Without markup: read_file(path="long.html", format="text")`}},
		{Name: "window of its text", Args: `{"path":"long.html","format":"text"}`, Want: `, format="text")]`},
		{Name: "charset of html", Args: `{"path":"latin.html","format":"text"}`, Want: `encoding="windows-1252"`, ErrorType: "decode_error"},
		{Name: "with it", Args: `{"path":"latin.html","format":"text","encoding":"windows-1252"}`, Exact: "café crème"},
		{Name: "csv", Args: `{"path":"t.csv"}`, Exact: "a;b\n1;\"x\ny\"\n"},
		{Name: "rows of csv", Args: `{"path":"t.csv","format":"text"}`, Exact: "a\tb\n1\tx y"},
		{Name: "mail", Args: `{"path":"m.eml"}`, Exact: "From: a@example.org\nSubject: Hi\n\nHello"},
		{Name: "source of mail", Args: `{"path":"m.eml","format":"raw","offset":3,"limit":1}`, Want: "X-Mailer: x\n"},
		{Name: "rtf", Args: `{"path":"r.rtf"}`, Want: "install LibreOffice (soffice)", ErrorType: "is_binary"},
		{Name: "source of rtf", Args: `{"path":"r.rtf","format":"raw"}`, Exact: `{\rtf1 hello}`},
		{Name: "plain text", Args: `{"path":"plain.txt","format":"text"}`, Exact: "plain\n"},
		{Name: "format", Args: `{"path":"plain.txt","format":"pdf"}`, Want: "format", Code: domain.CodeInvalidParams},
	})
}

func TestReadImage(t *testing.T) {
	b := newBench(t, declare.From[files.Options]{}, nil)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 300, 300))); err != nil {
		t.Fatal(err)
	}
	var large bytes.Buffer
	if err := png.Encode(&large, image.NewGray(image.Rect(0, 0, 3000, 1000))); err != nil {
		t.Fatal(err)
	}
	b.put(t, "p.png", picture.String(), "p.dat", picture.String(), "huge.png", picture.String(), "bad.png", "\x89PNG\r\n\x1a\n", "large.png", large.String(), "i.ico", "\x00\x00\x01\x00\x01\x00")
	if err := os.Truncate(filepath.Join(b.dir, "huge.png"), 65<<20); err != nil {
		t.Fatal(err)
	}
	isPicture := func(t *testing.T, res domain.ToolResult) {
		if c := res.Content; len(c) != 2 || c[1].Type != domain.ImageContent || c[1].MIMEType != "image/png" || !bytes.Equal(c[1].Data, picture.Bytes()) {
			t.Errorf("%d blocks: %.200v", len(c), c)
		}
	}
	b.run(t, "read_file", []tooltest.Case{
		{Name: "png", Args: `{"path":"p.png"}`, Want: "p.png: image/png, 300 x 300 pixels, ", Check: isPicture},
		{Name: "by its bytes", Args: `{"path":"p.dat"}`, Check: isPicture},
		{Name: "too large", Args: `{"path":"huge.png"}`, Want: "at most 67108864", ErrorType: "too_large"},
		{Name: "signature only", Args: `{"path":"bad.png"}`, Want: "bad.png is not a whole image/png image", ErrorType: "invalid_image"},
		{Name: "icon", Args: `{"path":"i.ico"}`, Want: "i.ico is not a whole image/x-icon image: image: unknown format", ErrorType: "invalid_image"},
		{Name: "scaled", Args: `{"path":"large.png"}`, Want: "3000 x 1000 pixels, ", Wants: []string{"shown as image/png with 1568 x 523 pixels"}},
	})
}
