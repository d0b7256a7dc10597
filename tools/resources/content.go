package resources

import (
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
	if t := document.Detect(name, raw); t.Kind != document.Other {
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

// mimeOfText returns the type of a text by the extension of its name. The table
// is our own because that of package mime has what the machine's files add.
func mimeOfText(name string) string {
	switch strings.ToLower(path.Ext(filepath.ToSlash(name))) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".html", ".htm":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	case ".css":
		return "text/css"
	case ".js", ".mjs", ".cjs":
		return "text/javascript"
	case ".csv":
		return "text/csv"
	case ".tsv":
		return "text/tab-separated-values"
	case ".json", ".map":
		return "application/json"
	case ".jsonl", ".ndjson":
		return "application/x-ndjson"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".toml":
		return "application/toml"
	case ".xml", ".xsd", ".xsl":
		return "application/xml"
	case ".svg":
		return "image/svg+xml"
	case ".sql":
		return "application/sql"
	case ".rtf":
		return "application/rtf"
	case ".ics":
		return "text/calendar"
	case ".vcf":
		return "text/vcard"
	case ".go":
		return "text/x-go"
	case ".py", ".pyi":
		return "text/x-python"
	case ".ts", ".tsx":
		return "text/x-typescript"
	case ".rs":
		return "text/x-rust"
	case ".java":
		return "text/x-java"
	case ".c", ".h":
		return "text/x-c"
	case ".cc", ".cpp", ".cxx", ".hpp", ".hh":
		return "text/x-c++"
	case ".rb":
		return "text/x-ruby"
	case ".sh", ".bash":
		return "text/x-shellscript"
	case ".diff", ".patch":
		return "text/x-diff"
	case ".tex":
		return "text/x-tex"
	}
	return "text/plain"
}
