package document_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
)

const openStyles = `<office:automatic-styles>` +
	`<style:style style:name="gone" style:family="table"><style:table-properties table:display="false"/></style:style>` +
	`<style:style style:name="dp2"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>` +
	`<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1"/><text:list-level-style-bullet text:level="2"/></text:list-style>` +
	`</office:automatic-styles>`

// openDocument makes an OpenDocument file of what is in its body.
func openDocument(t testing.TB, kind, body string, parts ...string) []byte {
	t.Helper()
	return pack(t, append([]string{"mimetype", "application/vnd.oasis.opendocument." + kind,
		"content.xml", `<office:document-content>` + openStyles + `<office:body><office:` + kind + `>` + body + `</office:` + kind + `></office:body></office:document-content>`}, parts...)...)
}

func TestOpenDocumentText(t *testing.T) {
	p := func(text string) string { return "<text:p>" + text + "</text:p>" }
	item := func(content string) string { return "<text:list-item>" + content + "</text:list-item>" }
	cell := func(attrs, text string) string {
		return "<table:table-cell " + attrs + ">" + text + "</table:table-cell>"
	}
	row := func(attrs, cells string) string {
		return "<table:table-row " + attrs + ">" + cells + "</table:table-row>"
	}
	for _, tc := range []struct{ name, kind, body, want string }{
		{"text", "text", `<text:h text:outline-level="2">Title</text:h>` + p("a\n  <text:span>b</text:span><text:s text:c=\"3\"/>c<text:tab/>d<text:line-break/>e") + p("") + p("end"), "## Title\na b   c\td\ne\n\nend"},
		{"lists", "text", `<text:list text:style-name="N">` + item(p("one")+p("more")+`<text:list>`+item(p("sub"))+`</text:list>`) + item(p("two")) + `</text:list><text:list>` + item(p("dash")) + `</text:list>`,
			"1. one\nmore\n  - sub\n2. two\n- dash"},
		{"links", "text", p(`<text:a xlink:href="https://example.org/">site</text:a> <text:a xlink:href="#top">top</text:a>`), "site (https://example.org/) top"},
		{"notes", "text", p(`x<text:note><text:note-citation>1</text:note-citation><text:note-body>` + p("foot") + `</text:note-body></text:note>y<office:annotation><dc:creator>Ann</dc:creator><dc:date>2024</dc:date>` + p("sure?") + `</office:annotation>`),
			"x[^1]y[^c1]\n\n[^1]: foot\n[^c1]: Ann: sure?"},
		{"table", "text", `<table:table>` + row("", cell(`table:number-columns-spanned="2"`, p("a")+p("b"))+`<table:covered-table-cell/>`+cell("", p("c"))) + `</table:table>`, "a b\t\tc"},
		{"frames", "text", p(`before<draw:frame><draw:image/><svg:title>t</svg:title><svg:desc>A map</svg:desc></draw:frame><draw:frame><draw:text-box>` + p("boxed") + `</draw:text-box></draw:frame>`), "before\n[image: A map]\nboxed"},
		{"tracked", "text", `<text:tracked-changes><text:deletion>` + p("gone") + `</text:deletion></text:tracked-changes>` + p("kept"), "kept"},
		{"slides", "presentation", `<draw:page>` + `<draw:frame><draw:text-box>` + p("Hi") + `</draw:text-box></draw:frame><draw:frame presentation:class="page-number"><draw:text-box>` + p("1") + `</draw:text-box></draw:frame>` +
			`<presentation:notes><draw:page-thumbnail/><draw:frame><draw:text-box>` + p("say") + `</draw:text-box></draw:frame></presentation:notes></draw:page>` +
			`<draw:page draw:style-name="dp2"><draw:custom-shape>` + p("shape") + `</draw:custom-shape><presentation:notes/></draw:page>`, "## Slide 1\nHi\n### Notes\nsay\n\n## Slide 2 (hidden)\nshape"},
		{"cells", "spreadsheet", `<table:table table:name="S">` +
			row("", cell(`office:value-type="float" office:value="0.30000000000000004"`, p("0,30"))+cell(`office:value-type="date" office:date-value="2024-01-02T03:04:05"`, p("x"))+
				cell(`office:value-type="boolean" office:boolean-value="true"`, p("WAHR"))+cell(`office:value-type="time" office:time-value="PT01H02M03S"`, p("x"))+cell(`office:value-type="string"`, p("two")+p("lines"))) + `</table:table>`,
			"## S\n0.3\t2024-01-02 03:04:05\tTRUE\t01:02:03\ttwo lines"},
		{"repeated", "spreadsheet", `<table:table table:name="S">` + row("", cell(`table:number-columns-repeated="2"`, "")+cell(`table:number-columns-repeated="2" office:value-type="string"`, p("x"))+cell(`table:number-columns-repeated="16380"`, "")) +
			row(`table:number-rows-repeated="2"`, cell("", "")) + row(`table:number-rows-repeated="2"`, cell("", p("y"))) + row(`table:number-rows-repeated="1048571"`, cell("", "")) + `</table:table>`,
			"## S\n\t\tx\tx\n\n\ny\ny"},
		{"groups and hidden", "spreadsheet", `<table:table table:name="A"><table:table-header-rows>` + row("", cell("", p("h"))) + `</table:table-header-rows><table:table-row-group>` + row("", cell("", p("g"))) + `</table:table-row-group></table:table>` +
			`<table:table table:name="B" table:style-name="gone">` + row("", cell("", p("b"))) + `</table:table>`, "## A\nh\ng\n\n## B (hidden)\nb"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := openDocument(t, tc.kind, tc.body)
			got, err := openDocumentText(bytes.NewReader(file), int64(len(file)), document.Limits{})
			if err != nil || got != tc.want {
				t.Errorf("got  %q %v\nwant %q", got, err, tc.want)
			}
		})
	}
}

func TestOpenDocumentParts(t *testing.T) {
	styles := `<office:document-styles><office:master-styles><style:master-page><style:header><text:p>ACME</text:p></style:header><style:footer><text:p>Page</text:p></style:footer></style:master-page><style:master-page><style:header><text:p>ACME</text:p></style:header></style:master-page></office:master-styles></office:document-styles>`
	file := openDocument(t, "text", "<text:p>x</text:p>", "styles.xml", styles)
	if got, err := openDocumentText(bytes.NewReader(file), int64(len(file)), document.Limits{}); err != nil || got != "[header] ACME\n\nx\n\n[footer] Page" {
		t.Errorf("%q %v", got, err)
	}
	file = openDocument(t, "text", "", "META-INF/manifest.xml", `<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>`)
	if _, err := openDocumentText(bytes.NewReader(file), int64(len(file)), document.Limits{}); err == nil || !strings.Contains(err.Error(), "protected by a password") {
		t.Errorf("encrypted: %v", err)
	}
}

// A row or cell that stands for very many costs no more than the limit of text.
func TestOpenDocumentRepeats(t *testing.T) {
	cell := `<table:table-cell table:number-columns-repeated="%d"><text:p>` + strings.Repeat("x", 1000) + `</text:p></table:table-cell>`
	for _, columns := range []int{1, 1 << 30} {
		file := openDocument(t, "spreadsheet", `<table:table><table:table-row table:number-rows-repeated="1000000000">`+fmt.Sprintf(cell, columns)+`</table:table-row></table:table>`)
		text, err := openDocumentText(bytes.NewReader(file), int64(len(file)), document.Limits{Text: 1 << 20})
		if err == nil || !strings.Contains(err.Error(), "bytes of text") || len(text) > 1<<20 {
			t.Errorf("%d columns: %d bytes, error %v", columns, len(text), err)
		}
	}
}

func FuzzOpenDocument(f *testing.F) {
	f.Add("text", []byte(`<text:list><text:list-item><text:p>a<text:s text:c="9"/><draw:frame><text:p>b</text:p></draw:frame></text:p></text:list-item></text:list>`))
	f.Add("spreadsheet", []byte(`<table:table table:name="S"><table:table-row table:number-rows-repeated="3"><table:table-cell table:number-columns-repeated="2" office:value-type="float" office:value="1"/></table:table-row></table:table>`))
	f.Add("presentation", []byte(`<draw:page><presentation:notes><text:p>x</text:p></presentation:notes></draw:page>`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if kind != "text" && kind != "presentation" {
			kind = "spreadsheet"
		}
		check(t, openDocumentText, openDocument(t, kind, string(body)))
	})
}

func BenchmarkOdsRows(b *testing.B) {
	measure(b, openDocumentText, openDocument(b, "spreadsheet", `<table:table table:name="S">`+strings.Repeat(
		`<table:table-row><table:table-cell office:value-type="string"><text:p>alpha</text:p></table:table-cell><table:table-cell office:value-type="float" office:value="1.5"><text:p>1,5</text:p></table:table-cell>`+
			`<table:table-cell office:value-type="date" office:date-value="2024-01-01"><text:p>x</text:p></table:table-cell></table:table-row>`, 1000)+`</table:table>`))
}
