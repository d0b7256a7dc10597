package document

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
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
	zipMagic   = "PK\x03\x04"
	oleMagic   = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
	any16      = "????????????????"
	any64      = any16 + any16 + any16 + any16
	tarMagic   = any64 + any64 + any64 + any64 + "?ustar"
	officeMIME = "application/vnd.openxmlformats-officedocument."
	odfMIME    = "application/vnd.oasis.opendocument."
	unzip      = "call bash with command `unzip -l %s` to list what is in it"
	convert    = "convert it first, for instance call bash with command `soffice --headless --convert-to "
	toPNG      = "convert it first, for instance call bash with command `magick %s image.png`"
	unprotect  = "save it without its password first"
)

// types are the types that Detect knows: of files that begin with magic, in which ? stands for any byte, and that have one
// of the extensions, if any are given.
var types = [...]struct {
	magic, extensions string
	Type
}{
	{zipMagic, ".docx .docm .dotx .dotm", Type{Docx, officeMIME + "wordprocessingml.document", "Word document", ""}},
	{zipMagic, ".xlsx .xlsm .xltx .xltm", Type{Xlsx, officeMIME + "spreadsheetml.sheet", "Excel workbook", ""}},
	{zipMagic, ".pptx .pptm .ppsx", Type{Binary, officeMIME + "presentationml.presentation", "PowerPoint presentation", convert + "pdf %s`"}},
	{zipMagic, ".odt", Type{Binary, odfMIME + "text", "OpenDocument text", convert + "docx %s`"}},
	{zipMagic, ".ods", Type{Binary, odfMIME + "spreadsheet", "OpenDocument spreadsheet", convert + "xlsx %s`"}},
	{zipMagic, ".odp", Type{Binary, odfMIME + "presentation", "OpenDocument presentation", convert + "pdf %s`"}},
	{zipMagic, ".epub", Type{Binary, "application/epub+zip", "EPUB book", unzip}},
	{zipMagic, "", Type{Binary, "application/zip", "zip archive", unzip}},
	{oleMagic, ".doc .dot", Type{Binary, "application/msword", "Word 97-2003 document", convert + "docx %s`"}},
	{oleMagic, ".xls .xlt", Type{Binary, "application/vnd.ms-excel", "Excel 97-2003 workbook", convert + "xlsx %s`"}},
	{oleMagic, ".ppt .pps", Type{Binary, "application/vnd.ms-powerpoint", "PowerPoint 97-2003 presentation", convert + "pdf %s`"}},
	{oleMagic, ".docx .xlsx .pptx", Type{Binary, "application/x-ole-storage", "password-protected Office document", unprotect}},
	{oleMagic, "", Type{Binary, "application/x-ole-storage", "OLE file", ""}},
	{"\x89PNG\r\n\x1A\n", "", Type{Image, "image/png", "image", ""}},
	{"\xFF\xD8\xFF", "", Type{Image, "image/jpeg", "image", ""}},
	{"GIF87a", "", Type{Image, "image/gif", "image", ""}},
	{"GIF89a", "", Type{Image, "image/gif", "image", ""}},
	{"RIFF????WEBP", "", Type{Image, "image/webp", "image", ""}},
	{"????ftypavif", "", Type{Binary, "image/avif", "AVIF image", toPNG}},
	{"????ftypavis", "", Type{Binary, "image/avif", "AVIF image", toPNG}},
	{"II*\x00", "", Type{Binary, "image/tiff", "TIFF image", toPNG}},
	{"MM\x00*", "", Type{Binary, "image/tiff", "TIFF image", toPNG}},
	{"\x00\x00\x01\x00", "", Type{Binary, "image/x-icon", "icon", toPNG}},
	{"BM????\x00\x00\x00\x00", "", Type{Binary, "image/bmp", "BMP image", toPNG}}, // the zeros are reserved and keep text out
	{"%PDF-", "", Type{Binary, "application/pdf", "PDF document", "call bash with command `pdftotext -layout %s -`"}},
	{"\x7FELF", "", Type{Binary, "application/x-elf", "ELF program or library", ""}},
	{"\x1F\x8B", "", Type{Binary, "application/gzip", "gzip archive", "call bash with command `gzip -dc %s | head -c 20000`"}},
	{"BZh", "", Type{Binary, "application/x-bzip2", "bzip2 archive", ""}},
	{"\xFD7zXZ\x00", "", Type{Binary, "application/x-xz", "xz archive", ""}},
	{"\x28\xB5\x2F\xFD", "", Type{Binary, "application/zstd", "zstd archive", ""}},
	{"7z\xBC\xAF\x27\x1C", "", Type{Binary, "application/x-7z-compressed", "7z archive", ""}},
	{"Rar!\x1A\x07", "", Type{Binary, "application/vnd.rar", "rar archive", ""}},
	{tarMagic, "", Type{Binary, "application/x-tar", "tar archive", "call bash with command `tar -tf %s` to list what is in it"}},
	{"PK\x05\x06", "", Type{Binary, "application/zip", "empty zip archive", unzip}},
	{"SQLite format 3\x00", "", Type{Binary, "application/vnd.sqlite3", "SQLite database", "call bash with command `sqlite3 %s .schema`"}},
	{"\x00asm", "", Type{Binary, "application/wasm", "WebAssembly module", ""}},
	{"\xCA\xFE\xBA\xBE", "", Type{Binary, "application/x-mach-binary", "Mach-O program or Java class", ""}},
	{"\xCF\xFA\xED\xFE", "", Type{Binary, "application/x-mach-binary", "Mach-O program", ""}},
	{"OggS", "", Type{Binary, "audio/ogg", "Ogg media file", ""}},
	{"fLaC", "", Type{Binary, "audio/flac", "FLAC audio file", ""}},
	{"ID3", "", Type{Binary, "audio/mpeg", "MP3 audio file", ""}},
	{"RIFF????WAVE", "", Type{Binary, "audio/wav", "WAV audio file", ""}},
	{"????ftyp", "", Type{Binary, "video/mp4", "MP4 media file", ""}},
	{"\x1A\x45\xDF\xA3", "", Type{Binary, "video/webm", "Matroska or WebM video", ""}},
	{"wOF2", "", Type{Binary, "font/woff2", "font", ""}},
}

// Detect tells the type of a file by its name and its first [HeadSize] bytes.
// The bytes decide; the name only tells apart what is a zip archive or an OLE
// file underneath. So text called .pdf is text, and is read as such.
func Detect(name string, head []byte) Type {
	h := string(head[:min(len(head), HeadSize)])
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	for i := range types {
		t := &types[i]
		switch {
		case !matches(h, t.magic):
		case t.extensions != "" && !slices.Contains(strings.Fields(t.extensions), ext):
		case t.Kind == Binary && t.MIME != "application/pdf" && printable(h): // text may begin like the others
		default:
			return t.Type
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
	return !strings.ContainsFunc(h, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) })
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
