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
	Other Kind = iota // text, as far as the first bytes tell
	Docx              // for Text, as the next ones
	Xlsx
	Pptx
	OpenDocument
	Epub
	PDF      // for pdftotext(1), of poppler
	Notebook // for NotebookText
	Mail     // for mail.Text
	HTML     // text, or for html.Text
	CSV      // text, or for CSVRows
	Image    // for an image block
	Binary   // nothing here reads it, see Refusal
)

// Type is the type of a file.
type Type struct {
	Kind Kind
	MIME string // "" for Other
	Name string // for people, such as "PDF document"; "" for Other
	// Format is the extension by which it is known, such as "docx", if it goes by the name.
	Format string

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

// signature tells a type: a file of it begins with magic, in which ? stands for any byte, and has one of the extensions, if any
// are given.
type signature struct {
	magic, extensions string
	Type
}

// types are the types that Detect knows.
var types = [...]signature{
	{zipMagic, ".docx .docm .dotx .dotm", Type{Kind: Docx, MIME: officeMIME + "wordprocessingml.document", Name: "Word document"}},
	{zipMagic, ".xlsx .xlsm .xltx .xltm", Type{Kind: Xlsx, MIME: officeMIME + "spreadsheetml.sheet", Name: "Excel workbook"}},
	{zipMagic, ".pptx .pptm .ppsx .ppsm .potx .potm", Type{Kind: Pptx, MIME: officeMIME + "presentationml.presentation", Name: "PowerPoint presentation"}},
	{zipMagic, ".odt .ott", Type{Kind: OpenDocument, MIME: odfMIME + "text", Name: "OpenDocument text"}},
	{zipMagic, ".ods .ots", Type{Kind: OpenDocument, MIME: odfMIME + "spreadsheet", Name: "OpenDocument spreadsheet"}},
	{zipMagic, ".odp .otp", Type{Kind: OpenDocument, MIME: odfMIME + "presentation", Name: "OpenDocument presentation"}},
	{zipMagic, ".epub", Type{Kind: Epub, MIME: "application/epub+zip", Name: "EPUB book"}},
	{zipMagic, "", binary("application/zip", "zip archive", unzip)},
	{oleMagic, ".doc .dot", binary("application/msword", "Word 97-2003 document", convert+"docx %s`")},
	{oleMagic, ".xls .xlt", binary("application/vnd.ms-excel", "Excel 97-2003 workbook", convert+"xlsx %s`")},
	{oleMagic, ".ppt .pps", binary("application/vnd.ms-powerpoint", "PowerPoint 97-2003 presentation", convert+"pptx %s`")},
	{oleMagic, ".msg", binary("application/vnd.ms-outlook", "Outlook message", "save it as .eml first, for instance call bash with command `msgconvert %s`")},
	{oleMagic, ".docx .xlsx .pptx", binary("application/x-ole-storage", "password-protected Office document", unprotect)},
	{oleMagic, "", binary("application/x-ole-storage", "OLE file", "")},
	{"\x89PNG\r\n\x1A\n", "", image("image/png")},
	{"\xFF\xD8\xFF", "", image("image/jpeg")},
	{"GIF87a", "", image("image/gif")},
	{"GIF89a", "", image("image/gif")},
	{"RIFF????WEBP", "", image("image/webp")},
	{"????ftypavif", "", binary("image/avif", "AVIF image", toPNG)},
	{"????ftypavis", "", binary("image/avif", "AVIF image", toPNG)},
	{"II*\x00", "", binary("image/tiff", "TIFF image", toPNG)},
	{"MM\x00*", "", binary("image/tiff", "TIFF image", toPNG)},
	{"\x00\x00\x01\x00", "", binary("image/x-icon", "icon", toPNG)},
	{"BM????\x00\x00\x00\x00", "", binary("image/bmp", "BMP image", toPNG)}, // the zeros are reserved and keep text out
	{"%PDF-", "", Type{Kind: PDF, MIME: "application/pdf", Name: "PDF document", advice: "call bash with command `pdftotext -layout %s -`"}},
	{"\x7FELF", "", binary("application/x-elf", "ELF program or library", "")},
	{"\x1F\x8B", "", binary("application/gzip", "gzip archive", "call bash with command `gzip -dc %s | head -c 20000`")},
	{"BZh", "", binary("application/x-bzip2", "bzip2 archive", "")},
	{"\xFD7zXZ\x00", "", binary("application/x-xz", "xz archive", "")},
	{"\x28\xB5\x2F\xFD", "", binary("application/zstd", "zstd archive", "")},
	{"7z\xBC\xAF\x27\x1C", "", binary("application/x-7z-compressed", "7z archive", "")},
	{"Rar!\x1A\x07", "", binary("application/vnd.rar", "rar archive", "")},
	{tarMagic, "", binary("application/x-tar", "tar archive", "call bash with command `tar -tf %s` to list what is in it")},
	{"PK\x05\x06", "", binary("application/zip", "empty zip archive", unzip)},
	{"SQLite format 3\x00", "", binary("application/vnd.sqlite3", "SQLite database", "call bash with command `sqlite3 %s .schema`")},
	{"\x00asm", "", binary("application/wasm", "WebAssembly module", "")},
	{"\xCA\xFE\xBA\xBE", "", binary("application/x-mach-binary", "Mach-O program or Java class", "")},
	{"\xCF\xFA\xED\xFE", "", binary("application/x-mach-binary", "Mach-O program", "")},
	{"OggS", "", binary("audio/ogg", "Ogg media file", "")},
	{"fLaC", "", binary("audio/flac", "FLAC audio file", "")},
	{"ID3", "", binary("audio/mpeg", "MP3 audio file", "")},
	{"RIFF????WAVE", "", binary("audio/wav", "WAV audio file", "")},
	{"????ftyp", "", binary("video/mp4", "MP4 media file", "")},
	{"\x1A\x45\xDF\xA3", "", binary("video/webm", "Matroska or WebM video", "")},
	{"wOF2", "", binary("font/woff2", "font", "")},
}

// textTypes are the types that DetectText knows.
var textTypes = [...]signature{
	{"", ".ipynb", Type{Kind: Notebook, MIME: "application/x-ipynb+json", Name: "Jupyter notebook"}},
	{"", ".eml", Type{Kind: Mail, MIME: "message/rfc822", Name: "message"}},
	{"", ".html .htm .xhtml", Type{Kind: HTML, MIME: "text/html", Name: "HTML document"}},
	{"", ".csv .tsv", Type{Kind: CSV, MIME: "text/csv", Name: "table of text"}},
	{`{\rtf`, "", binary("application/rtf", "RTF document", convert+"docx %s`")},
}

func binary(mime, name, advice string) Type {
	return Type{Kind: Binary, MIME: mime, Name: name, advice: advice}
}

func image(mime string) Type { return Type{Kind: Image, MIME: mime, Name: "image"} }

// Detect tells the type of a file by its name or media type, either of which may be empty, and its first [HeadSize]
// bytes. The bytes decide; the name only tells apart what is a zip archive or an OLE
// file underneath. So text called .pdf is text, and is read as such.
func Detect(name, mime string, head []byte) Type {
	h := string(head[:min(len(head), HeadSize)])
	return find(types[:], name, mime, h, func(t Type) bool { return t.Kind != Binary || !printable(h) }) // text may begin like the others
}

// DetectText tells the type of a file that [Detect] takes for text, if its text is the source
// of what people see.
func DetectText(name string, head []byte) Type {
	return find(textTypes[:], name, "", string(head[:min(len(head), HeadSize)]), func(Type) bool { return true })
}

// find returns the first type whose signature a file has and that is accepted.
func find(table []signature, name, mime, head string, accept func(Type) bool) Type {
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	for i := range table {
		s := &table[i]
		if matches(head, s.magic) && (s.extensions == "" || mime == s.MIME || slices.Contains(strings.Fields(s.extensions), ext)) && accept(s.Type) {
			t := s.Type
			format, _, _ := strings.Cut(s.extensions, " ")
			t.Format = strings.TrimPrefix(format, ".")
			return t
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
