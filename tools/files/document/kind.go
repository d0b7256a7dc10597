package document

import (
	"fmt"
	"path"
	"strings"
)

// Kind is what a file has to be read as.
type Kind int

// The kinds of files. Plain text, in whatever charset, is Other as long as its
// first bytes do not say otherwise.
const (
	Other  Kind = iota // text, as far as the first bytes tell
	Docx               // for Docx
	Xlsx               // for XlsxRows
	Image              // for an image block
	Binary             // nothing here reads it, see Refusal
)

// Type is the type of a file.
type Type struct {
	Kind Kind
	MIME string // "" for Other
	Name string // for people, such as "PDF document"; "" for Other

	advice string // what to do with a file of kind Binary, with %s for its name
}

// HeadSize is how many bytes of a file [Detect] looks at.
const HeadSize = 512

const (
	zipMagic = "PK\x03\x04"
	oleMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	any16    = "????????????????"
	any64    = any16 + any16 + any16 + any16
	tarMagic = any64 + any64 + any64 + any64 + "?ustar"
)

// Detect tells the type of a file by its name and its first [HeadSize] bytes.
// The bytes decide; the name only tells apart what is a zip archive or an OLE
// file underneath. So text called .pdf is text, and is read as such.
func Detect(name string, head []byte) Type {
	h := string(head[:min(len(head), HeadSize)])
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	switch {
	case strings.HasPrefix(h, zipMagic):
		return archiveType(ext)
	case strings.HasPrefix(h, oleMagic):
		return oleType(ext)
	}
	for _, m := range [...]struct{ magic, mime, name, advice string }{
		{"\x89PNG\r\n\x1A\n", "image/png", "image", ""},
		{"\xFF\xD8\xFF", "image/jpeg", "image", ""},
		{"GIF87a", "image/gif", "image", ""},
		{"GIF89a", "image/gif", "image", ""},
		{"RIFF????WEBP", "image/webp", "image", ""},
		{"????ftypavif", "image/avif", "image", ""},
		{"????ftypavis", "image/avif", "image", ""},
		{"II*\x00", "image/tiff", "image", ""},
		{"MM\x00*", "image/tiff", "image", ""},
		{"\x00\x00\x01\x00", "image/x-icon", "image", ""},
		{"BM????\x00\x00\x00\x00", "image/bmp", "image", ""}, // the zeros are reserved and keep text out
		{"%PDF-", "application/pdf", "PDF document", "call bash with command `pdftotext -layout %s -`"},
		{"\x7FELF", "application/x-elf", "ELF program or library", ""},
		{"\x1F\x8B", "application/gzip", "gzip archive", "call bash with command `gzip -dc %s | head -c 20000`"},
		{"BZh", "application/x-bzip2", "bzip2 archive", ""},
		{"\xFD7zXZ\x00", "application/x-xz", "xz archive", ""},
		{"\x28\xB5\x2F\xFD", "application/zstd", "zstd archive", ""},
		{"7z\xBC\xAF\x27\x1C", "application/x-7z-compressed", "7z archive", ""},
		{"Rar!\x1A\x07", "application/vnd.rar", "rar archive", ""},
		{tarMagic, "application/x-tar", "tar archive", "call bash with command `tar -tf %s` to list what is in it"},
		{"PK\x05\x06", "application/zip", "empty zip archive", unzip},
		{"SQLite format 3\x00", "application/vnd.sqlite3", "SQLite database", "call bash with command `sqlite3 %s .schema`"},
		{"\x00asm", "application/wasm", "WebAssembly module", ""},
		{"\xCA\xFE\xBA\xBE", "application/x-mach-binary", "Mach-O program or Java class", ""},
		{"\xCF\xFA\xED\xFE", "application/x-mach-binary", "Mach-O program", ""},
		{"OggS", "audio/ogg", "Ogg media file", ""},
		{"fLaC", "audio/flac", "FLAC audio file", ""},
		{"ID3", "audio/mpeg", "MP3 audio file", ""},
		{"RIFF????WAVE", "audio/wav", "WAV audio file", ""},
		{"????ftyp", "video/mp4", "MP4 media file", ""},
		{"\x1A\x45\xDF\xA3", "video/webm", "Matroska or WebM video", ""},
		{"wOF2", "font/woff2", "font", ""},
	} {
		switch {
		case !matches(h, m.magic):
		case m.name == "image":
			return Type{Image, m.mime, m.name, ""}
		case m.mime == "application/pdf" || !printable(h): // text may begin like the others
			return Type{Binary, m.mime, m.name, m.advice}
		}
	}
	return Type{}
}

// matches reports whether h begins with magic, in which ? stands for any byte.
func matches(h, magic string) bool {
	if len(h) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != h[i] && magic[i] != '?' {
			return false
		}
	}
	return true
}

// printable tells whether h holds no control character except white space.
func printable(h string) bool {
	for i := range len(h) {
		if c := h[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
			return false
		}
	}
	return true
}

const (
	officeMIME = "application/vnd.openxmlformats-officedocument."
	odfMIME    = "application/vnd.oasis.opendocument."
	unzip      = "call bash with command `unzip -l %s` to list what is in it"
)

// convertible returns the type of a document that LibreOffice converts to a format that
// can be read.
func convertible(mime, name, to string) Type {
	return Type{Binary, mime, name, "convert it first, for instance call bash with command `soffice --headless --convert-to " + to + " %s`"}
}

// archiveType tells apart the formats that are zip archives.
func archiveType(ext string) Type {
	switch ext {
	case ".docx", ".docm", ".dotx", ".dotm":
		return Type{Docx, officeMIME + "wordprocessingml.document", "Word document", ""}
	case ".xlsx", ".xlsm", ".xltx", ".xltm":
		return Type{Xlsx, officeMIME + "spreadsheetml.sheet", "Excel workbook", ""}
	case ".pptx", ".pptm", ".ppsx":
		return convertible(officeMIME+"presentationml.presentation", "PowerPoint presentation", "pdf")
	case ".odt":
		return convertible(odfMIME+"text", "OpenDocument text", "docx")
	case ".ods":
		return convertible(odfMIME+"spreadsheet", "OpenDocument spreadsheet", "xlsx")
	case ".odp":
		return convertible(odfMIME+"presentation", "OpenDocument presentation", "pdf")
	case ".epub":
		return Type{Binary, "application/epub+zip", "EPUB book", unzip}
	}
	return Type{Binary, "application/zip", "zip archive", unzip}
}

// oleType names the formats of Office before 2007.
func oleType(ext string) Type {
	switch ext {
	case ".doc", ".dot":
		return convertible("application/msword", "Word 97-2003 document", "docx")
	case ".xls", ".xlt":
		return convertible("application/vnd.ms-excel", "Excel 97-2003 workbook", "xlsx")
	case ".ppt", ".pps":
		return convertible("application/vnd.ms-powerpoint", "PowerPoint 97-2003 presentation", "pdf")
	case ".docx", ".xlsx", ".pptx":
		return Type{Binary, "application/x-ole-storage", "password-protected Office document", "save it without its password first"}
	}
	return Type{Binary, "application/x-ole-storage", "OLE file", ""}
}

// Refusal says in one sentence that the file at name cannot be shown as text
// and what can be done instead, with the literal command for the tool bash. It
// is for the kind [Binary], and for [Other] files that turned out to be binary;
// size is in bytes.
func Refusal(name string, size int64, t Type) string {
	if t.Name == "" {
		t.Name, t.MIME = "binary file", "application/octet-stream"
	}
	if t.advice == "" {
		t.advice = "call bash with command `file %s` to learn what it is, or `xxd %s | head` to see its bytes"
	}
	advice := strings.ReplaceAll(t.advice, "%s", shellQuote(name))
	return fmt.Sprintf("%s cannot be shown as text (%s, %s, %d bytes): %s", name, t.Name, t.MIME, size, advice)
}

// shellQuote quotes a file name for a POSIX shell, where it needs that. A name
// that begins with a dash is made a path.
func shellQuote(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + path.Clean(name)
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%"
	if name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
