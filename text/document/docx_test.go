package document_test

import (
	"strings"
	"testing"
)

// para makes a paragraph of one run, with properties before it.
func para(text string, properties ...string) string {
	p := ""
	if len(properties) > 0 {
		p = "<w:pPr>" + strings.Join(properties, "") + "</w:pPr>"
	}
	return "<w:p>" + p + "<w:r><w:t>" + text + "</w:t></w:r></w:p>"
}

func TestDocxText(t *testing.T) {
	const box = `<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>`
	field := func(instruction, result string) string {
		return `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>` + instruction + `</w:instrText></w:r>` +
			`<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>` + result + `</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
	}
	for _, tc := range []struct{ name, body, want string }{
		{"empty", ``, ""},
		{"paragraphs", para("Dear") + `<w:p/>` + para("bye"), "Dear\n\nbye"},
		{"tab and breaks", `<w:p><w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:r></w:p>`, "a\tb\nc\nd"},
		{"runs and spaces", `<w:p><w:r><w:t xml:space="preserve">a </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>b</w:t></w:r></w:p>`, "a b"},
		{"entities", para("a &lt; b &amp; c &#x20AC;"), "a < b & c €"},
		{"hyphens", `<w:p><w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c</w:t></w:r></w:p>`, "a\u2011bc"},
		{"headings without styles", para("One", `<w:pStyle w:val="Heading1"/>`) + para("Two", `<w:pStyle w:val="Heading2"/>`) + para("Out", `<w:outlineLvl w:val="2"/>`), "# One\n## Two\n### Out"},
		{"empty heading", `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:p>` + para("x"), "\nx"[1:]},
		{"list without definition", para("a", `<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>`) + para("b", `<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>`), "- a\n  - b"},
		{"list switched off", para("a", `<w:numPr><w:numId w:val="0"/></w:numPr>`), "a"},
		{"deleted and inserted", `<w:p><w:del><w:r><w:delText>gone</w:delText><w:tab/></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:moveFrom><w:r><w:t>from</w:t></w:r></w:moveFrom><w:moveTo><w:r><w:t> to</w:t></w:r></w:moveTo></w:p>`, "new to"},
		{"deleted paragraph mark", `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>one </w:t></w:r></w:p>` + para("line", `<w:pStyle w:val="Heading1"/>`), "# one line"},
		{"last paragraph mark deleted", `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:t>end</w:t></w:r></w:p>`, "end"},
		{"hidden", `<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r></w:p>`, "shown"},
		{"content control", `<w:sdt><w:sdtPr><w:placeholder><w:docPart/></w:placeholder></w:sdtPr><w:sdtContent>` + para("in it") + `</w:sdtContent></w:sdt>`, "in it"},
		{"field", `<w:p><w:r><w:t>page </w:t></w:r>` + field(" PAGE ", "7") + `</w:p>`, "page 7"},
		{"field in a field's instruction", `<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText> IF </w:instrText></w:r>` + field("A", "not text") + `<w:r><w:fldChar w:fldCharType="separate"/><w:t>text</w:t><w:fldChar w:fldCharType="end"/></w:r></w:p>`, "text"},
		{"field without end", `<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>X</w:instrText></w:r></w:p>` + para("still here"), "\nstill here"[1:]},
		{"link field", `<w:p>` + field(` HYPERLINK "https://example.org/a" \o "tip" `, "here") + `</w:p>`, "here (https://example.org/a)"},
		{"link field to a bookmark", `<w:p>` + field(` HYPERLINK \l "top" `, "up") + `</w:p>`, "up"},
		{"simple field", `<w:p><w:fldSimple w:instr="AUTHOR"><w:r><w:t>Ann</w:t></w:r></w:fldSimple></w:p>`, "Ann"},
		{"text box once", `<w:p><w:r><w:t>before</w:t><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>` + box + `</w:drawing></mc:Choice><mc:Fallback><w:pict>` + box + `</w:pict></mc:Fallback></mc:AlternateContent><w:t> after</w:t></w:r></w:p>`, "before after\nboxed"},
		{"only a fallback", `<w:p><w:r><mc:AlternateContent><mc:Fallback><w:t>old</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`, "old"},
		{"alternative blocks", `<mc:AlternateContent><mc:Choice>` + para("a") + `</mc:Choice><mc:Choice>` + para("b") + `</mc:Choice></mc:AlternateContent>`, "a"},
		{"picture", `<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="Picture 1" descr="A red&#10;barn"/></wp:inline></w:drawing></w:r></w:p>`, "[image: A red barn]"},
		{"symbols", `<w:p><w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Arial" w:char="263A"/><w:sym w:font="Wingdings" w:char="F001"/></w:r></w:p>`, "✓☺\uFFFD"},
		{"ruby", `<w:p><w:r><w:ruby><w:rt><w:r><w:t>かん</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>`, "漢"},
		{"formula", `<w:p><m:oMath><m:r><m:t>a+b</m:t></m:r></m:oMath></w:p>`, "a+b"},
		{"smart tag", `<w:p><w:smartTag><w:r><w:t>Paris</w:t></w:r></w:smartTag></w:p>`, "Paris"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.TrimPrefix(wordText(t, docx(t, tc.body)), "\n"); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestDocxTables(t *testing.T) {
	cell := func(content string) string { return "<w:tc>" + content + "</w:tc>" }
	row := func(cells ...string) string { return "<w:tr>" + strings.Join(cells, "") + "</w:tr>" }
	table := func(rows ...string) string {
		return `<w:tbl><w:tblPr><w:tblStyle w:val="x"/></w:tblPr><w:tblGrid><w:gridCol/></w:tblGrid>` + strings.Join(rows, "") + "</w:tbl>"
	}
	for _, tc := range []struct{ name, body, want string }{
		{"rows", para("before") + table(row(cell(para("a")), cell(para("b"))), row(cell(para("c")), cell(`<w:p/>`))) + para("after"), "before\na\tb\nc\t\nafter"},
		{"breaks inside", table(row(cell(para("a")+para("b")), cell(`<w:p><w:r><w:t>c</w:t><w:br/><w:t>d</w:t><w:tab/><w:t>e</w:t></w:r></w:p>`))), "a b\tc d e"},
		{"nested", table(row(cell(para("x")+table(row(cell(para("1")), cell(para("2"))), row(cell(para("3"))))+`<w:p/>`), cell(para("y")))), "x 1 2 3\ty"},
		{"span", table(row(cell(`<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>`+para("wide")), cell(para("z"))), row(cell(para("1")), cell(para("2")), cell(para("3")))), "wide\t\tz\n1\t2\t3"},
		{"columns before", table(`<w:tr><w:trPr><w:gridBefore w:val="2"/></w:trPr>` + cell(para("x")) + `</w:tr>`), "\t\tx"},
		{"deleted row", table(`<w:tr><w:trPr><w:del/></w:trPr>`+cell(para("gone"))+`</w:tr>`, row(cell(para("kept")))), "kept"},
		{"controls around rows and cells", table(`<w:sdt><w:sdtContent>` + row(`<w:sdt><w:sdtContent>`+cell(para("a"))+`</w:sdtContent></w:sdt>`, cell(para("b"))) + `</w:sdtContent></w:sdt>`), "a\tb"},
		{"heading inside", table(row(cell(para("Head", `<w:pStyle w:val="Heading1"/>`)))), "Head"},
		{"list inside", table(row(cell(para("a", `<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>`)))), "- a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := wordText(t, docx(t, tc.body)); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// report is a document with all the parts that bear on its text.
func report(t testing.TB) []byte {
	item := func(text, level, list string) string {
		return para(text, `<w:numPr><w:ilvl w:val="`+level+`"/><w:numId w:val="`+list+`"/></w:numPr>`)
	}
	lvl := func(n, format, text string) string {
		return `<w:lvl w:ilvl="` + n + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/><w:lvlText w:val="` + text + `"/></w:lvl>`
	}
	body := para("Annual Report", `<w:pStyle w:val="Titel"/>`) +
		para("Scope", `<w:pStyle w:val="berschrift1"/>`) +
		para("Details", `<w:pStyle w:val="Based"/>`) +
		item("first", "0", "1") + item("sub", "1", "1") + item("sub", "1", "1") + item("second", "0", "1") + item("sub", "1", "1") +
		item("bullet", "0", "2") + item("again", "0", "3") +
		para("styled", `<w:pStyle w:val="ListBullet"/>`) +
		`<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="link"><w:r><w:t>the site</w:t></w:r></w:hyperlink><w:r><w:t xml:space="preserve"> and </w:t></w:r><w:hyperlink r:id="same"><w:r><w:t>https://example.org/x</w:t></w:r></w:hyperlink><w:hyperlink w:anchor="top"><w:r><w:t> top</w:t></w:r></w:hyperlink></w:p>` +
		`<w:p><w:r><w:t>Noted</w:t><w:footnoteReference w:id="5"/><w:t xml:space="preserve"> twice</w:t><w:footnoteReference w:id="2"/><w:endnoteReference w:id="1"/><w:commentReference w:id="0"/></w:r></w:p>` +
		`<w:sectPr><w:headerReference w:type="default" r:id="h1"/><w:headerReference w:type="first" r:id="h2"/><w:footerReference w:type="default" r:id="f1"/></w:sectPr>`
	return pack(t,
		"[Content_Types].xml", "<Types/>",
		"_rels/.rels", relsXML("rId1 officeDocument word/report.xml"),
		"word/report.xml", wordXML("document", "<w:body>"+body+"</w:body>"),
		"word/_rels/report.xml.rels", relsXML("s styles styles.xml", "n numbering /word/numbering.xml", "link hyperlink https://example.org/",
			"same hyperlink https://example.org/x", "h1 header header1.xml", "h2 header header2.xml", "f1 footer footer1.xml",
			"fn footnotes footnotes.xml", "en endnotes endnotes.xml", "c comments comments.xml"),
		"word/styles.xml", wordXML("styles", `<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>`+
			`<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>`+
			`<w:style w:styleId="H2"><w:name w:val="Chapter"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>`+
			`<w:style w:styleId="Based"><w:name w:val="Mine"/><w:basedOn w:val="H2"/></w:style>`+
			`<w:style w:styleId="ListBullet"><w:name w:val="List Bullet"/><w:basedOn w:val="ListBullet"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>`),
		"word/numbering.xml", wordXML("numbering", `<w:abstractNum w:abstractNumId="7">`+lvl("0", "decimal", "%1.")+lvl("1", "lowerLetter", "%1.%2)")+`</w:abstractNum>`+
			`<w:abstractNum w:abstractNumId="8">`+lvl("0", "bullet", "\uF0B7")+`</w:abstractNum>`+
			`<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>`+
			`<w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="4"/></w:lvlOverride></w:num>`),
		"word/header1.xml", wordXML("hdr", para("ACME")),
		"word/header2.xml", wordXML("hdr", para("ACME")),
		"word/footer1.xml", wordXML("ftr", para("Confidential")),
		"word/footnotes.xml", wordXML("footnotes", `<w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>`+
			`<w:footnote w:id="2"><w:p><w:r><w:footnoteRef/><w:t>later</w:t></w:r></w:p></w:footnote>`+
			`<w:footnote w:id="5"><w:p><w:hyperlink r:id="fl"><w:r><w:t>source</w:t></w:r></w:hyperlink></w:p></w:footnote>`+
			`<w:footnote w:id="9">`+para("never referred to")+`</w:footnote>`),
		"word/_rels/footnotes.xml.rels", relsXML("fl hyperlink https://example.com/s"),
		"word/endnotes.xml", wordXML("endnotes", `<w:endnote w:id="1">`+para("at the end")+`</w:endnote>`),
		"word/comments.xml", wordXML("comments", `<w:comment w:id="0" w:author="Ann">`+para("sure?")+`</w:comment>`),
	)
}

func TestDocxReport(t *testing.T) {
	const want = `[header] ACME

# Annual Report
# Scope
## Details
1. first
  1.a) sub
  1.b) sub
2. second
  2.a) sub
- bullet
4. again
- styled
See the site (https://example.org/) and https://example.org/x top
Noted[^1] twice[^2][^e1][^c1]

[footer] Confidential

[^1]: source (https://example.com/s)
[^2]: later
[^e1]: at the end
[^c1]: Ann: sure?`
	if got := wordText(t, report(t)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func FuzzDocx(f *testing.F) {
	f.Add([]byte(para("a") + `<w:tbl><w:tr><w:tc>` + para("b") + `</w:tc></w:tr></w:tbl>`))
	f.Add([]byte(`<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>HYPERLINK "x"</w:instrText><w:fldChar w:fldCharType="end"/></w:r></w:p>`))
	f.Add([]byte(`<w:p><w:pPr><w:numPr><w:numId w:val="1"/><w:ilvl w:val="-9"/></w:numPr><w:rPr><w:del/></w:rPr></w:pPr></w:p></w:body></x>`))
	f.Add([]byte(`<mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:sym w:font="Symbol" w:char="F0"/></w:r></w:p>`))
	numbering := wordXML("numbering", `<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1%9%"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>`)
	f.Fuzz(func(t *testing.T, body []byte) {
		file := docx(t, string(body), "word/_rels/document.xml.rels", relsXML("n numbering numbering.xml"), "word/numbering.xml", numbering)
		check(t, docxText, file)
	})
}

// FuzzArchive feeds whole files, so that the archive itself is hostile.
func FuzzArchive(f *testing.F) {
	f.Add(report(f))
	f.Add(workbook(f))
	f.Add(pptx(f, shape("title", "x")))
	f.Add(openDocument(f, "text", "<text:p>x</text:p>"))
	f.Add(book(f, "a", "<p>x</p>"))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\xff", 18)))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, convert := range archives {
			check(t, convert, file)
		}
	})
}

func BenchmarkDocxText(b *testing.B) {
	file := docx(b, strings.Repeat(para("A paragraph of a document with some words in it, and a few more.")+
		`<w:tbl><w:tr><w:tc>`+para("left")+`</w:tc><w:tc>`+para("right")+`</w:tc></w:tr></w:tbl>`, 100))
	b.ReportAllocs()
	for b.Loop() {
		wordText(b, file)
	}
}
