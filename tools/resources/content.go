package resources

import (
	_ "embed"
	"errors"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/text/document"
	"github.com/toolserver/toolserver/text/textfile"
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

// mimeTypes are the types of texts, each with the extensions of their names. The table
// is our own because that of package mime has what the machine's files add.
//
//go:embed types.txt
var mimeTypes string

// mimeOfText returns the type of a text by its name.
func mimeOfText(name string) string {
	ext := strings.ToLower(path.Ext(filepath.ToSlash(name)))
	for line := range strings.Lines(mimeTypes) {
		if f := strings.Fields(line); slices.Contains(f[1:], ext) {
			return f[0]
		}
	}
	return "text/plain"
}

// TypeOf returns the media type of a file.
func TypeOf(name string, raw []byte) string { return contentOf("", name, raw).MIMEType }
