package google

import (
	"bytes"
	"encoding/base64"
	"html"
	"io"
	"mime"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html/charset"
)

// part is a part of a mail. It is read tolerantly: what cannot be understood is text.
type part struct {
	headers   []header
	mediaType string
	params    map[string]string
	filename  string
	body      []byte // without its transfer encoding, in its own charset
	parts     []*part
}

type header struct{ name, value string }

// maxDepth bounds how deep parts are nested.
const maxDepth = 50

func encode64(b []byte) string { return base64.URLEncoding.EncodeToString(b) }

func parsePart(raw []byte) *part { return parse(raw, maxDepth) }

func parse(raw []byte, depth int) *part {
	p := &part{}
	var body []byte
	p.headers, body = splitHeader(raw)
	var err error
	if p.mediaType, p.params, err = mime.ParseMediaType(p.header("Content-Type")); err != nil && p.mediaType == "" {
		p.mediaType = "text/plain"
	}
	_, disposition, _ := mime.ParseMediaType(p.header("Content-Disposition"))
	p.filename = decodeHeader(disposition["filename"])
	if p.filename == "" {
		p.filename = decodeHeader(p.params["name"])
	}
	if boundary := p.params["boundary"]; strings.HasPrefix(p.mediaType, "multipart/") && boundary != "" && depth > 0 {
		p.parts = []*part{}
		for _, piece := range splitParts(body, boundary) {
			p.parts = append(p.parts, parse(piece, depth-1))
		}
		if len(p.parts) > 0 {
			return p
		}
		p.mediaType, p.parts = "text/plain", nil // no line with the boundary
	}
	p.body = decodeBody(body, p.header("Content-Transfer-Encoding"))
	if p.mediaType == "message/rfc822" && depth > 0 {
		p.parts = []*part{parse(p.body, depth-1)}
	}
	return p
}

// splitHeader returns the header fields, unfolded and in their order, and the rest.
func splitHeader(raw []byte) (fields []header, body []byte) {
	for len(raw) > 0 {
		line, rest, _ := bytes.Cut(raw, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		raw = rest
		if len(line) == 0 {
			break
		}
		if n := len(fields); n > 0 && (line[0] == ' ' || line[0] == '\t') {
			fields[n-1].value += " " + string(bytes.TrimSpace(line))
			continue
		}
		if name, value, ok := strings.Cut(string(line), ":"); ok {
			fields = append(fields, header{strings.TrimSpace(name), strings.ToValidUTF8(strings.TrimSpace(value), "\uFFFD")})
		}
	}
	return fields, raw
}

// splitParts returns what is between the lines of a boundary.
func splitParts(body []byte, boundary string) (pieces [][]byte) {
	start := -1
	for at := 0; at < len(body); {
		end := len(body)
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		rest, ok := strings.CutPrefix(string(body[at:end]), "--"+boundary)
		last := strings.HasPrefix(rest, "--")
		if ok && (last || strings.TrimSpace(rest) == "") {
			if start >= 0 {
				pieces = append(pieces, withoutBreak(body[start:at]))
			}
			if start = end; last {
				return pieces
			}
		}
		at = end
	}
	if start >= 0 {
		pieces = append(pieces, body[start:])
	}
	return pieces
}

// withoutBreak removes the line break that belongs to the boundary.
func withoutBreak(b []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r"))
}

func decodeBody(body []byte, encoding string) []byte {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		clean := bytes.Join(bytes.Fields(body), nil)
		decoded := make([]byte, base64.StdEncoding.DecodedLen(len(clean)))
		n, _ := base64.StdEncoding.Decode(decoded, clean) // as far as it is good
		return decoded[:n]
	case "quoted-printable":
		decoded, _ := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
		return decoded
	}
	return body
}

// header returns the value of the first field of a name, "" if there is none.
func (p *part) header(name string) string {
	for _, h := range p.headers {
		if strings.EqualFold(h.name, name) {
			return h.value
		}
	}
	return ""
}

// shown returns the headers as Gmail does; only those named, if any are.
func (p *part) shown(only []string) []any {
	list := []any{}
	for _, h := range p.headers {
		if len(only) == 0 || slices.ContainsFunc(only, func(name string) bool { return strings.EqualFold(name, h.name) }) {
			list = append(list, map[string]string{"name": h.name, "value": h.value})
		}
	}
	return list
}

// attached reports whether Gmail gives a part an attachment ID.
func (p *part) attached() bool {
	kind, _, _ := mime.ParseMediaType(p.header("Content-Disposition"))
	return p.filename != "" || kind == "attachment" || !strings.HasPrefix(p.mediaType, "text/")
}

// walk calls visit with the part and all in it.
func (p *part) walk(visit func(*part)) {
	visit(p)
	for _, child := range p.parts {
		child.walk(visit)
	}
}

var tags = regexp.MustCompile(`(?s)<(style|script).*?</(style|script)>|<[^>]*>`)

// text returns the first text of a mail, plain if there is one, in UTF-8.
func (p *part) text() string {
	var plain, rich string
	p.walk(func(p *part) {
		if p.attached() || p.parts != nil {
			return
		}
		if p.mediaType == "text/html" && rich == "" {
			rich = html.UnescapeString(tags.ReplaceAllString(p.utf8(), " "))
		} else if p.mediaType != "text/html" && plain == "" {
			plain = p.utf8()
		}
	})
	if plain == "" {
		return rich
	}
	return plain
}

func (p *part) utf8() string {
	if name := p.params["charset"]; name != "" {
		if encoding, _ := charset.Lookup(name); encoding != nil {
			if decoded, err := encoding.NewDecoder().Bytes(p.body); err == nil {
				return string(decoded)
			}
		}
	}
	return strings.ToValidUTF8(string(p.body), "\uFFFD")
}

// snippet returns the beginning of the text, escaped for HTML as Gmail has it.
func (p *part) snippet() string {
	t := p.text()
	t = strings.ToValidUTF8(t[:min(len(t), 8000)], "")
	runes := []rune(strings.Join(strings.Fields(t), " "))
	return html.EscapeString(string(runes[:min(len(runes), 200)]))
}

// decodeHeader decodes encoded words.
func decodeHeader(value string) string {
	if decoded, err := wordDecoder().DecodeHeader(value); err == nil {
		return decoded
	}
	return value
}

func wordDecoder() *mime.WordDecoder {
	return &mime.WordDecoder{CharsetReader: func(name string, r io.Reader) (io.Reader, error) { return charset.NewReaderLabel(name, r) }}
}
