package document

import (
	"fmt"
	"path"
	"strings"
)

// Refusal says in one sentence that the file at name cannot be shown as text
// and what can be done instead, with the literal command for the tool bash. It
// is for the kinds [PDF] and [Binary], and for [Other] files that turned out
// to be binary; size is in bytes.
func Refusal(name string, size int64, t Type) string {
	what, mime := t.Name, t.MIME
	if what == "" {
		what, mime = "binary file", "application/octet-stream"
	}
	return fmt.Sprintf("%s cannot be shown as text (%s, %s, %d bytes): %s",
		name, what, mime, size, instead(shellQuote(name), t))
}

// instead returns the advice for a type.
func instead(file string, t Type) string {
	switch {
	case t.Kind == PDF:
		return "call bash with command `pdftotext -layout " + file + " -`"
	case strings.Contains(t.Name, "password"):
		return "save it without its password first"
	case strings.HasPrefix(t.MIME, "application/vnd.oasis"), strings.HasPrefix(t.MIME, "application/msword"),
		strings.HasPrefix(t.MIME, "application/vnd.ms-"), strings.HasPrefix(t.MIME, officeMIME):
		return "convert it first, for instance call bash with command `soffice --headless --convert-to " + convertTo(t) + " " + file + "`"
	case t.MIME == "application/zip", t.MIME == "application/epub+zip":
		return "call bash with command `unzip -l " + file + "` to list what is in it"
	case t.MIME == "application/x-tar":
		return "call bash with command `tar -tf " + file + "` to list what is in it"
	case t.MIME == "application/gzip":
		return "call bash with command `gzip -dc " + file + " | head -c 20000`"
	case t.MIME == "application/vnd.sqlite3":
		return "call bash with command `sqlite3 " + file + " .schema`"
	}
	return "call bash with command `file " + file + "` to learn what it is, or `xxd " + file + " | head` to see its bytes"
}

func convertTo(t Type) string {
	if strings.Contains(t.MIME, "excel") || strings.Contains(t.MIME, "spreadsheet") {
		return "xlsx"
	}
	if strings.Contains(t.MIME, "powerpoint") || strings.Contains(t.MIME, "presentation") {
		return "pdf"
	}
	return "docx"
}

// shellQuote quotes a file name for a POSIX shell, where it needs that. A name
// that begins with a dash is made a path.
func shellQuote(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + path.Clean(name)
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@%", r)
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
