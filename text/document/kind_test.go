package document_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolserver/toolserver/text/document"
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
		{"x", "BM\x36\x00\x01\x00\x00\x00\x00\x00\x36", document.Image, "image/bmp"},
		{"x", "II*\x00", document.Image, "image/tiff"},
		{"IMG_1.HEIC", "\x00\x00\x00\x24ftypheic\x00\x00\x00\x00mif1heic", document.Binary, "image/heic"},
		{"x", "\x00\x00\x00\x1cftypheix", document.Binary, "image/heic"},
		{"x", "\x00\x00\x00\x1cftyphevc", document.Binary, "image/heic"},
		{"x", "\x00\x00\x00\x1cftypmif1", document.Binary, "image/heif"},
		{"x", "\x00\x00\x00\x1cftypmsf1", document.Binary, "image/heif"},
		{"x", "\x00\x00\x00\x1cftypavis", document.Binary, "image/avif"},
		{"x.mov", "\x00\x00\x00\x14ftypqt  ", document.Binary, "video/quicktime"},
		{"x.mov", "\x00\x00\x00\x08wide\x00", document.Binary, "video/quicktime"},
		{"x.m4a", "\x00\x00\x00\x1cftypM4A ", document.Binary, "audio/mp4"},
		{"x", "\x7FELF\x02\x01\x01\x00", document.Binary, "application/x-elf"},
		{"x", "\x1F\x8B\x08\x00", document.Binary, "application/gzip"},
		{"x", strings.Repeat("\x00", 257) + "ustar", document.Binary, "application/x-tar"},
		{"x", "SQLite format 3\x00", document.Binary, "application/vnd.sqlite3"},
		{"x", "\x00\x00\x00\x18ftypmp42", document.Binary, "video/mp4"},
		{"x", "\x00\x00\x00\x18ftypisom", document.Binary, "video/mp4"},
	} {
		got := document.Detect(tc.name, "", []byte(tc.head))
		if got.Kind != tc.kind || got.MIME != tc.mime || (got.Name == "") != (tc.kind == document.Other) {
			t.Errorf("Detect(%q, %.12q) = %+v, want kind %d, %s", tc.name, tc.head, got, tc.kind, tc.mime)
		}
	}
}

// A command is only suggested where its program is.
func TestRefusal(t *testing.T) {
	const ole = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	for _, tc := range []struct{ name, head, installed, want string }{
		{"it's.zip", "PK\x03\x04", "python3 unzip", `it's.zip cannot be shown as text (zip archive, application/zip, 7 bytes): list what is in it: call bash with command ` + "`unzip -l \"it's.zip\"`"},
		{"-x.zip", "PK\x03\x04", "python3", "list what is in it: call bash with command `python3 -m zipfile -l ./-x.zip`"},
		{"a b.xls", ole, "soffice xls2csv", "a b.xls cannot be shown as text (Excel 97-2003 workbook, application/vnd.ms-excel, 7 bytes): convert it first: call bash with command `soffice -env:UserInstallation=file://$TMPDIR/lo --headless --convert-to xlsx 'a b.xls'`"},
		{"old.doc", ole, "antiword catdoc", "call bash with command `antiword old.doc`"},
		{"old.doc", ole, "", "7 bytes): have it saved as .docx, or ask the user to install LibreOffice (soffice) where commands run"},
		{"a.docx", ole, "soffice", "a.docx cannot be shown as text (password-protected Office document, application/x-ole-storage, 7 bytes): save it without its password first"},
		{"x.heic", "\x00\x00\x00\x1cftypheic", "magick heif-convert", "call bash with command `heif-convert x.heic image.png`"},
		{"x.avif", "\x00\x00\x00\x1cftypavif", "sips", "call bash with command `sips -s format png x.avif --out image.png`"},
		{"x.mov", "\x00\x00\x00\x14ftypqt  ", "ffmpeg", "-frames:v 8 frame-%d.png`"},
		{"blob", "\x01\x02", "od xxd", "blob cannot be shown as text (binary file, application/octet-stream, 7 bytes): learn what it is: call bash with command `xxd -l 256 blob`"},
		{"blob", "\x01\x02", "", "7 bytes): ask the user what it is"},
	} {
		runs := func(command string) bool {
			return slices.Contains(strings.Fields(tc.installed), strings.Fields(command)[0])
		}
		if got := document.Refusal(tc.name, 7, document.Detect(tc.name, "", []byte(tc.head)), runs); !strings.HasSuffix(got, tc.want) {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

// A media type tells as much as an extension.
func TestDetectMedia(t *testing.T) {
	for mime, want := range map[string]document.Kind{
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": document.Xlsx, "application/epub+zip": document.Epub,
		"application/zip": document.Binary, "text/html": document.Binary, "": document.Binary,
	} {
		if got := document.Detect("download", mime, []byte("PK\x03\x04\x14\x00")); got.Kind != want {
			t.Errorf("%s: %+v", mime, got)
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
		if document.Refusal(name, 1, got, func(string) bool { return false }) == "" {
			t.Fatal("no refusal")
		}
	})
}
