package document_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
)

// xlsx makes a workbook of one sheet with the given rows.
func xlsx(t testing.TB, rows string) []byte {
	t.Helper()
	return pack(t,
		"xl/workbook.xml", `<workbook><sheets><sheet name="Data" sheetId="1" r:id="s1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", relsXML("s1 worksheet worksheets/sheet1.xml", "str sharedStrings sharedStrings.xml", "sty styles styles.xml"),
		"xl/sharedStrings.xml", `<sst><si><t>alpha</t></si><si><r><t>be</t></r><r><rPr><b/></rPr><t>ta</t></r><rPh><t>x</t></rPh></si><si><t xml:space="preserve">two
lines	tab _x000D_</t></si><si/></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd\/mm\/yyyy"/><numFmt numFmtId="165" formatCode="&quot;days&quot; 0.0"/><numFmt numFmtId="166" formatCode="[h]:mm"/><numFmt numFmtId="167" formatCode="[Red][$-409]h:mm AM/PM"/></numFmts>`+
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>`+
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="167"/><xf numFmtId="10"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml", `<worksheet><cols><col min="1"/></cols><sheetData>`+rows+`</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells></worksheet>`)
}

func TestXlsxRows(t *testing.T) {
	styled := func(style int, value string) string {
		return fmt.Sprintf(`<row r="1"><c r="A1" s="%d"><v>%s</v></c></row>`, style, value)
	}
	for _, tc := range []struct{ name, rows, want string }{
		{"no rows", ``, ""},
		{"strings", `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c><c r="D1" t="str"><f>A1</f><v>res</v></c></row>`, "alpha\tbeta\tinline\tres"},
		{"white space in a cell", `<row r="1"><c r="A1" t="s"><v>2</v></c><c r="B1"><v>1</v></c></row>`, "two lines tab  \t1"},
		{"booleans and errors", `<row><c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="e"><v>#REF!</v></c></row>`, "TRUE\tFALSE\t#REF!"},
		{"numbers", `<row><c><v>42</v></c><c><v>1.1000000000000001</v></c><c><v>1234567890123456789</v></c><c><v>-0.5</v></c><c><v>1.0000000000000001E-5</v></c></row>`, "42\t1.1\t1234567890123456789\t-0.5\t1e-05"},
		{"gaps", `<row r="2"><c r="B2"><v>1</v></c><c r="E2"><v>2</v></c></row><row r="4"><c r="A4"><v>3</v></c></row>`, "\n\t1\t\t\t2\n\n3"},
		{"long gap", `<row r="1"><c><v>1</v></c></row><row r="500"><c r="A500" s="1"/></row><row r="1048576"><c><v>2</v></c></row>`, "1\n[rows 2-1048575 are empty]\n2"},
		{"no references", `<row><c><v>1</v></c><c/><c><v>2</v></c></row><row><c><v>3</v></c></row>`, "1\t\t2\n3"},
		{"formula without result", `<row><c><f>SUM(A1:A3)</f></c><c><f t="shared" si="0"/></c></row>`, "=SUM(A1:A3)"},
		{"date", styled(1, "45292"), "2024-01-01"},
		{"date and time", styled(1, "45292.75"), "2024-01-01 18:00:00"},
		{"milliseconds", styled(1, "45292.000005787"), "2024-01-01 00:00:00.500"},
		{"custom date", styled(2, "36526"), "2000-01-01"},
		{"first day", styled(1, "1"), "1900-01-01"},
		{"before the day that never was", styled(1, "59"), "1900-02-28"},
		{"the day that never was", styled(1, "60"), "1900-02-29"},
		{"after it", styled(1, "61"), "1900-03-01"},
		{"last day", styled(1, "2958465"), "9999-12-31"},
		{"no date", styled(1, "2958466"), "2958466"},
		{"negative", styled(1, "-1"), "-1"},
		{"not a number", styled(1, "abc"), "abc"},
		{"letters in quotes", styled(3, "3.5"), "3.5"},
		{"duration", styled(4, "1.5"), "36:00:00"},
		{"time", styled(5, "0.5625"), "13:30:00"},
		{"per cent", styled(6, "0.25"), "0.25"},
		{"style out of range", styled(999, "1"), "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := xlsx(t, tc.rows)
			got, err := xlsxRows(bytes.NewReader(file), int64(len(file)), document.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimSuffix("## Data\n"+tc.want, "\n"); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// workbook has several sheets, in another order than their files, and dates
// that count from 1904.
func workbook(t testing.TB) []byte {
	cell := func(v string) string {
		return `<worksheet><sheetData><row r="1"><c r="A1" s="1"><v>` + v + `</v></c></row></sheetData></worksheet>`
	}
	return pack(t,
		"_rels/.rels", relsXML("r officeDocument xl/book.xml"),
		"xl/book.xml", `<x:workbook xmlns:x="x"><x:workbookPr date1904="1"/><x:sheets><x:sheet name="Zwei &amp; mehr" r:id="b"/><x:sheet name="Chart" r:id="c"/><x:sheet name="Eins" state="hidden" r:id="a"/><x:sheet name="Lost" r:id="zz"/></x:sheets></x:workbook>`,
		"xl/_rels/book.xml.rels", relsXML("a worksheet worksheets/sheet1.xml", "b worksheet /xl/worksheets/SHEET2.xml", "c chartsheet chartsheets/sheet1.xml", "s styles styles.xml"),
		"xl/styles.xml", `<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml", cell("0"),
		"xl/worksheets/sheet2.xml", cell("43830.5"),
	)
}

func TestXlsxWorkbook(t *testing.T) {
	file := workbook(t)
	got, err := xlsxRows(bytes.NewReader(file), int64(len(file)), document.Limits{})
	if want := "## Zwei & mehr\n2024-01-01 12:00:00\n\n## Eins (hidden)\n1904-01-01\n\n## Lost"; got != want || err == nil || !strings.Contains(err.Error(), "lacks a part: a sheet") {
		t.Errorf("got %q, %v\nwant %q", got, err, want)
	}
}

func TestXlsxLimit(t *testing.T) {
	file := xlsx(t, strings.Repeat(`<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>`, 100))
	got, err := xlsxRows(bytes.NewReader(file), int64(len(file)), document.Limits{Text: 40_000})
	var limit *document.LimitError
	if !errors.As(err, &limit) || limit.Max != 40_000 {
		t.Errorf("error %v, want the limit of text", err)
	}
	if !strings.HasPrefix(got, "## Data\n1\t") || strings.Count(got, "2") < 2 || len(got) > 40_000 {
		t.Errorf("%d bytes begin with %.20q", len(got), got)
	}
}

func FuzzXlsx(f *testing.F) {
	f.Add([]byte(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`))
	f.Add([]byte(`<row r="9"><c r="ZZZZ9" s="1"><v>1e300</v></c><c s="4"><v>0.1</v></c></row>`))
	f.Add([]byte(`<row><c t="inlineStr"><is><t>_x0041__xD800_</t></is></c>`))
	f.Fuzz(func(t *testing.T, rows []byte) {
		check(t, xlsxRows, xlsx(t, string(rows)))
	})
}

func BenchmarkXlsxRows(b *testing.B) {
	file := xlsx(b, strings.Repeat(`<row><c t="s"><v>0</v></c><c><v>1.5</v></c><c s="1"><v>45292</v></c><c t="s"><v>1</v></c></row>`, 1000))
	measure(b, xlsxRows, file)
}
