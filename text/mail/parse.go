package mail

import (
	"bytes"
	"encoding/base64"
	"mime"
	"strconv"
	"strings"

	"google.golang.org/api/gmail/v1"

	"github.com/toolserver/toolserver/domain/lazyregexp"
)

// maxHeaders bounds the headers that are kept of a part.
const maxHeaders = 1000

// Parse returns the tree of a message, given as its source, as Gmail's API returns it for format=full. It never fails: what cannot
// be parsed is skipped, transfer encodings are decoded, and charsets are not. The content of files is not in the tree; it goes to
// files by its attachment id, if that is not nil.
func Parse(src []byte, files map[string][]byte) *gmail.MessagePart {
	p := parser{files: files}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	return p.part(bytes.ReplaceAll(src, []byte("\n"), []byte("\r\n")), "", "text/plain", 0)
}

type parser struct {
	files map[string][]byte
	parts int
}

// part parses a part, or returns nil beyond the bounds of what [Read] reads and one more, so that it says so.
func (p *parser) part(src []byte, id, defaultType string, depth int) *gmail.MessagePart {
	if p.parts > maxParts || depth > maxDepth+1 {
		return nil
	}
	p.parts++
	part := &gmail.MessagePart{PartId: id, Body: &gmail.MessagePartBody{}}
	var body []byte
	part.Headers, body = splitHeader(src)
	kind := rawHeader(part, contentType)
	media, parameters, _ := strings.Cut(kind, ";")
	media, _, commented := strings.Cut(media, "(")
	if part.MimeType = strings.ToLower(strings.TrimSpace(media)); part.MimeType == "" {
		part.MimeType = defaultType
	} else if major, minor, _ := strings.Cut(part.MimeType, "/"); major == "" || minor == "" {
		part.MimeType = "text/plain"
	}
	if commented {
		kind = media + ";" + parameters
	}
	if part.Filename = wellFormed(rawHeader(part, "Content-Disposition"), "filename"); part.Filename == "" {
		part.Filename = wellFormed(kind, "name")
	}
	boundary := wellFormed(kind, "boundary")
	if strings.HasPrefix(part.MimeType, "multipart/") && boundary == "" {
		part.MimeType = "text/plain"
	}
	add := func(src []byte, defaultType string) {
		id := strings.TrimPrefix(id+"."+strconv.Itoa(len(part.Parts)), ".")
		if child := p.part(src, id, defaultType, depth+1); child != nil {
			part.Parts = append(part.Parts, child)
		}
	}
	switch {
	case strings.HasPrefix(part.MimeType, "multipart/"):
		inner := "text/plain"
		if part.MimeType == "multipart/digest" {
			inner = "message/rfc822"
		}
		if splitParts(body, boundary, func(b []byte) { add(b, inner) }); len(part.Parts) > 0 {
			return part
		}
		part.MimeType = "text/plain" // no line with the boundary
	case part.MimeType == "message/rfc822":
		if add(body, "text/plain"); part.Filename == "" {
			return part
		}
	}
	data := decodeTransfer(body, strings.ToLower(strings.TrimSpace(rawHeader(part, "Content-Transfer-Encoding"))))
	part.Body.Size = int64(len(data))
	if part.Filename != "" || !strings.HasPrefix(part.MimeType, "text/") && !strings.HasPrefix(part.MimeType, "message/") {
		part.Body.AttachmentId = "apart-" + id
		if p.files != nil {
			p.files[part.Body.AttachmentId] = data
		}
	} else {
		part.Body.Data = base64.URLEncoding.EncodeToString(data)
	}
	return part
}

// splitHeader parses the headers of a part, which an empty line ends.
func splitHeader(src []byte) (headers []*gmail.MessagePartHeader, body []byte) {
	end := []byte("\r\n")
	for len(src) > 0 {
		n := 0 // the length of a header, which goes on where the next line is indented
		for {
			line, _, _ := bytes.Cut(src[n:], end)
			n = min(n+len(line)+len(end), len(src))
			if len(bytes.TrimSpace(line)) == 0 && n <= len(end) {
				return headers, src[n:]
			}
			if n == len(src) || src[n] != ' ' && src[n] != '\t' {
				break
			}
		}
		if name, v, ok := strings.Cut(string(src[:n]), ":"); ok && len(headers) < maxHeaders {
			headers = append(headers, &gmail.MessagePartHeader{Name: name, Value: strings.TrimSpace(v)})
		}
		src = src[n:]
	}
	return headers, nil
}

// splitParts calls fn with each part of a body.
func splitParts(body []byte, boundary string, fn func(part []byte)) {
	open, from, at := false, 0, 0
	for line := range bytes.Lines(body) {
		trimmed := bytes.TrimRight(line, "\r\n\t ")
		rest, ok := bytes.CutPrefix(trimmed, []byte("--"+boundary))
		if last := string(rest) == "--"; ok && (len(rest) == 0 || last) {
			if open {
				fn(bytes.TrimSuffix(body[from:at], []byte("\r\n")))
			}
			if last {
				return
			}
			open, from = true, at+len(line)
		}
		at += len(line)
	}
	if open {
		fn(body[from:])
	}
}

// charsetOf2231 is the charset in a parameter in the notation of RFC 2231.
var charsetOf2231 = lazyregexp.New(`(\*(?:0\*)?\s*=\s*"?)([^'";\s]*)'`)

// wellFormed returns a parameter of a header, also one in the notation of RFC 2231 where the header is well-formed. The parser knows two
// charsets: it is told one whose bytes it leaves as they are.
func wellFormed(v, name string) string {
	charset := charsetOf2231().FindStringSubmatch(v)
	if charset != nil {
		v = charsetOf2231().ReplaceAllString(v, "${1}us-ascii'")
	}
	_, params, err := mime.ParseMediaType(v)
	switch {
	case err != nil:
		return parameter(v, name)
	case charset != nil:
		text, _ := decodeText([]byte(params[name]), charset[2], false)
		return text
	}
	return params[name]
}

// quotedByte is what quoted-printable has for a byte, or the end of a line that goes on.
var quotedByte = lazyregexp.New(`=(?:[0-9A-Fa-f]{2}|[ \t]*\r\n)`)

// decodeTransfer decodes a body as far as it is encoded.
func decodeTransfer(body []byte, way string) []byte {
	switch way {
	case "base64":
		clean := make([]byte, 0, len(body))
		for _, c := range body {
			if 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/' {
				clean = append(clean, c)
			}
		}
		out := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
		n, _ := base64.RawStdEncoding.Decode(out, clean)
		return out[:n]
	case "quoted-printable":
		return quotedByte().ReplaceAllFunc(body, func(code []byte) []byte {
			n, err := strconv.ParseUint(string(code[1:]), 16, 8)
			if err != nil {
				return nil
			}
			return []byte{byte(n)}
		})
	}
	return body
}
