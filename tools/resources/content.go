package resources

import (
	"cmp"
	"errors"
	"net/http"
	"path"
	"path/filepath"
	"strings"

	"toolserver/domain"
	"toolserver/tools/files/document"
	"toolserver/tools/files/textfile"
)

// contentOf returns a file as clients get it: text if it is text that read_file
// reads without being told an encoding, otherwise its bytes.
func contentOf(uri, name string, raw []byte) domain.Content {
	c := domain.Content{Type: domain.ResourceContent, URI: uri}
	if t := document.Detect(name, "", raw); t.Kind != document.Other {
		c.MIMEType, c.Data = t.MIME, raw
		return c
	}
	text, _, err := textfile.Decode(raw, textfile.Charset{})
	if err != nil {
		c.MIMEType, c.Data = mimeOfBytes(name, raw, err), raw
		return c
	}
	c.MIMEType, c.Text = mimeOfText(name), string(text)
	return c
}

// mimeOfBytes returns the type of a file that textfile does not decode, as err
// says. Text in another charset stays what it is, byte for byte, because a
// charset can only be guessed.
func mimeOfBytes(name string, raw []byte, err error) string {
	charset := ""
	if binary, ok := errors.AsType[*textfile.BinaryError](err); ok {
		charset = binary.Likely
	} else if decode, ok := errors.AsType[*textfile.DecodeError](err); ok {
		charset = decode.Likely
	}
	if charset != "" {
		return mimeOfText(name) + "; charset=" + charset
	}
	if t := http.DetectContentType(raw); !strings.HasPrefix(t, "text/") {
		return t
	}
	return "application/octet-stream"
}

// mimeTypes are the types of texts by the extensions of their names. The table
// is our own because that of package mime has what the machine's files add.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".markdown": "text/markdown", ".html": "text/html", ".htm": "text/html",
	".xhtml": "application/xhtml+xml", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript",
	".cjs": "text/javascript", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".json": "application/json", ".map": "application/json", ".jsonl": "application/x-ndjson",
	".ndjson": "application/x-ndjson", ".yaml": "application/yaml", ".yml": "application/yaml",
	".toml": "application/toml", ".xml": "application/xml", ".xsd": "application/xml", ".xsl": "application/xml",
	".svg": "image/svg+xml", ".sql": "application/sql", ".rtf": "application/rtf", ".ics": "text/calendar",
	".vcf": "text/vcard", ".go": "text/x-go", ".py": "text/x-python", ".pyi": "text/x-python",
	".ts": "text/x-typescript", ".tsx": "text/x-typescript", ".rs": "text/x-rust", ".java": "text/x-java",
	".c": "text/x-c", ".h": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".cxx": "text/x-c++",
	".hpp": "text/x-c++", ".hh": "text/x-c++", ".rb": "text/x-ruby", ".sh": "text/x-shellscript",
	".bash": "text/x-shellscript", ".diff": "text/x-diff", ".patch": "text/x-diff", ".tex": "text/x-tex",
}

// mimeOfText returns the type of a text by its name.
func mimeOfText(name string) string {
	return cmp.Or(mimeTypes[strings.ToLower(path.Ext(filepath.ToSlash(name)))], "text/plain")
}
