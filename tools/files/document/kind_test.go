package document_test

import (
	"strings"
	"testing"

	"toolserver/tools/files/document"
)

func TestDetect(t *testing.T) {
	const zip, ole = "PK\x03\x04\x14\x00", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	for _, tc := range []struct {
		name, head string
		kind       document.Kind
		mime       string
	}{
		{"a.txt", "hello", document.Other, ""},
		{"empty.docx", "", document.Other, ""},
		{"a.svg", "<svg/>", document.Other, ""},
		{"a.csv", "a,b\n", document.Other, ""},
		{"a.pdf", "just text", document.Other, ""},
		{"notes.docx", "just text", document.Other, ""},
		{"bm.txt", "BM is a prefix", document.Other, ""},
		{"id3.txt", "ID3 tags explained", document.Other, ""},
		{"rar.txt", "Ogg: OggS", document.Other, ""},
		{"A.DOCX", zip, document.Docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{`C:\dir.x\a.docm`, zip, document.Docx, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.xlsx", zip, document.Xlsx, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"a.zip", zip, document.Binary, "application/zip"},
		{"docx", zip, document.Binary, "application/zip"},
		{"a.ods", zip, document.OpenDocument, "application/vnd.oasis.opendocument.spreadsheet"},
		{"a.pptx", zip, document.Pptx, "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
		{"a.epub", zip, document.Epub, "application/epub+zip"},
		{"a.msg", ole, document.Binary, "application/vnd.ms-outlook"},
		{"a.doc", ole, document.Binary, "application/msword"},
		{"a.docx", ole, document.Binary, "application/x-ole-storage"},
		{"report", "%PDF-1.7\n", document.PDF, "application/pdf"},
		{"x", "\x89PNG\r\n\x1a\n\x00", document.Image, "image/png"},
		{"x.txt", "\xFF\xD8\xFF\xE0", document.Image, "image/jpeg"},
		{"x", "GIF89a", document.Image, "image/gif"},
		{"x", "RIFF\x01\x02\x03\x04WEBPVP8 ", document.Image, "image/webp"},
		{"x", "\x00\x00\x00\x1cftypavif", document.Binary, "image/avif"},
		{"x", "BM\x36\x00\x01\x00\x00\x00\x00\x00\x36", document.Binary, "image/bmp"},
		{"x", "II*\x00", document.Binary, "image/tiff"},
		{"x", "\x7FELF\x02\x01\x01\x00", document.Binary, "application/x-elf"},
		{"x", "\x1F\x8B\x08\x00", document.Binary, "application/gzip"},
		{"x", strings.Repeat("\x00", 257) + "ustar", document.Binary, "application/x-tar"},
		{"x", "SQLite format 3\x00", document.Binary, "application/vnd.sqlite3"},
		{"x", "\x00\x00\x00\x18ftypmp42", document.Binary, "video/mp4"},
	} {
		got := document.Detect(tc.name, "", []byte(tc.head))
		if got.Kind != tc.kind || got.MIME != tc.mime || (got.Name == "") != (tc.kind == document.Other) {
			t.Errorf("Detect(%q, %.12q) = %+v, want kind %d, %s", tc.name, tc.head, got, tc.kind, tc.mime)
		}
	}
}

func TestRefusal(t *testing.T) {
	for _, tc := range []struct{ name, head, want string }{
		{"a b.pdf", "%PDF-1.4", "a b.pdf cannot be shown as text (PDF document, application/pdf, 7 bytes): call bash with command `pdftotext -layout 'a b.pdf' -`"},
		{"-x.pdf", "%PDF-1.4", "-x.pdf cannot be shown as text (PDF document, application/pdf, 7 bytes): call bash with command `pdftotext -layout ./-x.pdf -`"},
		{"it's.zip", "PK\x03\x04", `it's.zip cannot be shown as text (zip archive, application/zip, 7 bytes): call bash with command ` + "`unzip -l 'it'\\''s.zip'` to list what is in it"},
		{"old.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "old.xls cannot be shown as text (Excel 97-2003 workbook, application/vnd.ms-excel, 7 bytes): convert it first, for instance call bash with command `soffice --headless --convert-to xlsx old.xls`"},
		{"a.docx", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "a.docx cannot be shown as text (password-protected Office document, application/x-ole-storage, 7 bytes): save it without its password first"},
		{"blob", "\x01\x02", "blob cannot be shown as text (binary file, application/octet-stream, 7 bytes): call bash with command `file blob` to learn what it is, or `xxd blob | head` to see its bytes"},
	} {
		if got := document.Refusal(tc.name, 7, document.Detect(tc.name, "", []byte(tc.head))); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("a.docx", []byte("PK\x03\x04"))
	f.Add("", []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		got := document.Detect(name, "", head)
		if (got.Kind == document.Other) != (got.MIME == "") {
			t.Fatalf("%+v", got)
		}
		if document.Refusal(name, 1, got) == "" {
			t.Fatal("no refusal")
		}
	})
}
