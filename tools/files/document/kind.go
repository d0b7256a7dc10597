package document

import (
	"path"
	"strings"
)

// Kind is what a file has to be read as.
type Kind int

// The kinds of files. Plain text, in whatever charset, is Other as long as its
// first bytes do not say otherwise.
const (
	Other  Kind = iota // text, as far as the first bytes tell
	Docx               // for DocxText
	Xlsx               // for XlsxRows
	Image              // for an image block
	PDF                // nothing here reads it, see Refusal
	Binary             // nothing here reads it, see Refusal
)

// Type is the type of a file.
type Type struct {
	Kind Kind
	MIME string // "" for Other
	Name string // for people, such as "PDF document"; "" for Other
}

// HeadSize is how many bytes of a file [Detect] looks at.
const HeadSize = 512

const (
	zipMagic = "PK\x03\x04"
	oleMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"
)

// Detect tells the type of a file by its name and its first [HeadSize] bytes.
// The bytes decide; the name only tells apart what is a zip archive or an OLE
// file underneath. So text called .pdf is text, and is read as such.
func Detect(name string, head []byte) Type {
	h := string(head[:min(len(head), HeadSize)])
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	if strings.HasPrefix(h, zipMagic) {
		return archiveType(ext)
	}
	if strings.HasPrefix(h, oleMagic) {
		return oleType(ext)
	}
	if mime := imageMIME(h); mime != "" {
		return Type{Image, mime, "image"}
	}
	return magicType(h)
}

// ImageMIME returns the MIME type of a png, jpeg, gif, webp, bmp, avif, tiff
// or ico image by its first bytes, or "". An svg is text.
func ImageMIME(head []byte) string { return imageMIME(string(head[:min(len(head), HeadSize)])) }

func imageMIME(h string) string {
	switch {
	case strings.HasPrefix(h, "\x89PNG\r\n\x1A\n"):
		return "image/png"
	case strings.HasPrefix(h, "\xFF\xD8\xFF"):
		return "image/jpeg"
	case strings.HasPrefix(h, "GIF87a"), strings.HasPrefix(h, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(h, "RIFF") && at(h, 8, "WEBP"):
		return "image/webp"
	case at(h, 4, "ftypavif"), at(h, 4, "ftypavis"):
		return "image/avif"
	case strings.HasPrefix(h, "II*\x00"), strings.HasPrefix(h, "MM\x00*"):
		return "image/tiff"
	case strings.HasPrefix(h, "\x00\x00\x01\x00"):
		return "image/x-icon"
	// The bytes after "BM" and the size are reserved and zero, which keeps
	// text that begins with these letters out.
	case strings.HasPrefix(h, "BM") && at(h, 6, "\x00\x00\x00\x00"):
		return "image/bmp"
	}
	return ""
}

func at(s string, offset int, sub string) bool {
	return len(s) >= offset && strings.HasPrefix(s[offset:], sub)
}

const officeMIME = "application/vnd.openxmlformats-officedocument."

// archiveType tells apart the formats that are zip archives.
func archiveType(ext string) Type {
	switch ext {
	case ".docx", ".docm", ".dotx", ".dotm":
		return Type{Docx, officeMIME + "wordprocessingml.document", "Word document"}
	case ".xlsx", ".xlsm", ".xltx", ".xltm":
		return Type{Xlsx, officeMIME + "spreadsheetml.sheet", "Excel workbook"}
	case ".pptx", ".pptm", ".ppsx":
		return Type{Binary, officeMIME + "presentationml.presentation", "PowerPoint presentation"}
	case ".odt":
		return Type{Binary, "application/vnd.oasis.opendocument.text", "OpenDocument text"}
	case ".ods":
		return Type{Binary, "application/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet"}
	case ".odp":
		return Type{Binary, "application/vnd.oasis.opendocument.presentation", "OpenDocument presentation"}
	case ".epub":
		return Type{Binary, "application/epub+zip", "EPUB book"}
	}
	return Type{Binary, "application/zip", "zip archive"}
}

// oleType names the formats of Office before 2007.
func oleType(ext string) Type {
	switch ext {
	case ".doc", ".dot":
		return Type{Binary, "application/msword", "Word 97-2003 document"}
	case ".xls", ".xlt":
		return Type{Binary, "application/vnd.ms-excel", "Excel 97-2003 workbook"}
	case ".ppt", ".pps":
		return Type{Binary, "application/vnd.ms-powerpoint", "PowerPoint 97-2003 presentation"}
	case ".docx", ".xlsx", ".pptx":
		return Type{Binary, "application/x-ole-storage", "password-protected Office document"}
	}
	return Type{Binary, "application/x-ole-storage", "OLE file"}
}

// magicType knows the other binary files that people often have.
func magicType(h string) Type {
	for _, m := range [...]struct {
		offset      int
		magic       string
		mime, label string
	}{
		{0, "\x7FELF", "application/x-elf", "ELF program or library"},
		{0, "\x1F\x8B", "application/gzip", "gzip archive"},
		{0, "BZh", "application/x-bzip2", "bzip2 archive"},
		{0, "\xFD7zXZ\x00", "application/x-xz", "xz archive"},
		{0, "\x28\xB5\x2F\xFD", "application/zstd", "zstd archive"},
		{0, "7z\xBC\xAF\x27\x1C", "application/x-7z-compressed", "7z archive"},
		{0, "Rar!\x1A\x07", "application/vnd.rar", "rar archive"},
		{257, "ustar", "application/x-tar", "tar archive"},
		{0, "PK\x05\x06", "application/zip", "empty zip archive"},
		{0, "SQLite format 3\x00", "application/vnd.sqlite3", "SQLite database"},
		{0, "\x00asm", "application/wasm", "WebAssembly module"},
		{0, "\xCA\xFE\xBA\xBE", "application/x-mach-binary", "Mach-O program or Java class"},
		{0, "\xCF\xFA\xED\xFE", "application/x-mach-binary", "Mach-O program"},
		{0, "OggS", "audio/ogg", "Ogg media file"},
		{0, "fLaC", "audio/flac", "FLAC audio file"},
		{0, "ID3", "audio/mpeg", "MP3 audio file"},
		{8, "WAVE", "audio/wav", "WAV audio file"},
		{4, "ftyp", "video/mp4", "MP4 media file"},
		{0, "\x1A\x45\xDF\xA3", "video/webm", "Matroska or WebM video"},
		{0, "wOF2", "font/woff2", "font"},
	} {
		if at(h, m.offset, m.magic) && !printable(h) {
			return Type{Binary, m.mime, m.label}
		}
	}
	if strings.HasPrefix(h, "%PDF-") {
		return Type{PDF, "application/pdf", "PDF document"}
	}
	return Type{}
}

// printable tells whether h holds no control character but white space, so
// that text which begins like a binary file stays text.
func printable(h string) bool {
	for i := 0; i < len(h); i++ {
		if c := h[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7F {
			return false
		}
	}
	return true
}
